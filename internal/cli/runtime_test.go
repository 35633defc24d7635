package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/crashpoint"
)

// writePackage writes a version of a runtime package.
func writePackage(t *testing.T, dir, version string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "tiny.json"), `{"schema":"homeboy/agent-runtime-manifest/v1","id":"tiny","version":"`+version+`","agent_task_executors":[{"id":"tiny.run","backend":"tiny","command":"sh {{runtime_path}}/run.sh"}]}`)
	writeFile(t, filepath.Join(dir, "run.sh"), "echo "+version+"\n")
}

// versions lists the packages that deed sees, and that their files belong to their manifests.
func (s *site) versions() []string {
	s.t.Helper()
	var doc runtimeList
	if err := json.Unmarshal([]byte(s.ok("runtime", "list", "--json")), &doc); err != nil {
		s.t.Fatal(err)
	}
	if len(doc.Problems) > 0 {
		s.t.Errorf("problems %v", doc.Problems)
	}
	var out []string
	for _, p := range doc.Packages {
		if p.From == runtimepkg.FromDeed {
			continue // it is not what was installed
		}
		script, err := os.ReadFile(filepath.Join(p.Real, "run.sh"))
		if err != nil || strings.TrimSpace(string(script)) != "echo "+p.Version {
			s.t.Errorf("version %s has the script %q, %v", p.Version, script, err)
		}
		out = append(out, p.Version)
	}
	return out
}

// TestCrashOfRuntimeInstall kills an install and a removal at each step: deed sees the old package or the new one, whole, and
// the next command clears away what is left. Case 17.
func TestCrashOfRuntimeInstall(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.OfRuntime {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			one, two := filepath.Join(s.dir, "one"), filepath.Join(s.dir, "two")
			writePackage(t, one, "1.0.0")
			writePackage(t, two, "2.0.0")
			s.ok("runtime", "install", one)
			args, want := []string{"runtime", "install", "--replace", two}, "1.0.0"
			switch p {
			case crashpoint.RuntimeLinked:
				want = "2.0.0"
			case crashpoint.RuntimeRemoved:
				args, want = []string{"runtime", "remove", "tiny"}, ""
			}
			if o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, args...); o.signal != syscall.SIGKILL {
				t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			if got := strings.Join(s.versions(), " "); got != want {
				t.Errorf("after the crash there is %q, want %q", got, want)
			}
			s.ok("runtime", "install", "--replace", two)
			if got := strings.Join(s.versions(), " "); got != "2.0.0" {
				t.Errorf("after the next install there is %q", got)
			}
			s.ok("runtime", "remove", "tiny")
			for _, dir := range []string{".staging", ".packages"} {
				if left, err := os.ReadDir(filepath.Join(s.home, "agent-runtimes", dir)); err != nil || len(left) > 0 {
					t.Errorf("%s holds %v, %v", dir, left, err)
				}
			}
		})
	}
}

// TestRuntimeCommandsRun runs what docs/RUNTIMES.md shows.
func TestRuntimeCommandsRun(t *testing.T) {
	t.Parallel()
	out := runBlocks(t, "docs/RUNTIMES.md", 4)
	for _, want := range []string{"linked hello ", "hello.run of hello: ready", "hello.run           hello          yes", "succeeded: greeted", "verdict    accepted"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}
