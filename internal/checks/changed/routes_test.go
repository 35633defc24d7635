package changed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func modified(paths ...string) []File {
	var files []File
	for _, p := range paths {
		files = append(files, File{Path: p, Status: Modified})
	}
	return files
}

// Edge case 32.
func TestRoutes(t *testing.T) {
	t.Parallel()
	php := Route{Extensions: []string{"php"}, Step: "phpcs,phpstan"}
	js := Route{Extensions: []string{".js", "TS"}, Globs: []string{"assets/**/*.{css,scss}", "*.config.json"}, Step: "eslint"}
	for _, c := range []struct {
		name      string
		files     []File
		routes    []Route
		want      []Run
		unmatched []string
	}{
		{"nothing changed", nil, []Route{php}, nil, nil},
		{"one file, no routes", modified("a.php"), nil, []Run{{Files: []string{"a.php"}, Glob: "/c/a.php"}}, nil},
		{"two files, no routes", modified("a.md", "b.go"), nil, []Run{{Files: []string{"a.md", "b.go"}, Glob: "{/c/a.md,/c/b.go}"}}, nil},
		{
			"php and js apart, md nowhere",
			modified("README.md", "a.php", "b.php", "x/c.ts"),
			[]Route{php, js},
			[]Run{{"phpcs,phpstan", []string{"a.php", "b.php"}, "{/c/a.php,/c/b.php}"}, {"eslint", []string{"x/c.ts"}, "/c/x/c.ts"}},
			[]string{"README.md"},
		},
		{"globs", modified("assets/a/b.scss", "x/y.config.json", "b.scss"), []Route{js}, []Run{{"eslint", []string{"assets/a/b.scss", "x/y.config.json"}, "{/c/assets/a/b.scss,/c/x/y.config.json}"}}, []string{"b.scss"}},
		{"only unmatched", modified("a.md"), []Route{php, js}, nil, []string{"a.md"}},
		{"a file of two routes", modified("a.php"), []Route{php, {Globs: []string{"**"}, Step: "spell"}}, []Run{{"phpcs,phpstan", []string{"a.php"}, "/c/a.php"}, {"spell", []string{"a.php"}, "/c/a.php"}}, nil},
		{"two routes of one step", modified("a.php", "b.js"), []Route{{Extensions: []string{"js"}, Step: "s"}, {Extensions: []string{"php", "js"}, Step: "s"}}, []Run{{"s", []string{"a.php", "b.js"}, "{/c/a.php,/c/b.js}"}}, nil},
		{"deleted files are not looked at", []File{{Path: "a.php", Status: Deleted}}, []Route{php}, nil, nil},
		{"a bad glob covers nothing", modified("a.php"), []Route{{Globs: []string{"[", "a{"}, Step: "x"}}, nil, []string{"a.php"}},
	} {
		runs, unmatched := Routes(c.files, c.routes, "/c")
		if diff := cmp.Diff(c.want, runs, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.unmatched, unmatched, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Edge case 33: what a shell would read as something else is not in a glob.
func TestGlobHasPlainNamesOnly(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.php", "a{b}.php", "a}b", "a\nb", "a'b", `a"b`, "a`id`", "a$(id)", "a;id", "a*", "a?", "[a]", `a\b`, "a|b", "a&b", "~a", "a#", "a!", "ü"} {
		if got := Glob("/c", []string{name}); got != "" {
			t.Errorf("%q: got %q", name, got)
		}
		if got := Glob("/c", []string{"ok.php", name}); got != "" {
			t.Errorf("%q: got %q", name, got)
		}
	}
	if got := Glob("/c", []string{"a,b.php"}); got != "/c/a,b.php" {
		t.Errorf("got %q", got)
	}
	for _, files := range [][]string{{"a,b.php", "c.php"}, nil, {strings.Repeat("d/", 60_000)}} {
		if got := Glob("/c", files); got != "" {
			t.Errorf("%d files: got %q", len(files), got[:20])
		}
	}
	if got := Glob("/has space", []string{"a.php"}); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestLinesTakeNoNewline(t *testing.T) {
	t.Parallel()
	if text, ok := Variable([]string{"a b", "c,d"}); !ok || text != "a b\nc,d" {
		t.Errorf("got %q, %v", text, ok)
	}
	if _, ok := Variable([]string{"a\nb"}); ok {
		t.Error("a name of two lines was told as one")
	}
	if _, ok := Variable([]string{strings.Repeat("x", 200_000)}); ok {
		t.Error("a value that no process can be given was made")
	}
}
