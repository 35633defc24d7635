package runtimepkg

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/home"
)

// TestReferenceManifest keeps the smallest whole manifest whole, and out of every runtime directory.
func TestReferenceManifest(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/agent-runtime-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	m, warnings, err := homeboy.ReadManifest(data)
	if err != nil || len(warnings) > 0 || m.Validate() != nil || len(m.Lint()) > 0 {
		t.Errorf("%v %v %v %v", err, warnings, m.Validate(), m.Lint())
	}
	if c := catalog(t, "testdata"); len(c.Packages) != 0 {
		t.Errorf("the fixture is advertised as a package: %v", c.Packages)
	}
	dir := filepath.Join(t.TempDir(), "reference")
	write(t, string(data), dir, "reference.json")
	write(t, "cat\n", dir, "run.sh")
	write(t, "# Notes\n", dir, "README.md")
	p, err := Lint(dir)
	if err != nil || len(p.Findings) > 0 {
		t.Errorf("%v %v", err, p.Findings)
	}
}

func TestPlacesOf(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	write(t, "ref: refs/heads/main\n", top, ".git/HEAD")
	got := PlacesOf(home.At("/h"), filepath.Join(top, "a"), "/x")
	want := Places{Dirs: []string{"/x"}, Home: "/h/agent-runtimes", Shipped: "/h/cache/agent-runtimes", Project: []string{
		top + "/a/.deed/agent-runtimes", top + "/a/agent-runtimes", top + "/.deed/agent-runtimes", top + "/agent-runtimes",
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := PlacesOf(home.At("/h"), top); len(got.Project) != 2 {
		t.Errorf("the top of a repository is looked at twice: %v", got.Project)
	}
}

// Case 6: the directory's name counts, and a problem says so. Case 4: unknown members survive.
func TestDirectoryNameWins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	packWith(t, dir, "real", object{"id": "other", "own_field": object{"a": 1}, "agent_task_executors": []object{provider("real.run", "b", object{"also_own": true})}})
	c := catalog(t, dir)
	if len(c.Packages) != 1 || c.Packages[0].ID != "real" {
		t.Fatalf("packages %v, problems %v", c.Packages, c.Problems)
	}
	p := c.Packages[0]
	if !slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Code == DirectoryWins && f.Path == "$.id" }) {
		t.Errorf("it is not told: %v", p.Findings)
	}
	if p.Manifest.Extra["own_field"] == nil || p.Manifest.AgentTaskExecutors[0].Extra["also_own"] == nil {
		t.Error("runtime-specific fields are lost")
	}
}

// Case 11: a broken package is reported and does not affect others.
func TestBrokenPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pack(t, dir, "good", provider("good.run", "good", nil))
	write(t, "{", dir, "notjson", "notjson.json")
	write(t, "[]", dir, "list", "list.json")
	write(t, `{"schema":"homeboy/agent-runtime-manifest/v9","id":"newer"}`, dir, "newer", "newer.json")
	write(t, strings.Repeat(" ", maxManifest+1), dir, "huge", "huge.json")
	write(t, "nothing", dir, "lib", "index.js")
	write(t, "{}", dir, "fixtures", "contract.json")
	write(t, "x", dir, "afile")
	pack(t, dir, "right", provider("right.run", "right", nil))
	if err := os.Rename(filepath.Join(dir, "right"), filepath.Join(dir, "wrong")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "pipe"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe", "pipe.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := catalog(t, dir)
	if len(c.Packages) != 1 || c.Packages[0].ID != "good" {
		t.Errorf("packages %v", c.Packages)
	}
	got := map[string]string{}
	for _, p := range c.Problems {
		got[p.ID] = p.Code
		if p.Message == "" || p.Path == "" {
			t.Errorf("a problem is not whole: %+v", p)
		}
	}
	want := map[string]string{"notjson": ParseFailed, "list": ParseFailed, "newer": SchemaMismatch, "huge": ReadFailed, "wrong": Misnamed, "dangling": ReadFailed, "pipe": ReadFailed}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var none *NotInstalled
	if _, _, err := c.Get("newer"); !errors.As(err, &none) || !strings.Contains(err.Error(), "manifest/v9") {
		t.Errorf("the reason is not told: %v", err)
	}
	if _, err := Find(Places{Dirs: []string{filepath.Join(dir, "nowhere")}}); err == nil {
		t.Error("a directory that was named and is not there is no error")
	}
}

// Cases 7 and 8: one id in two places is used from neither, unless the files are the same; so is a provider id.
func TestConflicts(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	pack(t, a, "same", provider("same.run", "x", nil))
	pack(t, b, "same", provider("same.run", "x", nil))
	pack(t, a, "other", provider("other.run", "y", nil))
	pack(t, b, "other", provider("other.run", "z", nil))
	c := catalog(t, a, b)
	if len(c.Packages) != 1 || len(c.Packages[0].Also) != 1 {
		t.Errorf("packages %v", c.Packages)
	}
	if d := cmp.Diff([]string{Conflict}, codes(c.Problems)); d != "" {
		t.Error(d)
	}
	if m := c.Problems[0].Message; !strings.Contains(m, a) || !strings.Contains(m, b) {
		t.Errorf("both are not named: %s", m)
	}
	for _, backend := range []string{"y", "z"} {
		if s, err := c.Select(Ask{Backend: backend, Runtime: "other"}); err == nil || !strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), b) {
			t.Errorf("%s: one of two was chosen, or it is not said why not: %v, %v", backend, s, err)
		}
	}

	d := t.TempDir()
	pack(t, d, "one", provider("twice.run", "one", nil))
	pack(t, d, "two", provider("twice.run", "two", nil), provider("two.other", "two", nil))
	c = catalog(t, d)
	if diff := cmp.Diff([]string{IDConflict, IDConflict}, codes(c.Problems)); diff != "" {
		t.Error(diff)
	}
	if s, err := c.Select(Ask{Backend: "two"}); err != nil || s.Provider.ID != "two.other" {
		t.Errorf("%v %v", s, err)
	}
	if _, err := c.Select(Ask{Backend: "one"}); err == nil || !strings.Contains(err.Error(), "twice.run") {
		t.Errorf("a carrier of an id that is there twice was chosen, or it is not said why not: %v", err)
	}
}

// Case 9: the order of places does not matter, and content does.
func TestCatalogVersion(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	pack(t, a, "one", provider("one.run", "x", nil))
	second := pack(t, b, "two", provider("two.run", "y", nil))
	version := func(dirs ...string) string {
		v, err := catalog(t, dirs...).Version()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	x := version(a, b)
	if y := version(b, a); x != y {
		t.Errorf("%s and %s", x, y)
	}
	write(t, "exit 1\n", second, "run.sh")
	if y := version(a, b); x == y {
		t.Error("another content, the same version")
	}
}

// Case 15.
func TestAliases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	packWith(t, dir, "wp-codebox", object{"id": "wp-codebox", "aliases": []string{"box"}, "agent_task_executors": []object{provider("wp-codebox.run", "codebox-runtime", nil)}})
	c := catalog(t, dir)
	p, alias, err := c.Get("codebox")
	if err != nil || p.ID != "wp-codebox" {
		t.Fatal(p, err)
	}
	want := &Deprecated{"homeboy/deprecated-runtime-alias/v1", "codebox", "wp-codebox", "legacy-runtime-id-alias", "deprecated"}
	if d := cmp.Diff(want, alias); d != "" {
		t.Error(d)
	}
	if _, _, err := c.Get("box"); err == nil {
		t.Error("a package gave itself an alias")
	}
	if !slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Code == SelfAlias && f.Path == "$.aliases" }) {
		t.Errorf("it is not told: %v", p.Findings)
	}
	if _, alias, _ := c.Get("wp-codebox"); alias != nil {
		t.Error("the canonical id is called deprecated")
	}
	s, err := c.Select(Ask{Backend: "codebox-runtime", Runtime: "codebox"})
	if err != nil || s.Deprecated == nil || len(s.Warnings) != 1 {
		t.Errorf("%+v %v", s, err)
	}
}

// Cases 3, 5, 10, 13 and 14, and what only a look at the files tells.
func TestLintSeverities(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		manifest object
		severity string
		path     string
		usable   bool
	}{
		"case 3: a string command":  {object{"agent_task_executors": []object{provider("x.run", "x", nil)}}, Warning, "$.agent_task_executors[0].label", true},
		"case 13: no providers":     {object{"agent_task_executors": []object{}}, Error, "$.agent_task_executors", false},
		"no command":                {object{"agent_task_executors": []object{provider("x.run", "x", object{"command": nil})}}, Error, "$.agent_task_executors[0].command", false},
		"a command that is no line": {object{"agent_task_executors": []object{provider("x.run", "x", object{"command": "sh 'open"})}}, Error, "$.agent_task_executors[0].command", false},
		"a file that is not there":  {object{"agent_task_executors": []object{provider("x.run", "x", object{"command": "sh {{runtime_path}}/gone.sh"})}}, Error, "$.agent_task_executors[0].command", false},
		"a file that cannot run":    {object{"agent_task_executors": []object{provider("x.run", "x", object{"command": "{{runtime_path}}/run.sh"})}}, Error, "$.agent_task_executors[0].command", false},
		"case 5: an unknown scope": {
			object{"agent_task_executors": []object{provider("x.run", "x", object{"workspace_materialization": object{"cwd": "moon", "write_scope": "sea"}})}},
			Warning, "$.agent_task_executors[0].workspace_materialization.cwd", true,
		},
		"case 10: a pattern that matches all": {
			object{"agent_task_executors": []object{provider("x.run", "x", object{"immediate_failure_patterns": []object{{"error_ref_pattern": "a*"}}})}},
			Error, "$.agent_task_executors[0].immediate_failure_patterns[0].error_ref_pattern", false,
		},
		"case 14: a ref that moves": {
			object{"agent_task_executors": []object{provider("x.run", "x", nil)}, "materialization": object{"source_roots": []object{{"git_ref": "main"}}}},
			Warning, "$.materialization.source_roots[0].git_ref", true,
		},
		"a secret's value": {
			object{"agent_task_executors": []object{provider("x.run", "x", object{"secret_requirements": []object{{"name": "T", "value": "v"}}})}},
			Warning, "$.agent_task_executors[0].secret_requirements[0].value", true,
		},
		"deprecated without a replacement": {object{"agent_task_executors": []object{provider("x.run", "x", object{"status": "deprecated"})}}, Warning, "$.agent_task_executors[0].replacement", true},
		"a default of its own":             {object{"agent_task_executors": []object{provider("x.run", "x", object{"default_backend": true})}}, Warning, "$.agent_task_executors[0].default_backend", true},
		"no README":                        {object{"agent_task_executors": []object{provider("x.run", "x", nil)}}, Warning, "README.md", true},
		"files of others":                  {object{"agent_task_executors": []object{provider("x.run", "x", nil)}}, Warning, "lib/a.cjs", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.manifest["id"] = "x"
			dir := packWith(t, t.TempDir(), "x", c.manifest)
			write(t, "const a = require('../../contracts');\nconst b = require('./b.cjs')\nimport c from '../c.mjs';", dir, "lib/a.cjs")
			p, err := Lint(dir)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Severity == c.severity && f.Path == c.path && f.Message != "" }) {
				t.Errorf("no %s at %s in %v", c.severity, c.path, p.Findings)
			}
			if Usable(p.Findings) != c.usable {
				t.Errorf("usable %v: %v", !c.usable, p.Findings)
			}
			n := 0
			for _, f := range p.Findings {
				if f.Code == OutsideFile {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d imports from outside, want 1: %v", n, p.Findings)
			}
		})
	}
}

// Cases 10 and 13: what cannot be used is listed with its reason, and never chosen.
func TestWhatIsListedAndNotChosen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		executors []object
		want      string
	}{
		"case 13: no providers":               {[]object{}, "agent_task_executors"},
		"case 10: no pattern":                 {[]object{provider("x.run", "x", object{"immediate_failure_patterns": []object{{"error_ref_pattern": "("}}})}, "error_ref_pattern"},
		"case 10: a pattern that matches all": {[]object{provider("x.run", "x", object{"immediate_failure_patterns": []object{{"error_ref_pattern": "a*"}}})}, "error_ref_pattern"},
		"case 10: a pattern that is too long": {[]object{provider("x.run", "x", object{"immediate_failure_patterns": []object{{"error_ref_pattern": strings.Repeat("a", 513)}}})}, "error_ref_pattern"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			packWith(t, dir, "x", object{"id": "x", "agent_task_executors": c.executors})
			got := catalog(t, dir)
			if len(got.Packages) != 1 || got.Packages[0].ID != "x" || Usable(got.Packages[0].Findings) {
				t.Fatalf("it is not listed, or not as what it is: %v %v", got.Packages, got.Problems)
			}
			for _, ask := range []Ask{{Backend: "x"}, {Backend: "x", Selector: "x.run", Runtime: "x"}} {
				if s, err := got.Select(ask); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%+v: chosen, or it is not said why not: %v, %v", ask, s, err)
				}
			}
		})
	}
}

// Case 14: the official fixture names a branch where a commit would be better. It loads, with a warning, and is chosen.
func TestOfficialFixtureWithABranch(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/agent-runtime-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	doc := document(t, string(data))
	doc["materialization"] = object{"source_roots": []object{{"id": "r", "remote_url": "https://example.com/r.git", "git_ref": "main"}, {"id": "s", "git_ref": strings.Repeat("a1", 20)}}}
	dir := t.TempDir()
	p := packWith(t, dir, "reference", doc)
	write(t, "# Notes\n", p, "README.md")
	c := catalog(t, dir)
	if len(c.Packages) != 1 {
		t.Fatalf("%v", c.Problems)
	}
	linted, err := Lint(p)
	if err != nil || len(linted.Findings) != 1 || linted.Findings[0].Severity != Warning || linted.Findings[0].Path != "$.materialization.source_roots[0].git_ref" {
		t.Errorf("%v, %v", linted.Findings, err)
	}
	if s, err := c.Select(Ask{Backend: "reference"}); err != nil || s.Provider.ID != "reference.run" {
		t.Errorf("%v, %v", s, err)
	}
}

// Case 12: an invalid declaration is reported, and the others are used.
func TestOddDeclarationIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	packWith(t, dir, "x", object{"id": "x", "agent_task_executors": []any{"text", provider("x.run", "x", nil)}})
	c := catalog(t, dir)
	if len(c.Packages) != 1 || !slices.ContainsFunc(c.Packages[0].Findings, func(f Finding) bool {
		return f.Path == "$.agent_task_executors[0]" && f.Code == homeboy.WarnDropped
	}) {
		t.Errorf("%v %v", c.Problems, c.Packages)
	}
	if _, err := c.Select(Ask{Backend: "x"}); err != nil {
		t.Error(err)
	}
	// If it was the only one, a request for the package reports it (case 27).
	dir = t.TempDir()
	packWith(t, dir, "x", object{"id": "x", "agent_task_executors": []any{"text"}})
	if _, err := catalog(t, dir).Select(Ask{Backend: "x"}); err == nil || !strings.Contains(err.Error(), "$.agent_task_executors[0]") {
		t.Errorf("it is not told: %v", err)
	}
}

// Case 2: invocation.argv wins over command_argv, and that over command; the mark is filled in everywhere.
func TestCommandForms(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b")
	pack(t, dir, "x",
		provider("x.1", "1", object{"invocation": object{"argv": []string{"node", "{{runtime_path}}/i.js"}, "cwd": "{{runtime_path}}/sub", "env": []object{{"name": "R", "value": "{{runtime_path}}"}}, "redaction": object{"argv_indices": []int{0}}}, "command_argv": []string{"no"}}),
		provider("x.2", "2", object{"command_argv": []string{"node", "{{runtime_path}}/c.js"}}),
		provider("x.3", "3", object{"argv": []string{"node", "{{runtime_path}}/a.js"}, "command": nil}),
		provider("x.4", "4", nil))
	p := catalog(t, dir).Packages[0]
	real, err := filepath.EvalSymlinks(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"node", real + "/i.js"}, {"node", real + "/c.js"}, {"node", real + "/a.js"}, {"sh", real + "/run.sh"}}
	for i, x := range p.Manifest.AgentTaskExecutors {
		c, err := p.Command(x)
		if err != nil || !slices.Equal(c.Argv, want[i]) {
			t.Errorf("%s: %q %v", x.ID, c.Argv, err)
		}
		if i == 0 && (c.Dir != real+"/sub" || c.Env[0].Value != real || !strings.HasPrefix(c.Display, "[redacted] ")) {
			t.Errorf("%+v", c)
		}
	}
}

func FuzzLoad(f *testing.F) {
	data, err := os.ReadFile("testdata/agent-runtime-manifest.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"agent_task_executors":[{"command":["a"],"secret_env_requirements":"X","runner_readiness":[null]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := filepath.Join(t.TempDir(), "x")
		write(t, string(data), dir, "x.json")
		p, err := Lint(dir)
		if err != nil {
			return
		}
		for _, s := range (&Catalog{Packages: []*Package{p}}).Providers() {
			SecretNeeds(s.Provider, Document{})
			s.Complete(Document{})
			_ = CheckRequest(s.Provider, Document{})
		}
	})
}
