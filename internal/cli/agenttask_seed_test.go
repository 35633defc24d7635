package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a git seed leaves out is reported, and what it excludes is not in the history that the agent has.
func TestAgentTaskRunTellsWhatASeedLacks(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": `
		exec >saw 2>&1
		echo $(git log --oneline | wc -l) commits
		git show HEAD:secrets/key
		git log --all -p --format= -- secrets
		git cat-file --batch-all-objects --batch --buffer | grep -a -c confidential
		ls -A lib
		echo fixed >a.txt; echo '{"status": "completed"}' >"$DEED_RESULT_FILE"`})
	repo := filepath.Join(s.dir, "repo")
	git := func(dir string, args ...string) {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	for _, dir := range []string{repo, filepath.Join(s.dir, "lib")} {
		if err := os.MkdirAll(filepath.Join(dir, "secrets"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"a.txt": "broken\n", "secrets/key": "confidential\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		git(dir, "init", "-q", "-b", "main")
		git(dir, "add", "-A")
		git(dir, "commit", "-q", "-m", "first")
	}
	git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(s.dir, "lib"), "lib")
	git(repo, "commit", "-q", "-m", "second")

	notes := []string{
		"deed.seed.history $.workspaces[0].seed .git in /workspace/repo: the history has paths that are excluded, and is left behind: the repository begins with one commit of its own",
		"deed.seed.submodule $.workspaces[0].seed lib in /workspace/repo: a submodule is left empty: a commit has its name, and none of its files",
	}
	none := "deed.seed.history $.workspaces[0].seed .git in /workspace/repo: the history is left behind, as was asked: the repository has one commit of its own"
	for _, tc := range []struct {
		exclude []string
		history string
		notes   []string
		says    string // the first line of the agent
	}{
		{[]string{"secrets"}, "full", notes, "1 commits"},
		{[]string{"not-there"}, "full", notes[1:], "2 commits"},
		{[]string{"secrets"}, "none", []string{none, notes[1]}, "1 commits"},
	} {
		o := s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{
			"workspaces": []any{map[string]any{"seed": map[string]any{"type": "git", "source": repo, "ref": "main", "history": tc.history, "excludePaths": tc.exclude}}},
		}))
		env := envelope(t, o.stdout)
		var said []string
		for _, d := range env.Diagnostics {
			said = append(said, d.Class+" "+d.Path+" "+d.Message)
		}
		slices.Sort(said)
		if diff := cmp.Diff(tc.notes, said); diff != "" || o.code != ExitDone {
			t.Errorf("exclude %q: exit %d, diagnostics (-want +got):\n%s%s", tc.exclude, o.code, diff, o.stderr)
		}
		patch, err := os.ReadFile(filepath.Join(env.Artifacts, "files", "patch.diff"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(patch), "\n+"+tc.says+"\n") || strings.Contains(string(patch), "confidential") != (tc.says == "2 commits") {
			t.Errorf("exclude %q: the agent saw\n%s", tc.exclude, patch)
		}
	}
}
