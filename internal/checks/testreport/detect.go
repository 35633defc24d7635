package testreport

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/internal/checks/toolreport"
)

// detectWindow is how much of a text is read to detect its format.
const detectWindow = 256 << 10

// detect returns the format of a text by its beginning; empty: no known format.
func detect(head []byte) string {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 {
		return ""
	}
	switch head[0] {
	case '<':
		return JUnit
	case '{':
		if format := detectObject(head); format != "" {
			return format
		}
	}
	return detectLines(string(head), nil)
}

// detectObject detects a format by the names of the first members of an object.
func detectObject(head []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(head), toolreport.Lenient())
	if _, err := dec.ReadToken(); err != nil {
		return ""
	}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return ""
		}
		switch name.String() {
		case "Action":
			return GoJSON
		case "testResults", "numTotalTests", "numFailedTests", "numTotalTestSuites", "numFailedTestSuites":
			return Jest
		case "stats":
			return Mocha
		}
		if dec.SkipValue() != nil {
			return ""
		}
	}
}

// detectLines detects a format by the first line that only one format can have, except the formats that are ruled out.
func detectLines(text string, out map[string]bool) string {
	for line := range strings.Lines(text) {
		if format := lineFormat(strings.TrimRight(line, "\r\n")); format != "" && !out[format] {
			return format
		}
	}
	return ""
}

// lineFormat is the format that a line belongs to; empty: it may be anything.
func lineFormat(line string) string {
	switch {
	case strings.HasPrefix(line, "{") && strings.Contains(line, `"Action":`):
		return GoJSON
	case isTAP(line):
		return TAP
	case strings.HasPrefix(line, "=== RUN   "), strings.HasPrefix(line, "--- FAIL: "), strings.HasPrefix(line, "ok  \t"), strings.HasPrefix(line, "FAIL\t"):
		return GoText
	case strings.HasPrefix(line, "test result: "), strings.HasPrefix(line, "error: could not compile `"), strings.HasPrefix(line, "running ") && (strings.HasSuffix(line, " tests") || strings.HasSuffix(line, " test")):
		return Cargo
	case strings.HasPrefix(line, "=") && strings.Contains(line, " test session starts "):
		return Pytest
	}
	if _, ok := pytestCounts(line); ok {
		return Pytest
	}
	return ""
}

// isTAP recognizes a version, a plan or a numbered test point.
func isTAP(line string) bool {
	if rest, ok := strings.CutPrefix(line, "TAP version "); ok {
		return rest != "" && rest[0] >= '0' && rest[0] <= '9'
	}
	if rest, ok := strings.CutPrefix(line, "1.."); ok {
		return rest != "" && rest[0] >= '0' && rest[0] <= '9'
	}
	rest, ok := strings.CutPrefix(strings.TrimPrefix(line, "not "), "ok ")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}
