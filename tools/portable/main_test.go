package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A module whose parts for one system lack something is found out there, in its tests as well, and nowhere else.
func TestCheck(t *testing.T) {
	t.Parallel()
	write := func(files map[string]string) string {
		dir := t.TempDir()
		files["go.mod"] = "module example.com/m\n\ngo 1.26\n"
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	linuxOnly := write(map[string]string{"m.go": "package m\n\nimport \"strings\"\n\nfunc F() string { return strings.ToUpper(g()) }\n", "m_linux.go": "package m\n\nfunc g() string { return \"x\" }\n"})
	onlyTests := write(map[string]string{"m.go": "package m\n", "m_linux_test.go": "package m\n\nconst here = 1\n", "m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestM(t *testing.T) { t.Log(here) }\n"})
	for _, c := range []struct {
		dir, system string
		want        string
	}{
		{linuxOnly, "linux", ""},
		{linuxOnly, "darwin", "darwin: m.go:5:42: undefined: g\n"},
		{onlyTests, "linux", ""},
		{onlyTests, "darwin", "undefined: here"},
		{onlyTests, "nowhere", "unsupported GOOS"},
		{t.TempDir(), "linux", "linux: "},
	} {
		var out bytes.Buffer
		code := run(c.dir, []string{c.system}, &out)
		if (code == 0) != (c.want == "") || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit %d\n%s", c.system, code, out.String())
		}
	}
	if code := run(".", nil, &bytes.Buffer{}); code != 2 {
		t.Errorf("without a system: exit %d", code)
	}
}
