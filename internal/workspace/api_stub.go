package workspace

import (
	"context"
	"errors"
	"io"
)

var errTODO = errors.New("not built yet")

func Snapshot(ctx context.Context, root string, prev *Manifest) (*Manifest, error) { return nil, errTODO }

type Ignore struct{ paths map[string]struct{} }

func (ig Ignore) Ignored(path string) bool { _, ok := ig.paths[path]; return ok }

func LoadIgnore(ctx context.Context, base string, before, after *Manifest) (Ignore, error) {
	return Ignore{}, errTODO
}
func Diff(before, after *Manifest, ig Ignore) ChangeSet { return ChangeSet{} }
func Capture(ctx context.Context, base, work string, before *Manifest) (*Manifest, ChangeSet, error) {
	return nil, ChangeSet{}, errTODO
}
func WritePatch(ctx context.Context, base, work string, cs ChangeSet, w io.Writer) error {
	return errTODO
}
func Apply(ctx context.Context, dir, patchPath string) error { return errTODO }
func Check(ctx context.Context, base string, before *Manifest, patchPath string, after *Manifest, cs ChangeSet) error {
	return errTODO
}

type SourceKind string

const (
	SourceEmpty     SourceKind = "empty"
	SourceDirectory SourceKind = "directory"
	SourceGit       SourceKind = "git"
)

type Source struct {
	Dir  string
	Ref  string
	Home string
}
type Note struct {
	Path   string
	Code   string
	Detail string
}
type Seeded struct {
	Kind   SourceKind
	Commit string
	Branch string
	Dirty  bool
	Notes  []Note
}

func Seed(ctx context.Context, src Source, dst string) (Seeded, error) { return Seeded{}, errTODO }
func Clone(ctx context.Context, from, to string) error                 { return errTODO }
func Remove(dir string) error                                          { return errTODO }
func CleanRoom(ctx context.Context, base string, baseManifest *Manifest, patchPath string, pinned []string, dst string) error {
	return errTODO
}
