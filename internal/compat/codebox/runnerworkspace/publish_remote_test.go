package runnerworkspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/base/proc"
)

// toRemote is a changed workspace, a bare repository next to it, and a publication from one to the other.
func toRemote(t *testing.T) (dir, remote string, req codebox.PublicationRequest) {
	t.Helper()
	dir, remote = repository(t), filepath.Join(t.TempDir(), "remote.git")
	git(t, dir, "init", "-q", "--bare", remote)
	write(t, dir, "a.txt", "two\n")
	req = publication(dir)
	req.Head, req.Remote = "deed/x", remote
	return dir, remote, req
}

func tip(t *testing.T, dir, branch string) string {
	t.Helper()
	return git(t, dir, "for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
}

// A publication that the remote will not have leaves the workspace's repository as it was.
func TestPublishLeavesNoBranchBehind(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		setup func(t *testing.T, dir, remote string, req *codebox.PublicationRequest)
		says  string
	}{
		"no repository": {func(t *testing.T, _, _ string, req *codebox.PublicationRequest) { req.Remote = t.TempDir() }, "nothing is written: push to"},
		"a branch that is taken": {func(t *testing.T, dir, remote string, _ *codebox.PublicationRequest) {
			git(t, dir, "checkout", "-q", "-b", "theirs")
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "theirs")
			git(t, dir, "push", "-q", remote, "theirs:deed/x")
			git(t, dir, "checkout", "-q", "main")
		}, "choose another branch"},
		"a branch that the remote has checked out": {func(t *testing.T, dir, _ string, req *codebox.PublicationRequest) {
			req.Remote = filepath.Join(t.TempDir(), "clone")
			git(t, dir, "clone", "-q", dir, req.Remote)
			git(t, req.Remote, "checkout", "-q", "-b", "deed/x")
		}, "branch is currently checked out"},
	} {
		for _, earlier := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, published before: %v", name, earlier), func(t *testing.T) {
				t.Parallel()
				dir, remote, req := toRemote(t)
				before := ""
				if earlier {
					own := req
					own.Remote = ""
					if res := runner().Publish(t.Context(), own); res.Commit == nil {
						t.Fatalf("%+v, %+v", res, res.Error)
					}
					before = tip(t, dir, req.Head)
					write(t, dir, "a.txt", "three\n")
				}
				tc.setup(t, dir, remote, &req)
				res := runner().Publish(t.Context(), req)
				check(t, codebox.SchemaPublicationResult, res)
				if res.Status != codebox.WorkspaceFailed || !strings.Contains(res.Error.Message, tc.says) || res.Commit != nil {
					t.Errorf("%+v, %+v", res, res.Error)
				}
				if got := tip(t, dir, req.Head); got != before {
					t.Errorf("the branch is at %q, and was at %q", got, before)
				}
			})
		}
	}
}

// A remote on this machine that is not there is a fault of the request.
func TestPublishToNoRemote(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for remote, says := range map[string]string{
		"/nowhere/at/all.git":        `$.remote: there is no "/nowhere/at/all.git"; nothing is written (`,
		"file:///nowhere/at/all.git": `$.remote: there is no "file:///nowhere/at/all.git"; nothing is written (`,
		file:                         `is not a directory; nothing is written (`,
		file + "/x.git":              `is not a directory; nothing is written (`,
	} {
		dir, _, req := toRemote(t)
		req.Remote = remote
		res := runner().Publish(t.Context(), req)
		check(t, codebox.SchemaPublicationResult, res)
		if res.FailureType != codebox.FailureInvalidRequest || !strings.Contains(res.Error.Message, says) || res.Commit != nil || tip(t, dir, req.Head) != "" {
			t.Errorf("%s: %+v, %+v", remote, res, res.Error)
		}
	}
}

// What deed left when it was killed between the commit and the push is a branch with the content: it is pushed, not made again.
func TestPublishGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	dir, remote, req := toRemote(t)
	killed := req
	killed.Remote = ""
	if res := runner().Publish(t.Context(), killed); res.Commit == nil {
		t.Fatalf("%+v, %+v", res, res.Error)
	}
	left := tip(t, dir, req.Head)
	res := runner().Publish(t.Context(), req)
	if res.Commit == nil || !res.Branch.Reused || res.Commit.SHA != left || tip(t, remote, req.Head) != left {
		t.Errorf("%+v, %+v", res, res.Error)
	}
}

// An ssh that is a script: its calls are those of the look, of the push, and of the look after a push that failed.
func TestPublishWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		push, after string // shell, with what the remote runs in $run
		published   bool
		kept        bool
	}{
		"it arrived":           {push: `eval "$run"; exit 1`, after: `eval "$run"`, published: true, kept: true},
		"it did not":           {push: `exit 1`, after: `eval "$run"`},
		"nobody knows":         {push: `eval "$run"; exit 1`, after: `exit 1`, kept: true},
		"somebody was quicker": {push: `git -C "$REMOTE" update-ref refs/heads/deed/x "$OTHER"; exit 1`, after: `eval "$run"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, remote, req := toRemote(t)
			git(t, dir, "push", "-q", remote, "main:other")
			other := git(t, remote, "commit-tree", "-m", "other", "-p", "other", "other^{tree}")
			script := filepath.Join(t.TempDir(), "ssh")
			text := "#!/bin/sh\nfor run; do :; done\nn=$(cat " + script + ".n 2>/dev/null)x; echo $n >" + script + ".n\n" +
				"REMOTE=" + remote + " OTHER=" + other + "\ncase $n in\nx) eval \"$run\";;\nxx) " + tc.push + ";;\n*) " + tc.after + ";;\nesac\n"
			if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
			r := runner()
			r.Environ = append(r.Environ, "GIT_SSH_COMMAND="+script)
			req.Remote = "ssh://host" + remote
			res := r.Publish(t.Context(), req)
			check(t, codebox.SchemaPublicationResult, res)
			if published := res.FailureType == codebox.FailurePublicationUnavailable && res.Branch.Remote == req.Remote; published != tc.published {
				t.Errorf("%+v, %+v", res, res.Error)
			}
			here := tip(t, dir, req.Head)
			if (here != "") != tc.kept {
				t.Errorf("the branch is at %q", here)
			}
			if tc.published && (res.Commit.SHA != here || tip(t, remote, req.Head) != here) {
				t.Errorf("published is %+v, the remote has %s", res.Commit, tip(t, remote, req.Head))
			}
			// However it ended, the next try is not blocked by it.
			if name == "somebody was quicker" {
				return
			}
			req.Remote = remote
			if res := runner().Publish(t.Context(), req); res.FailureType != codebox.FailurePublicationUnavailable || tip(t, remote, req.Head) != res.Commit.SHA {
				t.Errorf("again: %+v, %+v", res, res.Error)
			}
		})
	}
}

// A published commit has the names of things, and not their paths.
func TestPublishNamesNoPlaces(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		workspace string
		context   map[string]any
		want      string // with NAME for the last part of the workspace's path
	}{
		"no handle":            {"", nil, "Deed-Workspace: NAME"},
		"a handle":             {"site@main", map[string]any{"bundle_id": "artifact-bundle-1", "attempt_id": "attempt-1"}, "Deed-Bundle: artifact-bundle-1\nDeed-Attempt: attempt-1\nDeed-Workspace: site@main"},
		"a handle in parts":    {"team/site", nil, "Deed-Workspace: team/site"},
		"a place for a handle": {"/srv/runner/ws-7", map[string]any{"bundle": "/srv/runner/out", "attempt": " /srv/x "}, "Deed-Workspace: ws-7"},
		"the root":             {"/", nil, "Deed-Workspace: work"},
		"an id beside a place": {"site", map[string]any{"artifact_id": "/srv/out", "bundle": "b-1"}, "Deed-Bundle: b-1\nDeed-Workspace: site"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			write(t, dir, "a.txt", "two\n")
			req := publication(dir)
			req.Workspace, req.Head, req.EvidenceContext = tc.workspace, "x", tc.context
			res := runner().Publish(t.Context(), req)
			if res.Commit == nil {
				t.Fatalf("%+v, %+v", res, res.Error)
			}
			want := "Fix\n\n" + strings.ReplaceAll(tc.want, "NAME", filepath.Base(dir))
			if got := git(t, dir, "log", "-1", "--format=%B", "x"); got != want {
				t.Errorf("the message is %q, want %q", got, want)
			}
			write(t, dir, "a.txt", "three\n")
			if res := runner().Publish(t.Context(), req); res.Commit == nil {
				t.Errorf("it does not know its own branch: %+v", res.Error)
			}
		})
	}
}

// A branch that already has the content is reported as it is: its commit, its parent, and its message.
func TestPublishTellsTheCommitItFound(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	base := git(t, dir, "rev-parse", "HEAD")
	req := publication(dir)
	req.Head = "deed/x"
	for _, text := range []string{"two\n", "three\n"} {
		write(t, dir, "a.txt", text)
		if res := runner().Publish(t.Context(), req); res.Commit == nil {
			t.Fatalf("%+v, %+v", res, res.Error)
		}
	}
	parent := git(t, dir, "rev-parse", "deed/x^")
	req.CommitMessage = "Say it otherwise"
	res := runner().Publish(t.Context(), req)
	check(t, codebox.SchemaPublicationResult, res)
	want := codebox.PublicationCommit{SHA: tip(t, dir, "deed/x"), ParentSHA: parent, Message: "Fix"}
	if res.Commit == nil || *res.Commit != want || res.Branch.BaseSHA != base || parent == base {
		t.Errorf("%+v of %+v, want %+v; %+v", res.Commit, res.Branch, want, res.Error)
	}
	git(t, dir, "branch", "theirs", git(t, dir, "commit-tree", "-m", "theirs\n\nSaid-By: them", "deed/x^{tree}"))
	req.Head = "theirs"
	res = runner().Publish(t.Context(), req)
	check(t, codebox.SchemaPublicationResult, res)
	want = codebox.PublicationCommit{SHA: tip(t, dir, "theirs"), Message: "theirs\n\nSaid-By: them"}
	if res.Commit == nil || *res.Commit != want {
		t.Errorf("%+v, want %+v; %+v", res.Commit, want, res.Error)
	}
}

// What the result says of the pull request is what the hook says; what became of the branch is the branch's.
func TestPublishRepeatsThePullRequest(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	write(t, dir, "a.txt", "two\n")
	for i, tc := range []struct {
		answer                 string
		branch, reused, opened bool
		kind                   string
	}{
		{answer: `"reused": false, "opened": true`, opened: true},
		{answer: `"reused": false, "opened": true`, branch: true, opened: true}, // somebody closed the first one
		{answer: `"reused": true, "opened": false`, branch: true, reused: true},
		{answer: `"reused": true, "opened": true`, branch: true, kind: codebox.FailureBackendInvalidResponse},
	} {
		r := runner()
		r.PullRequest = []string{"/bin/sh", "-c", `echo '{"number": 7, "url": "https://example.com/pull/7", ` + tc.answer + `}'`}
		res := r.Publish(t.Context(), publication(dir))
		check(t, codebox.SchemaPublicationResult, res)
		if res.Branch.Reused != tc.branch || res.Reused != tc.reused || res.Opened != tc.opened || res.FailureType != tc.kind {
			t.Errorf("%d: %+v of %+v, %+v", i, res, res.Branch, res.Error)
		}
	}
	res := runner().Publish(t.Context(), publication(dir))
	if res.Reused || res.Opened || !res.Branch.Reused {
		t.Errorf("without a hook: %+v of %+v", res, res.Branch)
	}
	res.Reused = true
	if res.Validate() == nil {
		t.Error("a result that calls a pull request reused which it has not is valid")
	}
}

// What docs/BOUNDARY.md says of a hook: where it runs, what it gets, and what its failures are called. The branch is there in any case.
func TestPullRequestHook(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ hook, kind, says string }{
		"what it gets": {`in=$(cat); case $in in *'"title":"Fix"'*'"body":"b"'*) ;; *) echo "got $in" >&2; exit 1;; esac
			test "$PWD" = / && test "$API_KEY" = ` + secret + ` && test "$DEED_BRANCH" = deed/site && test "$DEED_COMMIT" && test "$DEED_BASE_SHA" && test -z "$DEED_REMOTE" &&
			echo '{"number": 1, "url": "https://example.com/1", "reused": true, "opened": false}'`, "", ""},
		"it fails":       {`echo no rights >&2; exit 3`, codebox.FailureBackendFailed, "no rights"},
		"another answer": {`echo '{"number": 1, "url": "https://example.com/1"}'`, codebox.FailureBackendInvalidResponse, "$.reused: is missing"},
		"a long answer":  {`head -c 1048577 /dev/zero`, codebox.FailureBackendInvalidResponse, "more than 1048576 bytes"},
		"no such hook":   {"", codebox.FailureBackendUnavailable, "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			write(t, dir, "a.txt", "two\n")
			r := runner()
			r.PullRequest = []string{"/bin/sh", "-c", tc.hook}
			if tc.hook == "" {
				r.PullRequest = []string{"/nowhere/hook"}
			}
			res := r.Publish(t.Context(), publication(dir))
			check(t, codebox.SchemaPublicationResult, res)
			if res.FailureType != tc.kind || tc.kind != "" && (res.Status != codebox.WorkspaceWriteWithoutPR || !strings.Contains(res.Error.Message, tc.says)) {
				t.Errorf("%+v, %+v", res, res.Error)
			}
			if tip(t, dir, "deed/site") == "" {
				t.Error("there is no branch")
			}
		})
	}
}

// Nothing of a hook is left when the publication has ended: were it run without a supervisor, what it started would also outlive a deed
// that is killed.
func TestPullRequestHookLeavesNothing(t *testing.T) {
	t.Parallel()
	const mark = "DEED_TEST_HOOK"
	dir := repository(t)
	write(t, dir, "a.txt", "two\n")
	r := runner()
	r.Environ = append(r.Environ, mark+"="+dir)
	r.PullRequest = []string{"sh", "-c", `setsid sleep 1000 >/dev/null 2>&1 & echo '{"number": 1, "url": "https://example.com/1", "reused": true, "opened": false}'`}
	if res := r.Publish(t.Context(), publication(dir)); !res.Success {
		t.Errorf("%+v, %+v", res, res.Error)
	}
	if left, err := proc.FindByEnv(mark, dir); err != nil || len(left) > 0 {
		t.Errorf("processes left: %v, %v", left, err)
	}
}

// A signal while the hook runs ends the publication, and not the branch.
func TestPullRequestHookIsCancelled(t *testing.T) {
	t.Parallel()
	dir, fifo := repository(t), filepath.Join(t.TempDir(), "ready")
	write(t, dir, "a.txt", "two\n")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(fifo) // which ends when the hook has begun
		cancel()
	}()
	r := runner()
	r.PullRequest = []string{"/bin/sh", "-c", "echo x >" + fifo + "; sleep 1000"}
	res := r.Publish(ctx, publication(dir))
	check(t, codebox.SchemaPublicationResult, res)
	if res.FailureType != codebox.FailureCancelled || res.Status != codebox.WorkspaceWriteWithoutPR || res.Commit == nil {
		t.Errorf("%+v, %+v", res, res.Error)
	}
}
