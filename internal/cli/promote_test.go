package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/crashpoint"
)

// TestPromotionCommandsRun runs what docs/PROMOTION.md shows.
func TestPromotionCommandsRun(t *testing.T) {
	t.Parallel()
	out := runBlocks(t, "docs/PROMOTION.md", 2)
	for _, want := range []string{"dry_run deed/fix", "✓ grep -q fixed state.txt: succeeded", "✓ private-gate-2: succeeded", "Deed-Verdict: accepted", "nothing was changed"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

// hermeticGit runs git for a test that has a repository of its own, and returns what it printed.
func (s *site) hermeticGit(args ...string) string {
	s.t.Helper()
	c := exec.Command("git", args...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")
	out, err := c.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestCrashOfPromote kills `deed promote` at each of its steps: the branch is as it was or whole, and the same command
// finishes what is missing, the push too.
func TestCrashOfPromote(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.OfPromotion {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"work": applyAgent})
			repo, bare := filepath.Join(s.dir, "repo"), filepath.Join(s.dir, "bare.git")
			git := s.hermeticGit
			git("init", "-q", "-b", "main", repo)
			git("init", "-q", "--bare", bare)
			writeFile(t, filepath.Join(repo, "a.txt"), "one\n")
			writeFile(t, filepath.Join(repo, "gone.txt"), "bye\n")
			git("-C", repo, "add", "-A")
			git("-C", repo, "commit", "-q", "-m", "m")
			s.ok("run", "--workspace", repo, "--agent", "work", "--check", "grep -q two a.txt", "go")
			list, err := filepath.Glob(filepath.Join(s.home, "bundles", "*"))
			if err != nil || len(list) != 1 {
				t.Fatalf("bundles are %v, %v", list, err)
			}
			args := []string{"promote", list[0], "--to", repo, "--branch", "deed/fix", "--gate", "cat new/file", "--push", bare, "--json"}
			o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, args...)
			if o.signal != syscall.SIGKILL {
				t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			whole := p == crashpoint.PromoteCommitted || p == crashpoint.PromoteAudited
			branch := git("-C", repo, "branch", "--list", "deed/*")
			if (branch != "") != whole {
				t.Errorf("after the crash the branches are %q", branch)
			}
			if whole {
				if got := git("-C", repo, "diff", "--name-status", "main", "deed/fix"); got != "M\ta.txt\nD\tgone.txt\nA\tnew/file" {
					t.Errorf("after the crash the branch changes %q", got)
				}
			}
			var rep homeboy.PromotionReport
			if err := json.Unmarshal([]byte(s.ok(args...)), &rep); err != nil {
				t.Fatal(err)
			}
			if rep.Status != homeboy.PromotionApplied || rep.Reused != whole {
				t.Errorf("the report is %+v", rep)
			}
			if got := git("-C", bare, "rev-parse", "deed/fix"); got != rep.Commit {
				t.Errorf("the remote has %s", got)
			}
			if got := git("-C", repo, "log", "--format=%h", "main..deed/fix"); strings.Contains(got, "\n") {
				t.Errorf("there are several commits: %q", got)
			}
			if got := git("-C", repo, "status", "--porcelain"); got != "" {
				t.Errorf("the work tree is touched: %q", got)
			}
			git("-C", repo, "fsck", "--strict")
		})
	}
}
