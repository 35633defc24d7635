package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/base/proc"
)

// identity makes the commits of every run the same.
var identity = []string{
	"GIT_AUTHOR_NAME=Sam Author", "GIT_AUTHOR_EMAIL=sam@example.test", "GIT_AUTHOR_DATE=2024-03-01T12:00:00Z",
	"GIT_COMMITTER_NAME=Sam Author", "GIT_COMMITTER_EMAIL=sam@example.test", "GIT_COMMITTER_DATE=2024-03-01T12:00:00Z",
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
}

// A place is where one project is run: its home, and a work tree for each base. The work trees are only read: deed gives an agent a
// copy.
type place struct {
	project *project
	dir     string // absolute
	store   string // a node_modules to take packages from

	mu    sync.Mutex
	bases map[string]*base
}

// A base is a work tree that an agent starts from.
type base struct {
	once sync.Once
	dir  string
	err  error
}

func newPlace(p *project, work, store string) (*place, error) {
	l := &place{project: p, dir: filepath.Join(work, p.Name), store: store, bases: map[string]*base{}}
	for _, d := range []string{l.home(), l.agents()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("make the place of %s: %w", p.Name, err)
		}
	}
	return l, nil
}

func (l *place) home() string   { return filepath.Join(l.dir, "home") }
func (l *place) agents() string { return filepath.Join(l.dir, "agents") }

// base returns the work tree for a patch, and makes it when it is first asked for.
func (l *place) base(ctx context.Context, patch string) (string, error) {
	l.mu.Lock()
	b := l.bases[patch]
	if b == nil {
		name := strings.TrimSuffix(cmp.Or(filepath.Base(patch), "."), ".patch")
		if patch == "" {
			name = "main"
		}
		b = &base{dir: filepath.Join(l.dir, "bases", name, l.project.Name)}
		l.bases[patch] = b
	}
	l.mu.Unlock()
	b.once.Do(func() {
		if err := l.make(ctx, b.dir, patch); err != nil {
			b.err = fmt.Errorf("make the base of %s: %w", l.project.Name, err)
		}
	})
	return b.dir, b.err
}

// make makes a work tree: the files and one commit, or the commits of history.sh.
func (l *place) make(ctx context.Context, dir, patch string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	source, err := filepath.Abs(l.project.Dir)
	if err != nil {
		return err
	}
	history := filepath.Join(source, "history.sh")
	if _, err := os.Stat(history); err == nil {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := inTree(ctx, dir, []string{"BASE=" + filepath.Join(source, "base")}, "git", "init", "-q", "-b", "main"); err != nil {
			return err
		}
		if err := inTree(ctx, dir, []string{"BASE=" + filepath.Join(source, "base")}, "/bin/sh", history); err != nil {
			return err
		}
	} else if err := os.CopyFS(dir, os.DirFS(filepath.Join(source, "base"))); err != nil {
		return err
	}
	if patch != "" {
		if err := inTree(ctx, dir, nil, "git", "apply", "--whitespace=nowarn", filepath.Join(source, patch)); err != nil {
			return err
		}
	}
	if err := l.ignorePackages(dir); err != nil {
		return err
	}
	if err := commit(ctx, dir); err != nil {
		return err
	}
	return l.addPackages(dir)
}

// commit commits what is not committed yet.
func commit(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, ".git")); errors.Is(err, fs.ErrNotExist) {
		if err := inTree(ctx, dir, nil, "git", "init", "-q", "-b", "main"); err != nil {
			return err
		}
	}
	if err := inTree(ctx, dir, nil, "git", "add", "-A"); err != nil {
		return err
	}
	if inTree(ctx, dir, nil, "git", "diff", "--cached", "--quiet") == nil {
		return nil
	}
	return inTree(ctx, dir, nil, "git", "commit", "-q", "-m", "The project as it is")
}

// inTree runs a command of the corpus' own in a work tree.
func inTree(ctx context.Context, dir string, env []string, argv ...string) error {
	res, err := proc.Tool(ctx, proc.ToolSpec{Argv: argv, Dir: dir, Env: append(append(environment(), identity...), env...)})
	if err == nil {
		err = res.Check()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return nil
}
