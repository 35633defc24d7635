package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// copiedConfig are the settings of a repository without which its own work tree would look changed.
var copiedConfig = []string{"core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode"}

// Bounds of what is read of a repository that someone else made.
const (
	maxRefFile    = 64 << 20 // packed-refs
	maxLooseRef   = 4 << 10
	maxLooseRefs  = 100_000
	maxConfigFile = 1 << 20
)

// A repository is what deed reads of someone's repository. Nothing in it is run, and most of it is read without git:
// a process costs more than all the files together. Its objects are used where they are, as alternates of a private
// repository, so that its configuration never counts.
type repository struct {
	git     *git
	dir     string // the top of the work tree, or the bare repository
	gitDir  string // what .git is or names
	common  string // the same, except in a linked work tree
	format  string // sha1 or sha256
	commit  string // of HEAD; "" before the first one
	branch  string // of HEAD; "" when it is detached
	refs    map[string]string
	config  map[string]string // those of copiedConfig that are set
	sparse  bool
	exclude []byte // info/exclude
	shallow []byte
}

// readRepository reads the repository whose top is dir. What git does not understand either is ErrSource.
func (g *git) readRepository(ctx context.Context, dir string) (*repository, error) {
	r := &repository{git: g, dir: dir, refs: map[string]string{}}
	if err := r.find(); err != nil {
		return nil, r.fault(err)
	}
	plain, err := r.readConfig(ctx)
	if err != nil {
		return nil, err
	}
	if !plain {
		// An unusual repository. git says whether it is one at all, and in a format that it knows.
		found, _, err := r.ask(ctx, "rev-parse", "--show-object-format")
		if err != nil {
			return nil, err
		}
		r.format = found
	}
	for _, part := range []func() error{r.readRefs, r.readHead, r.readRest} {
		if err := part(); err != nil {
			return nil, r.fault(err)
		}
	}
	return r, nil
}

func (r *repository) fault(err error) error {
	return &Error{Code: ErrSource, Op: "read repository", Path: r.dir, Err: err}
}

// find locates the parts of the repository and makes sure that they are there.
func (r *repository) find() error {
	if isBare(r.dir) {
		r.gitDir, r.common = r.dir, r.dir
		return nil
	}
	r.gitDir = filepath.Join(r.dir, ".git")
	if st, err := os.Stat(r.gitDir); err != nil {
		return err
	} else if !st.IsDir() {
		text, err := readSmall(r.dir, ".git", maxLooseRef)
		if err != nil {
			return err
		}
		to, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
		if !ok {
			return errors.New(".git is a file that names no repository")
		}
		r.gitDir = against(r.dir, to)
	}
	r.common = r.gitDir
	text, err := readSmall(r.gitDir, "commondir", maxLooseRef)
	if err != nil {
		return err
	}
	if to := strings.TrimRight(string(text), "\r\n"); to != "" {
		r.common = against(r.gitDir, to)
	}
	for _, d := range []string{filepath.Join(r.common, "objects"), filepath.Join(r.common, "refs")} {
		if st, err := os.Stat(d); err != nil || !st.IsDir() {
			return errors.New("not a git repository: it has no " + filepath.Base(d))
		}
	}
	return nil
}

func against(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

func (r *repository) objects() string { return filepath.Join(r.common, "objects") }

// ask runs git in the repository, which it only reads; the repository is named explicitly, so that git does not look
// for another one above it. ok is false for exit 1.
func (r *repository) ask(ctx context.Context, args ...string) (out string, ok bool, err error) {
	c := gitCall{args: args, dir: r.dir, gitDir: r.gitDir, max: 1 << 30}
	if r.gitDir != r.dir {
		c.workTree = r.dir
	}
	res, err := r.git.try(ctx, c)
	if err != nil {
		return "", false, &Error{Code: ErrGit, Op: "git " + args[0], Err: err}
	}
	if res.ExitCode > 1 {
		return "", false, r.fault(gitMessage(res))
	}
	return strings.TrimSuffix(string(res.Stdout), "\n"), res.ExitCode == 0, nil
}

// unplain are words that, anywhere in a configuration, ask for git to read it.
var unplain = []string{"include", "extensions", "autocrlf", "eol", "ignorecase", "symlinks", "precomposeunicode", "sparsecheckout", "filemode"}

// readConfig finds the settings that count. A configuration that mentions none of them but the usual filemode is
// understood without git.
func (r *repository) readConfig(ctx context.Context) (plain bool, err error) {
	r.format, r.config = "sha1", map[string]string{"core.filemode": "true"}
	text, err := readSmall(r.common, "config", maxConfigFile)
	if err != nil {
		return false, r.fault(err)
	}
	low := strings.ToLower(strings.Replace(string(text), "\n\tfilemode = true\n", "\n", 1))
	if text != nil && !slices.ContainsFunc(unplain, func(w string) bool { return strings.Contains(low, w) }) {
		return true, nil
	}
	list, _, err := r.ask(ctx, "config", "--includes", "-z", "--list")
	if err != nil {
		return false, err
	}
	for kv := range strings.SplitSeq(list, "\x00") {
		k, v, ok := strings.Cut(kv, "\n")
		if !ok {
			v = "true" // a key alone
		}
		if slices.Contains(copiedConfig, k) && plainValue(v) {
			r.config[k] = v
		}
		switch k {
		case "core.sparsecheckout":
			r.sparse = strings.EqualFold(v, "true") || v == "1"
		case "extensions.refstorage":
			if v != "files" {
				return false, r.fault(fmt.Errorf("its refs are stored as %q, which deed does not read", v))
			}
		}
	}
	return false, nil
}

// plainValue reports whether a value can be written into a configuration file unquoted; the values of copiedConfig
// all can.
func plainValue(v string) bool {
	return v != "" && strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// readRefs reads all refs but those of other work trees. A ref that git would call broken is left out.
func (r *repository) readRefs() error {
	packed, err := readSmall(r.common, "packed-refs", maxRefFile)
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(string(packed), "\n") {
		if id, name, ok := strings.Cut(line, " "); ok && r.isID(id) && validRef(name) {
			r.refs[name] = id
		}
	}
	root, err := os.OpenRoot(r.common)
	if err != nil {
		return err
	}
	defer root.Close()
	links := map[string]string{}
	n := 0
	err = fs.WalkDir(root.FS(), "refs", func(p string, e fs.DirEntry, err error) error {
		if n++; n > maxLooseRefs {
			return fmt.Errorf("it has more than %d loose refs", maxLooseRefs)
		}
		if err != nil {
			return err
		}
		if !e.Type().IsRegular() || !validRef(p) {
			return nil
		}
		text, err := readAt(root, p, maxLooseRef)
		if err != nil {
			return err
		}
		value := strings.TrimSpace(string(text))
		if to, ok := strings.CutPrefix(value, "ref: "); ok {
			links[p] = to
		} else if r.isID(value) {
			r.refs[p] = value
		}
		return nil
	})
	for p, to := range links { // one step is what there is in practice
		if id, ok := r.refs[to]; ok {
			r.refs[p] = id
		}
	}
	return err
}

func (r *repository) isID(s string) bool {
	return len(s) == idLength(r.format) && strings.Trim(s, "0123456789abcdef") == ""
}

func idLength(format string) int {
	if format == "sha256" {
		return 64
	}
	return 40
}

// validRef follows git check-ref-format. Refs are written to a file of lines: one with a newline would be two.
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return false
		}
	}
	for c := range strings.SplitSeq(name, "/") {
		if c == "" || strings.HasPrefix(c, ".") || strings.HasSuffix(c, ".lock") {
			return false
		}
	}
	return true
}

func (r *repository) readHead() error {
	text, err := readSmall(r.gitDir, "HEAD", maxLooseRef)
	if err != nil {
		return err
	}
	value := strings.TrimSpace(string(text))
	to, isRef := strings.CutPrefix(value, "ref: ")
	to = strings.TrimSpace(to)
	switch {
	case isRef && validRef(to):
		r.commit = r.refs[to]
		r.branch, isRef = strings.CutPrefix(to, "refs/heads/")
		if !isRef {
			r.branch = ""
		}
	case r.isID(value):
		r.commit = value
	default:
		return errors.New("not a git repository: its HEAD names neither a branch nor a commit")
	}
	return nil
}

func (r *repository) readRest() (err error) {
	if r.exclude, err = readSmall(filepath.Join(r.common, "info"), "exclude", maxIgnoreFile); err != nil {
		return err
	}
	r.shallow, err = readSmall(r.common, "shallow", maxRefFile)
	return err
}

// resolve finds the commit that a person means by ref, and the branch if that is what it names.
func (r *repository) resolve(ctx context.Context, ref string) (commit, branch string, err error) {
	if ref == "" || ref == "HEAD" {
		if r.commit == "" && ref != "" {
			return "", "", r.unknown(ref)
		}
		return r.commit, r.branch, nil
	}
	if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok && r.refs[ref] != "" {
		return r.refs[ref], name, nil
	}
	if id, ok := r.refs["refs/heads/"+ref]; ok && r.refs["refs/tags/"+ref] == "" && r.refs["refs/"+ref] == "" && !r.isID(ref) {
		return id, ref, nil
	}
	full, _, err := r.ask(ctx, "rev-parse", "--verify", "--quiet", "--symbolic-full-name", "--end-of-options", ref)
	if err != nil {
		return "", "", err
	}
	branch, isBranch := strings.CutPrefix(full, "refs/heads/")
	if !isBranch {
		branch = ""
	}
	commit, ok, err := r.ask(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err == nil && !ok {
		err = r.unknown(ref)
	}
	return commit, branch, err
}

func (r *repository) unknown(ref string) error {
	return &Error{Code: ErrSource, Op: "find ref", Path: ref, Err: ErrNoCommit, Remedy: "give a commit, branch or tag of " + r.dir}
}

// write makes a private repository at gitDir, with HEAD at a commit or on a branch that has it: the object format, the
// settings that the work tree depends on, and the refs. There are no objects in it: git finds them by way of
// gitCall.objects until they are copied.
func (r *repository) write(gitDir, commit, branch string) error {
	text := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if r.format != "sha1" {
		text = "[extensions]\n\tobjectformat = " + r.format + "\n[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
	}
	for _, k := range copiedConfig {
		if v, ok := r.config[k]; ok {
			text += "\t" + strings.TrimPrefix(k, "core.") + " = " + v + "\n"
		}
	}
	refs := maps.Clone(r.refs)
	head := commit + "\n"
	if branch != "" {
		head = "ref: refs/heads/" + branch + "\n"
		if commit != "" {
			if refs == nil {
				refs = map[string]string{}
			}
			refs["refs/heads/"+branch] = commit
		}
	}
	files := map[string]string{"config": text, "HEAD": head}
	if len(refs) > 0 {
		files["packed-refs"] = packedRefs(refs)
	}
	if len(r.shallow) > 0 {
		files["shallow"] = string(r.shallow)
	}
	if len(r.exclude) > 0 {
		files["info/exclude"] = string(r.exclude)
	}
	for _, d := range []string{"objects/pack", "objects/info", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(gitDir, d), 0o755); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(gitDir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func packedRefs(refs map[string]string) string {
	names := make([]string, 0, len(refs))
	for n := range refs {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("# pack-refs with: sorted \n")
	for _, n := range names {
		b.WriteString(refs[n] + " " + n + "\n")
	}
	return b.String()
}

// A borrower is a private repository, with a work tree, that reads the objects of someone else's repository where
// they are. It writes only its own objects.
type borrower struct {
	*git
	from     *repository
	gitDir   string
	workTree string
}

func (s *borrower) call(args []string) gitCall {
	return gitCall{args: args, dir: s.workTree, gitDir: s.gitDir, workTree: s.workTree, objects: s.from.objects(), max: 1 << 30}
}

func (s *borrower) in(ctx context.Context, args ...string) (string, error) {
	return s.run(ctx, s.call(args))
}

// readSmall reads a regular file of at most limit bytes in dir; what is absent or something else is nil.
func readSmall(dir, name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readAt(root, name, limit)
}

func readAt(root *os.Root, name string, limit int64) ([]byte, error) {
	st, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!st.Mode().IsRegular() || st.Size() > limit) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := root.ReadFile(name)
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}
