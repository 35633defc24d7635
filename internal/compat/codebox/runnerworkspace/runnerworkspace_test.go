package runnerworkspace

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	if sandbox.IsInner(os.Args) {
		os.Exit(sandbox.InnerMain(os.Args))
	}
	os.Exit(m.Run())
}

const secret = "sk-live-0123456789"

func runner() *Runner {
	env := []string{"PATH=" + os.Getenv("PATH"), "API_KEY=" + secret, "PLAIN=x"}
	return &Runner{Clock: clock.System, Environ: env, Redact: redact.New(redact.Secrets(env))}
}

// namespaced skips where there is no bubblewrap.
func namespaced(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs a sandbox")
	}
	_, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Namespace})
	var f *failure.Error
	if errors.As(err, &f) && f.Class == failure.Isolation {
		t.Skip("missing tool: bwrap: apt-get install bubblewrap")
	}
}

// check checks a result against its schema.
func check(t *testing.T, id string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = schema.Validate(id, text)
	}
	if err != nil {
		t.Errorf("not valid: %v\n%s", err, text)
	}
}

// In a namespace a command has the workspace and nothing else of the host, and no network.
func TestCommandInNamespace(t *testing.T) {
	t.Parallel()
	namespaced(t)
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "private"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := runner()
	res := r.Command(t.Context(), codebox.CommandRequest{
		WorkspacePath: dir, SecretEnv: []string{"API_KEY"}, Env: map[string]string{"A": "b"},
		Command: `pwd; echo made > file; echo $A $API_KEY; cat ` + outside + `/private; env | grep -c PLAIN; ls /sys/class/net 2>/dev/null; test ! -e ` + outside,
	})
	check(t, codebox.SchemaCommandResult, res)
	if !res.Success || res.Isolation != "namespace" || strings.Contains(res.Stdout+res.Stderr+res.Command, secret) || strings.Contains(res.Stdout, "mine") {
		t.Errorf("the result is %+v", res)
	}
	if !strings.HasPrefix(res.Stdout, "/workspace\nb [REDACTED:API_KEY]\n0\n") {
		t.Errorf("stdout is %q", res.Stdout)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "file")); string(got) != "made\n" {
		t.Errorf("the workspace has %q", got)
	}
}

// What a command leaves in a repository would run on the host, when somebody uses git there.
func TestCommandLeavesTheRepositoryAlone(t *testing.T) {
	t.Parallel()
	namespaced(t)
	main := repository(t)
	linked := filepath.Join(t.TempDir(), "linked")
	git(t, main, "worktree", "add", "-q", linked)
	for name, dir := range map[string]string{"a repository": main, "a linked work tree": linked} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := runner().Command(t.Context(), codebox.CommandRequest{WorkspacePath: dir, Command: `
				echo done > change.txt
				mkdir -p .git/hooks; echo 'exit 1' > .git/hooks/post-checkout
				printf '[core]\n\tfsmonitor = ./evil\n' >> .git/config
				mkdir evil; echo ../evil > .git/commondir; echo 'gitdir: evil' > .git
				mv .git aside; rm -rf .git; ln -sfn evil .git
				test ! -e aside && { test -f .git || { git log -1 && git status --short; }; }`})
			if !res.Success {
				t.Fatalf("the result is %+v, error %+v", res, res.Error)
			}
			if got := git(t, dir, "status", "--short"); !strings.Contains(got, "change.txt") {
				t.Errorf("status is %q", got)
			}
			if got := git(t, dir, "config", "--default", "none", "core.fsmonitor"); got != "none" {
				t.Errorf("core.fsmonitor is %q", got)
			}
			if _, err := os.Lstat(filepath.Join(main, ".git", "hooks", "post-checkout")); err == nil {
				t.Error("a hook is there")
			}
		})
	}
	bad := t.TempDir()
	if err := os.Symlink(filepath.Join(main, ".git"), filepath.Join(bad, ".git")); err != nil {
		t.Fatal(err)
	}
	if res := runner().Command(t.Context(), codebox.CommandRequest{WorkspacePath: bad, Command: "true"}); res.Success {
		t.Errorf("a repository behind a link: %+v", res)
	}
}

// Whatever a command makes of a workspace, git runs nothing of it on the host afterwards.
func TestCommandPlantsNoRepository(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		says    string // of the fault; empty: none
	}{
		"none":              {`echo x >a.txt; mkdir -p d; echo y >d/b.txt`, ""},
		"moved along":       {`mv nested moved`, ""},
		"at the top":        {`git init -q . && git config core.fsmonitor "touch $PWD/pwned; false"`, `".git"`},
		"below":             {`mkdir d && cd d && git init -q . && git config core.fsmonitor "touch $PWD/pwned; false"`, `"d/.git"`},
		"a file":            {`mkdir e && git init -q e/.git && echo "gitdir: e/.git" >.git`, `".git, e/.git"`},
		"bare":              {`git init -q --bare x && cp -r x/* . && rm -r x && git config -f config core.bare false; git config -f config core.fsmonitor "touch $PWD/pwned; false"`, `"HEAD"`},
		"nested":            {`cd nested && git config core.fsmonitor "touch $PWD/pwned; false"; cd .. && mv nested n2 && mkdir nested && cp -r n2/.git nested/ && git -C nested config core.fsmonitor "touch /tmp/pwned; false"`, `"nested/.git"`},
		"and then it fails": {`git init -q . ; exit 3`, `".git"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			nested := filepath.Join(dir, "nested")
			if err := os.Mkdir(nested, 0o755); err != nil {
				t.Fatal(err)
			}
			git(t, nested, "init", "-q", "-b", "main")
			res := runner().Command(t.Context(), codebox.CommandRequest{WorkspacePath: dir, Command: c.command})
			if res.Error != nil && res.FailureType == codebox.FailureIsolationUnavailable {
				t.Skip("missing tool: bwrap: apt-get install bubblewrap")
			}
			check(t, codebox.SchemaCommandResult, res)
			if c.says == "" && !res.Success || c.says != "" && (res.Success || !strings.Contains(res.Error.Message, c.says)) {
				t.Errorf("%+v, %+v", res, res.Error)
			}
			for _, sub := range []string{".", "d", "nested"} {
				cmd := exec.Command("git", "status")
				cmd.Dir = filepath.Join(dir, sub)
				_ = cmd.Run()
			}
			for _, trace := range []string{"pwned", "d/pwned", "nested/pwned"} {
				if _, err := os.Lstat(filepath.Join(dir, trace)); err == nil {
					t.Errorf("%s is there", trace)
				}
			}
		})
	}
}

// deed's own directory is never a workspace.
func TestHomeIsNoWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own := filepath.Join(dir, "home")
	if err := os.MkdirAll(filepath.Join(own, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(own, "keys"), link); err != nil {
		t.Fatal(err)
	}
	r := runner()
	r.Home = home.At(own)
	for _, path := range []string{dir, own, filepath.Join(own, "keys"), link} {
		res := r.Command(t.Context(), codebox.CommandRequest{WorkspacePath: path, Command: "true"})
		if res.Success || !strings.Contains(res.Error.Message, "signing key") {
			t.Errorf("command in %s: %+v", path, res)
		}
		if res := r.Capture(t.Context(), codebox.CaptureRequest{WorkspacePath: path}); res.Success || !strings.Contains(res.Error.Message, "signing key") {
			t.Errorf("capture of %s: %+v", path, res)
		}
		if res := r.Publish(t.Context(), publication(path)); res.Success || !strings.Contains(res.Error.Message, "signing key") {
			t.Errorf("publication of %s: %+v", path, res)
		}
	}
}

func TestCommandFailures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, big := 1, 100000
	for _, tc := range []struct {
		name         string
		req          codebox.CommandRequest
		status, kind string
		check        func(codebox.CommandResult) bool
	}{
		{"exit code", codebox.CommandRequest{Command: "echo out; echo err >&2; exit 3"}, "failed", codebox.FailureCommandFailed, func(r codebox.CommandResult) bool {
			return *r.ExitCode == 3 && r.Stdout == "out\n" && r.Stderr == "err\n"
		}},
		{"time", codebox.CommandRequest{Command: "setsid sleep 1000 & sleep 1000", TimeoutSeconds: &one}, "failed", codebox.FailureTimeout, func(r codebox.CommandResult) bool {
			return strings.Contains(r.Error.Message, "1 seconds")
		}},
		{"no directory", codebox.CommandRequest{Command: "true", WorkspacePath: filepath.Join(dir, "none")}, "failed", codebox.FailureInvalidRequest, func(r codebox.CommandResult) bool {
			return strings.HasPrefix(r.Error.Message, "$.workspace_path: there is no ")
		}},
		{"no path", codebox.CommandRequest{Command: "true", WorkspacePath: "-", Workspace: "x"}, "unavailable", codebox.FailureBackendUnavailable, nil},
		{"secret that is not there", codebox.CommandRequest{Command: "true", SecretEnv: []string{"API_KEY", "NOT_SET"}}, "failed", codebox.FailureInvalidRequest, func(r codebox.CommandResult) bool {
			return strings.HasPrefix(r.Error.Message, "$.secret_env[1]: names NOT_SET, which is not set")
		}},
		{"a lot of output", codebox.CommandRequest{Command: "yes first | head -c 300000; echo last; exit 1", TimeoutSeconds: &big}, "failed", codebox.FailureCommandFailed, func(r codebox.CommandResult) bool {
			return r.Truncated && len(r.Stdout) < maxOutput+100 && strings.HasPrefix(r.Stdout, "first") && strings.HasSuffix(r.Stdout, "last\n")
		}},
		{"bytes that are no text", codebox.CommandRequest{Command: `printf '\377'; exit 1`}, "failed", codebox.FailureCommandFailed, func(r codebox.CommandResult) bool { return r.Stdout == "\uFFFD" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			switch tc.req.WorkspacePath {
			case "":
				tc.req.WorkspacePath = dir
			case "-":
				tc.req.WorkspacePath = ""
			}
			tc.req.Isolation = "process"
			res := runner().Command(t.Context(), tc.req)
			check(t, codebox.SchemaCommandResult, res)
			if res.Success || res.Status != tc.status || res.FailureType != tc.kind || tc.check != nil && !tc.check(res) {
				t.Errorf("the result is %+v, error %+v", res, res.Error)
			}
		})
	}
}

// git runs git in a test's own repository.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@x", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@x")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("missing tool: git: apt-get install git")
	}
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	write(t, dir, "a.txt", "one\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "base")
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func publication(dir string) codebox.PublicationRequest {
	return codebox.PublicationRequest{WorkspacePath: dir, Workspace: "site", Repo: "example/site", CommitMessage: "Fix", Title: "Fix", Body: "b"}
}

// The agent's own commits become one, made on where the work parted from the base.
func TestPublishSquashesOntoTheBase(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	base := git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "checkout", "-q", "-b", "agent")
	write(t, dir, "a.txt", "two\n")
	git(t, dir, "commit", "-qam", "by the agent")
	write(t, dir, "b.txt", "new\n")
	git(t, dir, "checkout", "-q", "main")
	write(t, dir, "c.txt", "later\n")
	git(t, dir, "add", "c.txt")
	git(t, dir, "commit", "-qm", "main moved on")
	git(t, dir, "checkout", "-q", "agent")
	req := publication(dir)
	req.Base, req.Head = "main", "refs/heads/deed/x"
	res := runner().Publish(t.Context(), req)
	check(t, codebox.SchemaPublicationResult, res)
	if res.Status != codebox.WorkspaceWriteWithoutPR || res.FailureType != codebox.FailurePublicationUnavailable || res.Branch.BaseSHA != base {
		t.Fatalf("the result is %+v, %+v", res, res.Error)
	}
	if got := git(t, dir, "rev-parse", "deed/x^"); got != base {
		t.Errorf("the parent is %s, want %s", got, base)
	}
	if got := git(t, dir, "ls-tree", "--name-only", "deed/x"); got != "a.txt\nb.txt" {
		t.Errorf("the tree has %q", got)
	}
}

func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		setup func(t *testing.T, dir string)
		req   func(*codebox.PublicationRequest)
		kind  string
		says  string
	}{
		{"nothing", nil, nil, codebox.FailureBackendFailed, "no change"},
		{"a secret", func(t *testing.T, dir string) { write(t, dir, "a.txt", secret) }, nil, codebox.FailureBackendFailed, "API_KEY"},
		{"a repository inside", func(t *testing.T, dir string) {
			write(t, dir, "a.txt", "x")
			git(t, dir, "init", "-q", "inner")
			write(t, dir, "inner/f", "x")
		}, nil, codebox.FailureBackendUnavailable, "inner"},
		{"no repository", func(t *testing.T, dir string) { _ = os.RemoveAll(filepath.Join(dir, ".git")) }, nil, codebox.FailureBackendUnavailable, ""},
		{"a remote that is not there", func(t *testing.T, dir string) { write(t, dir, "a.txt", "x") }, func(r *codebox.PublicationRequest) { r.Remote = "/nowhere/at/all.git" }, codebox.FailureInvalidRequest, "$.remote: there is no"},
		{"an unknown base", func(t *testing.T, dir string) { write(t, dir, "a.txt", "x") }, func(r *codebox.PublicationRequest) { r.Base = "none" }, codebox.FailureInvalidRequest, `$.base: the workspace's repository has no commit "none"`},
		{"paths without a change", func(t *testing.T, dir string) { write(t, dir, "a.txt", "x") }, func(r *codebox.PublicationRequest) { r.Paths = []string{"nosuch.txt"} }, codebox.FailureBackendFailed, "no change to publish in paths: nosuch.txt (leave paths out"},
		{"no commit", func(t *testing.T, dir string) { git(t, dir, "update-ref", "-d", "HEAD") }, nil, codebox.FailureBackendFailed, "no commit yet"},
		{"an impossible head", func(t *testing.T, dir string) { write(t, dir, "a.txt", "x") }, func(r *codebox.PublicationRequest) { r.Head = "a..b" }, codebox.FailureBackendUnavailable, "a..b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			if tc.setup != nil {
				tc.setup(t, dir)
			}
			req := publication(dir)
			if tc.req != nil {
				tc.req(&req)
			}
			res := runner().Publish(t.Context(), req)
			check(t, codebox.SchemaPublicationResult, res)
			want := codebox.WorkspaceFailed
			if tc.kind == codebox.FailureInvalidRequest {
				want = codebox.WorkspaceWriteWithoutPR
			}
			if res.Status != want || res.FailureType != tc.kind || !strings.Contains(res.Error.Message, tc.says) || strings.Contains(res.Error.Message, secret) {
				t.Errorf("the result is %+v, %+v", res, res.Error)
			}
		})
	}
}

func TestCaptureBetweenCommits(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	write(t, dir, "a.txt", "two\n")
	write(t, dir, "latin", "caf\xe9\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "second")
	first := git(t, dir, "rev-parse", "HEAD~1")
	res := runner().Capture(t.Context(), codebox.CaptureRequest{WorkspacePath: dir, From: first, To: "main"})
	check(t, codebox.SchemaCaptureResult, res)
	if !res.Success || !res.Changed || res.Diff.Encoding != evidence.PatchBase64 {
		t.Errorf("the result is %+v, %+v", res, res.Error)
	}
	no := false
	res = runner().Capture(t.Context(), codebox.CaptureRequest{WorkspacePath: dir, IncludeDiff: &no})
	if !res.Success || res.Changed || res.Diff != nil {
		t.Errorf("a clean workspace: %+v", res)
	}
	write(t, dir, "a.txt", "key "+secret+"\n")
	res = runner().Capture(t.Context(), codebox.CaptureRequest{WorkspacePath: dir})
	if !res.Success || strings.Contains(res.Diff.Diff, secret) || !strings.Contains(res.Diff.Diff, "REDACTED") {
		t.Errorf("with a secret: %+v", res)
	}
}

// A repository without a working tree has git's own files, and no change.
func TestBareRepositoryIsNoWorkspace(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	git(t, dir, "clone", "-q", "--bare", dir, filepath.Join(dir, "bare.git"))
	for _, path := range []string{filepath.Join(dir, "bare.git"), filepath.Join(dir, ".git")} {
		capture := runner().Capture(t.Context(), codebox.CaptureRequest{WorkspacePath: path})
		check(t, codebox.SchemaCaptureResult, capture)
		command := runner().Command(t.Context(), codebox.CommandRequest{WorkspacePath: path, Command: "true", Isolation: "process"})
		check(t, codebox.SchemaCommandResult, command)
		publish := runner().Publish(t.Context(), publication(path))
		check(t, codebox.SchemaPublicationResult, publish)
		for op, err := range map[string]*codebox.WorkspaceError{"capture": capture.Error, "command": command.Error, "publication": publish.Error} {
			if err == nil || !strings.HasPrefix(err.Message, "$.workspace_path: ") || !strings.Contains(err.Message, "without a working tree (give a checkout") {
				t.Errorf("%s of %s: %+v", op, path, err)
			}
		}
	}
}

// What a request names and is not there is the request's fault, at its place; what the workspace lacks is not.
func TestCaptureOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	dir, empty := repository(t), t.TempDir()
	git(t, empty, "init", "-q")
	no := false
	for name, tc := range map[string]struct {
		req        codebox.CaptureRequest
		kind, says string
	}{
		"from":             {codebox.CaptureRequest{WorkspacePath: dir, From: "none"}, codebox.FailureInvalidRequest, `$.from: the workspace's repository has no commit "none"`},
		"to":               {codebox.CaptureRequest{WorkspacePath: dir, To: "none"}, codebox.FailureInvalidRequest, `$.to: the workspace's repository has no commit "none"`},
		"directory":        {codebox.CaptureRequest{WorkspacePath: filepath.Join(dir, "none")}, codebox.FailureInvalidRequest, "$.workspace_path: there is no "},
		"a file":           {codebox.CaptureRequest{WorkspacePath: filepath.Join(dir, "a.txt")}, codebox.FailureInvalidRequest, "is not a directory"},
		"no commit":        {codebox.CaptureRequest{WorkspacePath: empty}, codebox.FailureBackendFailed, "has no commit yet (commit something first), or ask without the diff"},
		"without the diff": {codebox.CaptureRequest{WorkspacePath: empty, IncludeDiff: &no}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := runner().Capture(t.Context(), tc.req)
			check(t, codebox.SchemaCaptureResult, res)
			if res.FailureType != tc.kind || tc.kind != "" && !strings.Contains(res.Error.Message, tc.says) {
				t.Errorf("%+v, %+v", res, res.Error)
			}
		})
	}
}

// A request for the difference of two commits still lists the files that differ from what is checked out.
func TestCaptureOfCommitsTellsOfFiles(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	for i, changed := range []bool{false, true} {
		if changed {
			write(t, dir, "a.txt", "two\n")
		}
		res := runner().Capture(t.Context(), codebox.CaptureRequest{WorkspacePath: dir, To: "HEAD"})
		st, ok := res.Status.(codebox.CaptureStatus)
		if !ok || st.Dirty != i || res.Changed != changed || res.Diff.Diff != "" {
			t.Errorf("%+v, %+v", res, res.Error)
		}
	}
}

// A command that its caller ends is neither a failure of the command nor one of deed.
func TestCommandIsCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "ready")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(fifo) // which ends when the command has begun
		cancel()
	}()
	res := runner().Command(ctx, codebox.CommandRequest{WorkspacePath: dir, Command: "echo x >ready; sleep 1000", Isolation: "process"})
	check(t, codebox.SchemaCommandResult, res)
	if res.Success || res.FailureType != codebox.FailureCancelled {
		t.Errorf("%+v, %+v", res, res.Error)
	}
}
