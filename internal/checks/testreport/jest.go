package testreport

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/toolreport"
)

// jestFile is one file of tests in the JSON of Jest and Vitest.
type jestFile struct {
	Name    string     `json:"name"`
	Path    string     `json:"testFilePath"` // in what Jest hands to its reporters
	Status  string     `json:"status"`
	Message string     `json:"message"`
	Tests   []jestTest `json:"assertionResults"`
	Inner   []jestTest `json:"testResults"` // in what Jest hands to its reporters
}

type jestTest struct {
	Ancestors []string `json:"ancestorTitles"`
	Title     string   `json:"title"`
	FullName  string   `json:"fullName"`
	Status    string   `json:"status"`
	Duration  float64  `json:"duration"`
	Messages  []string `json:"failureMessages"`
	Location  struct {
		Line int `json:"line"`
	} `json:"location"`
}

func readJest(r io.Reader, c *collector) error {
	failedOverall := false
	err := toolreport.Object(r, func(dec *jsontext.Decoder, name string) error {
		switch name {
		case "testResults":
			return toolreport.Items(dec, func(raw jsontext.Value) error { return jestResults(c, raw) })
		case "success":
			var ok bool
			err := json.UnmarshalDecode(dec, &ok)
			failedOverall = !ok
			return err
		}
		return dec.SkipValue()
	})
	if err != nil {
		return err
	}
	if failedOverall && Count(c.cases).Failed == 0 {
		return c.add(runner.TestCase{
			Name: "[" + TypeSuite + "]", Status: runner.CaseFailed, Type: TypeSuite,
			Message: "the run did not succeed, though no test failed",
		})
	}
	return nil
}

func jestResults(c *collector, raw jsontext.Value) error {
	var f jestFile
	if err := json.Unmarshal(raw, &f, toolreport.Lenient()); err != nil {
		return err
	}
	if f.Name == "" {
		f.Name = f.Path
	}
	tests := append(f.Tests, f.Inner...)
	for i := range tests {
		if err := c.add(jestCase(f.Name, &tests[i])); err != nil {
			return err
		}
	}
	if f.Status == "failed" && len(tests) == 0 {
		return c.add(runner.TestCase{
			Suite: f.Name, File: f.Name, Name: "[" + TypeLoad + "]", Status: runner.CaseFailed, Type: TypeLoad,
			Message: ansi.Strip(f.Message),
		})
	}
	return nil
}

func jestCase(file string, t *jestTest) runner.TestCase {
	out := runner.TestCase{
		Suite: strings.Join(append([]string{file}, t.Ancestors...), separator), Name: t.Title,
		File: file, Line: t.Location.Line, DurationMS: t.Duration,
	}
	if out.Name == "" {
		out.Name = t.FullName
	}
	switch t.Status {
	case "passed":
		out.Status = runner.CasePassed
	case "pending", "skipped", "todo", "disabled":
		out.Status = runner.CaseSkipped
	default:
		out.Status = runner.CaseFailed
		out.Message = ansi.Strip(strings.Join(t.Messages, "\n"))
		out.Type, _, _ = strings.Cut(firstLine(out.Message), ": ")
		if strings.ContainsAny(out.Type, " \t") {
			out.Type = ""
		}
	}
	return out
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// mochaTest is a test in the JSON of Mocha.
type mochaTest struct {
	Title     string  `json:"title"`
	FullTitle string  `json:"fullTitle"`
	File      string  `json:"file"`
	Duration  float64 `json:"duration"`
	Err       struct {
		Message string `json:"message"`
		Stack   string `json:"stack"`
		Name    string `json:"name"`
	} `json:"err"`
}

func readMocha(r io.Reader, c *collector) error {
	return toolreport.Object(r, func(dec *jsontext.Decoder, name string) error {
		status := ""
		switch name {
		case "passes":
			status = runner.CasePassed
		case "failures":
			status = runner.CaseFailed
		case "pending":
			status = runner.CaseSkipped
		default: // tests has all of them again, and does not say how they ended
			return dec.SkipValue()
		}
		return toolreport.Items(dec, func(raw jsontext.Value) error {
			var t mochaTest
			if err := json.Unmarshal(raw, &t, toolreport.Lenient()); err != nil {
				return err
			}
			out := runner.TestCase{Name: t.Title, File: t.File, Status: status, DurationMS: t.Duration}
			out.Suite = strings.TrimSpace(strings.TrimSuffix(t.FullTitle, t.Title))
			if t.File != "" {
				out.Suite = strings.TrimSuffix(t.File+separator+out.Suite, separator)
			}
			if status == runner.CaseFailed {
				out.Message, out.Type = t.Err.Message, t.Err.Name
				if strings.Contains(t.Err.Stack, out.Message) {
					out.Message = t.Err.Stack
				}
			}
			return c.add(out)
		})
	})
}
