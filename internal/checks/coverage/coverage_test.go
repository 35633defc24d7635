package coverage_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/coverage"
)

// component has the files that the reports of the tests speak of.
func component(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/cov\n\ngo 1.26\n",
		"a.go": `package cov

// Sign says what sign a number has.
func Sign(n int) string {
	if n < 0 {
		// below

		return "-"
	}
	if n == 0 {
		return "0"
	}
	return "+"
}
`,
		"inner/b.go": "package inner\n\nfunc Never() int {\n\treturn 1\n}\n",
		"pkg/m.py":   "def sign(n):\n    if n < 0:\n        return \"-\"\n    return \"+\"\n\n\ndef never():\n    return 1\n",
		"src/a.js":   "", "src/a.php": "", "src/lib.rs": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func share(pct float64, covered, total int) runner.CoverageCount {
	return runner.CoverageCount{Pct: pct, Total: total, Covered: covered}
}

var python = map[int]int{1: 1, 2: 1, 3: 0, 4: 1, 7: 1, 8: 0}

func TestParse(t *testing.T) {
	t.Parallel()
	dir := component(t)
	for _, c := range []struct {
		name, in, format string
		want             runner.Coverage
	}{
		{
			"go: statements count as go tool cover counts them, and a block that two packages tell counts once",
			`mode: set
example.com/cov/a.go:4.25,5.11 1 1
example.com/cov/a.go:5.11,9.3 1 0
example.com/cov/a.go:10.2,10.12 1 1
example.com/cov/a.go:10.12,12.3 1 1
example.com/cov/a.go:13.2,13.12 1 1
example.com/cov/inner/b.go:3.18,5.2 1 0
example.com/cov/inner/b.go:3.18,5.2 1 0
`, coverage.GoProfile,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(66.66, 4, 6)}, Files: []runner.CoveredFile{
				{File: "a.go", LinePct: 80, Hits: map[int]int{4: 1, 5: 1, 8: 0, 10: 1, 11: 1, 13: 1}},
				{File: "inner/b.go", Hits: map[int]int{3: 0, 4: 0}},
			}},
		},
		{
			"lcov of coverage.py: a line 0, checksums",
			"TN:\nSF:pkg/__init__.py\nDA:0,1,1B2M2Y8AsgTpgAmY7PhCfg\nLF:0\nLH:1\nend_of_record\nTN:\nSF:pkg/m.py\nDA:1,1,qN9VrsLtcGuvvqLQ1ePQVg\nDA:2,1,x\nDA:4,1,x\nDA:7,1,x\nDA:3,0,x\nDA:8,0,x\nLF:6\nLH:4\nend_of_record\n", coverage.LCOV,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(66.66, 4, 6)}, Files: []runner.CoveredFile{
				{File: "pkg/__init__.py", LinePct: 100}, {File: "pkg/m.py", LinePct: 66.66, Hits: python},
			}},
		},
		{
			"lcov of node and of newer writers: functions, two records of a file, large and odd numbers, no end",
			"SF:src/a.js\nFN:1,one\nFN:5,9,two\nFNDA:1,one\nFNDA:0,two\nDA:1,1\nDA:2,0\nend_of_record\nSF:src/a.js\nDA:2,1e+06\nDA:3,-1\nDA:4,=====\n", coverage.LCOV,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(50, 2, 4), Methods: share(50, 1, 2)}, Files: []runner.CoveredFile{
				{File: "src/a.js", LinePct: 50, Hits: map[int]int{1: 1, 2: 1000000, 3: 0, 4: 0}},
			}},
		},
		{
			"cobertura of coverage.py",
			`<?xml version="1.0" ?>
<coverage version="6.5.0" lines-valid="6" lines-covered="4" line-rate="0.6667"><!-- generated -->
<sources><source>` + dir + `</source></sources>
<packages><package name="pkg"><classes><class name="m.py" filename="pkg/m.py" line-rate="0.6667"><methods/>
<lines><line number="1" hits="1"/><line number="2" hits="1"/><line number="3" hits="0"/><line number="4" hits="1"/><line number="7" hits="1"/><line number="8" hits="0"/></lines></class></classes></package></packages></coverage>`, coverage.Cobertura,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(66.66, 4, 6)}, Files: []runner.CoveredFile{{File: "pkg/m.py", LinePct: 66.66, Hits: python}}},
		},
		{
			"cobertura: a source below the component, methods that repeat their lines, two classes in a file",
			`<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd"><coverage><sources><source>/elsewhere</source><source>/room/src</source></sources><packages><package><classes>
<class filename="a.js"><methods><method name="f"><lines><line number="1" hits="2"/></lines></method><method name="g"><lines><line number="2" hits="0"/></lines></method></methods><lines><line number="1" hits="2"/><line number="2" hits="0"/></lines></class>
<class filename="a.js"><methods/><lines><line number="3" hits="1"/></lines></class></classes></package></packages></coverage>`, coverage.Cobertura,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(66.66, 2, 3), Methods: share(50, 1, 2)}, Files: []runner.CoveredFile{{File: "src/a.js", LinePct: 66.66, Hits: map[int]int{1: 2, 2: 0, 3: 1}}}},
		},
		{
			"clover of PHPUnit: the metrics of a class before the lines of its file",
			`<coverage generated="1"><project timestamp="1"><package name="App"><file name="/room/src/a.php"><class name="A"><metrics methods="9" coveredmethods="9" statements="9" coveredstatements="9"/></class>
<line num="3" type="method" name="f" count="2"/><line num="4" type="stmt" count="2"/><line num="5" type="stmt" count="0"/><line num="8" type="method" name="g" count="0"/><line num="9" type="stmt" count="0"/>
<metrics loc="10" methods="2" coveredmethods="1" statements="3" coveredstatements="1"/></file></package><metrics files="1"/></project></coverage>`, coverage.Clover,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(33.33, 1, 3), Methods: share(50, 1, 2)}, Files: []runner.CoveredFile{{File: "src/a.php", LinePct: 33.33, Hits: map[int]int{4: 2, 5: 0, 9: 0}}}},
		},
		{
			"clover without lines",
			`<coverage><project><file name="a.php" path="/room/src/a.php"><metrics methods="2" coveredmethods="1" statements="4" coveredstatements="3"/></file></project></coverage>`, coverage.Clover,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(75, 3, 4), Methods: share(50, 1, 2)}, Files: []runner.CoveredFile{{File: "src/a.php", LinePct: 75}}},
		},
		{
			"istanbul, coverage-final: a line is run as often as the most of its statements",
			`{"/room/src/a.js":{"path":"/room/src/a.js","statementMap":{"0":{"start":{"line":1,"column":0},"end":{"line":1,"column":9}},"1":{"start":{"line":1,"column":10},"end":{"line":2,"column":1}},"2":{"start":{"line":4},"end":{"line":4}}},"fnMap":{"0":{"name":"f"}},"branchMap":{},"s":{"0":3,"1":0,"2":0},"f":{"0":1,"1":0},"b":{}}}`, coverage.Istanbul,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(50, 1, 2), Methods: share(50, 1, 2)}, Files: []runner.CoveredFile{{File: "src/a.js", LinePct: 50, Hits: map[int]int{1: 3, 4: 0}}}},
		},
		{
			"istanbul, coverage-summary: an empty file has no percentage",
			`{"total":{"lines":{"total":4,"covered":3,"skipped":0,"pct":75},"statements":{"total":4,"covered":3,"skipped":0,"pct":75},"functions":{"total":2,"covered":1,"skipped":0,"pct":50},"branches":{"total":0,"covered":0,"skipped":0,"pct":"Unknown"}},"/room/src/a.js":{"lines":{"total":4,"covered":3,"skipped":0,"pct":75},"functions":{"total":2,"covered":1,"skipped":0,"pct":50}}}`, coverage.IstanbulSummary,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(75, 3, 4), Methods: share(50, 1, 2)}, Files: []runner.CoveredFile{{File: "src/a.js", LinePct: 75}}},
		},
		{
			"tarpaulin",
			`{"files":[{"path":["/","room","src","lib.rs"],"content":"…","traces":[{"line":1,"address":[],"length":1,"stats":{"Line":2}},{"line":2,"stats":{"Line":0}}],"covered":1,"coverable":2}],"coverage":50.0}`, coverage.Tarpaulin,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(50, 1, 2)}, Files: []runner.CoveredFile{{File: "src/lib.rs", LinePct: 50, Hits: map[int]int{1: 2, 2: 0}}}},
		},
		{
			"tarpaulin, hits by file",
			`{"files":{"src/lib.rs":[{"line":3,"hits":1},{"line":4,"hits":0}]}}`, coverage.Tarpaulin,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(50, 1, 2)}, Files: []runner.CoveredFile{{File: "src/lib.rs", LinePct: 50, Hits: map[int]int{3: 1, 4: 0}}}},
		},
		{
			"coverage.py",
			`{"meta": {"version": "6.5.0"}, "files": {"pkg/m.py": {"executed_lines": [1, 2, 4, 7], "summary": {"covered_lines": 4}, "missing_lines": [3, 8], "excluded_lines": []}}, "totals": {"covered_lines": 4, "num_statements": 6, "percent_covered": 66.67}}`, coverage.CoveragePy,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(66.66, 4, 6)}, Files: []runner.CoveredFile{{File: "pkg/m.py", LinePct: 66.66, Hits: python}}},
		},
		{
			"the shape of the contract: the files may be without a name, and numbers missing",
			`{"totals":{"lines":{"pct":82.5,"total":40,"covered":33},"methods":{"pct":50},"classes":{"pct":1}},"files":[{"file":"src/a.php","line_pct":50},{"line_pct":10}]}`, coverage.Normalised,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(82.5, 33, 40), Methods: share(50, 0, 0)}, Files: []runner.CoveredFile{{File: "?", LinePct: 10}, {File: "src/a.php", LinePct: 50}}},
		},
		{
			"the shape of the contract, without files and percentages",
			`{"totals":{"lines":{"total":4,"covered":1},"methods":{}}}`, coverage.Normalised,
			runner.Coverage{Totals: runner.CoverageTotals{Lines: share(25, 1, 4)}, Files: []runner.CoveredFile{}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, format, err := coverage.Parse(strings.NewReader(c.in), dir)
			if err != nil {
				t.Fatal(err)
			}
			if format != c.format {
				t.Errorf("format %q, want %q", format, c.format)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "no known format"},
		{"text", "hello", `it begins with "hello"`},
		{"edge case 48: no totals", `{"files":[{"file":"a","line_pct":1}]}`, "totals are missing"},
		{"edge case 48: no methods", `{"totals":{"lines":{"pct":1}}}`, "totals.lines and totals.methods are needed"},
		{"totals that are none", `{"totals":[]}`, "totals"},
		{"another object", `{"a":{"b":1},"c":[]}`, "no known format"},
		{"cut", `{"totals":{"lines"`, "EOF"},
		{"another XML", `<report/>`, "<report> is no report of coverage"},
		{"XML without anything", `<coverage/>`, "neither"},
		{"entities", `<!DOCTYPE coverage [<!ENTITY a "b">]><coverage><project/></coverage>`, "document type"},
		{"a line that is no number", `<coverage><project><file name="a"><line num="x" type="stmt"/></file></project></coverage>`, `num="x"`},
		{"a block far beyond the file", "mode: set\na.go:1.1,2000000000.1 1 1\n", "line 2"},
		{"a block that ends before it begins", "mode: set\na.go:9.1,3.1 1 1\n", "line 2"},
		{"no block", "mode: set\nnonsense\n", "line 2"},
		{"lcov without times", "SF:a\nDA:1\n", "line 2: DA:1"},
		{"a line beyond all bounds", "SF:a\nDA:99999999,1\n", "too large"},
		{"too many lines", "mode: set\n" + manyBlocks(5), "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := coverage.Parse(strings.NewReader(c.in), "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v, want %q", got.Totals, err, c.want)
			}
		})
	}
}

// manyBlocks are few bytes that mean very many lines.
func manyBlocks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d.go:1.1,999999.1 1 1\n", i)
	}
	return b.String()
}

func TestChanged(t *testing.T) {
	t.Parallel()
	c := runner.Coverage{Files: []runner.CoveredFile{
		{File: "a.go", Hits: map[int]int{1: 1, 2: 0, 3: 0, 4: 0, 6: 0, 9: 1}},
		{File: "b.go", Hits: map[int]int{1: 0}},
		{File: "c.go", LinePct: 10},
	}}
	got, missed := coverage.Changed(c, map[string][][2]int{"a.go": {{1, 3}, {6, 9}}, "new.go": {{1, 5}}, "README.md": {{1, 2}}})
	if diff := cmp.Diff(share(40, 2, 5), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a.go:2-3", "a.go:6"}, missed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"new.go"}, coverage.Unmeasured(c, map[string][][2]int{"a.go": {{1, 3}}, "new.go": {{1, 5}}, "README.md": {{1, 2}}, "gone.go": nil})); diff != "" {
		t.Error(diff)
	}
	// Nothing that can be run was changed: a threshold on it is met.
	if got, missed := coverage.Changed(c, map[string][][2]int{"a.go": {{5, 5}}}); got != share(100, 0, 0) || missed != nil {
		t.Errorf("%+v, %v", got, missed)
	}
}

// TestPercentNeverRoundsUp: a threshold of 100 is met by all lines only.
func TestPercentNeverRoundsUp(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("SF:a\nDA:1,0\n")
	for i := range 99_999 {
		fmt.Fprintf(&b, "DA:%d,1\n", i+2)
	}
	got, _, err := coverage.Parse(strings.NewReader(b.String()), "")
	if err != nil || got.Totals.Lines.Pct != 99.99 {
		t.Errorf("%+v, %v", got.Totals, err)
	}
}

func TestErrorsCanBeToldApart(t *testing.T) {
	t.Parallel()
	if _, _, err := coverage.Parse(strings.NewReader("?"), ""); !errors.Is(err, coverage.ErrUnknownFormat) {
		t.Errorf("got %v", err)
	}
	if _, format, err := coverage.Parse(strings.NewReader("SF:a\nDA:99999999,1\n"), ""); !errors.Is(err, coverage.ErrTooLarge) || format != coverage.LCOV {
		t.Errorf("got %v", err)
	}
}

// FuzzParse: no text breaks a reader, and what comes out holds together.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"mode: set\na.go:1.1,2.2 1 1\n", "TN:\nSF:a\nFN:1,f\nFNDA:1,f\nDA:1,1\nend_of_record\n",
		`<coverage><project><file name="a"><line num="1" type="stmt" count="1"/></file></project></coverage>`,
		`<coverage><packages><class filename="a"><line number="1" hits="1"/></class></packages></coverage>`,
		`{"totals":{"lines":{"pct":1},"methods":{}},"files":[{"file":"a","line_pct":2}]}`,
		`{"a":{"statementMap":{"0":{"start":{"line":1}}},"s":{"0":1},"f":{"0":1}}}`, `{"total":{"lines":{"pct":5}}}`,
		`{"files":[{"path":["a"],"traces":[{"line":1,"stats":{"Line":1}}]}]}`, `{"files":{"a":{"executed_lines":[1],"missing_lines":[2]}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		c, format, err := coverage.Parse(strings.NewReader(in), "")
		if err != nil {
			return
		}
		if format == "" {
			t.Error("no format")
		}
		for _, n := range []runner.CoverageCount{c.Totals.Lines, c.Totals.Methods} {
			if n.Pct < 0 || n.Pct > 100 || n.Covered < 0 || n.Covered > n.Total {
				t.Errorf("%+v", c.Totals)
			}
		}
		all := map[string][][2]int{}
		for _, file := range c.Files {
			if !(file.LinePct >= 0 && file.LinePct <= 100) || file.File == "" {
				t.Errorf("%+v", file)
			}
			all[file.File] = [][2]int{{1, 1 << 30}}
		}
		if n, _ := coverage.Changed(c, all); n.Covered > n.Total {
			t.Errorf("%+v", n)
		}
	})
}
