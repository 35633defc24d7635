package redact

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
)

// An index finds, at a position of a text, the form that starts there and takes most of it. A bitmap over the first four
// bytes of all forms rules out nearly every position without a branch of its own; those that are left walk down the sorted
// forms, so that many forms with one start, or a stream made of starts, cost little more than one. The forms are fixed when
// it is built.
type index struct {
	filter  [1 << (filterBits - 6)]uint64
	shift   int // of the multiplied start, to a place in starts
	starts  []start
	plain   sorted // the forms that match as they stand
	wrapped sorted // the forms that line breaks may cut
}

// filterBits makes the bitmap small enough for the first cache: 16 KiB, of which the starts of 50 secrets set one bit in 100.
const filterBits = 17

// A start is four bytes that forms begin with, and the spans of those forms. It is a place of a hash table with linear
// probing, of which at least half is free.
type start struct {
	quad           uint32
	used           bool
	plain, wrapped span
}

type span struct{ from, to int }

// sorted are forms by their text, each text once.
type sorted []form

func newIndex(all []form) *index {
	ix := &index{}
	for i := range all {
		all[i].rank = i
		if all[i].wraps {
			ix.wrapped = append(ix.wrapped, all[i])
		} else {
			ix.plain = append(ix.plain, all[i])
		}
	}
	ix.plain, ix.wrapped = ix.plain.order(), ix.wrapped.order()
	bits := 4
	for 1<<bits < 2*(len(ix.plain)+len(ix.wrapped)) {
		bits++
	}
	ix.shift = 32 - bits
	ix.starts = make([]start, 1<<bits)
	ix.plain.spans(func(q uint32, s span) { ix.enter(q).plain = s })
	ix.wrapped.spans(func(q uint32, s span) { ix.enter(q).wrapped = s })
	return ix
}

func (s sorted) order() sorted {
	slices.SortFunc(s, func(a, b form) int {
		return cmp.Or(bytes.Compare(a.text, b.text), cmp.Compare(a.rank, b.rank))
	})
	return slices.CompactFunc(s, func(a, b form) bool { return bytes.Equal(a.text, b.text) })
}

func (s sorted) spans(each func(uint32, span)) {
	for from := 0; from < len(s); {
		to := from + 1
		for to < len(s) && quad(s[to].text) == quad(s[from].text) {
			to++
		}
		each(quad(s[from].text), span{from, to})
		from = to
	}
}

func (ix *index) enter(q uint32) *start {
	h := scatter(q)
	ix.filter[h>>(32-filterBits+6)] |= 1 << (h >> (32 - filterBits) & 63)
	s := ix.lookup(q)
	s.quad, s.used = q, true
	return s
}

// lookup returns the place of q, which is not used when no form starts with it.
func (ix *index) lookup(q uint32) *start {
	for i := scatter(q) >> ix.shift; ; i++ {
		s := &ix.starts[int(i)&(len(ix.starts)-1)]
		if !s.used || s.quad == q {
			return s
		}
	}
}

func scatter(q uint32) uint32 { return q * 0x9e3779b1 }

// maybe has its lowest bit set when some form may start with q. The other bits mean nothing.
func (ix *index) maybe(q uint32) uint64 {
	h := scatter(q)
	return ix.filter[h>>(32-filterBits+6)] >> (h >> (32 - filterBits) & 63)
}

func quad(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// A scanner walks over the positions of one text where a form may start.
type scanner struct {
	ix     *index
	b      []byte
	breaks breaks
}

func (ix *index) scanner(b []byte) scanner {
	return scanner{ix: ix, b: b, breaks: breaks{b: b, cr: -1, lf: -1, escape: -1}}
}

// next returns the first position at or after i where some form may start, or the length of the text.
func (s *scanner) next(i int) int {
	for i+minForm <= len(s.b) {
		// A break among its first four bytes hides how a form starts: such positions are looked at one by one.
		brk := s.breaks.next(i + 1)
		if brk-i < minForm {
			if s.ix.maybe(quad(s.b[i:]))&1 != 0 || s.ix.cut(s.b[i:]) {
				return i
			}
			i++
			continue
		}
		end := min(brk, len(s.b)) - minForm + 1
		if i = s.ix.skim(s.b, i, end); i < end {
			return i
		}
	}
	return i
}

// skim returns the first position from i to before end where some form may start, or end. Four bytes follow each.
func (ix *index) skim(b []byte, i, end int) int {
	for ; i+4 <= end && i+8 <= len(b); i += 4 {
		x := binary.LittleEndian.Uint64(b[i:])
		if (ix.maybe(uint32(x))|ix.maybe(uint32(x>>8))|ix.maybe(uint32(x>>16))|ix.maybe(uint32(x>>24)))&1 != 0 {
			break
		}
	}
	for ; i < end; i++ {
		if ix.maybe(quad(b[i:]))&1 != 0 {
			return i
		}
	}
	return end
}

// cut reports whether some form that wraps may start at b, which has a line break among its first bytes.
func (ix *index) cut(b []byte) bool {
	q, n := unwrap(b)
	return n < minForm || ix.maybe(quad(q[:]))&1 != 0
}

// at returns the form at the start of b that takes most of it, and how much; the first of several. When one that takes all
// of b could still match with more bytes, open is true.
func (ix *index) at(b []byte) (f form, n int, open bool) {
	plain, wrapped, known := span{0, len(ix.plain)}, span{0, len(ix.wrapped)}, 0
	if len(b) >= minForm {
		s := ix.lookup(quad(b))
		plain, wrapped, known = s.plain, s.wrapped, minForm
	}
	f, n, open = ix.plain.longest(b, plain, known, false)
	if q, k := unwrap(b); k < minForm {
		wrapped, known = span{0, len(ix.wrapped)}, 0
	} else if quad(q[:]) != quad(b) {
		wrapped, known = ix.lookup(quad(q[:])).wrapped, 0
	}
	g, m, more := ix.wrapped.longest(b, wrapped, known, true)
	if m > n || m == n && m > 0 && g.rank < f.rank {
		f, n = g, m
	}
	return f, n, open || more
}

// longest returns the longest form of a span that b starts with, and how much of b it takes; the first known bytes of all
// in the span are those of b. When b ends before some form does and agrees so far, open is true.
func (s sorted) longest(b []byte, in span, known int, wraps bool) (f form, n int, open bool) {
	k, i := known, known // how many bytes of the forms are read, and of b
	for in.from < in.to {
		first, last := s[in.from].text, s[in.to-1].text // what they have in common, all between them have
		for k < len(first) && i < len(b) && b[i] == first[k] && b[i] == last[k] {
			k++
			i++
		}
		if k == len(first) { // the shortest comes first
			f, n = s[in.from], i
			in.from++
			continue
		}
		if wraps && k > 0 {
			i += gap(b[i:])
		}
		if i == len(b) {
			return f, n, true
		}
		in = s.narrow(in, k, b[i])
		k++
		i++
	}
	return f, n, false
}

// narrow returns the forms of a span whose byte k is c. All in it are longer than k and agree before it.
func (s sorted) narrow(in span, k int, c byte) span {
	size := in.to - in.from
	from := sort.Search(size, func(i int) bool { return s[in.from+i].text[k] >= c })
	to := sort.Search(size, func(i int) bool { return s[in.from+i].text[k] > c })
	return span{in.from + from, in.from + to}
}

func (ix *index) contains(b []byte) bool {
	s := ix.scanner(b)
	for i := s.next(0); i+minForm <= len(b); i = s.next(i + 1) {
		if _, n, _ := ix.at(b[i:]); n > 0 {
			return true
		}
	}
	return false
}
