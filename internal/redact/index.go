package redact

import (
	"bytes"
	"cmp"
	"slices"
)

// An index finds, at a position of a text, the longest form that starts there. Nearly every position is ruled out by one
// look into a table of the two-byte starts; the few that are left are compared with the forms that share their first four
// bytes. The forms are fixed when it is built.
type index struct {
	start   [1 << 16]bool     // the first two bytes of some form
	first   [256]bool         // the first byte of some form
	triples map[uint32]bool   // the first three bytes of some form
	buckets map[uint32][]form // by the first four bytes, longest first
	longest int
}

func newIndex(all []form) *index {
	ix := &index{triples: map[uint32]bool{}, buckets: map[uint32][]form{}}
	for _, f := range all {
		ix.first[f.text[0]] = true
		ix.start[pair(f.text)] = true
		ix.triples[triple(f.text)] = true
		k := quad(f.text)
		ix.buckets[k] = append(ix.buckets[k], f)
		ix.longest = max(ix.longest, len(f.text))
	}
	for _, b := range ix.buckets {
		slices.SortStableFunc(b, func(x, y form) int { return cmp.Compare(len(y.text), len(x.text)) })
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

// at returns the longest form that b starts with. When a longer one could still match with more bytes, or any one could
// and none does yet, open is true.
func (ix *index) at(b []byte) (f form, ok, open bool) {
	if len(b) < minForm {
		return form{}, false, ix.couldStart(b)
	}
	for _, c := range ix.buckets[quad(b)] {
		if len(c.text) > len(b) {
			open = open || bytes.HasPrefix(c.text, b)
		} else if bytes.HasPrefix(b, c.text) {
			return c, true, open
		}
	}
	return form{}, false, open
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
		if _, ok, _ := ix.at(b[i:]); ok {
			return true
		}
	}
	return false
}
