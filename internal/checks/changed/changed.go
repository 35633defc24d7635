package changed

import (
	"context"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A Status says what happened to a file.
type Status string

// The statuses.
const (
	Added    Status = "added"
	Copied   Status = "copied"
	Modified Status = "modified" // of another type or mode too
	Renamed  Status = "renamed"
	Deleted  Status = "deleted"
)

// A File is a file of a component that is not what it was.
type File struct {
	Path   string // below the component, slash-separated, as it is on the disk
	Status Status
	Old    string   // of a renamed or copied one: its name before; from the top of the work tree when it lay outside the component
	Lines  [][2]int // the lines that are new or changed: first and last of each run

	Hunks []workspace.Hunk // where text changed, both sides
	Blob  string           // the id of the content that it had; "" when it had none
}

// There reports whether the file is there now.
func (f File) There() bool { return f.Status != Deleted }

// Since lists the files of the component at dir that changed since HEAD parted from ref: committed, staged, unstaged and
// untracked ones, each once, sorted by path. An unknown ref is workspace.ErrSource and named; where a shallow clone does
// not reach far enough it is workspace.ErrShallow, with what to do.
func Since(ctx context.Context, dir, ref string) ([]File, error) {
	if ref == "" {
		ref = "HEAD"
	}
	return list(ctx, dir, ref)
}

// Worktree lists what is not committed: staged, unstaged and untracked files, each once, sorted by path.
func Worktree(ctx context.Context, dir string) ([]File, error) { return list(ctx, dir, "") }

func list(ctx context.Context, dir, ref string) ([]File, error) {
	top, rel, err := workspace.TopOf(dir)
	if err != nil {
		return nil, err
	}
	_, found, err := workspace.ChangesSince(ctx, top, ref, below(rel))
	if err != nil {
		return nil, err
	}
	files := make([]File, 0, len(found))
	for _, c := range found {
		files = append(files, fileOf(c, rel))
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// All lists every file of the component that its repository has or could take, sorted.
func All(ctx context.Context, dir string) ([]string, error) {
	top, rel, err := workspace.TopOf(dir)
	if err != nil {
		return nil, err
	}
	files, err := workspace.ListFiles(ctx, top, below(rel))
	if err != nil {
		return nil, err
	}
	for i, p := range files {
		files[i] = under(p, rel)
	}
	return files, nil
}

// maxOld is the size of an earlier content beyond which nothing is read from it: no source file has it.
const maxOld = 4 << 20

// Before reads what files were, by File.Blob. Contents that are very large, or not in a partial clone, are left out.
func Before(ctx context.Context, dir string, files []File) (map[string][]byte, error) {
	top, _, err := workspace.TopOf(dir)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, f := range files {
		if f.Blob != "" {
			ids = append(ids, f.Blob)
		}
	}
	slices.Sort(ids)
	return workspace.Blobs(ctx, top, slices.Compact(ids), maxOld)
}

// LinesOf gives the changed lines by file, as the coverage of changed lines wants them.
func LinesOf(files []File) map[string][][2]int {
	lines := map[string][][2]int{}
	for _, f := range files {
		if len(f.Lines) > 0 {
			lines[f.Path] = f.Lines
		}
	}
	return lines
}

func below(rel string) workspace.StatusOptions {
	if rel == "" {
		return workspace.StatusOptions{}
	}
	return workspace.StatusOptions{Paths: []string{rel}}
}

// under makes a path of the work tree one of the component, where it is.
func under(p, rel string) string {
	if rel == "" {
		return p
	}
	return strings.TrimPrefix(p, rel+"/")
}

var statuses = map[byte]Status{'A': Added, 'C': Copied, 'D': Deleted, 'M': Modified, 'R': Renamed, 'T': Modified}

func fileOf(c workspace.FileChange, rel string) File {
	f := File{Path: under(c.Path, rel), Status: statuses[c.Letter], Hunks: c.Hunks, Blob: c.Blob}
	if f.Status == "" {
		f.Status = Modified
	}
	if c.Old != "" {
		f.Old = under(c.Old, rel)
	}
	for _, h := range c.Hunks {
		if h.NewLines > 0 {
			f.Lines = append(f.Lines, [2]int{h.NewStart, h.NewStart + h.NewLines - 1})
		}
	}
	return f
}
