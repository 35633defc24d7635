package audit

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// An export is a name that other packages could use, in a package that only this module can import.
type export struct {
	s      *source
	name   string
	what   string // function, type, value or method
	line   int
	method bool

	used, usedByTests bool
}

// detectExports reports exported names that are not referenced. Go only: its imports say which package a name is of. There
// are no types here, so a name counts as used when anything refers to it, and a method when any method of its name is
// called or asked for by an interface; what is reported is then really not referred to by source. What reflection and
// templates do is not seen.
func (a *audit) detectExports(context.Context) error {
	byDir := map[string][]*export{}
	for _, dir := range a.tree.dirs {
		if a.tree.module[dir] == "" || servesTests(dir) {
			continue
		}
		if list := a.exports(dir); len(list) > 0 {
			byDir[dir] = list
		}
	}
	dirOf := map[string]string{}
	for dir := range byDir {
		dirOf[a.tree.module[dir]] = dir
	}
	methods := &methodIndex{byRef: map[uint64][]*export{}}
	for _, list := range byDir {
		for _, e := range list {
			if e.method {
				methods.add(e)
			}
		}
	}
	for _, s := range a.files {
		if s.lang == "go" {
			a.uses(s, byDir, dirOf, methods)
		}
	}
	for _, dir := range a.tree.dirs {
		for _, e := range byDir[dir] {
			a.unused(e)
		}
	}
	return nil
}

// exports lists the exported names of a package that cannot be imported from outside of the module.
func (a *audit) exports(dir string) (out []*export) {
	p := "/" + a.tree.module[dir] + "/"
	internal := strings.Contains(p, "/internal/")
	for _, s := range a.tree.byDir[dir] {
		if s.lang != "go" || s.test || s.generated || (!internal && s.pkg != "main") || workspace.MatchAny(a.set.LifecyclePathGlobs, s.path) {
			continue
		}
		add := func(name, what string, line int, method bool) {
			if !slices.Contains(a.set.KnownSymbols, name) {
				out = append(out, &export{s: s, name: name, what: what, line: line, method: method})
			}
		}
		for _, fn := range s.funcs {
			switch {
			case !fn.exported:
			case fn.recv == "":
				add(fn.name, "function", fn.line, false)
			case !wellKnownMethods()[fn.name]:
				add(fn.name, "method", fn.line, true)
			}
		}
		for _, t := range s.types {
			if t.exported {
				add(t.name, "type", t.line, false)
			}
		}
		for _, v := range s.values {
			if isExported(v.name) {
				add(v.name, "value", v.line, false)
			}
		}
	}
	return out
}

// wellKnownMethods are called by the standard library and its like, through interfaces that are not in this tree.
var wellKnownMethods = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for _, name := range []string{
		"Error", "String", "GoString", "Format", "Is", "As", "Unwrap", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText",
		"MarshalBinary", "UnmarshalBinary", "MarshalYAML", "UnmarshalYAML", "MarshalJSONTo", "UnmarshalJSONFrom", "AppendText", "AppendBinary",
		"Read", "Write", "Close", "Seek", "ReadAt", "WriteAt", "ReadFrom", "WriteTo", "ReadByte", "WriteByte", "ReadRune", "WriteString", "Flush",
		"ServeHTTP", "RoundTrip", "Len", "Less", "Swap", "Push", "Pop", "Scan", "Value", "Set", "Type", "Get", "Lock", "Unlock", "Visit",
		"Open", "Stat", "ReadDir", "ReadFile", "Name", "Size", "Mode", "ModTime", "IsDir", "Sys", "Info", "Enabled", "Handle", "WithAttrs", "WithGroup",
		"LogValue", "JSONSchema", "JSONSchemaExtend", "JSONSchemaAlias", "IsZero", "Network", "Timeout", "Temporary", "Done", "Deadline", "Err", "Sum", "Reset", "BlockSize",
	} {
		known[name] = true
	}
	return known
})

// uses marks what a file refers to.
func (a *audit) uses(s *source, byDir map[string][]*export, dirOf map[string]string, methods *methodIndex) {
	test := s.test || servesTests(path.Dir(s.path))
	has := func(ref uint64) bool {
		_, found := slices.BinarySearch(s.refs, ref)
		return found
	}
	mark := func(e *export) {
		if test {
			e.usedByTests = true
		} else {
			e.used = true
		}
	}
	for _, e := range byDir[path.Dir(s.path)] {
		if !e.method && !e.used && has(refLocal(e.name)) {
			mark(e)
		}
	}
	for _, i := range s.imports {
		dir, ok := dirOf[i.path]
		if !ok {
			continue
		}
		list := byDir[dir]
		called := i.name
		if called == "" && len(list) > 0 {
			called = list[0].s.pkg
		}
		for _, e := range list {
			switch {
			case e.method || e.used:
			case called == "." && has(refLocal(e.name)), called != "." && has(refPair(called, e.name)):
				mark(e)
			}
		}
	}
	for _, ref := range s.refs {
		for _, e := range methods.of(ref) {
			mark(e)
		}
	}
	for _, t := range s.types {
		for _, m := range t.methods {
			for _, e := range methods.of(refMember(m)) {
				e.used = true
			}
		}
	}
}

// A methodIndex finds methods by reference. Most references are to nothing in it, and a bit says so.
type methodIndex struct {
	byRef map[uint64][]*export
	bits  [1024]uint64
}

func (m *methodIndex) add(e *export) {
	ref := refMember(e.name)
	m.byRef[ref] = append(m.byRef[ref], e)
	m.bits[ref>>6&1023] |= 1 << (ref & 63)
}

func (m *methodIndex) of(ref uint64) []*export {
	if m.bits[ref>>6&1023]&(1<<(ref&63)) == 0 {
		return nil
	}
	return m.byRef[ref]
}

func (a *audit) unused(e *export) {
	if e.used {
		return
	}
	f := runner.AuditFinding{Convention: conventionDeadCode, Kind: kindUnreferencedExport, File: e.s.path, Line: e.line, Subject: e.name}
	switch {
	case e.usedByTests:
		f.Kind = kindTestOnlyExport
		f.Description = fmt.Sprintf("the exported %s %s is used by tests alone", e.what, e.name)
		f.Suggestion = "move it to a test file, or let production code use it"
	default:
		f.Description = fmt.Sprintf("nothing in this module refers to the exported %s %s, and nothing outside of it can", e.what, e.name)
		f.Suggestion = "remove it; if it is used by reflection or a template, add it to known_symbols"
	}
	switch e.what {
	case "method": // it may satisfy an interface of another module
		f.Severity, f.Confidence = info, heuristic
	case "value": // one word of a closed set, more often than not
		f.Severity = info
	}
	a.add(f)
}

func isExported(name string) bool {
	r, _ := utf8.DecodeRuneInString(name)
	return unicode.IsUpper(r)
}
