package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/attempt"
)

// rerun repeats the checks of a bundle.
func (s checkedProject) rerun(t *testing.T, bundle string, more ...string) (attempt.Repeated, outcome) {
	t.Helper()
	o := s.deed(nil, append([]string{"verify", "--json", "--rerun", bundle}, more...)...)
	var r attempt.Repeated
	if o.code <= 1 {
		if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
			t.Fatalf("%v\n%s\n%s", err, o.stdout, o.stderr)
		}
	}
	return r, o
}

func TestChecksAreRepeatedFromTheBundle(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "flag")
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := checkedSite(t, goProject+"-- flag_test.go --\npackage calc\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestFlag(t *testing.T) {\n\tif _, err := os.Stat(\""+flag+"\"); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n")
	good, _ := s.run(t, "mend it", goFix, "--type", "checked")
	bad, _ := s.run(t, "skip it", `sed -i 's/func TestSub(t .testing.T) {/&\n\tt.Skip("later")/' calc_test.go`+"\n"+goFix, "--type", "checked")
	if !good.Verdict.Accepted || bad.Verdict.Accepted {
		t.Fatalf("%+v\n%+v", good.Verdict, bad.Verdict)
	}
	for name, bundle := range map[string]string{"accepted": good.Bundle, "refused": bad.Bundle} {
		if r, o := s.rerun(t, bundle); o.code != 0 || !r.Same || len(r.Checks) != 1 || r.Verdict.Accepted != (name == "accepted") {
			t.Errorf("%s: exit code %d, %+v\n%s", name, o.code, r, o.stderr)
		}
	}

	// Another person with the source and the key.
	key := filepath.Join(s.dir, "key.pem")
	if err := os.WriteFile(key, []byte(s.ok("key", "show")), 0o600); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(s.dir, "copy")
	if out, err := exec.Command("cp", "-r", s.src, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	stranger := *s.site
	stranger.home = filepath.Join(s.dir, "stranger")
	other := checkedProject{site: &stranger, src: copied}
	if _, o := other.rerun(t, good.Bundle); o.code != ExitUsage || !strings.Contains(o.stderr+o.stdout, "--source") {
		t.Errorf("without a source: exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	if _, o := other.rerun(t, good.Bundle, "--source", copied, "--isolation", "process"); o.code != ExitUsage || !strings.Contains(o.stderr+o.stdout, "no trusted key") {
		t.Errorf("with a key that nobody trusts: exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	other.ok("key", "trust", key)
	if r, o := other.rerun(t, good.Bundle, "--source", copied); o.code != 0 || !r.Same {
		t.Errorf("from a copy: exit code %d, %+v\n%s", o.code, r, o.stderr)
	}

	// A different outcome is reported by the names of tests.
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	r, o := s.rerun(t, good.Bundle)
	if text, _ := json.Marshal(r); o.code != ExitNotDone || r.Same || !strings.Contains(string(text), "TestFlag is still failing now, and was not") {
		t.Errorf("exit code %d\n%s", o.code, text)
	}

	// Another base is none.
	if err := os.WriteFile(filepath.Join(s.src, "calc.go"), []byte("package calc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, o := s.rerun(t, good.Bundle); o.code != ExitUsage || !strings.Contains(o.stdout+o.stderr, "cannot be rebuilt") {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	if left, err := filepath.Glob(filepath.Join(s.home, "tmp", "re*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A source that has moved on is taken at the commit that the bundle names.
func TestRerunFromACommit(t *testing.T) {
	t.Parallel()
	s := checkedSite(t, goProject)
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", s.src, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "base")
	good, _ := s.run(t, "mend it", goFix, "--type", "checked")
	if err := os.WriteFile(filepath.Join(s.src, "later.go"), []byte("package calc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("add", "-A")
	git("commit", "-qm", "later")
	if r, o := s.rerun(t, good.Bundle); o.code != 0 || !r.Same {
		t.Errorf("exit code %d, %+v\n%s", o.code, r, o.stderr)
	}
}

// A bundle that was made to harm whoever reruns it must not reach anything outside of the sandbox.
func TestRerunRefusesPlacesOfABundle(t *testing.T) {
	t.Parallel()
	check := deed.Check{Capability: "test"}
	for name, c := range map[string]struct {
		spec deed.TaskSpec
		want string // empty: it is taken
	}{
		"plain":          {deed.TaskSpec{Checks: []deed.Check{check}, Workspace: &deed.Workspace{Ref: "main"}}, ""},
		"a socket":       {deed.TaskSpec{Checks: []deed.Check{check}, Sandbox: &deed.Sandbox{Mounts: []deed.Mount{{Source: "/var/run", Target: "/var/run"}}}}, "mounts"},
		"hidden files":   {deed.TaskSpec{Checks: []deed.Check{{Shell: "true", Hidden: true, Files: "/etc"}}}, "files"},
		"without files":  {deed.TaskSpec{Checks: []deed.Check{{Shell: "true", Hidden: true, FilesDigest: strings.Repeat("0", 64)}}}, "files"},
		"no command":     {deed.TaskSpec{Checks: []deed.Check{{}}}, "check 0"},
		"out of the way": {deed.TaskSpec{Checks: []deed.Check{{Shell: "true", Dir: "../.."}}}, "check 0"},
		"a source":       {deed.TaskSpec{Checks: []deed.Check{check}, Workspace: &deed.Workspace{Source: "/etc"}}, "workspace"},
		"a bundle":       {deed.TaskSpec{Checks: []deed.Check{check}, Workspace: &deed.Workspace{Bundle: "/etc"}}, "workspace"},
		"limits":         {deed.TaskSpec{Checks: []deed.Check{check}, Sandbox: &deed.Sandbox{Limits: &deed.Limits{Processes: -7}}}, "sandbox"},
	} {
		err := foreign(c.spec)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
