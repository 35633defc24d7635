package schema

import (
	"encoding/json"
	"strconv"

	"github.com/deedrun/deed/contract/fault"
)

// maxDepth bounds nesting, far above any record and far below the stack.
const maxDepth = 1000

// A step is one part of the path to where the scanner stands: a member name as it is written, or an entry's index.
type step struct {
	key   []byte // the text between the quotes; nil for an entry
	index int
}

// A scanner walks JSON text once and collects faults. Its methods return false when the text is not JSON; then
// nothing more can be said about what follows.
type scanner struct {
	data   []byte
	pos    int
	path   []step
	keys   [][]byte // names seen in the objects that are open, innermost last
	faults fault.List
	broken string // why the text is not JSON

	decimals int // integers that were written as 1.0
}

// at renders the path of where the scanner stands.
func (s *scanner) at() string {
	p := fault.Root
	for _, st := range s.path {
		if st.key == nil {
			p = fault.Index(p, st.index)
		} else {
			p = fault.Field(p, unquote(st.key))
		}
	}
	return p
}

func (s *scanner) fault(code, message, remedy string) { s.faults.Add(s.at(), code, message, remedy) }

func (s *scanner) breaks(why string) bool {
	if s.broken == "" {
		s.broken = why
	}
	return false
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos == len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

// A found is what the scanner saw in a string beside its text.
type found struct {
	escaped bool // it has to be unquoted
	lone    bool // it has half a surrogate pair, which no text can hold
	nul     bool // it has a NUL
	twice   bool // as a name: the object has had it already, and that is reported
}

// str reads a string and returns the text between its quotes.
func (s *scanner) str() (raw []byte, f found, ok bool) {
	if s.pos == len(s.data) || s.data[s.pos] != '"' {
		return nil, f, s.breaks("a string is needed")
	}
	s.pos++
	start := s.pos
	high := false // the last escape was the first half of a surrogate pair
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		if c == '"' {
			f.lone = f.lone || high
			s.pos++
			return s.data[start : s.pos-1 : s.pos-1], f, true
		}
		if c == '\\' {
			f.escaped = true
			unit, ok := s.escape()
			if !ok {
				return nil, f, false
			}
			low := unit >= 0xDC00 && unit <= 0xDFFF
			f.lone = f.lone || high != low
			high = unit >= 0xD800 && unit <= 0xDBFF
			f.nul = f.nul || unit == 0
			continue
		}
		if c < 0x20 {
			return nil, f, s.breaks("a control character stands unescaped in a string")
		}
		f.lone = f.lone || high
		high = false
		s.pos++
	}
	return nil, f, s.breaks("a string does not end")
}

// escape reads one escape and returns its UTF-16 unit, or -1 for one that is not of the \u kind.
func (s *scanner) escape() (unit int, ok bool) {
	s.pos++
	if s.pos == len(s.data) {
		return 0, s.breaks("a string does not end")
	}
	switch s.data[s.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return -1, true
	case 'u':
		s.pos++
		for range 4 {
			if s.pos == len(s.data) {
				return 0, s.breaks("a string does not end")
			}
			d := hex(s.data[s.pos])
			if d < 0 {
				return 0, s.breaks("\\u needs four hexadecimal digits")
			}
			unit = unit<<4 | d
			s.pos++
		}
		return unit, true
	}
	return 0, s.breaks("an unknown escape stands in a string")
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// num reads a number and tells whether it is written without fraction and exponent.
func (s *scanner) num() (raw []byte, whole, ok bool) {
	start := s.pos
	digits := func() bool {
		n := s.pos
		for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
			s.pos++
		}
		return s.pos > n
	}
	next := func(c byte) bool {
		if s.pos < len(s.data) && s.data[s.pos] == c {
			s.pos++
			return true
		}
		return false
	}
	next('-')
	if !next('0') && !digits() {
		return nil, false, s.breaks("a value is needed")
	}
	whole = true
	if next('.') {
		whole = false
		if !digits() {
			return nil, false, s.breaks("a number has no digit after its point")
		}
	}
	if next('e') || next('E') {
		whole = false
		if !next('+') {
			next('-')
		}
		if !digits() {
			return nil, false, s.breaks("a number has no digit in its exponent")
		}
	}
	return s.data[start:s.pos], whole, true
}

func (s *scanner) word(w string) bool {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return s.breaks("a value is needed")
	}
	s.pos += len(w)
	return true
}

// skip reads any value. It reports names that occur twice in one object, at any depth.
func (s *scanner) skip() bool {
	switch s.peek() {
	case '"':
		_, _, ok := s.str()
		return ok
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	case '[':
		return s.entries(func(int) bool { return s.skip() })
	case '{':
		return s.members(func([]byte, found) bool { return s.skip() })
	}
	_, _, ok := s.num()
	return ok
}

// entries reads a list and calls each for every entry, with the path standing on it.
func (s *scanner) entries(each func(i int) bool) bool {
	s.pos++
	if s.peek() == ']' {
		s.pos++
		return true
	}
	if len(s.path) >= maxDepth {
		return s.breaks("it is nested more than " + strconv.Itoa(maxDepth) + " deep")
	}
	s.path = append(s.path, step{})
	for i := 0; ; i++ {
		s.path[len(s.path)-1].index = i
		s.space()
		if !each(i) {
			return false
		}
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			s.path = s.path[:len(s.path)-1]
			return true
		default:
			return s.breaks("a comma or ] is needed")
		}
	}
}

// members reads an object and calls each for every member, with the path standing on it.
func (s *scanner) members(each func(key []byte, f found) bool) bool {
	s.pos++
	if s.peek() == '}' {
		s.pos++
		return true
	}
	if len(s.path) >= maxDepth {
		return s.breaks("it is nested more than " + strconv.Itoa(maxDepth) + " deep")
	}
	first := len(s.keys)
	var many map[string]bool
	for {
		s.space()
		key, f, ok := s.str()
		if !ok {
			return false
		}
		s.path = append(s.path, step{key: key})
		name := key
		if f.escaped {
			name = []byte(unquote(key))
		}
		f.twice, many = s.once(name, first, many)
		if s.peek() != ':' {
			return s.breaks("a colon is needed after a name")
		}
		s.pos++
		s.space()
		if !each(name, f) {
			return false
		}
		s.path = s.path[:len(s.path)-1]
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			s.keys = s.keys[:first]
			return true
		default:
			return s.breaks("a comma or } is needed")
		}
	}
}

// fewKeys is up to where comparing names one by one is cheaper than a map.
const fewKeys = 24

// once reports a name that the object has had already.
func (s *scanner) once(name []byte, first int, many map[string]bool) (twice bool, _ map[string]bool) {
	if many == nil {
		for _, k := range s.keys[first:] {
			if string(k) == string(name) {
				twice = true
				break
			}
		}
		s.keys = append(s.keys, name)
		if len(s.keys)-first > fewKeys {
			many = make(map[string]bool, 4*fewKeys)
			for _, k := range s.keys[first:] {
				many[string(k)] = true
			}
		}
	} else {
		twice = many[string(name)]
		many[string(name)] = true
	}
	if twice {
		s.fault(fault.DuplicateKey, "is there twice in one object", "name it once")
	}
	return twice, many
}

// unquote returns the text of a string whose escapes are known to be well formed.
func unquote(raw []byte) string {
	for _, c := range raw {
		if c == '\\' {
			var v string
			quoted := make([]byte, 0, len(raw)+2)
			quoted = append(append(append(quoted, '"'), raw...), '"')
			if json.Unmarshal(quoted, &v) == nil {
				return v
			}
			break
		}
	}
	return string(raw)
}
