package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/proc"
)

// neutralAttributes takes every meaning from attributes in a tree. In info/attributes it outranks all .gitattributes
// files: no conversion of line ends or encodings, no filters, no drivers, no keyword expansion.
const neutralAttributes = "* -text !eol !crlf !filter !ident !working-tree-encoding !diff !merge !whitespace !export-subst\n"

// hermetic is the configuration that git runs with. It is given twice: as the "global" file, which also reaches
// the processes that git starts for another repository, and (fixed) in the environment, which outranks what a
// repository says about itself.
var hermetic = []string{
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.untrackedCache=false",
	"core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null",
	"core.pager=cat",
	"core.editor=false",
	"core.askPass=",
	"credential.helper=",
	"gc.auto=0",
	"maintenance.auto=false",
	"fetch.unpackLimit=1",
	"fastimport.unpackLimit=0",
	"pack.compression=1",
	"protocol.version=2",
	"submodule.recurse=false",
	"advice.detachedHead=false",
	"safe.directory=*",
	"core.logAllRefUpdates=false",
	"core.fsync=none", // what is made here is made again after a crash
}

// A git is a private place from which git runs: its home, its configuration and, if wanted, a private repository that
// no one else ever wrote to.
type git struct {
	home    string
	release func()        // of a home that is in the system's directory
	limit   time.Duration // of one call
}

// gitLimit is how long one call of git may take. What it works on can be an agent's, made so that it takes for ever.
const gitLimit = 20 * time.Minute

// newGit makes the place below dir, whose owner removes what a crash leaves in it, or in the system's directory for temporary files
// when dir is "".
func newGit(dir string) (*git, error) {
	g := &git{limit: gitLimit}
	var home string
	var err error
	if dir == "" {
		home, g.release, err = atomicfile.Scratch("git")
	} else {
		home, err = os.MkdirTemp(dir, ".deed-git-")
	}
	if err != nil {
		return nil, fmt.Errorf("prepare git: %w", err)
	}
	// Both the home and the repositories are named to git as they are: a relative name would change its meaning.
	if home, err = filepath.Abs(home); err != nil {
		return nil, fmt.Errorf("prepare git: %w", err)
	}
	var b strings.Builder
	for _, kv := range hermetic {
		k, v, _ := strings.Cut(kv, "=")
		i := strings.LastIndexByte(k, '.')
		fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", k[:i], k[i+1:], v)
	}
	g.home = home
	if err := os.WriteFile(g.config(), []byte(b.String()), 0o600); err != nil {
		g.close()
		return nil, fmt.Errorf("prepare git: %w", err)
	}
	return g, nil
}

func (g *git) close() {
	_ = os.RemoveAll(g.home)
	if g.release != nil {
		g.release()
	}
}

func (g *git) config() string { return filepath.Join(g.home, "gitconfig") }

// scratch writes an empty repository itself and returns its directory: that saves the process of git init.
func (g *git) scratch() (string, error) {
	dir := filepath.Join(g.home, "repo.git")
	for _, d := range []string{"objects", "refs", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return "", fmt.Errorf("prepare git: %w", err)
		}
	}
	for name, text := range map[string]string{
		"HEAD":            "ref: refs/heads/none\n",
		"config":          "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n",
		"info/attributes": neutralAttributes,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("prepare git: %w", err)
		}
	}
	return dir, nil
}

// A gitCall is one command.
type gitCall struct {
	args     []string
	dir      string   // working directory; the private home when ""
	gitDir   string   // GIT_DIR; git looks for it when ""
	workTree string   // GIT_WORK_TREE, with gitDir
	objects  string   // a directory of objects that are read as if they were the repository's own
	env      []string // more variables, which win
	stdin    io.Reader
	stdout   io.Writer
	max      int64 // bytes of output
	locks    bool  // write an index that was only read, to keep what was learnt
}

func (g *git) env(c gitCall) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + g.home,
		"XDG_CONFIG_HOME=" + g.home,
		"TMPDIR=" + g.home,
		"LC_ALL=C",
		"TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + g.config(),
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_PAGER=cat",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_ALLOW_PROTOCOL=file",
		"GIT_ADVICE=0",
		"GIT_CEILING_DIRECTORIES=" + g.home,
	}
	n := 0
	for _, kv := range hermetic {
		k, v, _ := strings.Cut(kv, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, k), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, v))
		n++
	}
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
	if !c.locks {
		env = append(env, "GIT_OPTIONAL_LOCKS=0")
	}
	if c.gitDir != "" {
		env = append(env, "GIT_DIR="+c.gitDir)
	}
	if c.workTree != "" {
		env = append(env, "GIT_WORK_TREE="+c.workTree)
	}
	if c.objects != "" {
		env = append(env, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quoteC(c.objects))
	}
	return append(env, c.env...)
}

// try runs git and returns its result whatever its exit code.
func (g *git) try(ctx context.Context, c gitCall) (proc.ToolResult, error) {
	dir := c.dir
	if dir == "" {
		dir = g.home
	}
	ctx, cancel := context.WithTimeoutCause(ctx, g.limit, fmt.Errorf("it took longer than %s", g.limit))
	defer cancel()
	return proc.Tool(ctx, proc.ToolSpec{
		Argv: append([]string{"git"}, c.args...), Dir: dir, Env: g.env(c),
		Stdin: c.stdin, Stdout: c.stdout, MaxOutput: c.max,
	})
}

// run runs git and returns what it printed; any exit but 0 is ErrGit with git's own words.
func (g *git) run(ctx context.Context, c gitCall) (string, error) {
	res, err := g.try(ctx, c)
	if err != nil {
		return "", &Error{Code: ErrGit, Op: "git " + c.args[0], Err: err}
	}
	if res.ExitCode != 0 {
		return "", &Error{Code: ErrGit, Op: "git " + c.args[0], Err: gitMessage(res)}
	}
	return string(res.Stdout), nil
}

func gitMessage(res proc.ToolResult) error {
	s := strings.TrimSpace(string(res.Stderr))
	if len(s) > 2000 {
		s = s[:2000] + " …"
	}
	if s == "" {
		s = fmt.Sprintf("exit %d", res.ExitCode)
	}
	return errors.New(s)
}
