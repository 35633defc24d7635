package runnerworkspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// maxOutput is how much of each stream of a command is answered: its beginning and its end.
const maxOutput = 256 << 10

// Where things are for a command in a namespace.
const (
	insideWorkspace = "/workspace"
	gitDir          = ".git"
	insidePath      = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// Command runs one command of a shell in a workspace, for a bounded time and with bounded output, in a namespace unless
// the request asks for less: there it sees the system read-only, the workspace, and no network. Of the workspace's
// repository it can read everything and change nothing: hooks and settings that it left there would run on the host,
// with the next git command in the workspace. Its environment is clean but for what the request names; its whole tree of
// processes is gone when it returns.
func (r *Runner) Command(ctx context.Context, req codebox.CommandRequest) codebox.CommandResult {
	res := codebox.CommandResult{
		Schema: codebox.SchemaCommandResult, Backend: Backend, Workspace: named(req.Identity()), Command: req.Command, Description: req.Description,
		Status: codebox.WorkspaceCompleted,
	}
	kind, err := r.command(ctx, req, &res)
	switch {
	case err != nil:
		res.Status = codebox.WorkspaceFailed
		if kind == codebox.FailureBackendUnavailable || kind == codebox.FailureIsolationUnavailable {
			res.Status = codebox.WorkspaceUnavailable
		}
		res.FailureType, res.Error = r.failed("command", kind, err)
	default:
		res.Success = true
	}
	return res
}

func (r *Runner) command(ctx context.Context, req codebox.CommandRequest, res *codebox.CommandResult) (kind string, err error) {
	dir, err := r.directory(res.Workspace)
	if err != nil {
		return kindOf(err), err
	}
	env, secrets, err := r.environ(req)
	if err != nil {
		return codebox.FailureInvalidRequest, err
	}
	box, inside, done, err := r.sandbox(ctx, req, dir)
	if err != nil {
		var f *failure.Error
		if errors.As(err, &f) && f.Class == failure.Isolation {
			return codebox.FailureIsolationUnavailable, err
		}
		return codebox.FailureBackendError, err
	}
	defer done()
	res.Isolation = inside.isolation
	sup, err := proc.IdleSupervisor(proc.Options{})
	if err != nil {
		return codebox.FailureBackendError, err
	}
	defer func() { _ = sup.Close() }() // the run is over, and nothing of it is left
	stdout, stderr := &bounded{max: maxOutput}, &bounded{max: maxOutput}
	// One redactor for all that is answered: the caller's variables that look like credentials, and those it named.
	out, errs := secrets.Writer(stdout), secrets.Writer(stderr)
	exit, err := box.Run(ctx, sup, proc.Spec{
		Argv: []string{"/bin/sh", "-c", req.Command}, Dir: inside.dir,
		Env:    append([]string{"HOME=" + inside.home, "TMPDIR=" + inside.home, "PATH=" + inside.path, "LANG=C.UTF-8"}, env...),
		Stdout: out, Stderr: errs, Timeout: time.Duration(req.Timeout()) * time.Second,
	})
	if cerr := errors.Join(out.Close(), errs.Close()); err == nil {
		err = cerr
	}
	res.Command, res.Description = secrets.String(req.Command), secrets.String(req.Description)
	res.Stdout, res.Stderr, res.Truncated = stdout.text(), stderr.text(), stdout.cut || stderr.cut
	res.ElapsedMS = exit.Duration.Milliseconds()
	if err == nil {
		res.ExitCode = &exit.Code
	}
	if inside.real != "" { // however it ended
		if rerr := inside.repositories.takeAway(inside.real); rerr != nil {
			return codebox.FailureBackendFailed, errors.Join(err, rerr)
		}
	}
	if err != nil {
		return kindOf(err), err
	}
	switch {
	case exit.TimedOut:
		return codebox.FailureTimeout, fmt.Errorf("the time limit of %d seconds passed; every process of the command was ended", req.Timeout())
	case exit.Limit != "":
		return codebox.FailureBackendFailed, exit.Cause
	case exit.Canceled:
		return kindOf(exit.Cause), fmt.Errorf("the command was ended: %w", exit.Cause)
	case exit.Code > 128: // most often by a signal, whose name says more than the number
		return codebox.FailureCommandFailed, fmt.Errorf("the command failed: %s", proc.Ending(exit.Code, exit.Signal))
	case exit.Code != 0:
		return codebox.FailureCommandFailed, fmt.Errorf("the command ended with exit code %d", exit.Code)
	}
	return "", nil
}

// A view is how a command sees the place it runs in.
type view struct {
	isolation, dir, home, path string

	real         string       // the workspace outside; empty: its repositories are not looked after
	repositories repositories // that were there before
}

// sandbox makes the sandbox that the request asks for. It never gives less.
func (r *Runner) sandbox(ctx context.Context, req codebox.CommandRequest, dir string) (*sandbox.Sandbox, view, func(), error) {
	if sandbox.Kind(req.Isolation) == sandbox.Process {
		home, done, err := atomicfile.Scratch("command")
		if err != nil {
			return nil, view{}, nil, err
		}
		away := func() {
			_ = workspace.Remove(home) // the command may have closed directories in it
			done()
		}
		box, err := sandbox.New(ctx, sandbox.Spec{Kind: sandbox.Process})
		if err != nil {
			away()
		}
		return box, view{isolation: string(sandbox.Process), dir: dir, home: home, path: proc.Getenv(r.Environ, "PATH")}, away, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, view{}, nil, err
	}
	there, err := repositoriesOf(real)
	if err != nil {
		return nil, view{}, nil, err
	}
	if len(there) > maxRepositories {
		return nil, view{}, nil, fmt.Errorf("there are %d repositories in the workspace, and at most %d can be kept from being changed (run the command in a directory below)", len(there), maxRepositories)
	}
	mounts := []sandbox.Mount{{Source: real, Target: insideWorkspace, Writable: true}}
	for _, repo := range slices.Sorted(maps.Keys(there)) { // a directory, or the file of a linked work tree
		if filepath.Base(repo) != gitDir {
			repo = filepath.Dir(repo) // one without a work tree, as a whole
		}
		rel, err := filepath.Rel(real, repo)
		if err != nil {
			return nil, view{}, nil, err
		}
		if rel == "." {
			mounts[0].Writable = false
			continue
		}
		mounts = append(mounts, sandbox.Mount{Source: repo, Target: filepath.Join(insideWorkspace, rel)})
	}
	box, err := sandbox.New(ctx, sandbox.Spec{Kind: sandbox.Namespace, Mounts: mounts, Watch: []string{real}})
	err = sandbox.Otherwise(err, `or say "isolation": "process" in the request where the command may run as you`)
	return box, view{isolation: string(sandbox.Namespace), dir: insideWorkspace, home: "/tmp", path: insidePath, real: real, repositories: there}, func() {}, err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// environ returns the variables of a command, and a redactor of the secrets among them.
func (r *Runner) environ(req codebox.CommandRequest) ([]string, *redact.Redactor, error) {
	secrets := redact.Secrets(r.Environ)
	var env []string
	for _, name := range slices.Sorted(maps.Keys(req.Env)) {
		env = append(env, name+"="+req.Env[name])
	}
	for i, name := range req.SecretEnv {
		value := proc.Getenv(r.Environ, name)
		if value == "" {
			return nil, nil, wrong(fault.Index("$.secret_env", i), fault.Dangling, "names "+name+", which is not set where deed runs", "set it, or leave it out")
		}
		secrets[name] = value
		env = append(env, name+"="+value)
	}
	red := redact.New(secrets)
	for i, name := range req.SecretEnv {
		if slices.Contains(red.Unredactable(), name) {
			return nil, nil, wrong(fault.Index("$.secret_env", i), fault.OutOfRange, "names "+name+", whose value is too short to be kept out of the output", "use a longer one, or leave it out")
		}
	}
	return env, red, nil
}
