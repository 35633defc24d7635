// Package helpertest holds the cases that the shell helpers must pass with the host's binary and without it. It is for
// tests only.
package helpertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A SidecarCase is a script that sourced sidecar-writer, and what it leaves.
type SidecarCase struct {
	Name   string
	Script string
	Before string // what is in lint.json before
	File   string // empty: lint.json
	Want   string // empty: no such file
	Fails  bool
}

// SidecarCases are the ways to write sidecars.
var SidecarCases = []SidecarCase{
	{Name: "write", Script: `homeboy_write_lint_findings '{"a": 1}' '{"b":"\u00e9 x"}'`, Want: `[{"a":1},{"b":"\u00e9 x"}]`},
	{Name: "write nothing", Script: `homeboy_sidecar_write lint.findings`, Want: `[]`},
	{Name: "write over", Before: `[1,2]`, Script: `homeboy_sidecar_write lint.findings '{}'`, Want: `[{}]`},
	{Name: "emit", Script: `homeboy_append_lint_finding '{"m":"one"}'; homeboy_sidecar_emit lint.findings '{"m":"two"}'`, Want: `[{"m":"one"},{"m":"two"}]`},
	{Name: "emit into a blank file", Before: " \n", Script: `homeboy_sidecar_emit lint.finding '1'`, Want: `[1]`},
	{Name: "emit into what is no array", Before: `{"a":1}`, Script: `homeboy_sidecar_emit lint.finding '1'`, Want: `{"a":1}`, Fails: true},
	{Name: "emit into what is broken", Before: `[1,`, Script: `homeboy_sidecar_emit lint.finding '1'`, Want: `[1,`, Fails: true},
	{Name: "emit what is no JSON", Before: `[1]`, Script: `homeboy_sidecar_emit lint.finding 'nope'`, Want: `[1]`, Fails: true},
	{Name: "emit nothing", Before: `[1]`, Script: `homeboy_sidecar_emit lint.finding`, Want: `[1]`, Fails: true},
	{Name: "write one of two broken", Before: `[1]`, Script: `homeboy_sidecar_write lint.findings '2' '{'`, Want: `[1]`, Fails: true},
	{Name: "merge", Before: `[1]`, Script: `printf '[2,\n 3 ]' >more; homeboy_merge_lint_findings more`, Want: `[1,2,3]`},
	{Name: "merge into nothing", Script: `printf '[{"a":[]}]' >more; homeboy_merge_lint_findings more`, Want: `[{"a":[]}]`},
	{Name: "merge an empty array", Before: `[1]`, Script: `echo '[]' >more; homeboy_merge_lint_findings more`, Want: `[1]`},
	{Name: "merge an empty file", Before: `[1]`, Script: `: >more; homeboy_merge_lint_findings more`, Want: `[1]`},
	{Name: "merge what is no array", Before: `[1]`, Script: `echo '{}' >more; homeboy_merge_lint_findings more`, Want: `[1]`, Fails: true},
	{Name: "merge what is not there", Before: `[1]`, Script: `homeboy_merge_lint_findings nothere`, Want: `[1]`, Fails: true},
	{Name: "merge a pipe", Script: `mkfifo p; echo '[7]' >p & homeboy_merge_lint_findings p`, Want: `[7]`},
	{Name: "results", Script: `homeboy_write_test_results_json '{"total": 5}'`, File: "deep/results.json", Want: `{"total":5}`},
	{Name: "results that are no object", Script: `homeboy_write_test_results_json '[]'`, File: "deep/results.json", Fails: true},
	{Name: "fix", Script: `homeboy_append_fix_result '{"file":"a b"}'`, File: "fix.json", Want: `[{"file":"a b"}]`},
	{Name: "plan is not wanted here", Script: `homeboy_sidecar_emit fix.plan '{}'`},
	{Name: "failures", Script: `homeboy_write_test_failures '{"test_id":"a"}'`, File: "failures.json", Want: `[{"test_id":"a"}]`},
	{Name: "annotations", Script: `homeboy_append_annotation 'php cs/../x' '{"line":1}'`, File: "notes/php-cs-..-x.json", Want: `[{"line":1}]`},
	{Name: "annotations written", Script: `homeboy_write_annotations a '{"line":1}' '{"line":2}'`, File: "notes/a.json", Want: `[{"line":1},{"line":2}]`},
	{Name: "an unknown type", Script: `homeboy_sidecar_emit nope '{}'`, Fails: true},
	{Name: "no type", Script: `homeboy_sidecar_emit`, Fails: true},
}

// Env is the environment of a case, below dir.
func (c SidecarCase) Env(dir string) ([]string, error) {
	if c.Before != "" {
		if err := os.WriteFile(filepath.Join(dir, "lint.json"), []byte(c.Before), 0o600); err != nil {
			return nil, err
		}
	}
	return []string{
		"HOMEBOY_LINT_FINDINGS_FILE=" + filepath.Join(dir, "lint.json"),
		"HOMEBOY_TEST_FAILURES_FILE=" + filepath.Join(dir, "failures.json"),
		"HOMEBOY_TEST_RESULTS_FILE=" + filepath.Join(dir, "deep", "results.json"),
		"HOMEBOY_FIX_RESULTS_FILE=" + filepath.Join(dir, "fix.json"),
		"HOMEBOY_ANNOTATIONS_DIR=" + filepath.Join(dir, "notes") + "/",
	}, nil
}

// Check says what is wrong with what a case left.
func (c SidecarCase) Check(dir string, code int) error {
	file, want := c.File, c.Want
	if file == "" {
		file = "lint.json"
	}
	got, err := os.ReadFile(filepath.Join(dir, file))
	if (err == nil) != (want != "") || strings.TrimSuffix(string(got), "\n") != want {
		return fmt.Errorf("got %q, want %q", got, want)
	}
	if (code != 0) != c.Fails {
		return fmt.Errorf("status %d", code)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		return fmt.Errorf("left behind: %v, %w", left, err)
	}
	return nil
}
