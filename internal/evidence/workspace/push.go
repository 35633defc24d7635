package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
)

// ErrPush means that the remote refused, or could not be reached. The message is git's own.
const ErrPush Code = "push_failed"

// ErrPushRejected is an ErrPush after which the remote's branch is known to be as it was: it has other commits.
const ErrPushRejected Code = "push_rejected"

// DefaultPushTimeout bounds a push unless the caller says otherwise.
const DefaultPushTimeout = 2 * time.Minute

// PushOptions say how far a push may go.
type PushOptions struct {
	Timeout time.Duration // 0 is DefaultPushTimeout
	Force   bool          // let the remote's branch lose commits
	DryRun  bool          // go as far as the remote's answer, and change nothing there
	Env     []string      // what a transport needs and nothing else may have, such as SSH_AUTH_SOCK=…
}

// ReachEnv picks the variables of an environment that git may need to reach a remote.
func ReachEnv(environ []string) (env []string) {
	for _, name := range []string{"HOME", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_ASKPASS"} {
		if v := proc.Getenv(environ, name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// A Pushed says what a remote has now.
type Pushed struct {
	Remote string `json:"remote"` // without credentials
	Ref    string `json:"ref"`
	ID     string `json:"sha"`
	Had    bool   `json:"-"` // it had that before
}

// Push sends a commit of the repository to a branch of a remote: a path, or an address with file, https or ssh. refspec
// is "name" or "name:branch"; the left side is a commit, branch or tag, the right side a branch. Neither the repository's
// configuration nor its hooks have a say, nor those of a remote on this machine; there is no prompt for a password, and
// it takes no longer than the timeout.
func Push(ctx context.Context, repo, remote, refspec string, opt PushOptions) (p Pushed, err error) {
	to, isLocal, err := cleanRemote(remote)
	if err != nil {
		return p, fmt.Errorf("push: %w", err)
	}
	from, ref, err := splitRefspec(refspec)
	if err != nil {
		return p, fmt.Errorf("push: %w", err)
	}
	if opt.Timeout <= 0 {
		opt.Timeout = DefaultPushTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, opt.Timeout, &Error{Code: ErrPush, Op: "push", Err: fmt.Errorf("it took longer than %s", opt.Timeout)})
	defer cancel()
	m, err := openWorkTree(ctx, repo, repo)
	if err != nil {
		return p, fmt.Errorf("push: %w", err)
	}
	defer m.close()
	p = Pushed{Remote: withoutCredentials(remote), Ref: ref}
	if p.ID, _, err = m.from.resolve(ctx, from); err != nil {
		return Pushed{}, fmt.Errorf("push: %w", err)
	}
	args := []string{"push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"}
	if isLocal {
		args = append(args, "--receive-pack="+quietReceiver)
	}
	if opt.DryRun {
		args = append(args, "--dry-run")
	}
	order := p.ID + ":" + ref
	if opt.Force {
		order = "+" + order
	}
	res, err := m.try(ctx, gitCall{
		args: append(args, "--", to, order), gitDir: m.gitDir, objects: m.from.objects(),
		env: append([]string{"GIT_ALLOW_PROTOCOL=file:https:ssh", "GIT_SSH_COMMAND=ssh -oBatchMode=yes"}, opt.Env...),
	})
	switch {
	case err != nil:
		return Pushed{}, fmt.Errorf("push: %w", err)
	case res.ExitCode != 0:
		said := strings.TrimSpace(string(res.Stdout) + "\n" + gitMessage(res).Error())
		fault := &Error{Code: ErrPush, Op: "push to", Path: p.Remote, Err: errors.New(strings.ReplaceAll(said, remote, p.Remote))}
		if strings.Contains(string(res.Stdout), "\t[rejected] ") { // by git on this side; what the remote refuses is [remote rejected]
			fault.Err, fault.Remedy = fmt.Errorf("%w: %w", ErrPushRejected, fault.Err), "its branch has commits that are not in this one: choose another branch, or fetch it first"
		}
		return Pushed{}, fault
	}
	p.Had = strings.Contains("\n"+string(res.Stdout), "\n=\t")
	return p, nil
}

// quietReceiver is what takes a push on this machine. What the remote's own configuration could run is switched off, and
// so is the change of a work tree.
const quietReceiver = "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true " +
	"-c receive.denyCurrentBranch=refuse -c receive.autogc=false -c gc.auto=0 -c maintenance.auto=false receive-pack"

var (
	urlScheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:(//|:)`) })
	scpLike   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([A-Za-z0-9_.-]+@)?[A-Za-z0-9_.-]+:[^/].*$|^([A-Za-z0-9_.-]+@)?[A-Za-z0-9_.-]+:/.*$`)
	})
)

// CheckRemote reports by ErrSource why nothing can be pushed to a remote, whatever is pushed: it is no address, its protocol is not allowed, or it
// is a place on this machine where there is no directory (fs.ErrNotExist, syscall.ENOTDIR). Another machine is not asked.
func CheckRemote(remote string) error {
	_, _, err := cleanRemote(remote)
	return err
}

// cleanRemote returns the remote in the form that git gets, and whether it is on this machine.
func cleanRemote(remote string) (to string, isLocal bool, err error) {
	bad := func(why error) error {
		return &Error{Code: ErrSource, Op: "use remote", Path: withoutCredentials(shorten(remote)), Err: why, Remedy: "give a path, or an address with file, https or ssh"}
	}
	switch {
	case remote == "" || strings.HasPrefix(remote, "-") || strings.ContainsAny(remote, "\x00\n\r"):
		return "", false, bad(errors.New("it is no address"))
	case strings.HasPrefix(remote, "https://"), strings.HasPrefix(remote, "ssh://"):
		return remote, false, nil
	case strings.HasPrefix(remote, "file://"):
		remote = strings.TrimPrefix(remote, "file://")
	case urlScheme().MatchString(remote):
		return "", false, bad(errors.New("its protocol is not allowed"))
	case !filepath.IsAbs(remote) && scpLike().MatchString(remote):
		return remote, false, nil
	}
	dir, err := filepath.EvalSymlinks(absolute(remote))
	if err == nil {
		var st os.FileInfo
		if st, err = os.Stat(dir); err == nil && !st.IsDir() {
			err = fmt.Errorf("it is a file: %w", syscall.ENOTDIR)
		}
	}
	if err != nil {
		return "", false, bad(err)
	}
	return dir, true, nil
}

func splitRefspec(spec string) (from, ref string, err error) {
	from, to, ok := strings.Cut(spec, ":")
	if !ok {
		to = strings.TrimPrefix(from, "refs/heads/")
	}
	ref = to
	if !strings.HasPrefix(ref, "refs/") {
		ref = "refs/heads/" + ref
	}
	if from == "" || strings.HasPrefix(from, "-") || strings.HasPrefix(from, "+") || !strings.HasPrefix(ref, "refs/heads/") || !validRef(ref) || strings.IndexByte(from, 0) >= 0 {
		return "", "", &Error{Code: ErrSource, Op: "use refspec", Path: spec, Err: errors.New("it does not name a commit and a branch"), Remedy: "give name or name:branch"}
	}
	return from, ref, nil
}
