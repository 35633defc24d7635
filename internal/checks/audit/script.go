package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/base/truncate"
)

// A Script is the fingerprint script of an installed extension: a program that reads {"file_path", "content"} and writes
// what it found in the file, both as one JSON object.
type Script struct {
	Path       string   // absolute
	Extensions []string // of the files that it reads, with or without a dot
	Env        []string // the whole environment
	Digest     string   // of the extension: facts of another one are of no use

	Interpreter []string // what runs it, looked for on the PATH of Env; none: its first line says that
	Lines       bool     // it takes many documents, see session

	missing string // why it cannot be run
}

// Bounds of a script: time for one file, output, and faults after which it is not run again.
const (
	scriptTime   = 10 * time.Second
	scriptOutput = 4 << 20
	scriptFaults = 3
	maxReason    = 120
)

// scriptFailed is why a file has no structure that may have one next time: it is not kept in the cache.
const scriptFailed = "the fingerprint script could not read it"

// scripts is what all workers know of the fingerprint scripts.
type scripts struct {
	run  func(s Script, d question) (fingerprint, error)
	open func(s Script) (*session, error)
	list []Script

	mu     sync.Mutex
	faults map[string]int    // guarded by mu
	last   map[string]string // guarded by mu
}

func newScripts(ctx context.Context, list []Script, dir string) *scripts {
	s := &scripts{list: list, faults: map[string]int{}, last: map[string]string{}}
	s.run = func(s Script, d question) (p fingerprint, err error) {
		in, err := json.Marshal(d)
		if err != nil {
			return p, err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, scriptTime, fmt.Errorf("it took longer than %s", scriptTime))
		defer cancel()
		res, err := proc.Tool(ctx, proc.ToolSpec{Argv: s.argv(), Dir: s.dir(dir), Env: s.Env, Stdin: bytes.NewReader(in), MaxOutput: scriptOutput})
		if err == nil {
			err = res.Check()
		}
		if err == nil {
			err = json.Unmarshal(res.Stdout, &p)
		}
		return p, err
	}
	s.open = func(s Script) (*session, error) { return openSession(ctx, s, s.dir(dir)) }
	return s
}

// dir is where a script runs: in the component, or, with an interpreter, in its own directory. A file in the working directory
// can choose some interpreters.
func (s Script) dir(component string) string {
	if len(s.Interpreter) > 0 {
		return filepath.Dir(s.Path)
	}
	return component
}

// A question is a file as a script gets it.
type question struct {
	ID      int    `json:"id,omitempty"` // of a session, where the answer has it as well
	Path    string `json:"file_path"`
	Content string `json:"content"`
}

// fingerprint is the answer of a script. Every member is optional.
type fingerprint struct {
	Methods    []string          `json:"methods"`
	TypeName   string            `json:"type_name"`
	TypeNames  []string          `json:"type_names"`
	Extends    string            `json:"extends"`
	Implements []string          `json:"implements"`
	Namespace  string            `json:"namespace"`
	Imports    []string          `json:"imports"`
	Hashes     map[string]string `json:"method_hashes"`
	Shapes     map[string]string `json:"structural_hashes"`
	Visibility map[string]string `json:"visibility"`

	// What deed's own scripts report in addition.
	ID          int             `json:"id"`
	Error       string          `json:"error"` // why the file has no structure: then there is nothing else
	ImportLines []int           `json:"import_lines"`
	Functions   []printFunction `json:"functions"` // every one of Methods, with those of one name apart
	Types       []printType     `json:"types"`
}

type printFunction struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Line       int    `json:"line"`
	End        int    `json:"end"`
	Visibility string `json:"visibility"`
	Parameters int    `json:"parameters"`
	Hash       string `json:"hash"`
	Shape      string `json:"shape"`
	Size       int    `json:"size"`
}

type printType struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Line       int      `json:"line"`
	Visibility string   `json:"visibility"`
	Implements []string `json:"implements"`
}

// fingerprint asks the script of a language without a parser here. A file that no script can read has no structure.
func (w *worker) fingerprint(f *facts, name string, src []byte) {
	f.unparsed = "no parser for " + f.lang
	ext := strings.TrimPrefix(path.Ext(name), ".")
	for _, s := range w.a.scripts.list {
		if !slices.ContainsFunc(s.Extensions, func(e string) bool { return strings.TrimPrefix(e, ".") == ext }) {
			continue
		}
		if s.missing != "" {
			f.unparsed = "no parser for " + f.lang + ": " + s.missing
			continue
		}
		p, ok := w.ask(s, name, src)
		switch {
		case !ok:
			f.unparsed = scriptFailed
		case p.Error != "":
			f.unparsed = truncate.Head(strings.Join(strings.Fields(p.Error), " "), maxReason)
		default:
			f.unparsed, f.parsed = "", true
			p.fill(f)
			return
		}
	}
}

// ask has a script read a file. What it cannot do is counted, by script.
func (w *worker) ask(script Script, name string, src []byte) (p fingerprint, ok bool) {
	s := w.a.scripts
	if s.given(script) {
		return p, false
	}
	d := question{Path: name, Content: string(src)}
	var err error
	if script.Lines {
		p, err = w.converse(script, d)
	} else {
		p, err = s.run(script, d)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.faults[script.Path]++
		s.last[script.Path] = fmt.Sprintf("%s: %v", name, err)
		return p, false
	}
	s.faults[script.Path] = 0
	return p, true
}

// converse has a script that takes many documents read one. A script that ended is started again for the next.
func (w *worker) converse(script Script, d question) (p fingerprint, err error) {
	x := w.sessions[script.Path]
	if x == nil {
		if x, err = w.a.scripts.open(script); err != nil {
			return p, err
		}
		if w.sessions == nil {
			w.sessions = map[string]*session{}
		}
		w.sessions[script.Path] = x
	}
	if p, err = x.ask(d); err != nil {
		x.close()
		delete(w.sessions, script.Path)
	}
	return p, err
}

// close ends the scripts of a worker.
func (w *worker) close() {
	for _, x := range w.sessions {
		x.close()
	}
}

// given reports whether a script was given up.
func (s *scripts) given(script Script) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults[script.Path] >= scriptFaults
}

// warnings says which scripts were given up.
func (s *scripts) warnings() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, n := range s.faults {
		if n >= scriptFaults {
			out = append(out, fmt.Sprintf("the fingerprint script %s failed %d times in a row and was not run again: %s", path.Base(p), n, s.last[p]))
		}
	}
	slices.Sort(out)
	return out
}

func (p fingerprint) fill(f *facts) {
	f.pkg = p.Namespace
	for n, i := range p.Imports {
		im := importFact{path: i}
		if len(p.ImportLines) == len(p.Imports) {
			im.line = sane(p.ImportLines[n])
		}
		f.imports = append(f.imports, im)
	}
	if p.Functions == nil {
		p.expand()
	}
	for _, t := range p.Types {
		f.types = append(f.types, typeFact{name: t.Name, line: sane(t.Line), exported: public(t.Visibility), iface: t.Kind == "interface", implements: t.Implements})
	}
	for _, m := range p.Functions {
		fn := funcFact{name: m.Name, recv: m.Type, line: sane(m.Line), end: sane(m.End), exported: public(m.Visibility), size: sane(m.Size)}
		if m.Parameters >= 0 {
			fn.sig = strconv.Itoa(m.Parameters)
		}
		if m.Hash != "" {
			fn.exact = hashString(fnvOffset, m.Hash)
		}
		if m.Shape != "" {
			fn.shape = hashString(fnvOffset, m.Shape)
		}
		f.funcs = append(f.funcs, fn)
	}
}

// sane makes a number that a script gave one that a file can have.
func sane(n int) int { return min(max(n, 0), math.MaxInt32) }

func public(visibility string) bool { return cmp.Or(visibility, "public") == "public" }

// expand makes functions and types of what every script says. How long a body is, it does not say: it hashes what is worth
// it.
func (p *fingerprint) expand() {
	names := p.TypeNames
	if p.TypeName != "" && !slices.Contains(names, p.TypeName) {
		names = append([]string{p.TypeName}, names...)
	}
	bases := p.Implements
	if p.Extends != "" {
		bases = append([]string{p.Extends}, bases...)
	}
	for i, n := range names {
		t := printType{Name: n}
		if i == 0 {
			t.Implements = bases
		}
		p.Types = append(p.Types, t)
	}
	for _, m := range slices.Sorted(slices.Values(p.Methods)) {
		fn := printFunction{Name: m, Type: p.TypeName, Visibility: p.Visibility[m], Parameters: -1, Hash: p.Hashes[m], Shape: p.Shapes[m]}
		if fn.Hash != "" {
			fn.Size = minDuplicateSize
		}
		p.Functions = append(p.Functions, fn)
	}
}
