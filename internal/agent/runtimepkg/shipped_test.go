package runtimepkg

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deedrun/deed/internal/agent/runtimepkg/shipped"
)

// TestShipped has what deed brings along: found, complete, and behind everything that anybody installs.
func TestShipped(t *testing.T) {
	t.Parallel()
	cache, dir := t.TempDir(), t.TempDir()
	find := func() *Catalog {
		t.Helper()
		c, err := Find(Places{Project: []string{dir}, Shipped: cache})
		if err != nil || len(c.Problems) > 0 {
			t.Fatal(err, c.Problems)
		}
		return c
	}
	c := find()
	for _, id := range shipped.IDs() {
		s, err := c.Select(Ask{Backend: id})
		if err != nil || s.Package.From != FromDeed || s.Provider.ID != id+".deed" {
			t.Errorf("%s: %+v %v", id, s, err)
			continue
		}
		if _, err := os.Stat(s.Package.Path); err == nil {
			t.Errorf("%s is placed before anybody needs it", id)
		}
	}
	for _, id := range shipped.IDs() {
		s, err := c.Select(Ask{Backend: id})
		if err == nil {
			err = s.Package.Place()
		}
		if err != nil {
			t.Fatal(err)
		}
		if p, err := Lint(s.Package.Path); err != nil || len(p.Findings) > 0 {
			t.Errorf("%s: %v %v", id, p.Findings, err)
		}
	}
	// A package of the same id, with other files, is no conflict.
	pack(t, dir, "codex", provider("codex.mine", "codex", nil))
	if s, err := find().Select(Ask{Backend: "codex"}); err != nil || s.Provider.ID != "codex.mine" || s.Package.From != FromProject {
		t.Errorf("%+v %v", s, err)
	}
	// Neither is another package for the same backend; by its id the shipped one can still be had.
	pack(t, dir, "mine", provider("mine.run", "opencode", nil))
	c = find()
	if s, err := c.Select(Ask{Backend: "opencode"}); err != nil || s.Provider.ID != "mine.run" {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := c.Select(Ask{Backend: "opencode", Selector: "opencode.deed"}); err != nil || s.Package.From != FromDeed {
		t.Errorf("%+v %v", s, err)
	}
	// A home that cannot be written affects only users of a shipped package.
	c, err := Find(Places{Project: []string{dir}, Shipped: filepath.Join(dir, "mine", "mine.json")})
	if err != nil || len(c.Problems) > 0 || len(c.Packages) != 6 {
		t.Fatalf("%v %+v", err, c)
	}
	s, err := c.Select(Ask{Backend: "local-shell"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Checker{}).Check(t.Context(), s, nil); err == nil {
		t.Error("it was placed below a file")
	}
}

// TestResolve has a command that is found as readiness finds it: by a variable, when the PATH does not have it. Edge case 30.
func TestResolve(t *testing.T) {
	t.Parallel()
	file := write(t, "#!/bin/sh\n", t.TempDir(), "tool-by-variable")
	if err := os.Chmod(file, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pack(t, dir, "a", provider("a.run", "a", object{
		"command": nil, "command_argv": []string{"tool-by-variable", "x"},
		"runner_readiness": []any{object{"id": "tool", "executable": object{"env": []string{"TOOL_BIN"}, "candidates": []string{"tool-by-variable"}}}},
	}))
	s, err := catalog(t, dir).Select(Ask{Backend: "a"})
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := s.Package.Command(s.Provider)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		environ []string
		ready   bool
		program string
	}{
		{[]string{"PATH=/usr/bin"}, false, "tool-by-variable"},
		{[]string{"PATH=/usr/bin", "TOOL_BIN=" + file}, true, file},
		{[]string{"PATH=" + filepath.Dir(file)}, true, file},
	} {
		r, err := (&Checker{Environ: tt.environ}).Check(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Resolve(cmd); r.Ready != tt.ready || got.Argv[0] != tt.program || got.Argv[1] != "x" {
			t.Errorf("%v: ready %v, %v, %v", tt.environ, r.Ready, got.Argv, r.Why())
		}
	}
	if cmd.Argv[0] != "tool-by-variable" {
		t.Errorf("the command itself was changed: %v", cmd.Argv)
	}
}
