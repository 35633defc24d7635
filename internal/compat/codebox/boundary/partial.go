package boundary

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
)

// maxPasses bounds how often a request is read again without its faulty parts: a rule may only see its members once
// others are gone.
const maxPasses = 5

// A Partial is the valid part of a request: all of it, or, if Read refuses the request, the request without what is
// faulty. That can be an entry of a list, a member of an object, or else a whole member of the request. A faulty goal
// becomes empty.
type Partial struct {
	Request codebox.TaskRequest
	Without []string // the paths of what was left out, as in the original request

	left map[string][]int // by the path of a list: the original indices of the entries that remain
}

// ValidPart returns the valid part of a request. It reports false for a text that has none.
func ValidPart(data []byte) (Partial, bool) {
	d := &document{root: fault.Root}
	if json.Unmarshal(data, &d.outer) != nil || d.outer == nil {
		return Partial{}, false
	}
	var name string
	_ = json.Unmarshal(d.outer["schema"], &name) // anything else counts as a task input
	d.inner = d.outer
	if name == codebox.SchemaRequest {
		d.root = codebox.Wrapped().Root()
		if d.inner = nil; json.Unmarshal(d.outer["task_input"], &d.inner) != nil || d.inner == nil {
			d.inner, d.Without = map[string]json.RawMessage{}, []string{d.root}
		}
	}
	var err error
	d.Request, err = read(data)
	for pass := 0; err != nil; pass++ {
		before := len(d.Without)
		d.dropAll(fault.Of(err))
		if pass == maxPasses || pass > 0 && len(d.Without) == before {
			return Partial{}, false
		}
		d.Request, err = read(d.text())
	}
	normalise(&d.Request)
	if d.lacks(fault.Field(d.root, "goal")) {
		d.Request.Goal = ""
	}
	return d.Partial, true
}

// Place returns the path in the original request of what has this path in the valid part.
func (s Partial) Place(path string) string {
	path = s.Request.Origins.Place(path)
	for list, entries := range s.left {
		index, rest, ok := entry(path, list)
		if ok && index < len(entries) {
			return fault.Index(list, entries[index]) + rest
		}
	}
	return path
}

// Lacks reports whether something at or below this path of the request was left out: what refers to it may not find
// it.
func (s Partial) Lacks(path string) bool {
	path = s.Request.Origins.Place(path)
	return slices.ContainsFunc(s.Without, func(at string) bool { return Below(at, path) })
}

func (s Partial) lacks(path string) bool { return slices.Contains(s.Without, path) }

// Below reports whether a path is that of a member, or of something in it.
func Below(path, member string) bool {
	rest, ok := strings.CutPrefix(path, member)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// entry splits a path below a list: the index of the entry, and the rest.
func entry(path, list string) (index int, rest string, ok bool) {
	in, ok := strings.CutPrefix(path, list+"[")
	digits, rest, found := strings.Cut(in, "]")
	index, err := strconv.Atoi(digits)
	return index, rest, ok && found && err == nil && index >= 0
}

// A document is a request from which members are removed.
type document struct {
	Partial
	outer, inner map[string]json.RawMessage // the whole request, and the task input in it: the same map, unless it is wrapped
	root         string                     // the path of the task input
}

// text encodes what is left.
func (d *document) text() []byte {
	if d.root != fault.Root {
		d.outer["task_input"] = mustJSON(d.inner)
	}
	return mustJSON(d.outer)
}

// dropAll removes what faults name, each thing once. Entries of a list go last to first, since each removal moves
// those after it.
func (d *document) dropAll(faults fault.Faults) {
	type named struct {
		f     fault.Fault
		at    string // of what it would take out
		index int
	}
	var list []named
	for _, f := range faults {
		_, _, member, rest := d.find(f.Path)
		n := named{f: f, at: member, index: -1}
		if i, _, ok := entry(rest, fault.Root); ok {
			n.at, n.index = fault.Index(member, i), i
		} else if part, _, ok := fault.Head(rest); ok {
			n.at = fault.Field(member, part)
		}
		if !slices.ContainsFunc(list, func(o named) bool { return o.at == n.at }) {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b named) int { return b.index - a.index })
	for _, n := range list {
		d.drop(n.f)
	}
}

// find returns the member that a path leads through: the map that holds it, its name, its path, and the rest as a
// path from there.
func (d *document) find(path string) (from map[string]json.RawMessage, name, member, rest string) {
	root, from := fault.Root, d.outer
	name, rest, _ = fault.Head(path)
	if d.root != fault.Root && name == "task_input" {
		root, from = d.root, d.inner
		name, rest, _ = fault.Head(rest)
	}
	return from, name, fault.Field(root, name), rest
}

// drop removes what a fault names, as little as may help: the entry or the member of a member, else the whole member.
func (d *document) drop(f fault.Fault) {
	from, name, member, rest := d.find(f.Path)
	switch {
	case name == "" || d.lacks(member):
		return
	case f.Code == fault.DuplicateKey && rest == fault.Root: // a map holds one of them
		return
	case name == "schema":
		from[name] = mustJSON(codebox.SchemaTaskInput)
	case name == "goal": // there is no request without one
		from[name] = mustJSON("-")
	case d.dropPart(from, name, member, rest):
		return
	default:
		delete(from, name)
		delete(d.left, member)
	}
	d.Without = append(d.Without, member)
}

// dropPart removes an entry or a member of a member. It reports false if there is none.
func (d *document) dropPart(from map[string]json.RawMessage, name, member, rest string) bool {
	if i, _, ok := entry(rest, fault.Root); ok {
		var list []json.RawMessage
		if json.Unmarshal(from[name], &list) != nil || i >= len(list) {
			return false
		}
		if d.left == nil {
			d.left = map[string][]int{}
		}
		if d.left[member] == nil {
			for k := range list {
				d.left[member] = append(d.left[member], k)
			}
		}
		d.Without = append(d.Without, fault.Index(member, d.left[member][i]))
		d.left[member] = slices.Delete(d.left[member], i, i+1)
		from[name] = mustJSON(slices.Delete(list, i, i+1))
		return true
	}
	part, _, ok := fault.Head(rest)
	var object map[string]json.RawMessage
	if !ok || json.Unmarshal(from[name], &object) != nil {
		return false
	}
	if _, there := object[part]; !there {
		return false // it is missing, also when it was taken out before: the member is nothing without it
	}
	delete(object, part)
	from[name] = mustJSON(object)
	d.Without = append(d.Without, fault.Field(member, part))
	return true
}

// Secrets returns the valid names in the request's secret_env, whatever else is wrong with the request: their values
// must not be repeated in any answer to it.
func Secrets(data []byte) []string {
	t, err := parse(data)
	if err != nil {
		return nil
	}
	var out []string
	for _, in := range []tree{t, t.in("task_input")} {
		for _, v := range in.list("secret_env") {
			if name, ok := v.(string); ok && codebox.IsEnvName(name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
