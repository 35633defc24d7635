package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func put(t *testing.T, text string, parts ...string) string {
	t.Helper()
	file := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// Case 26: the project's file wins over the home's, and two that disagree give no default.
func TestDefaultBackend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	homeFile := put(t, "runtimes: {default_backend: of-home}", dir, "home", FileName)
	one := put(t, "runtimes: {default_backend: of-one}", dir, "one", FileName)
	two := put(t, "runtimes: {default_backend: of-two}", dir, "two", FileName)
	same := put(t, "runtimes: {default_backend: of-one}", dir, "same", FileName)
	none := filepath.Join(dir, "none")
	put(t, "adapters: {x: 3}", dir, "broken", FileName)
	for name, c := range map[string]struct {
		in         string   // where the user stands
		work       []string // the workspaces of the request
		want, from string
		err        []string
	}{
		"the home's":               {none, nil, "of-home", homeFile, nil},
		"the project's":            {filepath.Join(dir, "one", "sub"), nil, "of-one", one, nil},
		"of the workspace":         {none, []string{filepath.Join(dir, "two")}, "of-two", two, nil},
		"both say the same":        {filepath.Join(dir, "one"), []string{filepath.Join(dir, "same")}, "of-one", one, nil},
		"the same file twice":      {filepath.Join(dir, "one"), []string{filepath.Join(dir, "one", "sub")}, "of-one", one, nil},
		"a workspace without one":  {filepath.Join(dir, "one"), []string{none}, "of-one", one, nil},
		"two that disagree":        {filepath.Join(dir, "one"), []string{filepath.Join(dir, "two")}, "", "", []string{one, `"of-one"`, two, `"of-two"`}},
		"a file that is no config": {none, []string{filepath.Join(dir, "broken")}, "", "", []string{filepath.Join(dir, "broken")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := Load(Options{Home: homeFile, Dir: c.in})
			if err != nil {
				t.Fatal(err)
			}
			got, err := cfg.DefaultBackend(c.work...)
			if got.Backend != c.want || c.from != "" && c.from != got.File && c.from != same || (err != nil) != (c.err != nil) {
				t.Errorf("%+v %v", got, err)
			}
			for _, text := range c.err {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%v lacks %q", err, text)
				}
			}
		})
	}
}

func TestRuntimesAndSecretsOfTheHome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := put(t, `
runtimes:
  dirs: [packages, /opt/packages]
  backends: {shell: {env_file: shell.env, hosts: ["api.example.com:443"], isolation: namespace}}
secrets:
  A: {env: B}
  C: {file: c.txt}
  D: {command: [./get, d], timeout_seconds: 5}
  E: {command: [pass, show, e]}
`, dir, FileName)
	cfg, err := Load(Options{Home: file})
	if err != nil {
		t.Fatal(err)
	}
	if d := cfg.Runtimes.Dirs; len(d) != 2 || d[0] != filepath.Join(dir, "packages") || d[1] != "/opt/packages" {
		t.Errorf("%v", d)
	}
	if b := cfg.Runtimes.Backends["shell"]; b.EnvFile != filepath.Join(dir, "shell.env") || b.Isolation != "namespace" || len(b.Hosts) != 1 {
		t.Errorf("%+v", b)
	}
	if s := cfg.Secrets; s["A"].Env != "B" || s["C"].File != filepath.Join(dir, "c.txt") || s["D"].Command[0] != filepath.Join(dir, "get") || s["E"].Command[0] != "pass" {
		t.Errorf("%+v", s)
	}
}

func TestRuntimesFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"secrets: {A: {}}":                                    "$.secrets.A",
		"secrets: {A: {env: B, file: c}}":                     "has 2 of env, file and command",
		"secrets: {A: {command: []}}":                         "$.secrets.A.command",
		"secrets: {A: {env: B, timeout_seconds: 3}}":          "$.secrets.A.timeout_seconds",
		"secrets: {A: {command: [x], timeout_seconds: 3000}}": "$.secrets.A.timeout_seconds",
		"secrets: {'A=B': {env: B}}":                          "$.secrets",
		"secrets: {A: secret-value}":                          "$.secrets.A",
		"runtimes: {backends: {b: {isolation: strong}}}":      "$.runtimes.backends.b.isolation",
		"runtimes: {default: x}":                              "$.runtimes.default",
	} {
		_, err := Parse("x", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret-value") {
			t.Errorf("%s: the error holds what may be a secret: %v", text, err)
		}
	}
	dir := t.TempDir()
	for text, want := range map[string]string{
		"secrets: {A: {command: [steal]}}":             "$.secrets",
		"runtimes: {dirs: [x]}":                        "$.runtimes.dirs",
		"sensors: {s: {kind: command, command: [sh]}}": "$.sensors",
		"runtimes: {backends: {b: {isolation: none}}}": "$.runtimes.backends",
	} {
		put(t, text, dir, FileName)
		if _, err := Load(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a project's file may not set this") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
