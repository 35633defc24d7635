package toolchain_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/isolate/toolchain"
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	os.Exit(m.Run())
}

// inside runs a script on a project in a namespace without network, with the profiles that the project calls for, and
// returns what it printed. environ is the operator's, and home is that of the process inside.
func inside(t *testing.T, environ []string, home string, project map[string]string, script string) (string, sandbox.Exit) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs a sandbox")
	}
	for _, a := range sandbox.Probe(t.Context()) {
		if a.Kind == sandbox.Namespace && !a.Available {
			t.Skipf("missing tool: bwrap: apt-get install bubblewrap (%s)", a.Reason)
		}
	}
	tree := t.TempDir()
	for name, content := range project {
		write(t, content, tree, name)
	}
	cache := filepath.Join("/home/agent", ".cache")
	p := toolchain.Find(environ, toolchain.Detect(tree), cache)
	spec := sandbox.Spec{Kind: sandbox.Namespace, Mounts: []sandbox.Mount{
		{Source: tree, Target: "/workspace", Writable: true}, {Source: home, Target: "/home/agent", Writable: true},
	}}
	for _, m := range p.Mounts {
		spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: m.Source, Target: m.Inside()})
	}
	box, err := sandbox.New(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sup.Close() }()
	env := []string{"HOME=/home/agent", "TMPDIR=/tmp", "LANG=C.UTF-8"}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		env = append(env, name+"="+p.Env[name])
	}
	var out bytes.Buffer
	exit, err := box.Run(t.Context(), sup, proc.Spec{
		Argv: []string{"/bin/sh", "-euc", "exec 2>&1\n" + script}, Dir: "/workspace", Env: env, Stdout: &out, Timeout: 5 * time.Minute, Grace: time.Second,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Logf("%v, %s in %s", p.Names, strings.Join(strings.Fields(script), " "), exit.Duration.Round(10*time.Millisecond))
	return out.String(), exit
}

func write(t *testing.T, content string, elem ...string) {
	t.Helper()
	p := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// goProject has a dependency that is in the module cache because deed itself needs it.
func goProject(t *testing.T) map[string]string {
	t.Helper()
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("../../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	need := regexp.MustCompile(`github.com/google/go-cmp v\S+`).FindString(string(mod))
	return map[string]string{
		"go.mod": "module example.com/p\n\ngo 1.24\n\nrequire " + need + "\n", "go.sum": string(sum),
		"p_test.go": "package p\n\nimport (\n\t\"testing\"\n\n\t\"github.com/google/go-cmp/cmp\"\n)\n\n" +
			"func TestP(t *testing.T) {\n\tif d := cmp.Diff([]int{1}, []int{1}); d != \"\" {\n\t\tt.Error(d)\n\t}\n}\n\n" +
			"func TestBroken(t *testing.T) { t.Skip() }\n",
	}
}

// Real projects are built and tested, and a test that is broken is seen to be.
func TestProjectsBuildWithoutNetwork(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool, remedy   string
		project        map[string]string
		script, want   string
		broken, breaks string // a text of the project, and what makes its tests fail
	}{
		"go": {
			tool: "go", remedy: "see go.dev/dl", project: goProject(t),
			script: "go test -v ./...\n! touch \"$GOMODCACHE/x\" 2>/dev/null", want: "--- PASS: TestP",
			broken: "t.Skip()", breaks: `t.Error("broken")`,
		},
		"node": {
			tool: "npm", remedy: "apt-get install npm",
			project: map[string]string{
				"package.json": `{"name": "p", "version": "1.0.0", "scripts": {"test": "node --test"}}`,
				"package-lock.json": `{"name": "p", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
					"packages": {"": {"name": "p", "version": "1.0.0"}}}`,
				"p.test.js": "const test = require('node:test'); const assert = require('node:assert');\ntest('sum', () => assert.equal(1 + 1, 2));\n",
			},
			script: "npm ci\nnpm test", want: "pass 1", broken: "1 + 1", breaks: "1 + 2",
		},
		"python": {
			tool: "python3", remedy: "apt-get install python3",
			project: map[string]string{
				"pyproject.toml": "[project]\nname = \"p\"\nversion = \"1\"\n",
				"test_p.py":      "import json, sqlite3, ssl, unittest\n\nclass P(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(json.loads('2'), 1 + 1)\n",
			},
			script: "python3 -m unittest -v", want: "Ran 1 test", broken: "1 + 1", breaks: "1 + 2",
		},
		"rust": {
			tool: "cargo", remedy: "apt-get install cargo rustc, or see rustup.rs",
			project: map[string]string{
				"Cargo.toml":   "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nq = { path = \"q\" }\n",
				"src/lib.rs":   "#[test]\nfn sum() { assert_eq!(q::two(), 1 + 1); }\n",
				"q/Cargo.toml": "[package]\nname = \"q\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
				"q/src/lib.rs": "pub fn two() -> i32 { 2 }\n",
			},
			script: "cargo test --offline", want: "test sum ... ok", broken: "1 + 1", breaks: "1 + 2",
		},
		"php": {
			tool: "php", remedy: "apt-get install php-cli",
			project: map[string]string{
				"composer.json": `{"name": "p/p"}`,
				"p.php":         "<?php\nfunction two() { return 1 + 1; }\n",
				"t.php":         "<?php\nini_set('assert.exception', '1');\nrequire 'p.php';\nif (two() !== 2) { exit(1); }\necho json_encode(['sum' => two()]), \"\\n\";\n",
			},
			script: "php -l p.php\nphp t.php", want: `{"sum":2}`, broken: "1 + 1", breaks: "1 + 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(tc.tool); err != nil {
				t.Skipf("missing tool: %s: %s", tc.tool, tc.remedy)
			}
			if err := exec.Command(tc.tool, "--version").Run(); tc.tool == "cargo" && err != nil { // rustup's stand-in, without a toolchain
				t.Skip("missing tool: cargo: rustup default stable")
			}
			home := t.TempDir() // what the first run has compiled need not be compiled again
			out, exit := inside(t, os.Environ(), home, tc.project, tc.script)
			if exit.Code != 0 || !strings.Contains(out, tc.want) {
				t.Fatalf("exit %d: %s", exit.Code, out)
			}
			broken := maps.Clone(tc.project)
			for file, content := range broken {
				broken[file] = strings.ReplaceAll(content, tc.broken, tc.breaks)
			}
			if out, exit := inside(t, os.Environ(), home, broken, tc.script); exit.Code == 0 {
				t.Errorf("a broken project passes: %s", out)
			}
		})
	}
}

// Nothing that opens a door elsewhere is seen, wherever the operator keeps it.
func TestCredentialsStayOutside(t *testing.T) {
	t.Parallel()
	const secret = "the-token-of-the-operator"
	home := t.TempDir()
	for _, file := range []string{
		".cargo/credentials", ".cargo/credentials.toml", ".cargo/config.toml", ".npmrc", ".yarnrc.yml", ".netrc", ".git-credentials", ".gitconfig",
		".config/pip/pip.conf", ".pip/pip.conf", ".pypirc", ".config/go/env", ".composer/auth.json", ".config/composer/auth.json",
		".docker/config.json", ".ssh/id_ed25519", ".aws/credentials", ".local/share/keyrings/login.keyring", ".local/etc/npmrc", ".local/etc/pip.conf",
		".pyenv/versions/3.1/pip.conf", ".pyenv/versions/3.1/envs/e/pip.conf", "notes.txt", "src/notes.txt",
	} {
		write(t, secret, home, file)
	}
	for _, program := range []string{
		".cargo/bin/cargo", ".rustup/toolchains/x/bin/cargo", ".local/bin/node", ".pyenv/shims/python3", ".pyenv/versions/3.1/bin/python3", "bin/go", "bin/php",
	} {
		write(t, "#!/bin/sh\necho "+filepath.Base(program)+"\n", home, program)
	}
	write(t, "downloaded", home, "go/pkg/mod/x")
	write(t, "downloaded", home, ".cargo/registry/x")
	environ := []string{"HOME=" + home, "CARGO_REGISTRY_TOKEN=" + secret, "NPM_TOKEN=" + secret, "NODE_AUTH_TOKEN=" + secret, "PIP_INDEX_URL=" + secret}
	var path []string
	for _, dir := range []string{"bin", ".local/bin", ".cargo/bin", ".pyenv/shims"} {
		path = append(path, filepath.Join(home, dir))
	}
	environ = append(environ, "PATH="+strings.Join(append(path, "/usr/bin", "/bin"), ":"))
	project := map[string]string{"go.mod": "", "package.json": "", "pyproject.toml": "", "Cargo.toml": "", "composer.json": ""}

	out, exit := inside(t, environ, t.TempDir(), project, `
		env | grep `+secret+` && exit 1
		grep -rsl `+secret+` / --exclude-dir=proc --exclude-dir=usr --exclude-dir=dev && exit 1
		cat "$GOMODCACHE/x" "$CARGO_HOME/registry/x"
		go; node; python3; cargo; php`)
	if want := "downloadeddownloadedgo\nnode\npython3\ncargo\nphp\n"; exit.Code != 0 || out != want {
		t.Errorf("exit %d: %s", exit.Code, out)
	}
}
