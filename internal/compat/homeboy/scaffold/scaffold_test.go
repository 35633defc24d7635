package scaffold

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/compat/homeboy/conform"
)

// repository is the root of the module.
const repository = "../../../.."

// tools are what a package in a language needs here, and the commands that its author runs.
var tools = map[string]struct{ tool, get, try string }{
	"go":     {"go", "install Go", "go build -o bin/my-agent . && go vet ./... && go test ./..."},
	"node":   {"node", "apt-get install nodejs", "node --test"},
	"python": {"python3", "apt-get install python3", "python3 -m unittest"},
	"sh":     {"jq", "apt-get install jq", "sh test.sh"},
}

// TestPackages makes a package in each language, runs its own tests, and holds it against the contract.
func TestPackages(t *testing.T) {
	t.Parallel()
	if len(tools) != len(languages) || len(Languages()) != len(languages) {
		t.Fatal("a language is not tried")
	}
	for _, lang := range Languages() {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("short: needs a toolchain")
			}
			if _, err := exec.LookPath(tools[lang].tool); err != nil {
				t.Skipf("missing tool: %s: %s", tools[lang].tool, tools[lang].get)
			}
			o := Options{Name: "my-agent", Language: lang, Dir: filepath.Join(t.TempDir(), `a dir with "quotes" and it's`)}
			if lang == "go" {
				o.Replace = repository
			}
			dir, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			if p, err := runtimepkg.Lint(dir); err != nil || len(p.Findings) > 0 {
				t.Errorf("lint: %v %v", p.Findings, err)
			}
			for _, name := range []string{"README.md", ".gitignore", "my-agent.json"} {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil || len(text) == 0 {
					t.Errorf("%s: %v", name, err)
				}
				if name == "README.md" && !strings.Contains(string(text), strings.Split(tools[lang].try, " && ")[0]) {
					t.Errorf("the notes do not say how it is tried:\n%s", text)
				}
			}
			c := exec.CommandContext(t.Context(), "sh", "-c", tools[lang].try)
			c.Dir = dir
			c.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly -buildvcs=false", "PYTHONDONTWRITEBYTECODE=1") // nothing is downloaded, and no repository above the test's directory is used
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", tools[lang].try, err, out)
			}
			r, err := conform.Run(t.Context(), dir, conform.Options{Environ: os.Environ()})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range r.Checks {
				if c.Result != deed.ConformPass && c.ID != "outcome.classification" && c.Result != deed.ConformSkip { // it is no failure
					t.Errorf("%s %s: %s\n%s", c.ID, c.Result, c.Reason, c.Evidence)
				}
			}
		})
	}
}

var mark = regexp.MustCompile(`@[A-Z]+@`)

// TestNoMarkIsLeft reads every file of every language.
func TestNoMarkIsLeft(t *testing.T) {
	t.Parallel()
	for _, lang := range Languages() {
		dir, err := New(Options{Name: "x1", Language: lang, Dir: t.TempDir(), Version: map[bool]string{true: "v1.2.3"}[lang == "go"]})
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) < 5 {
			t.Errorf("%s: %v %v", lang, files, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil || mark.Match(text) || strings.HasSuffix(f.Name(), ".txt") {
				t.Errorf("%s %s: %q %v", lang, f.Name(), mark.Find(text), err)
			}
		}
	}
}

// TestGoVersion keeps the template at the version of Go that the module asks for: another one would not build.
func TestGoVersion(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`(?m)^go .*$`)
	ours, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	text, err2 := templates.ReadFile("templates/go/go.mod.txt")
	if errors.Join(err, err2) != nil || !bytes.Equal(line.Find(ours), line.Find(text)) {
		t.Errorf("%q, and the module has %q", line.Find(text), line.Find(ours))
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	taken := t.TempDir()
	if err := os.Symlink("/nowhere", filepath.Join(taken, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(taken, "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"no name":              {Language: "sh"},
		"a path":               {Name: "a/b", Language: "sh"},
		"out":                  {Name: "..", Language: "sh"},
		"a blank":              {Name: "a b", Language: "sh"},
		"capitals":             {Name: "Agent", Language: "sh"},
		"an option":            {Name: "-rf", Language: "sh"},
		"not a letter":         {Name: "ägent", Language: "sh"},
		"a quote":              {Name: `a"b`, Language: "sh"},
		"a line":               {Name: "a\nb", Language: "sh"},
		"long":                 {Name: strings.Repeat("a", 65), Language: "sh"},
		"another meaning":      {Name: "internal", Language: "go", Version: "v1.0.0"},
		"no language":          {Name: "a"},
		"another language":     {Name: "a", Language: "cobol"},
		"a directory there":    {Name: "mine", Language: "sh"},
		"a link there":         {Name: "link", Language: "sh"},
		"Go without a version": {Name: "a", Language: "go"},
		"not a checkout":       {Name: "a", Language: "go", Replace: taken},
		"replace for sh":       {Name: "a", Language: "sh", Replace: repository},
	} {
		o.Dir = taken
		if _, err := New(o); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "(") && name != "replace for sh" {
			t.Errorf("%s: %v", name, err)
		}
	}
	var left []string
	list, err := os.ReadDir(taken)
	for _, e := range list {
		left = append(left, e.Name())
	}
	if err != nil || !slices.Equal(left, []string{"link", "mine"}) {
		t.Errorf("left behind: %v %v", left, err)
	}
	if _, err := New(Options{Name: "a", Language: "sh", Dir: filepath.Join(taken, "deep", "er")}); err != nil {
		t.Error(err)
	}
	if _, err := New(Options{Name: "a", Language: "sh", Dir: "/proc/self"}); err == nil || errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}
