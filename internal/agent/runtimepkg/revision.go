package runtimepkg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/base/proc"
)

// revisionLimit bounds how long git is waited for.
const revisionLimit = 3 * time.Second

// ErrUnknownRevision says that a directory has no known revision: it is not a repository, or git did not answer in time.
var ErrUnknownRevision = errors.New("the revision is not known")

// ErrRevisionTimeout is an ErrUnknownRevision of git that did not answer in time: there may be one.
var ErrRevisionTimeout = fmt.Errorf("%w: git did not answer within %v", ErrUnknownRevision, revisionLimit)

// RevisionTimeout is the code of that error in a report on a package.
const RevisionTimeout = "agent_runtime_manifest.revision_probe_timeout"

// Revision says which commit a directory is at: the file .source-revision, else git.
func Revision(ctx context.Context, dir string, environ []string) (string, error) {
	return revision(ctx, dir, environ, revisionLimit)
}

func revision(ctx context.Context, dir string, environ []string, limit time.Duration) (string, error) {
	if data, err := plainfile.Read(filepath.Join(dir, ".source-revision"), maxManifest); err == nil {
		if rev := strings.TrimSpace(string(data)); rev != "" && len(rev) <= 100 {
			return rev, nil
		}
	}
	git, err := proc.LookPath("git", proc.Getenv(environ, "PATH"), "/")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnknownRevision, err)
	}
	asked, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// A package's own git configuration must not run anything, and a repository around it is not its own.
	env := []string{"PATH=" + proc.Getenv(environ, "PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	r, err := proc.Tool(asked, proc.ToolSpec{
		Argv: []string{git, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "rev-parse", "--verify", "HEAD^{commit}"},
		Dir:  dir, Env: env, MaxOutput: 1 << 10,
	})
	if err == nil {
		err = r.Check()
	}
	switch {
	case err != nil && asked.Err() != nil && ctx.Err() == nil:
		return "", ErrRevisionTimeout
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrUnknownRevision, err)
	}
	return strings.TrimSpace(string(r.Stdout)), nil
}
