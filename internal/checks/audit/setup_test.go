package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// plant writes the files of a txtar archive below a new directory.
func plant(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		write(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, cfg Config) Report {
	t.Helper()
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Errorf("the report is not one: %v", err)
	}
	return r
}

// lines are the findings of a report, each as one line.
func lines(r Report) []string {
	out := []string{}
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s:%d %s %s %s %s", f.File, f.Line, f.Kind, f.Severity, f.Confidence, f.Subject))
	}
	return out
}

// of keeps the lines of some kinds.
func of(list []string, kinds ...string) []string {
	out := []string{}
	for _, l := range list {
		for _, k := range kinds {
			if strings.Contains(l, " "+k+" ") {
				out = append(out, l)
			}
		}
	}
	return out
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
