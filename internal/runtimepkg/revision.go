package runtimepkg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/plainfile"
	"github.com/deedrun/deed/internal/proc"
)

// revisionLimit bounds how long git is waited for.
const revisionLimit = 3 * time.Second

// ErrUnknownRevision says that a directory tells no revision: it is no repository, or git did not answer in time.
var ErrUnknownRevision = errors.New("the revision is not known")

// Revision says which commit a directory is at: the file .source-revision, else git.
func Revision(ctx context.Context, dir string, environ []string) (string, error) {
	if data, err := plainfile.Read(filepath.Join(dir, ".source-revision"), maxManifest); err == nil {
		if rev := strings.TrimSpace(string(data)); rev != "" && len(rev) <= 100 {
			return rev, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, revisionLimit)
	defer cancel()
	// A package's own git configuration must not run anything, and a repository around it is not its own.
	env := []string{"PATH=" + proc.Getenv(environ, "PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	r, err := proc.Tool(ctx, proc.ToolSpec{
		Argv: []string{"git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "rev-parse", "--verify", "HEAD^{commit}"},
		Dir:  dir, Env: env, MaxOutput: 1 << 10,
	})
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnknownRevision, err)
	}
	return strings.TrimSpace(string(r.Stdout)), nil
}
