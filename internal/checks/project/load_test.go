package project

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/settings"
)

// write puts files into a new directory and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
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

func TestSlug(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/srv/My_Plugin":     "my-plugin",
		"/srv/a b\tc":        "a-b-c",
		"/srv/-__x--y..z-":   "x-yz",
		"/srv/Größe 2":       "gre-2",
		"/srv/日本":            "component",
		"/":                  "component",
		"/srv/data.machine!": "datamachine",
	} {
		if got := Slug(in); got != want {
			t.Errorf("Slug(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLoadWithoutFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "My_Thing")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := Load(dir)
	if err != nil || c.ID != "my-thing" || c.Path != dir || c.Raw != nil || len(c.Extensions)+len(c.Files)+len(c.Notes) != 0 {
		t.Errorf("Load = %+v, %v", c, err)
	}
	for _, bad := range []string{filepath.Join(dir, "gone"), filepath.Join(write(t, map[string]string{"f": ""}), "f")} {
		if _, err := Load(bad); err == nil || !strings.Contains(err.Error(), "--path") {
			t.Errorf("Load(%s): %v", bad, err)
		}
	}
}

func TestLoadHomeboy(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{FileName: "\ufeff" + `{
  "id": "data-machine",
  "extensions": {"wordpress": {"version": "^1.2", "settings": {"b": [1, 2.50]}, "flat": true, "b": "under"}, "rust": null},
  "capability_extensions": {"lint": "wordpress"},
  "self_checks": {"lint": ["make lint"], "test": ["old"]},
  "scripts": {"test": ["make test"]},
  "hooks": {"post:release": ["a"]},
  "post_release_commands": ["ignored: the event has its own"],
  "pre_version_bump_commands": ["make docs"],
  "build_artifact": "",
  "version_targets": [{"file": "package.json"}],
  "env": {"A": "1"},
  "scopes": {"lint": {"include": ["src/**"]}},
  "audit": {"known_symbols": ["x"]},
  "audit_rules": null,
  "baselines": {"lint": {"item_count": 1}, "test": null},
  "remote_path": "/srv", "unknown": {"kept": 1.50}
}`})
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(c.Raw) || !strings.Contains(string(c.Raw), `"unknown": {"kept": 1.50}`) {
		t.Errorf("Raw = %s", c.Raw)
	}
	if _, ok := c.Baseline("lint"); !ok {
		t.Error("no baseline of lint")
	}
	if b, ok := c.Baseline("test"); ok {
		t.Errorf("a baseline of test: %s", b)
	}
	c.Raw, c.baselines = nil, nil
	want := Component{
		ID: "data-machine", Path: dir, Origin: dir, Files: []string{filepath.Join(dir, FileName)},
		Extensions: map[string]Link{
			"wordpress": {
				Version: "^1.2", Settings: map[string]json.RawMessage{"b": json.RawMessage("[1, 2.50]")},
				Flat: map[string]json.RawMessage{"flat": json.RawMessage("true"), "b": json.RawMessage(`"under"`)},
			},
			"rust": {},
		},
		CapabilityExtensions: map[string]string{"lint": "wordpress"},
		Scripts:              map[string][]string{"lint": {"make lint"}, "test": {"make test"}},
		Hooks:                map[string][]string{"post:release": {"a"}, "pre:version:bump": {"make docs"}},
		VersionTargets:       []settings.VersionTarget{{File: "package.json"}},
		Env:                  map[string]string{"A": "1"},
		Scopes:               map[string]settings.CheckScope{"lint": {Include: []string{"src/**"}}},
		Audit:                json.RawMessage(`{"known_symbols": ["x"]}`),
	}
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(Component{})); diff != "" {
		t.Error(diff)
	}
	if moved := c.At("/elsewhere"); moved.Path != "/elsewhere" || moved.Origin != dir || moved.ID != c.ID || c.Path != dir {
		t.Errorf("At = %+v", moved)
	}
}

func TestDeedYamlWins(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		FileName: `{"id": "old", "extensions": {"go": {"version": "1"}, "node": {}}, "scripts": {"lint": ["a"]}, "env": {"A": "1", "B": "1"}, "build_artifact": "x"}`,
		deedFile: "checks:\n  id: new\n  extensions:\n    go: {version: ^2, settings: {deep: {n: 1}, list: [a]}}\n  scripts: {test: [make test]}\n  env: {B: two}\n  build_artifact: dist/*.zip\n  version_targets: [{file: VERSION}]\n",
	})
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := Component{
		ID: "new", Path: dir, Origin: dir, Files: []string{filepath.Join(dir, FileName), filepath.Join(dir, deedFile)},
		Extensions: map[string]Link{
			"go":   {Version: "^2", Settings: map[string]json.RawMessage{"deep": json.RawMessage(`{"n":1}`), "list": json.RawMessage(`["a"]`)}},
			"node": {},
		},
		Scripts: map[string][]string{"lint": {"a"}, "test": {"make test"}}, Env: map[string]string{"A": "1", "B": "two"},
		BuildArtifact: "dist/*.zip", VersionTargets: []settings.VersionTarget{{File: "VERSION"}},
		Notes: []string{
			"checks.id of deed.yaml is used, and id of homeboy.json is not",
			"checks.extensions.go of deed.yaml is used, and extensions.go of homeboy.json is not",
			"checks.env.B of deed.yaml is used, and env.B of homeboy.json is not",
			"checks.build_artifact of deed.yaml is used, and build_artifact of homeboy.json is not",
		},
	}
	c.Raw, c.baselines = nil, nil
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(Component{})); diff != "" {
		t.Error(diff)
	}
}

// Edge case 29: a malformed homeboy.json is reported with line and column, and all faults at once.
func TestLoadNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file, text string
		want       []string
	}{
		"syntax":      {FileName, "{\n  \"id\": \"x\",\n  ]\n}", []string{FileName + ":3:3:", "not JSON"}},
		"cut":         {FileName, "{\n  \"id\": \"x\"", []string{FileName + ":2:12:", "end of the text"}},
		"more":        {FileName, "{}\n{}", []string{FileName + ":2:1:", "more text"}},
		"list":        {FileName, "\n []", []string{FileName + ":2:2:", "not a JSON object"}},
		"twice":       {FileName, "{\"baselines\": {},\n \"baselines\": {}}", []string{FileName + ":2:2:", "/baselines", "twice"}},
		"twice, deep": {FileName, "{\"baselines\": {\"a\":1,\"a\":2}}", []string{FileName + ":1:22:", "/baselines/a", "twice"}},
		"no UTF-8":    {FileName, "{\"id\": \"\xff\"}", []string{FileName + ":1:9:", "UTF-8"}},
		"blank id":    {FileName, `{"id": "  "}`, []string{FileName + ":1:8: id is blank", "remove the key"}},
		"path as id":  {FileName, `{"id": "../x"}`, []string{"id", "../x", "letters"}},
		"types": {FileName, "{\n \"id\": 3,\n \"extensions\": {\"a\": \"1\"},\n \"scripts\": {\"lint\": \"make\"},\n \"hooks\": [],\n \"audit\": 1\n}", []string{
			":2:8: id is a JSON number (write a string)", ":3:22: extensions.a is a JSON string (write an object)", ":4:", "scripts.lint", "a list", ":5:", "hooks is a JSON list (write an object)", ":6:", "audit is not",
		}},
		"types of a link": {FileName, `{"extensions": {"a": {"version": 1, "settings": []}}}`, []string{":1:34: extensions.a.version is a JSON number (write a string)", ":1:49: extensions.a.settings is a JSON list (write an object)"}},
		"path as id, too": {deedFile, "checks: {id: a/b}", []string{deedFile, "checks.id", "a/b"}},
		"unknown key":     {deedFile, "checks: {extension: {}}", []string{deedFile + ":1:", "$.checks.extension", "extensions"}},
		"values": {deedFile, "checks:\n  scripts: {audit: [x], lint: ['']}\n  version_targets: [{file: ../x, pattern: '('}]\n  env: {'1A': x}\n  capability_extensions: {tset: go}", []string{
			deedFile + ":2:", "$.checks.scripts.audit", "$.checks.scripts.lint[0]", "$.checks.version_targets[0].file", "$.checks.version_targets[0].pattern", "$.checks.env", "did you mean \"test\"",
		}},
		"own baselines": {ownBaselines, `{"baselines": []}`, []string{ownBaselines + ":1:", "baselines"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(write(t, map[string]string{tc.file: tc.text}))
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error lacks %q: %v", w, err)
				}
			}
		})
	}
}

func TestLoadIsNotStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, FileName), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a fifo: %v", err)
	}
	dir = t.TempDir()
	f, err := os.OpenFile(filepath.Join(dir, FileName), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(maxFile + 1); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("a giant: %v", err)
	}
}
