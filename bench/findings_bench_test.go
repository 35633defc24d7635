package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/baseline"
	"github.com/deedrun/deed/internal/checks/finding"
)

// The size of a large old code base in which nobody has cleared up: so many findings in so many files.
const (
	benchFindings = 100_000
	benchFiles    = 2_000
)

// plainFinding is a finding with the keys that a linter writes, and nothing done to it.
type plainFinding struct {
	ID          string `json:"id"`
	Message     string `json:"message"`
	Category    string `json:"category"`
	Tool        string `json:"tool"`
	Rule        string `json:"rule"`
	File        string `json:"file"`
	Line        int    `json:"line"`
	Column      int    `json:"column"`
	Severity    string `json:"severity"`
	Fixable     bool   `json:"fixable"`
	Fingerprint string `json:"fingerprint"`
	Excerpt     string `json:"excerpt"`
}

// TestBenchFindings measures the way of 100,000 findings from the sidecar to the report: read, identified by their source
// lines on the disk, held against a baseline that knows all but a few and in which the lines have moved, and printed. The floor
// is encoding/json that decodes the same bytes into plain structs.
func TestBenchFindings(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	dir := t.TempDir()
	text, saved := findingsFixture(t, dir)
	benchFindingsOf(t, "findings", dir, text, saved)

	// As the first runners of the contract write them: an id, a message and a category.
	var all []runner.LintFinding
	must(t, json.Unmarshal(text, &all))
	for i, f := range all {
		all[i] = runner.LintFinding{ID: f.ID, Message: f.Message, Category: f.Category}
	}
	lean, err := json.Marshal(all)
	must(t, err)
	benchFindingsOf(t, "findings.lean", dir, lean, saved)
}

func benchFindingsOf(t *testing.T, name, dir string, text []byte, saved json.RawMessage) {
	var floor, all, read, identify, compare, print []float64
	for range 9 {
		floor = append(floor, seconds(func() {
			var fs []plainFinding
			must(t, json.Unmarshal(text, &fs))
		}))
		var fs []runner.LintFinding
		var rep runner.Report
		r := seconds(func() {
			var err error
			fs, err = finding.Read(bytes.NewReader(text), dir)
			must(t, err)
		})
		i := seconds(func() {
			root, err := os.OpenRoot(dir)
			must(t, err)
			defer root.Close()
			finding.Identify(fs, dir, finding.Sources(root))
		})
		c := seconds(func() {
			known, err := baseline.Parse(saved)
			must(t, err)
			compared := baseline.Findings(known, fs)
			if len(compared.Introduced) != 10 || len(compared.Resolved) != 10 {
				t.Fatalf("%d new, %d gone", len(compared.Introduced), len(compared.Resolved))
			}
			rep = runner.Report{Schema: runner.SchemaReport, Capability: runner.Lint, LintFindings: fs, Baseline: &compared}
		})
		p := seconds(func() { must(t, finding.WriteJSON(io.Discard, runner.Envelope[runner.Report]{Data: &rep})) })
		read, identify, compare, print = append(read, r), append(identify, i), append(compare, c), append(print, p)
		all = append(all, r+i+c+p)
	}
	line(t, name, 1e3*median(all), 1e3*median(floor), "ms", "<=3")
	t.Logf("%s: %d in %d MB: read %.0f ms, identified %.0f ms, compared %.0f ms, printed %.0f ms", name, benchFindings, len(text)>>20,
		1e3*median(read), 1e3*median(identify), 1e3*median(compare), 1e3*median(print))
}

// findingsFixture writes source files, and returns the findings in them as a linter writes them, and the baseline of the
// time before a line was put in at the beginning of each file.
func findingsFixture(t *testing.T, dir string) (text []byte, saved json.RawMessage) {
	t.Helper()
	const each = benchFindings / benchFiles
	var now, before []runner.LintFinding
	for n := range benchFiles {
		file := fmt.Sprintf("includes/module-%02d/class-handler-%04d.php", n%40, n)
		var source strings.Builder
		source.WriteString("<?php // put in\n")
		for i := range each {
			fmt.Fprintf(&source, "\techo $values['%d'] . some_call( $argument_%d );\n\t// what stands between\n", i*n, i)
		}
		path := filepath.Join(dir, file)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(source.String()), 0o644))
		for i := range each {
			f := runner.LintFinding{
				Message:  "All output should be run through an escaping function (see the handbook), found '$values' on line " + fmt.Sprint(2*i+2) + ".",
				Category: "security", Tool: "phpcs", Rule: "WordPress.Security.EscapeOutput.OutputNotEscaped", File: file, Line: 2*i + 2, Column: 7 + i%40,
				Severity: "error", Fixable: i%3 == 0,
				Extra: map[string]json.RawMessage{"excerpt": json.RawMessage(fmt.Sprintf(`"echo $values['%d'] . some_call( $argument_%d );"`, i*n, i))},
			}
			f.ID = fmt.Sprintf("%s::%s::%d", file, f.Rule, f.Line)
			f.Fingerprint = fmt.Sprintf("%040x", n*each+i)
			now = append(now, f)
			f.Line--
			f.ID = fmt.Sprintf("%s::%s::%d", file, f.Rule, f.Line)
			before = append(before, f)
		}
	}
	text, err := json.Marshal(now)
	must(t, err)
	finding.Identify(before, dir, func(path string) ([]byte, error) { // as it was
		source, err := os.ReadFile(filepath.Join(dir, path))
		_, rest, _ := bytes.Cut(source, []byte("\n"))
		return rest, err
	})
	for i := range 10 { // gone, with ten new ones in their place
		before[i*997].File, before[i*997].Fingerprint, before[i*997].ID = "gone.php", fmt.Sprint("gone", i), fmt.Sprint("gone.php::R::", i)
	}
	b, err := baseline.Lint("site", time.Now(), before)
	must(t, err)
	saved, err = json.Marshal(b)
	must(t, err)
	return text, saved
}
