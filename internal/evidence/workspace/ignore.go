package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// An Ignore knows which of the changed paths are left out by the ignore rules of the base. The zero Ignore leaves out
// nothing.
type Ignore struct {
	paths map[string]struct{}
}

// Ignored reports whether the path is left out.
func (ig Ignore) Ignored(path string) bool {
	_, ok := ig.paths[path]
	return ok
}

// maxIgnoreFile bounds a .gitignore that is honoured. git itself takes no more than 100 MB; no one writes 1 MB.
const maxIgnoreFile = 1 << 20

// probeName is asked about in place of the content of a directory that has none.
const probeName = ".deed-probe"

// LoadIgnore finds out which paths that differ between the two manifests are ignored.
//
// The rules are those of the base: its .gitignore files as they were before the agent came, and its
// .git/info/exclude. What the agent wrote into a .gitignore has no effect, so no change can be hidden that way. A
// path that is in the index of the base's repository is never ignored, as in git. A directory that is not a
// repository is treated as one in which nothing was added yet: its .gitignore files count, its index is empty.
// Personal and system-wide ignore files never count, so that the same base gives the same answer everywhere.
func LoadIgnore(ctx context.Context, base string, before, after *Manifest) (Ignore, error) {
	ask := differing(before, after)
	if len(ask) == 0 {
		return Ignore{}, nil
	}
	var rules []string
	for i := range before.Entries {
		e := &before.Entries[i]
		if e.Kind == KindFile && e.Size > 0 && e.Size <= maxIgnoreFile && (e.Path == ".gitignore" || strings.HasSuffix(e.Path, "/.gitignore")) {
			rules = append(rules, e.Path)
		}
	}
	exclude, err := os.ReadFile(filepath.Join(base, ".git", "info", "exclude"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !swapped(err) {
		return Ignore{}, fmt.Errorf("load ignore rules: %w", err)
	}
	if len(rules) == 0 && len(exclude) == 0 {
		return Ignore{}, nil
	}
	g, err := newGit(filepath.Dir(absolute(base)))
	if err != nil {
		return Ignore{}, err
	}
	defer g.close()
	repo, err := g.scratch()
	if err != nil {
		return Ignore{}, err
	}
	if err := os.WriteFile(filepath.Join(repo, "info", "exclude"), exclude, 0o600); err != nil {
		return Ignore{}, fmt.Errorf("load ignore rules: %w", err)
	}
	work := filepath.Join(g.home, "work")
	if err := copyRules(base, before, rules, work); err != nil {
		return Ignore{}, err
	}
	ig, err := g.checkIgnore(ctx, repo, work, ask)
	if err != nil || len(ig.paths) == 0 {
		return ig, err
	}
	if r := findGit(before, ".git"); r == nil || r.Kind != KindDir {
		return ig, nil
	}
	out, err := g.run(ctx, gitCall{
		args: []string{"ls-files", "-z", "--cached"}, dir: base,
		gitDir: filepath.Join(absolute(base), ".git"), workTree: absolute(base), max: 1 << 30,
	})
	if err != nil {
		return Ignore{}, fmt.Errorf("list the index of the base: %w", err)
	}
	for p := range strings.SplitSeq(out, "\x00") {
		delete(ig.paths, p)
	}
	return ig, nil
}

// differing lists the paths that two manifests disagree on, with the directories that only one of them has and that
// hold nothing.
func differing(before, after *Manifest) []string {
	var out []string
	eachPair(before.Entries, after.Entries, func(b, a *Entry) {
		switch {
		case a == nil:
			out = append(out, pathToAsk(b))
		case b == nil:
			out = append(out, pathToAsk(a))
		case b.Kind != a.Kind:
			out = append(out, b.Path)
		case describe(b, a) != "":
			out = append(out, b.Path)
		}
	})
	return out
}

func pathToAsk(e *Entry) string {
	if e.Kind == KindDir {
		return e.Path + "/" + probeName
	}
	return e.Path
}

func copyRules(base string, before *Manifest, rules []string, work string) error {
	t, err := openTree(base)
	if err != nil {
		return fmt.Errorf("load ignore rules: %w", err)
	}
	defer t.close()
	if err := os.MkdirAll(work, 0o700); err != nil {
		return fmt.Errorf("load ignore rules: %w", err)
	}
	for _, p := range rules {
		var b bytes.Buffer
		if err := t.copyOut(before.Find(p), &b, make([]byte, 32<<10)); err != nil {
			return tampered("load ignore rules", p, err)
		}
		to := filepath.Join(work, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return fmt.Errorf("load ignore rules: %w", err)
		}
		if err := os.WriteFile(to, b.Bytes(), 0o600); err != nil {
			return fmt.Errorf("load ignore rules: %w", err)
		}
	}
	return nil
}

// checkIgnore asks git. Paths are given with a leading "./": without it git reads a leading colon as an instruction.
func (g *git) checkIgnore(ctx context.Context, repo, work string, ask []string) (Ignore, error) {
	var in bytes.Buffer
	for _, p := range ask {
		in.WriteString("./" + p + "\x00")
	}
	res, err := g.try(ctx, gitCall{
		args: []string{"check-ignore", "--no-index", "-z", "--stdin"}, dir: work, gitDir: repo, workTree: work,
		stdin: &in, max: 1 << 30,
	})
	if err != nil {
		return Ignore{}, &Error{Code: ErrGit, Op: "git check-ignore", Err: err}
	}
	if res.ExitCode > 1 { // 1: none is ignored
		return Ignore{}, &Error{Code: ErrGit, Op: "git check-ignore", Err: gitMessage(res)}
	}
	ig := Ignore{paths: map[string]struct{}{}}
	for p := range strings.SplitSeq(string(res.Stdout), "\x00") {
		p = strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/"+probeName)
		if p != "" {
			ig.paths[p] = struct{}{}
		}
	}
	return ig, nil
}

func findGit(m *Manifest, path string) *GitDir {
	for i := range m.Git {
		if m.Git[i].Path == path {
			return &m.Git[i]
		}
	}
	return nil
}

// absolute is filepath.Abs for a path that is used by a process with another working directory.
func absolute(p string) string {
	if a, err := filepath.Abs(p); err == nil {
		return a
	}
	return p
}
