package toolchain

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deedrun/deed/contract/deed"
)

func touch(t *testing.T, mode os.FileMode, elem ...string) {
	t.Helper()
	p := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := Detect(dir); len(got) != 0 {
		t.Fatalf("an empty directory calls for %v", got)
	}
	for _, f := range []string{"go.mod", "package.json", "a.php", "Cargo.toml", "sub/setup.py"} {
		touch(t, 0o644, dir, f)
	}
	if err := os.Mkdir(filepath.Join(dir, "requirements.txt"), 0o755); err != nil { // a directory is no such file
		t.Fatal(err)
	}
	if got := Detect(dir); !slices.Equal(got, []string{"go", "node", "php", "rust"}) {
		t.Errorf("%v", got)
	}
	if got := Detect(filepath.Join(dir, "none")); got != nil {
		t.Errorf("a directory that is not there calls for %v", got)
	}
}

// A home is never shown whole, credentials are never shown, and what builds write stays below the cache.
func TestFindShowsOnlyWhatBuildsRead(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	touch(t, 0o755, home, "sdk/go/bin/go")
	touch(t, 0o644, home, "go/pkg/mod/example.com/x@v1/x.go")
	touch(t, 0o600, home, ".cargo/credentials.toml")
	touch(t, 0o644, home, ".cargo/registry/index/x")
	touch(t, 0o755, home, ".cargo/bin/cargo")
	touch(t, 0o755, home, ".rustup/toolchains/x/bin/cargo")
	environ := []string{"HOME=" + home, "PATH=/usr/bin:" + home + "/sdk/go/bin:relative:/usr/bin", "GOFLAGS=-trimpath", "SECRET=x"}

	p := Find(environ, []string{"rust", "go", "go"}, "/c")
	if !slices.Equal(p.Names, []string{"go", "rust"}) {
		t.Errorf("names %v", p.Names)
	}
	want := []deed.Mount{
		{Source: home + "/sdk/go/bin", Target: home + "/sdk/go/bin"},
		{Source: home + "/go/pkg/mod", Target: home + "/go/pkg/mod"},
		{Source: home + "/.cargo/registry", Target: "/c/cargo/registry"},
		{Source: home + "/.cargo/bin", Target: home + "/.cargo/bin"},
		{Source: home + "/.rustup", Target: home + "/.rustup"},
	}
	if !slices.Equal(p.Mounts, want) {
		t.Errorf("mounts %v", p.Mounts)
	}
	for name, value := range map[string]string{
		"PATH": home + "/.cargo/bin:" + home + "/sdk/go/bin:/usr/bin", "GOMODCACHE": home + "/go/pkg/mod", "GOCACHE": "/c/go-build",
		"GOFLAGS": "-trimpath", "GOPROXY": "off", "CARGO_HOME": "/c/cargo", "RUSTUP_HOME": home + "/.rustup", "SECRET": "", "HOME": "",
	} {
		if p.Env[name] != value {
			t.Errorf("%s is %q and not %q", name, p.Env[name], value)
		}
	}
	for _, m := range p.Mounts {
		for _, hidden := range []string{home, home + "/.cargo"} {
			if m.Source == hidden {
				t.Errorf("%s is shown", hidden)
			}
		}
	}
}

func TestFindWithoutAnything(t *testing.T) {
	t.Parallel()
	p := Find(nil, []string{"go", "node", "php", "python", "rust", "cobol"}, "/c")
	p.Mounts = slices.DeleteFunc(p.Mounts, func(m deed.Mount) bool { return m.Source == phpConfig })
	if len(p.Mounts) != 0 || p.Env["PATH"] != "/usr/local/bin:/usr/bin:/bin" || len(p.Names) != 5 {
		t.Errorf("%+v", p)
	}
}

// A toolchain that is spread over a home shows what belongs to it, and not its neighbours.
func TestFindInAHome(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files []string
		path  string
		want  []string
	}{
		"node in .local": {
			[]string{".local/bin/node", ".local/lib/node_modules/npm/x", ".local/share/keyrings/login", ".local/etc/npmrc"},
			".local/bin",
			[]string{".local/bin", ".local/lib/node_modules"},
		},
		"node in bin": {[]string{"bin/node", "lib/node_modules/x/y", "src/x"}, "bin", []string{"bin"}},
		"a pyenv's shim": {
			[]string{".pyenv/shims/python3", ".pyenv/version", ".pyenv/versions/3.1/bin/python3", ".pyenv/versions/3.1/pip.conf"},
			".pyenv/shims",
			[]string{".pyenv/shims", ".pyenv/version", ".pyenv/versions/3.1/bin"},
		},
		"python of its own": {
			[]string{"py/bin/python3", "py/lib/x", "py/pip.conf"}, "py/bin", []string{"py/bin", "py/lib"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			for _, f := range tc.files {
				touch(t, 0o755, home, f)
			}
			link := filepath.Join(t.TempDir(), "home") // many a home is behind a link
			if err := os.Symlink(home, link); err != nil {
				t.Fatal(err)
			}
			p := Find([]string{"HOME=" + link, "PATH=" + filepath.Join(home, tc.path)}, []string{"node", "python"}, "/c")
			var got []string
			for _, m := range p.Mounts {
				rel, err := filepath.Rel(home, m.Source)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, rel)
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("shown are %v, and not %v", got, tc.want)
			}
		})
	}
}
