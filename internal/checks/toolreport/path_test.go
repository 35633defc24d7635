package toolreport_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/deedrun/deed/internal/checks/toolreport"
)

func TestPathsBelow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"main.go", "src/a.js", "pkg/src/a.js"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "secret.js")
	if err := os.WriteFile(outside, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.js")); err != nil {
		t.Fatal(err)
	}
	p := toolreport.OpenPaths(dir)
	defer p.Close()
	for told, want := range map[string]string{
		"":                                     "",
		filepath.Join(dir, "src/a.js"):         "src/a.js",
		filepath.Join(dir, "gone.js"):          "gone.js",
		"./src/../src/a.js":                    "src/a.js",
		"file://" + dir + "/main.go":           "main.go",
		"/room/work/src/a.js":                  "src/a.js", // a sandbox calls the component so
		"/room/work/pkg/src/a.js":              "pkg/src/a.js",
		`C:\work\src\a.js`:                     "src/a.js",
		"other/deep/main.go":                   "main.go",
		"../../etc/passwd":                     "../../etc/passwd",
		"/etc/passwd":                          "/etc/passwd",
		"link.js":                              "link.js",
		dir + "x/src/nothing.js":               dir + "x/src/nothing.js",
		strings.Repeat("a/", 5000) + "main.go": strings.Repeat("a/", 5000) + "main.go",
	} {
		for range 2 { // the second answer is remembered
			if got := p.Below(told); got != want {
				t.Errorf("Below(%.60q) = %.60q, want %.60q", told, got, want)
			}
		}
	}
	for _, name := range []string{"link.js", "../x", "/etc/passwd", "gone", "src"} {
		if data := p.ReadFile(name, 100); data != nil {
			t.Errorf("ReadFile(%q) = %q", name, data)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data := p.ReadFile("fifo", 100); data != nil {
		t.Errorf("a FIFO is read: %q", data)
	}
	if data := p.ReadFile("main.go", 1); string(data) != "x" {
		t.Errorf("ReadFile = %q", data)
	}
	if data := p.ReadFile("main.go", 0); data != nil {
		t.Errorf("more than asked for: %q", data)
	}
}

func TestPathsWithoutComponent(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "gone")} {
		p := toolreport.OpenPaths(dir)
		if got := p.Below("./a/../b.go"); got != "b.go" {
			t.Errorf("got %q", got)
		}
		if got := p.Below("/a/b.go"); got != "/a/b.go" {
			t.Errorf("got %q", got)
		}
		p.Close()
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*toolreport.MaxLine)
	var got []string
	for line, err := range toolreport.Lines(strings.NewReader("a\r\n\n" + long + "\nb")) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(line))
	}
	if len(got) != 4 || got[0] != "a" || got[1] != "" || got[2] != long[:toolreport.MaxLine] || got[3] != "b" {
		t.Errorf("%d lines: %.20q", len(got), got)
	}
	broken := errors.New("broken")
	var last error
	for _, err := range toolreport.Lines(io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken))) {
		last = err
	}
	if !errors.Is(last, broken) {
		t.Errorf("got %v", last)
	}
	for range toolreport.Lines(strings.NewReader("a\nb\n")) {
		break // which must not go on
	}
}
