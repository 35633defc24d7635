package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/changed"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// The types of a production change.
const (
	methodRename  = "method_rename"
	methodRemoved = "method_removed"
	classRename   = "class_rename"
	classRemoved  = "class_removed"
	errorCode     = "error_code_change"
	fileMove      = "file_move"
)

// A DriftConfig says what to look at. The zero value of the last three goes by what files are called.
type DriftConfig struct {
	Component   string
	Dir         string
	Since       string          // "" is DefaultSince, or the first commit of a shorter history
	Mapping     changed.Mapping // where sources and tests are
	Extensions  []string        // the endings of files, with or without dot, that count; none is all that are known
	InlineTests bool            // sources have tests inside
}

// DefaultSince is the commit from which drift is measured by default.
const DefaultSince = "HEAD~10"

// minSymbol is how long a name must be to be looked for: shorter ones are everywhere.
const minSymbol = 3

// Drift finds the symbols and files that production code renamed or removed since a commit, and the lines of tests that
// still speak of them. It reads the work tree and the commit, and writes nothing.
func Drift(ctx context.Context, cfg DriftConfig) (runner.Drift, error) {
	d := runner.Drift{Component: cfg.Component, Since: cfg.Since, ProductionChanges: []runner.ProductionChange{}, DriftedTests: []runner.DriftedTest{}}
	files, since, err := changesFrom(ctx, cfg.Dir, cfg.Since)
	if err != nil {
		return d, fmt.Errorf("find drift: %w", err)
	}
	d.Since = since
	p := &production{cfg: cfg}
	if err := p.read(ctx, files); err != nil {
		return d, fmt.Errorf("find drift: %w", err)
	}
	defer p.close()
	found := p.changes()
	for _, c := range found {
		d.ProductionChanges = append(d.ProductionChanges, c.ProductionChange)
	}
	if len(found) == 0 {
		return d, nil
	}
	all, err := changed.All(ctx, cfg.Dir)
	if err != nil {
		return d, fmt.Errorf("find drift: %w", err)
	}
	if d.DriftedTests, err = p.references(ctx, found, all); err != nil {
		return d, fmt.Errorf("find drift: %w", err)
	}
	count(&d)
	return d, nil
}

// changesFrom lists what changed since a commit, or in as much of the history as there is.
func changesFrom(ctx context.Context, dir, since string) ([]changed.File, string, error) {
	if since != "" {
		files, err := changed.Since(ctx, dir, since)
		return files, since, err
	}
	var first error
	for n := 10; n >= 0; n-- {
		ref := fmt.Sprintf("HEAD~%d", n)
		files, err := changed.Since(ctx, dir, ref)
		if err == nil {
			return files, ref, nil
		}
		if first == nil {
			first = err
		}
		if !errors.Is(err, workspace.ErrSource) && !errors.Is(err, workspace.ErrShallow) {
			break
		}
	}
	return nil, DefaultSince, first
}

func count(d *runner.Drift) {
	files := map[string]bool{}
	for _, t := range d.DriftedTests {
		files[t.TestFile] = true
		if d.ProductionChanges[t.ChangeIndex].NewSymbol != "" {
			d.AutoFixable++
		}
	}
	d.TotalDriftedFiles, d.TotalDriftReferences = len(files), len(d.DriftedTests)
}

// DriftedFiles are the test files that a drift names, sorted.
func DriftedFiles(d runner.Drift) []string {
	var files []string
	for _, t := range d.DriftedTests {
		files = append(files, t.TestFile)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// counts reports whether files of this ending are looked at.
func (cfg DriftConfig) counts(p string) bool {
	ext := path.Ext(p)
	if len(cfg.Extensions) == 0 {
		return languageOf(p) != nil
	}
	return slices.ContainsFunc(cfg.Extensions, func(e string) bool { return ext != "" && strings.TrimPrefix(e, ".") == ext[1:] })
}

// A change is a production change with what is needed to find who speaks of it.
type change struct {
	runner.ProductionChange
	owner string // of a method: its type
}

// A source is a production file, before and after.
type source struct {
	changed.File
	lang        *language
	old, new    []symbol
	before, now []byte
}

// production is what changed in the sources of a component.
type production struct {
	cfg     DriftConfig
	tree    *tree
	sources []source
	still   map[string]bool // names that production code declares now, by ending; filled when needed
}

func (p *production) close() { p.tree.close() }

// read takes in both contents of every source that changed.
func (p *production) read(ctx context.Context, files []changed.File) error {
	var mine []changed.File
	for _, f := range files {
		name := f.Path
		if f.Status == changed.Renamed && f.Old != "" {
			name = f.Old
		}
		if f.Status != changed.Copied && p.cfg.counts(name) && p.cfg.Mapping.IsSource(name) && !p.cfg.Mapping.IsTest(name) {
			mine = append(mine, f)
		}
	}
	before, err := changed.Before(ctx, p.cfg.Dir, mine)
	if err != nil {
		return err
	}
	if p.tree, err = openTree(p.cfg.Dir); err != nil {
		return err
	}
	for _, f := range mine {
		s := source{File: f, lang: languageOf(f.Path), before: before[f.Blob]}
		if s.lang == nil {
			s.lang = &phpLike
		}
		if s.now = p.tree.read(f.Path); s.now == nil && f.There() {
			continue // not a regular file, or one that was not written by hand
		}
		s.old, s.new = s.lang.both(s.before, s.now)
		p.sources = append(p.sources, s)
	}
	return nil
}

// changes lists what was renamed or removed, sorted by file and line.
func (p *production) changes() []change {
	var out []change
	arrived := map[string]bool{} // what was added somewhere: a symbol that went there was moved, not removed
	for _, s := range p.sources {
		for _, sym := range missing(s.new, s.old) {
			arrived[s.lang.name+sym.id()] = true
		}
	}
	for _, s := range p.sources {
		out = append(out, s.symbolChanges(arrived)...)
		out = append(out, s.codeChanges()...)
		if s.Status == changed.Renamed {
			out = append(out, change{ProductionChange: runner.ProductionChange{ChangeType: fileMove, File: s.Path, OldSymbol: s.Old, NewSymbol: s.Path, Line: 1}})
		}
	}
	slices.SortStableFunc(out, func(a, b change) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.ChangeType, b.ChangeType), strings.Compare(a.OldSymbol, b.OldSymbol))
	})
	return out
}

// How far apart, in lines, an old name and a new one may be to be taken for a rename.
const (
	methodReach = 10
	classReach  = 15
	codeReach   = 5
)

func (s source) symbolChanges(arrived map[string]bool) []change {
	var out []change
	added := missing(s.new, s.old)
	taken := make([]bool, len(added))
	for _, old := range missing(s.old, s.new) {
		if len(old.name) < minSymbol || reserved(old.name) {
			continue
		}
		at := s.newLine(old.line)
		c := change{owner: old.owner, ProductionChange: runner.ProductionChange{ChangeType: methodRemoved, File: s.Path, OldSymbol: old.name, Line: at}}
		if old.kind == class {
			c.ChangeType = classRemoved
		}
		if i := renamed(old, at, added, taken); i >= 0 {
			taken[i] = true
			c.NewSymbol, c.Line = added[i].name, added[i].line
			if c.ChangeType = methodRename; old.kind == class {
				c.ChangeType = classRename
			}
		} else if arrived[s.lang.name+old.id()] {
			continue
		}
		out = append(out, c)
	}
	return out
}

// renamed finds what a symbol is called now: one with the same body, else the nearest one within reach.
func renamed(old symbol, at int, added []symbol, taken []bool) int {
	reach := methodReach
	if old.kind == class {
		reach = classReach
	}
	best, distance := -1, reach+1
	for i, a := range added {
		if taken[i] || a.kind != old.kind || a.name == old.name || old.owned && a.owner != old.owner {
			continue
		}
		if old.shape != "" && a.shape == old.shape {
			return i
		}
		if d := max(at-a.line, a.line-at); d < distance {
			best, distance = i, d
		}
	}
	return best
}

// codeChanges pairs the error codes that a file no longer has with those that replaced them.
func (s source) codeChanges() []change {
	if len(s.before) == 0 || len(s.now) == 0 {
		return nil
	}
	old, now := s.lang.codes(s.before), s.lang.codes(s.now)
	added := missing(now, old)
	taken := make([]bool, len(added))
	var out []change
	for _, o := range missing(old, now) {
		at := s.newLine(o.line)
		best, distance := -1, codeReach+1
		for i, a := range added {
			if d := max(at-a.line, a.line-at); !taken[i] && d < distance {
				best, distance = i, d
			}
		}
		if best < 0 {
			continue
		}
		taken[best] = true
		out = append(out, change{ProductionChange: runner.ProductionChange{ChangeType: errorCode, File: s.Path, OldSymbol: o.name, NewSymbol: added[best].name, Line: added[best].line}})
	}
	return out
}

// newLine says where a line of the old file is, or would be, in the new one.
func (s source) newLine(old int) int {
	shift := 0
	for _, h := range s.Hunks {
		switch {
		case h.OldLines == 0 && old <= h.OldStart, h.OldLines > 0 && old < h.OldStart:
			return max(1, old+shift)
		case old < h.OldStart+h.OldLines:
			return max(1, h.NewStart+min(old-h.OldStart, max(0, h.NewLines-1)))
		}
		shift += h.NewLines - h.OldLines
	}
	return max(1, old+shift)
}

// missing lists the symbols of one list that the other has not, each once.
func missing(from, in []symbol) []symbol {
	have := map[string]bool{}
	for _, s := range in {
		have[s.id()] = true
	}
	var out []symbol
	for _, s := range from {
		if !have[s.id()] {
			have[s.id()] = true
			out = append(out, s)
		}
	}
	return out
}

// reserved are names that a language gives a meaning to: everybody has them.
func reserved(name string) bool {
	return strings.HasPrefix(name, "__") || slices.Contains([]string{"main", "init", "constructor", "new", "default", "setUp", "tearDown"}, name)
}
