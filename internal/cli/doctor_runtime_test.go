package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/attempt/wordpress/wordpresstest"
)

// findings runs the doctor and returns what it says by name: the status with detail and remedy, a line for each.
func (s *site) findings(env ...string) (map[string]string, int) {
	s.t.Helper()
	o := s.deed(env, "doctor", "--json")
	var doc struct{ Findings []symptom }
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil {
		s.t.Fatalf("%v\n%s%s", err, o.stdout, o.stderr)
	}
	out := map[string]string{}
	for _, f := range doc.Findings {
		out[f.Name] += f.Status + " " + f.Detail + " -> " + f.Remedy + "\n"
	}
	return out, o.code
}

func TestDoctorLooksAtTheRuntime(t *testing.T) {
	t.Parallel()
	o := wordpresstest.Options(t)
	dir := t.TempDir()
	empty, old := filepath.Join(dir, "empty.zip"), filepath.Join(dir, "php")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho 8.0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		settings string
		env      []string
		want     map[string]string // contained in the output
		exit     int
	}{
		"nothing configured": {want: map[string]string{"wordpress": "ok not configured", "sandbox": "ok namespace (version "}},
		"WordPress": {
			settings: "components: {wordpress: {archive: " + o.Archive + ", sqlite: " + o.SQLite + "}}\n",
			want:     map[string]string{"wordpress": "ok " + wordpresstest.Version + " in ", "php": "ok 8."},
		},
		"an archive that is none": {
			settings: "components: {wordpress: {archive: " + empty + "}}\n", want: map[string]string{"wordpress": "components.wordpress in deed.yaml"}, exit: ExitNotDone,
		},
		"an archive without the plugin": {
			settings: "components: {wordpress: {archive: " + o.Archive + "}}\n", want: map[string]string{"wordpress": "does not bring the sqlite-database-integration plugin"}, exit: ExitNotDone,
		},
		"PHP elsewhere": {
			settings: "components: {wordpress: {archive: " + o.Archive + ", sqlite: " + o.SQLite + ", php: " + old + "}}\n",
			want:     map[string]string{"php": "fault " + old + " lies outside"}, exit: ExitNotDone,
		},
		"no bubblewrap": {
			env: []string{"PATH=" + filepath.Join(dir, "nothing")}, want: map[string]string{"sandbox": "warning namespace"}, exit: ExitNotDone, // git is missing, too
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			s.configure(c.settings)
			got, exit := s.findings(c.env...)
			if exit != c.exit {
				t.Errorf("exit %d, want %d: %v", exit, c.exit, got)
			}
			for name, want := range c.want {
				if !strings.Contains(got[name], want) {
					t.Errorf("%s: %q, want %q", name, got[name], want)
				}
			}
		})
	}
}
