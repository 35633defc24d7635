// Package redact owns the replacing of secret values in everything that deed writes. It knows a value's plain text and
// the encodings in which it commonly travels, base64 and hexadecimal also broken into lines; it does not resolve secrets, and it cannot see a value that somebody
// encrypted, compressed, split or spelled in an encoding of their own.
package redact

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// A Redactor replaces the forms of a fixed set of secrets. It is safe for concurrent use. A nil Redactor, and one without
// secrets, passes everything through at no cost.
type Redactor struct {
	names        []string          // redacted secrets, sorted
	labels       [][]byte          // what is written in place of each
	marks        map[string]string // the secret of each name that stands in a label
	counts       []atomic.Int64
	unredactable []string
	ix           *index // nil when there is nothing to look for
}

// Counts is how many replacements were made, by secret name.
type Counts map[string]int

// Total adds up the counts.
func (c Counts) Total() int {
	n := 0
	for _, v := range c {
		n += v
	}
	return n
}

// Names lists the secrets that were found, sorted.
func (c Counts) Names() []string { return slices.Sorted(maps.Keys(c)) }

// New returns a Redactor for secrets, a map from name to value. A value that is too short or too common to replace
// without ruining ordinary text is left alone and its name reported by Unredactable.
func New(secrets map[string]string) *Redactor {
	r := &Redactor{}
	var all []form
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		value := secrets[name]
		if trivial(value) {
			r.unredactable = append(r.unredactable, name)
			continue
		}
		for _, f := range forms(value) {
			f.secret = len(r.names)
			all = append(all, f)
		}
		r.names = append(r.names, name)
	}
	if len(r.names) == 0 {
		return r
	}
	r.counts = make([]atomic.Int64, len(r.names))
	r.ix = newIndex(all)
	for _, name := range r.names {
		r.labels = append(r.labels, label(name, all))
	}
	r.marks = r.named()
	return r
}

// Active reports whether there is any value to look for.
func (r *Redactor) Active() bool { return r != nil && r.ix != nil }

// Unredactable names the secrets whose values are shorter than four bytes, or trivial: true, false, null, undefined, or
// fewer than six digits. They can reach a file; a caller warns or refuses.
func (r *Redactor) Unredactable() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.unredactable)
}

// Report counts everything replaced so far through this Redactor, by secret name. It never holds a value.
func (r *Redactor) Report() Counts {
	if r == nil {
		return Counts{}
	}
	c := Counts{}
	for i, name := range r.names {
		if n := r.counts[i].Load(); n > 0 {
			c[name] = int(n)
		}
	}
	return c
}

// Redact returns b with every form of every secret replaced, and what was replaced. Without a hit it returns b itself.
func (r *Redactor) Redact(b []byte) ([]byte, Counts) {
	if !r.Active() || !r.ix.contains(b) {
		return b, nil
	}
	var buf bytes.Buffer
	buf.Grow(len(b))
	w := r.Writer(&buf)
	_, _ = w.Write(b) // a bytes.Buffer takes everything
	_ = w.Close()
	return buf.Bytes(), w.Counts()
}

// Bytes is Redact without the counts.
func (r *Redactor) Bytes(b []byte) []byte {
	out, _ := r.Redact(b)
	return out
}

// String is Bytes for text.
func (r *Redactor) String(s string) string {
	if !r.Active() {
		return s
	}
	return string(r.Bytes([]byte(s)))
}

// Contains reports whether b holds any form of any secret.
func (r *Redactor) Contains(b []byte) bool { return r.Active() && r.ix.contains(b) }

// Find reads rd to its end in bounded memory and returns how often each secret occurs in it.
func (r *Redactor) Find(rd io.Reader) (Counts, error) {
	if !r.Active() {
		return nil, nil
	}
	w := r.Writer(io.Discard)
	w.quiet = true
	if _, err := io.Copy(w, rd); err != nil {
		return nil, err
	}
	return w.Counts(), w.Close()
}

// trivial values occur in ordinary text everywhere; replacing them would hide nothing and break what is around them.
func trivial(v string) bool {
	v = strings.TrimSpace(v)
	switch strings.ToLower(v) {
	case "true", "false", "null", "undefined", "none":
		return true
	}
	if len(v) < 4 {
		return true
	}
	return len(v) < 6 && strings.Trim(v, "0123456789") == ""
}

// label picks what stands for a secret. A label that shares its edge with some form could complete that form together
// with the text around it; such a label is passed over.
func label(name string, all []form) []byte {
	name = strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf && inName(byte(c)) {
			return c
		}
		return '_'
	}, name)
	candidates := []string{
		"[" + markStart + name + "]", "<" + markStart + name + ">", "{" + markStart + name + "}",
		"[REDACTED]", "<REDACTED>", "(***)", "~~~", "\u2588\u2588\u2588", "\u25a0\u25a0\u25a0",
	}
	for _, c := range candidates {
		if !slices.ContainsFunc(all, func(f form) bool { return overlaps([]byte(c), f.text) }) {
			return []byte(c)
		}
	}
	return []byte(candidates[0])
}

// overlaps reports whether label and f can overlap: one inside the other, or an end of one equal to a start of the other.
func overlaps(label, f []byte) bool {
	if bytes.Contains(label, f) || bytes.Contains(f, label) {
		return true
	}
	for n := 1; n < min(len(label), len(f)); n++ {
		if bytes.Equal(label[len(label)-n:], f[:n]) || bytes.Equal(f[len(f)-n:], label[:n]) {
			return true
		}
	}
	return false
}

// errClosed is returned by a Write after Close.
var errClosed = errors.New("redact: write after close")
