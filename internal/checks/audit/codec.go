package audit

import (
	"encoding/binary"
	"slices"
)

// An encoder writes facts for the cache. The order of the fields is the format: whoever changes it, or what a reader finds
// in a file, changes factsVersion.
type encoder struct{ b []byte }

func (e *encoder) num(n int)      { e.b = binary.AppendUvarint(e.b, uint64(n)) }
func (e *encoder) text(s string)  { e.num(len(s)); e.b = append(e.b, s...) }
func (e *encoder) fixed(n uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, n) }
func (e *encoder) texts(l []string) {
	e.num(len(l))
	for _, s := range l {
		e.text(s)
	}
}

func (e *encoder) flags(list ...bool) {
	n := 0
	for i, f := range list {
		if f {
			n |= 1 << i
		}
	}
	e.num(n)
}

func (e *encoder) facts(f *facts) {
	e.text(f.lang)
	e.num(f.lines)
	e.flags(f.parsed, f.generated, f.test)
	e.text(f.unparsed)
	e.text(f.pkg)
	e.num(len(f.imports))
	for _, i := range f.imports {
		e.text(i.path)
		e.text(i.name)
		e.num(i.line)
	}
	e.num(len(f.funcs))
	for _, fn := range f.funcs {
		e.text(fn.name)
		e.text(fn.recv)
		e.num(fn.line)
		e.num(fn.end)
		e.flags(fn.exported, fn.isTest, fn.vacuous)
		e.text(fn.sig)
		e.fixed(fn.exact)
		e.fixed(fn.shape)
		e.num(fn.size)
	}
	e.num(len(f.types))
	for _, t := range f.types {
		e.text(t.name)
		e.num(t.line)
		e.flags(t.exported, t.iface)
		e.texts(t.methods)
		e.texts(t.implements)
	}
	e.num(len(f.values))
	for _, v := range f.values {
		e.text(v.name)
		e.num(v.line)
	}
	e.num(len(f.refs))
	for _, r := range f.refs {
		e.fixed(r)
	}
	e.num(len(f.markers))
	for _, m := range f.markers {
		e.text(m.word)
		e.text(m.text)
		e.num(m.line)
		e.text(m.version)
	}
	e.texts(f.headings)
	for _, list := range [][]linkFact{f.links, f.claims} {
		e.num(len(list))
		for _, l := range list {
			e.text(l.target)
			e.num(l.line)
		}
	}
	e.num(len(f.hits))
	for _, h := range f.hits {
		e.num(h.rule)
		e.num(h.line)
		e.texts(h.groups)
	}
	e.num(len(f.literals))
	for _, l := range f.literals {
		e.text(l.value)
		e.num(l.line)
	}
}

// A decoder reads what an encoder wrote. Strings are parts of the text that it reads. Whatever is wrong with the text sets
// bad, and from then on everything is empty.
type decoder struct {
	s   string
	bad bool
}

func (d *decoder) take(n int) string {
	if d.bad || n < 0 || n > len(d.s) {
		d.bad = true
		return ""
	}
	out := d.s[:n]
	d.s = d.s[n:]
	return out
}

func (d *decoder) num() int {
	var n uint64
	for i := range min(len(d.s), binary.MaxVarintLen64) {
		n |= uint64(d.s[i]&0x7f) << (7 * i)
		if d.s[i] < 0x80 {
			d.s = d.s[i+1:]
			if n > 1<<40 {
				d.bad = true
				return 0
			}
			return int(n)
		}
	}
	d.bad = true
	return 0
}

func (d *decoder) text() string { return d.take(d.num()) }

func (d *decoder) fixed() uint64 {
	s := d.take(8)
	if d.bad {
		return 0
	}
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// count is the length of a list whose items take at least one byte each, so that no text makes a reader allocate more than
// it is long.
func (d *decoder) count() int {
	n := d.num()
	if n > len(d.s) {
		d.bad = true
		return 0
	}
	return n
}

func (d *decoder) flags(list ...*bool) {
	n := d.num()
	for i, f := range list {
		*f = n&(1<<i) != 0
	}
}

func list[T any](d *decoder, item func(*T)) []T {
	n := d.count()
	if n == 0 {
		return nil
	}
	out := make([]T, n)
	for i := range out {
		if item(&out[i]); d.bad {
			return nil
		}
	}
	return out
}

func (d *decoder) texts() []string { return list(d, func(s *string) { *s = d.text() }) }

func (d *decoder) facts() (*facts, bool) {
	f := &facts{lang: d.text(), lines: d.num()}
	d.flags(&f.parsed, &f.generated, &f.test)
	f.unparsed = d.text()
	f.pkg = d.text()
	f.imports = list(d, func(i *importFact) { i.path, i.name, i.line = d.text(), d.text(), d.num() })
	f.funcs = list(d, func(fn *funcFact) {
		fn.name, fn.recv, fn.line, fn.end = d.text(), d.text(), d.num(), d.num()
		d.flags(&fn.exported, &fn.isTest, &fn.vacuous)
		fn.sig, fn.exact, fn.shape, fn.size = d.text(), d.fixed(), d.fixed(), d.num()
	})
	f.types = list(d, func(t *typeFact) {
		t.name, t.line = d.text(), d.num()
		d.flags(&t.exported, &t.iface)
		t.methods, t.implements = d.texts(), d.texts()
	})
	f.values = list(d, func(v *valueFact) { v.name, v.line = d.text(), d.num() })
	f.refs = d.references()
	f.markers = list(d, func(m *markerFact) { m.word, m.text, m.line, m.version = d.text(), d.text(), d.num(), d.text() })
	f.headings = d.texts()
	link := func(l *linkFact) { l.target, l.line = d.text(), d.num() }
	f.links, f.claims = list(d, link), list(d, link)
	f.hits = list(d, func(h *hitFact) { h.rule, h.line, h.groups = d.num(), d.num(), d.texts() })
	f.literals = list(d, func(l *literalFact) { l.value, l.line = d.text(), d.num() })
	if d.bad || d.s != "" || !slices.IsSorted(f.refs) {
		return nil, false
	}
	return f, true
}

func (d *decoder) references() []uint64 {
	n := d.count()
	if n == 0 || n*8 > len(d.s) {
		d.bad = d.bad || n != 0
		return nil
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = d.fixed()
	}
	return out
}
