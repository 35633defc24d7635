package redact

import "bytes"

// An index finds, at a position of a text, the form that starts there and takes most of it. Nearly every position is ruled
// out by one look into a table of the two-byte starts; the few that are left are compared with the forms that share their
// first four bytes. The forms are fixed when it is built.
type index struct {
	start   [1 << 16]bool     // the first two bytes of some form, or the first of one that wraps and the start of a line break
	first   [256]bool         // the first byte of some form
	triples map[uint32]bool   // the first three bytes of some form
	wrapped map[string]bool   // the first one, two and three bytes of the forms that wrap
	buckets map[uint32][]form // by the first four bytes
}

func newIndex(all []form) *index {
	ix := &index{triples: map[uint32]bool{}, wrapped: map[string]bool{}, buckets: map[uint32][]form{}}
	for _, f := range all {
		ix.first[f.text[0]] = true
		ix.start[pair(f.text)] = true
		ix.triples[triple(f.text)] = true
		k := quad(f.text)
		ix.buckets[k] = append(ix.buckets[k], f)
		if f.wraps {
			for _, c := range []byte("\r\n\\") {
				ix.start[pair([]byte{f.text[0], c})] = true
			}
			for n := 1; n < minForm; n++ {
				ix.wrapped[string(f.text[:n])] = true
			}
		}
	}
	return ix
}

func pair(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 }

func triple(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }

func quad(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// next returns the first position at or after i where some form may start, or len(b)-1 when fewer than two bytes are left.
func (ix *index) next(b []byte, i int) int {
	for ; i+1 < len(b); i++ {
		if ix.start[pair(b[i:])] {
			return i
		}
	}
	return i
}

// at returns the form at the start of b that takes most of it, and how much; the first of several. When one that takes all
// of b could still match with more bytes, open is true.
func (ix *index) at(b []byte) (f form, n int, open bool) {
	if len(b) >= minForm {
		f, n, open = ix.longest(b, quad(b), false)
	} else {
		open = ix.couldStart(b)
	}
	// A line break among the first bytes hides the bucket of a form that wraps. The buckets are never the same: no such
	// form has a line break in it.
	if q, k := unwrap(b); k < minForm {
		open = open || k > 0 && ix.wrapped[string(q[:k])]
	} else if quad(q[:]) != quad(b) {
		wf, wn, wopen := ix.longest(b, quad(q[:]), true)
		if wn > n {
			f, n = wf, wn
		}
		open = open || wopen
	}
	return f, n, open
}

func (ix *index) longest(b []byte, bucket uint32, wrapsOnly bool) (f form, n int, open bool) {
	for _, c := range ix.buckets[bucket] {
		if wrapsOnly && !c.wraps {
			continue
		}
		m, o := c.match(b)
		open = open || o
		if m > n {
			f, n = c, m
		}
	}
	return f, n, open
}

// match returns how much of b the form takes, or 0. When b ends before the form does and agrees so far, open is true.
func (f form) match(b []byte) (n int, open bool) {
	if bytes.HasPrefix(b, f.text) {
		return len(f.text), false
	}
	if !f.wraps {
		return 0, bytes.HasPrefix(f.text, b)
	}
	i := 0
	for k, c := range f.text {
		if k > 0 {
			i += gap(b[i:])
		}
		if i == len(b) {
			return 0, true
		}
		if b[i] != c {
			return 0, false
		}
		i++
	}
	return i, false
}

const (
	maxIndent    = 8 // spaces after a line break inside a form
	maxBackslash = 4 // backslashes of an escaped line break: one in JSON, two in JSON inside JSON, four inside that
)

// gap returns the length of the line break at the start of b, plain or escaped, with the indentation after it. It is all of
// b when b may end within one. No form that wraps holds any of these bytes but the letters.
func gap(b []byte) int {
	n := lineBreak(b, '\r', 'r')
	n += lineBreak(b[n:], '\n', 'n')
	if n == 0 {
		return 0
	}
	for end := min(n+maxIndent, len(b)); n < end && b[n] == ' '; n++ {
	}
	return n
}

func lineBreak(b []byte, plain, escaped byte) int {
	if len(b) == 0 || b[0] != plain && b[0] != '\\' {
		return 0
	}
	if b[0] == plain {
		return 1
	}
	n := 1
	for n < len(b) && n < maxBackslash && b[n] == '\\' {
		n++
	}
	switch {
	case n == len(b):
		return n
	case b[n] == escaped:
		return n + 1
	}
	return 0
}

// unwrap returns the first bytes of b without the line breaks between them, and how many it found: all of b is used up
// when they are fewer than a form has.
func unwrap(b []byte) (q [minForm]byte, k int) {
	for i := 0; i < len(b) && k < minForm; k++ {
		q[k] = b[i]
		i++
		i += gap(b[i:])
	}
	return q, k
}

// couldStart reports whether the whole of b, shorter than any form, is the start of one.
func (ix *index) couldStart(b []byte) bool {
	switch len(b) {
	case 0:
		return false
	case 1:
		return ix.first[b[0]]
	case 2:
		return ix.start[pair(b)]
	}
	return ix.triples[triple(b)]
}

func (ix *index) contains(b []byte) bool {
	for i := ix.next(b, 0); i+minForm <= len(b); i = ix.next(b, i+1) {
		if _, n, _ := ix.at(b[i:]); n > 0 {
			return true
		}
	}
	return false
}
