#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add -csv: key,hits,bytes,errors with a header. With tests.
# why: a new printer, a new flag, a new golden file and a case of the table; what was there is unchanged.
# set: blind
sed -i 's/^\t"encoding\/json"/\t"encoding\/csv"\n&/' report/report.go
cat >> report/report.go <<'G'

// CSV prints rows with a header, for spreadsheets.
func CSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"key", "hits", "bytes", "errors"}); err != nil {
		return err
	}
	for _, row := range rows {
		line := []string{row.Key, strconv.Itoa(row.Hits), strconv.FormatInt(row.Bytes, 10), strconv.Itoa(row.Errors)}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
G
sed -i 's/^\ttop := flags.Int/\tasCSV := flags.Bool("csv", false, "print CSV")\n&/; s/^\tif err := print(stdout/\tif *asCSV {\n\t\tprint = report.CSV\n\t}\n&/' cmd/hitcount/main.go
sed -i 's/^\t\t{"top", .*/&\n\t\t{"by-status-csv", []string{"-by", "status", "-csv"}, 0},/' cmd/hitcount/main_test.go
cat > cmd/hitcount/testdata/by-status-csv.golden <<'G'
key,hits,bytes,errors
200,5,7346004,0
304,1,0,0
400,1,90,1
404,1,120,1
500,1,33,1
G
sed -i 's/\[-json\]/[-json|-csv]/' README.md
