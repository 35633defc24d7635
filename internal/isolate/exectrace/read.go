package exectrace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A Trace is what a command was seen to execute.
type Trace struct {
	Programs []Program // of the tree, in the order in which they were executed
	// Complete says that everything was seen that can be; see the package comment. Otherwise Why says what is missing.
	Complete bool
	Why      string
	// Disturbed names a program that ran without rights that it has otherwise, because it was observed: how the command
	// ended says nothing, and it has to be run again without observation. Empty: there was none.
	Disturbed string
}

// A Program is a file of the tree that was executed, or that an interpreter was given to execute. One that was executed
// more than once is there more than once.
type Program struct {
	Path   string   // relative to the tree, separated by slashes, without links
	Links  []string // links of the tree on the way to it: changing one changes what is executed
	Argv   []string // shortened to a few kilobytes
	Parent int      // index in Programs of the nearest ancestor that is a program of the tree; -1: none
	Under  []string // names of all ancestors that are not of the tree, nearest first: make, npm, pytest, go, bats
	// Leads says that it, or what it started, executed another program, of the tree or not, but for trivial ones such as cat.
	Leads    bool
	Captured bool // its standard output was not the command's own
}

// trivial programs are no reason to say that a program leads to others.
var trivial = map[string]bool{
	"[": true, "basename": true, "cat": true, "chmod": true, "cp": true, "cut": true, "date": true, "dirname": true, "echo": true, "env": true, "expr": true,
	"false": true, "getconf": true, "grep": true, "head": true, "hostname": true, "id": true, "ln": true, "ls": true, "mkdir": true, "mktemp": true, "mv": true,
	"nproc": true, "printf": true, "pwd": true, "readlink": true, "realpath": true, "rm": true, "rmdir": true, "sed": true, "seq": true, "sleep": true, "sort": true,
	"stat": true, "tail": true, "tee": true, "test": true, "touch": true, "tput": true, "tr": true, "true": true, "tty": true, "uname": true, "uniq": true, "wc": true,
	"which": true, "whoami": true,
}

// maxLine is longer than any record.
const maxLine = 1 << 20

// Read reads what was traced into a file. tree is where the command saw the tree. A file that is not there is a trace of
// nothing, which is not complete.
func Read(file, tree string) (Trace, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Trace{Why: "the run was not observed"}, nil
	}
	if err != nil {
		return Trace{}, fmt.Errorf("read the trace: %w", err)
	}
	defer f.Close()
	t := newTree(tree)
	out, err := t.records(f)
	if err != nil {
		return Trace{}, fmt.Errorf("read the trace %s: %w", file, err)
	}
	for _, n := range t.nodes {
		t.supersede(n)
	}
	for _, n := range t.nodes {
		t.lead(n)
	}
	for _, n := range t.nodes {
		out.Programs = append(out.Programs, t.programs(n, len(out.Programs))...)
	}
	return out, nil
}

// A tree has the records of a trace.
type tree struct {
	roots []string // what it is called
	nodes []*node  // by id, from 1
}

// A node is a record with what it has of the tree.
type node struct {
	record
	parent *node
	of     []source // files of the tree that are executed here, relative to it
	inTree bool     // the executable itself is of the tree
	// foreign is the name of a script that is not of the tree.
	foreign string
	gone    []bool // by of: the same process executes it again, as the interpreter of a script does
	leads   bool
	index   int // of its last program; -1: none
}

func newTree(dir string) *tree {
	t := &tree{roots: []string{path.Clean(filepath.ToSlash(dir))}}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		t.roots = append(t.roots, filepath.ToSlash(real))
	}
	return t
}

// relative returns a path relative to the tree, and whether it is below it.
func (t *tree) relative(p string) (string, bool) {
	if path.Clean(p) != p {
		return "", false // never seen: the tracer follows paths to their end
	}
	for _, root := range t.roots {
		if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(root, "/")+"/"); ok && rest != "" {
			return rest, true
		}
	}
	return "", false
}

// records reads the lines of a trace.
func (t *tree) records(r io.Reader) (Trace, error) {
	out := Trace{Why: "the observation was ended before the command"}
	lines := bufio.NewScanner(io.LimitReader(r, 2*maxBytes))
	lines.Buffer(make([]byte, 64<<10), maxLine)
	failed := ""
	for lines.Scan() {
		var rec record
		if err := json.Unmarshal(lines.Bytes(), &rec); err != nil {
			failed = "a line cannot be read: " + err.Error()
			break // a write that was cut short, or somebody else's
		}
		switch {
		case rec.End:
			out.Complete, out.Why = true, ""
		case rec.Error != "" && failed == "":
			failed = rec.Error
		case rec.ID > 0:
			if rec.ID != len(t.nodes)+1 || rec.Parent < 0 || rec.Parent >= rec.ID {
				return Trace{}, fmt.Errorf("record %d of parent %d is number %d", rec.ID, rec.Parent, len(t.nodes)+1)
			}
			t.add(rec)
			if rec.Lost && out.Disturbed == "" {
				out.Disturbed = rec.Exe
			}
		}
	}
	if err := lines.Err(); err != nil {
		return Trace{}, err
	}
	if failed != "" {
		out.Complete, out.Why = false, failed
	}
	return out, nil
}

func (t *tree) add(rec record) {
	n := &node{record: rec, index: -1}
	if rec.Parent > 0 {
		n.parent = t.nodes[rec.Parent-1]
	}
	t.nodes = append(t.nodes, n)
	_, n.inTree = t.relative(rec.Exe)
	for _, s := range append([]source{{Path: rec.Exe, Links: rec.Links}}, rec.Scripts...) {
		if at, ok := t.relative(s.Path); ok {
			n.of = append(n.of, source{Path: at, Links: t.links(s.Links)})
		} else if s.Name != "" && n.foreign == "" {
			n.foreign = s.Name
		}
	}
	n.gone = make([]bool, len(n.of))
}

// links returns those of the tree.
func (t *tree) links(all []string) []string {
	var list []string
	for _, l := range all {
		if at, ok := t.relative(l); ok {
			list = append(list, at)
		}
	}
	return list
}
