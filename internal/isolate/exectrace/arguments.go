package exectrace

import (
	"path"
	"slices"
	"strings"
)

// A reader goes through the arguments of an interpreter.
type reader struct {
	in    *interpreter
	args  []string // what is not read yet
	found []script
	dir   string

	named bool // a script was found, or there is none: the program is on the command line
}

func (r *reader) read() {
	verbs := r.in.verbs
	for len(r.args) > 0 {
		a := r.args[0]
		r.args = r.args[1:]
		switch {
		case a == "--", a == "-" && r.in.plus: // of a shell
			r.operand()
			r.end()
			return
		case a == "-" && !r.in.noOperand:
			r.input()
			return
		case strings.HasPrefix(a, "--") && len(a) > 2 && !r.in.single:
			r.long(a[2:])
		case len(a) > 1 && a[0] == '-' && r.in.single:
			r.long(strings.ToLower(a[1:]))
		case len(a) > 1 && (a[0] == '-' || a[0] == '+' && r.in.plus):
			r.short(a[1:])
		case slices.Contains(verbs, a):
			verbs = nil
		case r.in.noOperand:
			// a target or an input
		default:
			r.args = append([]string{a}, r.args...)
			r.operand()
			r.end()
			return
		}
		if r.moduleNamed() {
			return
		}
	}
	r.end()
}

// moduleNamed reports whether a module was named: what follows is its.
func (r *reader) moduleNamed() bool { return len(r.found) > 0 && r.found[len(r.found)-1].module }

// take returns the next argument, or nothing.
func (r *reader) take() string {
	if len(r.args) == 0 {
		return ""
	}
	a := r.args[0]
	r.args = r.args[1:]
	return a
}

func (r *reader) add(s script) {
	if s.path != "" {
		r.found = append(r.found, s)
	}
}

// operand takes the next argument as the script, unless the program stands on the command line.
func (r *reader) operand() {
	if r.named || r.in.noOperand {
		return
	}
	if a := r.take(); a == "-" {
		r.input()
	} else if a != "" {
		r.named = true
		r.add(script{path: a, operand: true})
	}
}

// input has standard input interpreted.
func (r *reader) input() {
	if !r.named && r.in.fromStdin {
		r.named = true
		r.found = append(r.found, script{stdin: true})
	}
}

// end adds what is interpreted when nothing was named.
func (r *reader) end() {
	if r.named {
		return
	}
	if len(r.in.defaults) > 0 {
		r.found = append(r.found, script{anyOf: r.in.defaults})
	}
	r.input()
}

func (r *reader) long(option string) {
	name, value, given := strings.Cut(option, "=")
	get := func() string {
		if given {
			return value
		}
		return r.take()
	}
	switch in := r.in; {
	case slices.Contains(in.codeLong, name):
		r.named = true
		get()
	case slices.Contains(in.scriptLong, name):
		r.named = true
		r.add(script{path: get()})
		if in.single {
			r.args = nil
		}
	case slices.Contains(in.alsoLong, name):
		r.add(script{path: get()})
	case slices.Contains(in.dirLong, name):
		r.dir = join(r.dir, get())
	case slices.Contains(in.valueLong, name):
		get()
	}
}

// short reads an argument of letters.
func (r *reader) short(letters string) {
	for i := range len(letters) {
		has := func(set string) bool { return strings.IndexByte(set, letters[i]) >= 0 }
		get := func() string {
			if rest := letters[i+1:]; rest != "" {
				return rest
			}
			return r.take()
		}
		switch in := r.in; {
		case has(in.next):
			r.take()
			continue
		case has(in.code) && in.next != "": // of a shell: other letters may follow
			r.named = true
			continue
		case has(in.stdin):
			r.input()
			continue
		case has(in.code):
			r.named = true
			get()
		case has(in.script):
			r.named = true
			r.add(script{path: get()})
		case has(in.also):
			r.add(script{path: get()})
		case has(in.module):
			r.named = true
			r.add(script{path: get(), module: true})
		case has(in.dir):
			r.dir = join(r.dir, get())
		case has(in.value):
			get()
		case has(in.rest):
		default:
			continue
		}
		return
	}
}

// join is path.Join for a directory that may be empty, without taking .. away: that is for the links to decide.
func join(dir, name string) string {
	switch {
	case dir == "" || path.IsAbs(name):
		return name
	case name == "":
		return dir
	}
	return dir + "/" + name
}
