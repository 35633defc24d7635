package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/base/crashpoint"
)

// The hook of the crash test does as BOUNDARY.md asks of one: a branch that has a pull request gets no other.
const publishHook = `#!/bin/sh
cat >/dev/null
if test -e "$OUT/pull-request"; then
	echo '{"number": 7, "url": "https://example.com/pull/7", "reused": true, "opened": false}'
else
	echo "$DEED_COMMIT" >"$OUT/pull-request"
	echo '{"number": 7, "url": "https://example.com/pull/7", "reused": false, "opened": true}'
fi
`

// TestCrashOfPublish kills `deed workspace publish` at each of its steps: the branch is as it was or whole, here and at the remote, a cleanup
// finds everything that it left outside of the repository, and the same command publishes, with one commit and one pull request.
func TestCrashOfPublish(t *testing.T) {
	t.Parallel()
	for i, p := range crashpoint.OfPublication {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"quiet": "exit 0"})
			s.env = append(s.env, "OUT="+s.dir)
			work, bare := filepath.Join(s.dir, "work"), filepath.Join(s.dir, "bare.git")
			git := s.hermeticGit
			git("init", "-q", "-b", "main", work)
			git("init", "-q", "--bare", bare)
			writeFile(t, filepath.Join(work, "a.txt"), "one\n")
			git("-C", work, "add", "-A")
			git("-C", work, "commit", "-q", "-m", "m")
			writeFile(t, filepath.Join(work, "a.txt"), "two\n")
			writeFile(t, filepath.Join(work, "new.txt"), "n\n")
			dirty := git("-C", work, "status", "--porcelain")

			writeFile(t, filepath.Join(s.dir, "hook.sh"), publishHook)
			config := filepath.Join(s.dir, "deed.yaml")
			text, err := os.ReadFile(config)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, config, string(text)+"publish: {pull_request: {command: [/bin/sh, "+filepath.Join(s.dir, "hook.sh")+"]}}\n")
			writeFile(t, filepath.Join(s.dir, "publish.json"), fmt.Sprintf(`{"schema": %q, "workspace": "site", "workspace_path": %q, "repo": "example/site",
				"head": "deed/fix", "remote": %q, "commit_message": "Fix", "title": "Fix", "body": "Because."}`, codebox.SchemaPublicationRequest, work, bare))
			args := []string{"workspace", "publish", "--input-file", "publish.json"}

			o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, args...)
			if o.signal != syscall.SIGKILL {
				t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			s.noProcess()
			const whole = "M\ta.txt\nA\tnew.txt"
			for repo, from := range map[string]int{work: 3, bare: 4} { // the first step after which it has the branch
				git("-C", repo, "fsck", "--strict")
				refs := git("-C", repo, "for-each-ref", "--format=%(refname)", "refs/heads/deed")
				if (refs != "") != (i >= from) {
					t.Errorf("after the crash %s has %q", repo, refs)
				}
				if refs != "" {
					if got := git("-C", repo, "diff-tree", "-r", "--no-commit-id", "--name-status", "deed/fix"); got != whole {
						t.Errorf("after the crash the branch in %s changes %q", repo, got)
					}
				}
			}
			commit := ""
			if i >= 3 {
				commit = git("-C", work, "rev-parse", "deed/fix")
			}
			s.ok("task", "add", "--type", "script", "--adapter", "quiet", "--subject", "a home") // which a cleanup needs, and a publication does not
			s.ok("cleanup")
			if left, err := os.ReadDir(s.temp()); err != nil || len(left) != 0 {
				t.Errorf("a cleanup leaves %v in the directory for temporary files, %v", left, err)
			}

			var res codebox.PublicationResult
			if err := json.Unmarshal([]byte(s.ok(args...)), &res); err != nil {
				t.Fatal(err)
			}
			if !res.Success || res.Commit == nil || res.Branch.Reused != (commit != "") || commit != "" && res.Commit.SHA != commit {
				t.Fatalf("the second result is %+v, commit %+v, want the commit %q again", res, res.Commit, commit)
			}
			if opened := p != crashpoint.PublishOpened; res.PullRequest == nil || res.Opened != opened || res.Reused == opened {
				t.Errorf("the pull request is %+v", res.PullRequest)
			}
			for _, repo := range []string{work, bare} {
				if got := git("-C", repo, "rev-parse", "deed/fix"); got != res.Commit.SHA {
					t.Errorf("%s has %s, want %s", repo, got, res.Commit.SHA)
				}
				if got := git("-C", repo, "rev-list", "--count", "deed/fix"); got != "2" {
					t.Errorf("the branch in %s has %s commits, want the base and one", repo, got)
				}
				// What nothing names goes with git's own cleaning, half an object too.
				git("-C", repo, "prune", "--expire=now")
				for _, pattern := range []string{"objects/*/tmp_*", "*.lock", "refs/heads/*.lock", "refs/heads/deed/*.lock"} {
					dir := repo
					if repo == work {
						dir = filepath.Join(repo, ".git")
					}
					if left, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(left) != 0 {
						t.Errorf("%v is left, %v", left, err)
					}
				}
				git("-C", repo, "fsck", "--strict")
			}
			if got := git("-C", work, "status", "--porcelain"); got != dirty {
				t.Errorf("the work tree is touched: %q, want %q", got, dirty)
			}
		})
	}
}
