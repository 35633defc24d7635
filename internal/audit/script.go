package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/proc"
)

// A Script is the fingerprint script of an installed extension: a program that reads {"file_path", "content"} and writes
// what it found in the file, both as one JSON object.
type Script struct {
	Path       string   // absolute
	Extensions []string // of the files that it reads, with or without a dot
	Env        []string // the whole environment
	Digest     string   // of the extension: facts of another one are of no use
}

// Bounds of a script: time for one file, output, and faults after which it is not run again.
const (
	scriptTime   = 10 * time.Second
	scriptOutput = 4 << 20
	scriptFaults = 3
)

// scriptFailed is why a file has no structure that may have one next time: it is not kept in the cache.
const scriptFailed = "the fingerprint script could not read it"

// scripts runs fingerprint scripts for all workers.
type scripts struct {
	run  func(s Script, in []byte) ([]byte, error)
	list []Script

	mu     sync.Mutex
	faults map[string]int    // guarded by mu
	last   map[string]string // guarded by mu
}

func newScripts(ctx context.Context, list []Script, dir string) *scripts {
	return &scripts{list: list, faults: map[string]int{}, last: map[string]string{}, run: func(s Script, in []byte) ([]byte, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, scriptTime, fmt.Errorf("it took longer than %s", scriptTime))
		defer cancel()
		res, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{s.Path}, Dir: dir, Env: s.Env, Stdin: bytes.NewReader(in), MaxOutput: scriptOutput})
		if err != nil {
			return nil, err
		}
		return res.Stdout, res.Check()
	}}
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
}

// fingerprint asks the script of a language without a parser here. A file that no script can read has no structure.
func (a *audit) fingerprint(f *facts, name string, src []byte) {
	f.unparsed = "no parser for " + f.lang
	ext := strings.TrimPrefix(path.Ext(name), ".")
	for _, s := range a.scripts.list {
		if !slices.ContainsFunc(s.Extensions, func(e string) bool { return strings.TrimPrefix(e, ".") == ext }) {
			continue
		}
		if p, ok := a.scripts.ask(s, name, src); ok {
			f.unparsed, f.parsed = "", true
			p.fill(f)
			return
		}
		f.unparsed = scriptFailed
	}
}

func (s *scripts) ask(script Script, name string, src []byte) (fingerprint, bool) {
	s.mu.Lock()
	given := s.faults[script.Path] >= scriptFaults
	s.mu.Unlock()
	var p fingerprint
	if given {
		return p, false
	}
	in, err := json.Marshal(map[string]string{"file_path": name, "content": string(src)})
	if err != nil {
		return p, false
	}
	out, err := s.run(script, in)
	if err == nil {
		err = json.Unmarshal(out, &p)
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
	for _, i := range p.Imports {
		f.imports = append(f.imports, importFact{path: i})
	}
	names := p.TypeNames
	if p.TypeName != "" && !slices.Contains(names, p.TypeName) {
		names = append([]string{p.TypeName}, names...)
	}
	bases := p.Implements
	if p.Extends != "" {
		bases = append([]string{p.Extends}, bases...)
	}
	for i, n := range names {
		t := typeFact{name: n, exported: true}
		if i == 0 {
			t.implements = bases
		}
		f.types = append(f.types, t)
	}
	for _, m := range p.Methods {
		fn := funcFact{name: m, recv: p.TypeName, exported: cmp.Or(p.Visibility[m], "public") == "public"}
		if h := p.Hashes[m]; h != "" { // how long the body is, the script does not say: it hashes what is worth it
			fn.exact, fn.size = hashString(fnvOffset, h), minDuplicateSize
		}
		if h := p.Shapes[m]; h != "" {
			fn.shape = hashString(fnvOffset, h)
		}
		f.funcs = append(f.funcs, fn)
	}
	slices.SortFunc(f.funcs, func(x, y funcFact) int { return cmp.Compare(x.name, y.name) })
}
