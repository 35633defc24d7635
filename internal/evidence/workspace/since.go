package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A FileChange is a file that is not what it was at a commit.
type FileChange struct {
	Path   string // from the top of the work tree, as it is on the disk
	Old    string // of a renamed or copied one: the name that it had
	Letter byte   // git's: A added, C copied, D deleted, M modified, R renamed, T of another type
	Blob   string // the id of the content that it had; "" when it had none
	Hunks  []Hunk // where text changed
}

// A Hunk is a run of lines that took the place of another one. Lines count from 1; a side without lines names the line
// that it follows.
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
}

// ErrShallow means that the requested commit lies beyond the edge of a shallow clone.
const ErrShallow Code = "shallow_clone"

// TopOf returns the top of the work tree that contains dir, with links followed, and the path of dir from there, which
// is "" for the top itself. A directory in no work tree is ErrSource.
func TopOf(dir string) (top, rel string, err error) {
	real, err := filepath.EvalSymlinks(absolute(dir))
	if err != nil {
		return "", "", &Error{Code: ErrSource, Op: "find repository", Path: dir, Err: err}
	}
	for at := real; ; at = filepath.Dir(at) {
		if isTop(at) {
			if rel, err = filepath.Rel(at, real); rel == "." {
				rel = ""
			}
			return at, filepath.ToSlash(rel), err
		}
		if at == filepath.Dir(at) {
			return "", "", &Error{Code: ErrSource, Op: "find repository", Path: dir, Err: errors.New("it lies in no git work tree"), Remedy: "run git init, or leave out what asks for changed files"}
		}
	}
}

// isTop reports whether a directory has a repository. A .git that is no repository is skipped, as git does.
func isTop(dir string) bool {
	st, err := os.Lstat(filepath.Join(dir, ".git"))
	if err != nil || !st.IsDir() {
		return err == nil
	}
	_, err = os.Lstat(filepath.Join(dir, ".git", "HEAD"))
	return err == nil
}

// ChangesSince compares the files at dir, which is the top of a work tree, with the commit at which HEAD parted from ref:
// what was committed since, what is staged, what is not, and what git does not know yet, each file once. An empty ref
// compares with HEAD, and before the first commit every file is an added one. It returns the commit that it compared
// with, and is as hermetic as StatusOf: nothing is fetched.
func ChangesSince(ctx context.Context, dir, ref string, opt StatusOptions) (base string, files []FileChange, err error) {
	m, err := openWorkTree(ctx, dir, dir)
	if err != nil {
		return "", nil, fmt.Errorf("find changes: %w", err)
	}
	defer m.close()
	if base, err = m.parted(ctx, ref); err == nil {
		files, err = m.since(ctx, base, opt)
	}
	if err != nil {
		return "", nil, fmt.Errorf("find changes since %s: %w", orHead(ref), err)
	}
	return base, files, nil
}

func orHead(ref string) string {
	if ref == "" {
		return "HEAD"
	}
	return quotePath(ref)
}

// parted finds the commit at which HEAD parted from ref; "" before the first commit.
func (s *borrower) parted(ctx context.Context, ref string) (string, error) {
	commit, _, err := s.from.resolve(ctx, ref)
	if err != nil {
		return "", s.orShallow(ref, err)
	}
	if ref == "" || commit == s.from.commit {
		return commit, nil
	}
	if s.from.commit == "" {
		return "", s.from.unknown("HEAD")
	}
	res, err := s.try(ctx, s.call([]string{"merge-base", commit, s.from.commit}))
	switch {
	case err != nil:
		return "", &Error{Code: ErrGit, Op: "git merge-base", Err: err}
	case res.ExitCode == 1:
		return "", s.orShallow(ref, &Error{Code: ErrSource, Op: "find base", Path: ref, Err: errors.New("it has no commit in common with HEAD"), Remedy: "give a commit, branch or tag that HEAD comes from"})
	case res.ExitCode != 0:
		return "", s.orShallow(ref, &Error{Code: ErrGit, Op: "git merge-base", Err: gitMessage(res)})
	}
	return strings.TrimSpace(string(res.Stdout)), nil
}

// orShallow adds to an error that the history is shallow: the commit may well exist.
func (s *borrower) orShallow(ref string, err error) error {
	if len(s.from.shallow) == 0 || !errors.Is(err, ErrSource) && !errors.Is(err, ErrGit) {
		return err
	}
	return &Error{
		Code: ErrShallow, Op: "find base", Path: ref, Err: errors.New("this is a shallow clone, and its history does not reach that far"),
		Remedy: "run git fetch --unshallow, or git fetch --deepen=50 and the ref, and try again; deed does not use the network for it",
	}
}

// since lists what differs between a commit and the work tree.
func (s *borrower) since(ctx context.Context, base string, opt StatusOptions) ([]FileChange, error) {
	found, err := s.changes(ctx, s.from.commit, opt)
	if err == nil {
		found.files, err = s.forced(ctx, found, opt)
	}
	if err == nil {
		err = s.announce(ctx, found.files)
	}
	if err == nil && base == "" {
		base, err = s.run(ctx, gitCall{args: []string{"hash-object", "-t", "tree", "-w", "--stdin"}, gitDir: s.gitDir})
		base = strings.TrimSpace(base)
	}
	if err != nil {
		return nil, err
	}
	diff := func(form ...string) []string {
		args := append([]string{"diff-index"}, form...)
		args = append(args, "-r", "--find-renames", "--find-copies", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color",
			"--no-relative", "--ignore-submodules=all", base, "--")
		return append(args, found.specs...)
	}
	raw, err := s.in(ctx, diff("--raw", "-z")...)
	if err != nil {
		return nil, err
	}
	files, err := readRaw(raw)
	if err != nil || len(files) == 0 {
		return files, err
	}
	hunks := &hunkReader{}
	c := s.call(diff("-p", "-U0", "--src-prefix=a/", "--dst-prefix=b/"))
	c.stdout, c.max = hunks, -1
	if _, err := s.run(ctx, c); err != nil {
		return nil, err
	}
	hunks.end()
	return files, hunks.give(files)
}

// forced adds the files that the caller staged although its ignore rules leave them out: what is staged is meant.
func (s *borrower) forced(ctx context.Context, found treeChanges, opt StatusOptions) ([]StatusFile, error) {
	args := []string{"ls-files", "-z", "--cached"}
	if s.from.commit != "" {
		args = []string{"diff-index", "-z", "--cached", "--name-only", "--diff-filter=A", "--no-renames", "--ignore-submodules=all", s.from.commit}
	}
	out, _, err := s.from.ask(ctx, append(append(args, "--"), found.specs...)...)
	if err != nil {
		return nil, err
	}
	exclude, err := newExcluder(opt.Exclude)
	if err != nil {
		return nil, err
	}
	have := map[string]bool{}
	for _, f := range found.files {
		have[f.path] = true
	}
	files := found.files
	for p := range strings.SplitSeq(out, "\x00") {
		if p == "" || have[p] || exclude.out(p) {
			continue
		}
		if st, err := os.Lstat(filepath.Join(s.workTree, filepath.FromSlash(p))); err != nil || st.IsDir() {
			continue
		}
		files = append(files, StatusFile{Path: TextPath(p), Status: Added, path: p})
	}
	return files, nil
}

// readRaw reads git's raw form: ":mode mode id id letter", then one name, or two of a rename or copy.
func readRaw(raw string) ([]FileChange, error) {
	files := []FileChange{}
	fields := strings.Split(strings.TrimSuffix(raw, "\x00"), "\x00")
	for i := 0; i < len(fields) && raw != ""; i++ {
		head := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(head) != 5 || head[4] == "" {
			return nil, &Error{Code: ErrGit, Op: "read diff", Err: fmt.Errorf("unknown record %q", fields[i])}
		}
		f := FileChange{Letter: head[4][0]}
		if strings.Trim(head[2], "0") != "" {
			f.Blob = head[2]
		}
		names := 1
		if f.Letter == 'R' || f.Letter == 'C' {
			names = 2
		}
		if i+names >= len(fields) {
			return nil, &Error{Code: ErrGit, Op: "read diff", Err: errors.New("the last record is cut short")}
		}
		f.Path = fields[i+names]
		if names == 2 {
			f.Old = fields[i+1]
		}
		i += names
		files = append(files, f)
	}
	return files, nil
}

// maxHunkLine is how much of a line is looked at: enough for the head of a hunk. Lines of minified files have millions.
const maxHunkLine = 256

// A hunkReader takes a patch without context and keeps the heads of its hunks, whatever its size.
type hunkReader struct {
	line  []byte
	files [][]Hunk // in the order of the patch
	kinds []byte   // 'n' new file, 'd' deleted file, 0 else
	left  int      // lines of the hunk that are to come
	err   error
}

func (h *hunkReader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		part, rest, whole := bytes.Cut(p, []byte("\n"))
		if room := maxHunkLine - len(h.line); room > 0 {
			h.line = append(h.line, part[:min(room, len(part))]...)
		}
		if whole {
			h.end()
		}
		p = rest
	}
	return n, h.err
}

// end takes the line that is there.
func (h *hunkReader) end() {
	line := string(h.line)
	h.line = h.line[:0]
	switch {
	case h.left > 0:
		if !strings.HasPrefix(line, `\`) { // "\ No newline at end of file" is no line of the file
			h.left--
		}
	case strings.HasPrefix(line, "diff --git "):
		h.files, h.kinds = append(h.files, nil), append(h.kinds, 0)
	case len(h.files) == 0:
	case strings.HasPrefix(line, "new file mode"):
		h.kinds[len(h.kinds)-1] = 'n'
	case strings.HasPrefix(line, "deleted file mode"):
		h.kinds[len(h.kinds)-1] = 'd'
	case strings.HasPrefix(line, "@@ "):
		hunk, err := readHunk(line)
		if err != nil {
			h.err = &Error{Code: ErrGit, Op: "read diff", Err: err}
			return
		}
		last := len(h.files) - 1
		h.files[last] = append(h.files[last], hunk)
		h.left = hunk.OldLines + hunk.NewLines
	}
}

// give hands the hunks to the files: both came in one order. A change of type is two entries of a patch, the old file
// deleted and the new one made.
func (h *hunkReader) give(files []FileChange) error {
	if h.err != nil {
		return h.err
	}
	at := 0
	for i := range files {
		if files[i].Letter == 'T' && at+1 < len(h.files) && h.kinds[at] == 'd' && h.kinds[at+1] == 'n' {
			at++
		}
		if at >= len(h.files) {
			return &Error{Code: ErrGit, Op: "read diff", Err: fmt.Errorf("the patch has nothing for %s", quotePath(files[i].Path))}
		}
		files[i].Hunks = h.files[at]
		at++
	}
	if at != len(h.files) {
		return &Error{Code: ErrChangedDuringCapture, Op: "read diff", Err: errors.New("files changed while they were compared"), Remedy: "try again"}
	}
	return nil
}

// readHunk reads "@@ -1,2 +3 @@".
func readHunk(line string) (h Hunk, err error) {
	f := strings.Fields(line)
	if len(f) < 4 || f[0] != "@@" || f[3] != "@@" {
		return h, fmt.Errorf("unknown hunk %q", line)
	}
	if h.OldStart, h.OldLines, err = hunkSide(f[1], "-"); err == nil {
		h.NewStart, h.NewLines, err = hunkSide(f[2], "+")
	}
	if err != nil {
		return h, fmt.Errorf("unknown hunk %q", line)
	}
	return h, nil
}

func hunkSide(text, sign string) (start, lines int, err error) {
	text, ok := strings.CutPrefix(text, sign)
	first, count, has := strings.Cut(text, ",")
	if !has {
		count = "1"
	}
	if start, err = strconv.Atoi(first); err == nil {
		lines, err = strconv.Atoi(count)
	}
	if !ok || start < 0 || lines < 0 {
		err = errors.New("no range")
	}
	return start, lines, err
}

// Blobs reads the contents with these ids, of at most limit bytes each; larger ones, and what is not there, are left out.
func Blobs(ctx context.Context, dir string, ids []string, limit int64) (map[string][]byte, error) {
	found := map[string][]byte{}
	if len(ids) == 0 {
		return found, nil
	}
	m, err := openWorkTree(ctx, dir, dir)
	if err != nil {
		return nil, fmt.Errorf("read blobs: %w", err)
	}
	defer m.close()
	ids, err = m.fitting(ctx, ids, limit)
	if err != nil || len(ids) == 0 {
		return found, err
	}
	c := m.call([]string{"cat-file", "--batch"})
	c.stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
	out, err := m.run(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("read blobs: %w", err)
	}
	r := bufio.NewReader(strings.NewReader(out))
	for range ids {
		head, err := r.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("read blobs: %w", err)
		}
		f := strings.Fields(head)
		if len(f) != 3 {
			continue // missing
		}
		size, err := strconv.Atoi(f[2])
		if err != nil {
			return nil, fmt.Errorf("read blobs: %w", err)
		}
		text := make([]byte, size+1) // and a newline
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, fmt.Errorf("read blobs: %w", err)
		}
		found[f[0]] = text[:size]
	}
	return found, nil
}

// fitting leaves the ids whose content is there and small enough.
func (s *borrower) fitting(ctx context.Context, ids []string, limit int64) ([]string, error) {
	c := s.call([]string{"cat-file", "--batch-check"})
	c.stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
	out, err := s.run(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("read blobs: %w", err)
	}
	var fit []string
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 3 || f[1] != "blob" {
			continue
		}
		if size, err := strconv.ParseInt(f[2], 10, 64); err == nil && size <= limit {
			fit = append(fit, f[0])
		}
	}
	return fit, nil
}

// ListFiles lists, sorted, the files of a work tree that its repository has at HEAD, has in its index, or could add: all
// but the ignored ones. Files of HEAD that were deleted are not in it.
func ListFiles(ctx context.Context, dir string, opt StatusOptions) ([]string, error) {
	m, err := openWorkTree(ctx, dir, dir)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	defer m.close()
	specs, err := pathspecs(opt)
	if err == nil && m.from.commit != "" {
		_, err = m.in(ctx, "read-tree", "HEAD")
	}
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	out, err := m.in(ctx, append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"}, specs...)...)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	files := []string{}
	for p := range strings.SplitSeq(out, "\x00") {
		if p == "" {
			continue
		}
		if st, err := os.Lstat(filepath.Join(m.workTree, filepath.FromSlash(p))); err == nil && !st.IsDir() {
			files = append(files, p)
		}
	}
	slices.Sort(files)
	return files, nil
}
