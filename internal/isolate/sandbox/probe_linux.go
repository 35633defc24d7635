//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
)

// needs says what a machine that cannot isolate a command lacks.
const needs = "install bubblewrap 0.10 or newer, or a distribution's older one with --bind-fd, and allow " +
	"unprivileged user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)"

const bubblewrapRemedy = needs + "; " + byFlag

// A bubblewrap is one that built a sandbox with full isolation.
type bubblewrap struct{ path, version string }

// known remembers the bubblewrap that worked. One that did not is tried again: it may have been fixed since.
var known struct {
	sync.Mutex
	bubblewrap
	file string // see Remember
}

// findBubblewrap finds bwrap on deed's own PATH, and builds a sandbox with it.
func findBubblewrap(ctx context.Context) (bubblewrap, error) {
	known.Lock()
	defer known.Unlock()
	if known.path != "" {
		return known.bubblewrap, nil
	}
	path, err := proc.LookPath("bwrap", os.Getenv("PATH"), "/")
	if err != nil {
		return bubblewrap{}, failure.New(failure.Isolation, op, fmt.Errorf("bubblewrap: %w", err), bubblewrapRemedy)
	}
	if version := recall(known.file, path); version != "" {
		known.bubblewrap = bubblewrap{path: path, version: version}
		return known.bubblewrap, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := tryBubblewrap(ctx, path); err != nil {
		if ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return bubblewrap{}, fmt.Errorf("%s: %w", op, err)
		}
		return bubblewrap{}, failure.New(failure.Isolation, op, fmt.Errorf("bubblewrap: %w", err), bubblewrapRemedy)
	}
	res, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{path, "--version"}})
	if err != nil {
		return bubblewrap{}, fmt.Errorf("%s: %w", op, err)
	}
	known.path, known.version = path, strings.TrimPrefix(strings.TrimSpace(string(res.Stdout)), "bubblewrap ")
	keep(known.file, known.bubblewrap)
	return known.bubblewrap, nil
}

// tryBubblewrap builds a sandbox as Run does, with a mount, and runs a command in it.
func tryBubblewrap(ctx context.Context, path string) error {
	var c call
	defer c.close()
	if err := c.system(1<<20, "/"); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return err
	}
	if err := c.mounts([]mount{{given: dir, source: dir, target: "/mnt", dir: true, parent: -1}}, 1<<20); err != nil {
		return err
	}
	c.add("--remount-ro", "/", "--chdir", "/")
	argv, err := c.argv(path, []string{"/usr/bin/env", "true"})
	if err != nil {
		return err
	}
	res, err := proc.Tool(ctx, proc.ToolSpec{Argv: argv, Dir: "/", Files: c.files})
	if err != nil {
		return err
	}
	return res.Check()
}
