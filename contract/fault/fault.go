// Package fault owns how a fault in a record is named: where it is, what kind it is, what is wrong and what to do
// about it. It also holds the small rules that several records share. It knows no record and does no I/O.
package fault

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The codes of faults. Programs decide on these; a code never changes its meaning.
const (
	InvalidJSON  = "invalid_json"  // not JSON, not UTF-8, or nested too deep
	TrailingData = "trailing_data" // more after the one document
	DuplicateKey = "duplicate_key" // a member name occurs twice in one object
	UnknownField = "unknown_field" // the record has no such member
	MissingField = "missing_field" // a required member is absent
	WrongType    = "wrong_type"    // a member has another JSON type than the record says
	WrongSchema  = "wrong_schema"  // the record names another schema than the one asked for
	Blank        = "blank"         // a text that must say something does not
	NotAllowed   = "not_allowed"   // a word outside the closed set
	OutOfRange   = "out_of_range"  // a number, a length or an instant outside its bounds
	BadFormat    = "bad_format"    // a text that is not what it should be: a timestamp, a path, a URL, a name
	Conflict     = "conflict"      // two members, or two entries, contradict each other
	Undeclared   = "undeclared"    // a trusted posture that is used and not declared
	Dangling     = "dangling"      // a name that refers to nothing
	Duplicate    = "duplicate"     // an entry that must be unique is not
	More         = "more"          // there are more faults than are listed
)

// A Fault is one thing that is wrong with a record.
type Fault struct {
	// Path is the place as a JSON path: $ is the record itself, $.deed.checks[0].command a member of it.
	Path string `json:"path"`
	// Code is one of the constants of this package.
	Code string `json:"code"`
	// Message says what is wrong, with the value where that helps.
	Message string `json:"message"`
	// Remedy says what to do about it; it may be empty.
	Remedy string `json:"remedy,omitempty"`
}

// String returns the fault on one line.
func (f Fault) String() string {
	s := f.Path + ": " + f.Message
	if f.Remedy != "" {
		s += " (" + f.Remedy + ")"
	}
	return s
}

// Faults is every fault that was found in one record. As an error it prints one per line. Functions that find
// none return a nil error, never an empty Faults.
type Faults []Fault

// Error returns all faults, one per line.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns the faults as an error, or nil when there are none.
func (fs Faults) Err() error {
	if len(fs) == 0 {
		return nil
	}
	return fs
}

// Of returns the faults that an error carries, or nil.
func Of(err error) Faults {
	var fs Faults
	if errors.As(err, &fs) {
		return fs
	}
	return nil
}

// A List collects faults. The zero value is ready; a List that collects nothing allocates nothing.
type List struct {
	faults Faults
	more   int // found, and not kept
}

// maxKept bounds what a hostile document can make of its reader's memory. No person reads further.
const maxKept = 100

// Add adds one fault, unless it is there already.
func (l *List) Add(path, code, message, remedy string) {
	l.add(Fault{Path: path, Code: code, Message: message, Remedy: remedy})
}

func (l *List) add(f Fault) {
	if slices.Contains(l.faults, f) {
		return
	}
	if len(l.faults) == maxKept {
		l.more++
		return
	}
	l.faults = append(l.faults, f)
}

// Within adds the faults of a nested record, with its own paths moved below path. An error that carries no faults
// becomes one.
func (l *List) Within(path string, err error) {
	if err == nil {
		return
	}
	fs := Of(err)
	if fs == nil {
		l.Add(path, BadFormat, err.Error(), "")
		return
	}
	for _, f := range fs {
		f.Path = Join(path, f.Path)
		l.add(f)
	}
}

// Len returns how many faults were found.
func (l *List) Len() int { return len(l.faults) + l.more }

// Faults returns what was collected: the first hundred, and a last one that says how many more there are.
func (l *List) Faults() Faults {
	if l.more == 0 {
		return l.faults
	}
	return append(l.faults[:len(l.faults):len(l.faults)], Fault{Path: Root, Code: More, Message: fmt.Sprintf("has %d more faults", l.more), Remedy: "mend these first"})
}

// Err returns what was collected as an error, or nil.
func (l *List) Err() error { return l.Faults().Err() }

// Root is the path of the record itself.
const Root = "$"

// Field returns the path of a member below path.
func Field(path, name string) string {
	if plain(name) {
		return path + "." + name
	}
	return path + "[" + strconv.Quote(name) + "]"
}

// Index returns the path of an entry below path.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Join returns the path that inner, a path from a nested record's root, has below outer.
func Join(outer, inner string) string { return outer + strings.TrimPrefix(inner, Root) }

// Head returns the first member that a path leads through, and what follows as a path from that member's own root. It reports
// false for a path that leads through none, such as the root's own or that of an entry.
func Head(path string) (name, rest string, ok bool) {
	path, ok = strings.CutPrefix(path, Root)
	if dotted, found := strings.CutPrefix(path, "."); ok && found {
		name = dotted
		if i := strings.IndexAny(dotted, ".["); i >= 0 {
			name = dotted[:i]
		}
		return name, Root + dotted[len(name):], name != ""
	}
	quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(path, "["))
	if !ok || err != nil || !strings.HasPrefix(path, "[") {
		return "", "", false
	}
	if name, err = strconv.Unquote(quoted); err != nil {
		return "", "", false
	}
	return name, Root + strings.TrimPrefix(path[1+len(quoted):], "]"), true
}

// plain reports whether a member name can follow a dot in a JSON path.
func plain(name string) bool {
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= 0x80:
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return name != ""
}
