// Package runnerworkspace owns the operations on a runner's workspace that the sandbox contract names: capture its state,
// run one bounded command in it, publish its change as a branch. Every operation answers with a result record, also when
// it fails; no error panics in the caller. It keeps no list of workspaces: the request names the directory.
//
// The workspace is hostile: its git configuration, hooks and index have no influence on what deed does with it, see
// workspace.StatusOf.
package runnerworkspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// Backend is how deed calls the way in which it does these operations.
const Backend = "deed-git"

// codePrefix begins the code of every error.
const codePrefix = "wp_codebox_runner_workspace_"

// A Runner does the operations.
type Runner struct {
	Clock   clock.Clock
	Environ []string         // the caller's: secrets, and what git and the hook need
	Redact  *redact.Redactor // of everything that is answered; it may be nil
	// PullRequest is the hook that opens pull requests; empty: there is none.
	PullRequest []string
	// Home is deed's own directory; no workspace may be in it. It may be nil.
	Home *home.Home
}

// failed describes an error for a result. What the request got wrong lists its faults.
func (r *Runner) failed(op, kind string, err error) (string, *codebox.WorkspaceError) {
	return kind, &codebox.WorkspaceError{Code: codePrefix + op + "_" + kind, Message: r.Redact.String(err.Error())}
}

// diagnostic makes a diagnostic about a path of the workspace.
func (r *Runner) diagnostic(code, path, what string, more map[string]string) evidence.Diagnostic {
	data := map[string]string{"path": r.Redact.String(path)}
	maps.Copy(data, more)
	text, err := json.Marshal(data)
	if err != nil {
		text = nil // of strings: it never is
	}
	return evidence.Diagnostic{Class: "deed.workspace." + code, Message: r.Redact.String(path + ": " + what), Data: text}
}

// kindOf returns whose failure an error of the workspace is.
func kindOf(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return codebox.FailureCancelled
	case fault.Of(err) != nil:
		return codebox.FailureInvalidRequest
	case errors.Is(err, errNoCommit):
		return codebox.FailureBackendFailed
	}
	if errors.Is(err, workspace.ErrSource) || errors.Is(err, errNoPath) {
		return codebox.FailureBackendUnavailable
	}
	return codebox.FailureBackendError
}

// errNoPath: deed has no list of workspaces to look a handle up in.
var errNoPath = errors.New("the request names a workspace and no directory: give workspace_path")

// errNoCommit: there is nothing that files can differ from.
var errNoCommit = errors.New("the workspace's repository has no commit yet (commit something first)")

// wrong is a fault of the request that only a look at the workspace shows.
func wrong(at, code, message, remedy string) error {
	return fault.Faults{{Path: at, Code: code, Message: message, Remedy: remedy}}
}

// commits makes sure that the names of a request refer to commits; HEAD must, too.
func commits(ctx context.Context, dir string, names ...[2]string) error {
	if _, err := workspace.Resolve(ctx, dir, ""); errors.Is(err, workspace.ErrNoCommit) {
		return errNoCommit
	} else if err != nil {
		return err
	}
	for _, n := range names {
		at, name := n[0], n[1]
		if name == "" {
			continue
		}
		if _, err := workspace.Resolve(ctx, dir, name); errors.Is(err, workspace.ErrNoCommit) {
			return wrong(at, fault.Dangling, fmt.Sprintf("the workspace's repository has no commit %q", name), "give a commit, branch or tag of it")
		} else if err != nil {
			return err
		}
	}
	return nil
}

// directory returns the workspace's directory.
func (r *Runner) directory(w codebox.RunnerWorkspace) (string, error) {
	if w.Path == "" {
		return "", errNoPath
	}
	const at = "$.workspace_path"
	if r.Home != nil && r.Home.Overlaps(w.Path) {
		return "", wrong(at, fault.NotAllowed, fmt.Sprintf("%q shows deed's home, with its database and its signing key", w.Path), "use a directory apart from it")
	}
	st, err := os.Stat(w.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", wrong(at, fault.Dangling, fmt.Sprintf("there is no %q", w.Path), "name the directory of the workspace")
	case err != nil:
		return "", fmt.Errorf("%w: %w", workspace.ErrSource, err)
	case !st.IsDir():
		return "", wrong(at, fault.BadFormat, fmt.Sprintf("%q is not a directory", w.Path), "name the directory of the workspace")
	case workspace.IsBare(w.Path):
		return "", wrong(at, fault.BadFormat, fmt.Sprintf("%q is a repository without a working tree", w.Path), "give a checkout of it, such as git worktree add makes")
	}
	return w.Path, nil
}

// named fills what a request left open.
func named(w codebox.RunnerWorkspace) codebox.RunnerWorkspace {
	if w.Handle == "" {
		w.Handle = w.Path
	}
	if w.Backend == "" {
		w.Backend = Backend
	}
	return w
}

// InvalidCapture is the result of a request that cannot be read; so are the two others.
func (r *Runner) InvalidCapture(err error) codebox.CaptureResult {
	res := codebox.CaptureResult{Schema: codebox.SchemaCaptureResult, Backend: Backend, Status: codebox.WorkspaceFailed}
	res.FailureType, res.Error = r.failed("capture", codebox.FailureInvalidRequest, err)
	return res
}

// InvalidCommand is the result of a request that cannot be read.
func (r *Runner) InvalidCommand(err error) codebox.CommandResult {
	res := codebox.CommandResult{Schema: codebox.SchemaCommandResult, Backend: Backend, Status: codebox.WorkspaceFailed}
	res.FailureType, res.Error = r.failed("command", codebox.FailureInvalidRequest, err)
	return res
}

// InvalidPublication is the result of a request that cannot be read, or that lacks something.
func (r *Runner) InvalidPublication(err error) codebox.PublicationResult {
	res := codebox.PublicationResult{Schema: codebox.SchemaPublicationResult, Backend: Backend, Status: codebox.WorkspaceWriteWithoutPR}
	res.FailureType, res.Error = r.failed("publication", codebox.FailureInvalidRequest, err)
	for _, f := range fault.Of(err) {
		if f.Code == fault.Blank {
			res.Error.Missing = append(res.Error.Missing, strings.TrimPrefix(f.Path, "$."))
		}
	}
	return res
}

// A bounded keeps the beginning and the end of a stream.
type bounded struct {
	max  int
	head []byte
	tail []byte
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if room := b.max/2 - len(b.head); room > 0 {
		take := min(room, len(p))
		b.head = append(b.head, p[:take]...)
		p = p[take:]
	}
	b.tail = append(b.tail, p...)
	if over := len(b.tail) - b.max/2; over > 0 {
		b.tail = append(b.tail[:0], b.tail[over:]...)
		b.cut = true
	}
	return n, nil
}

// text is what was kept, as text that JSON can carry.
func (b *bounded) text() string {
	var out bytes.Buffer
	out.Write(b.head)
	if b.cut {
		out.WriteString("\n… output was cut here …\n")
	}
	out.Write(b.tail)
	if utf8.Valid(out.Bytes()) {
		return out.String()
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD")
}
