package provider

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
)

// Redacted stands in the place of a secret.
const Redacted = "[redacted]"

// shortest is the least that is taken for a secret: anything below would make holes in every text.
const shortest = 4

// A redactor replaces values, the longest first at every place, so that a secret that begins another leaves no tail of it.
type redactor struct {
	values  [][]byte // longest first
	begins  [256]bool
	longest int
}

func newRedactor(secrets []string) *redactor {
	r := &redactor{}
	add := func(form string) {
		if len(form) >= shortest {
			r.values = append(r.values, []byte(form))
			r.begins[form[0]] = true
			r.longest = max(r.longest, len(form))
		}
	}
	for _, s := range secrets {
		if len(strings.TrimSpace(s)) < shortest {
			continue
		}
		for _, form := range []string{s, strings.TrimSpace(s)} {
			add(form)
			quoted, _ := json.Marshal(form) // a string can always be written
			add(strings.Trim(string(quoted), `"`))
			add(url.QueryEscape(form))
			add(url.PathEscape(form))
			add(base64.RawStdEncoding.EncodeToString([]byte(form)))
			add(base64.RawURLEncoding.EncodeToString([]byte(form)))
		}
	}
	slices.SortFunc(r.values, func(a, b []byte) int { return len(b) - len(a) })
	return r
}

func (r *redactor) text(s string) string {
	clean, _ := r.cut([]byte(s), true)
	return string(clean)
}

// cut returns a text without secrets, and how much of it that is: what could be the beginning of a secret waits for more,
// unless the text ends there.
func (r *redactor) cut(b []byte, final bool) (clean []byte, taken int) {
	if len(r.values) == 0 {
		return b, len(b)
	}
	from := 0
	for i := 0; i < len(b); {
		if !r.begins[b[i]] {
			i++
			continue
		}
		if !final && len(b)-i < r.longest && r.mayBegin(b[i:]) {
			return append(clean, b[from:i]...), i
		}
		n := r.at(b[i:])
		if n == 0 {
			i++
			continue
		}
		clean = append(append(clean, b[from:i]...), Redacted...)
		i += n
		from = i
	}
	return append(clean, b[from:]...), len(b)
}

func (r *redactor) at(b []byte) int {
	for _, v := range r.values {
		if bytes.HasPrefix(b, v) {
			return len(v)
		}
	}
	return 0
}

func (r *redactor) mayBegin(b []byte) bool {
	return slices.ContainsFunc(r.values, func(v []byte) bool { return len(v) > len(b) && bytes.HasPrefix(v, b) })
}

// document replaces secrets in every string of a JSON document, however they are escaped there, in names too.
func (r *redactor) document(doc []byte) []byte {
	if len(r.values) == 0 {
		return doc
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var out bytes.Buffer
	for {
		before := d.InputOffset()
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out.Bytes()
		}
		if err != nil {
			return []byte(`"` + Redacted + `"`) // it was just written: this does not happen, and shows nothing if it does
		}
		between := doc[before:d.InputOffset()]
		s, ok := t.(string)
		if !ok {
			out.Write(between) // a number, a delimiter or a word, and what separates it from the one before
			continue
		}
		out.Write(between[:bytes.IndexByte(between, '"')])
		clean, _ := json.Marshal(r.text(s)) // a string can always be written
		out.Write(clean)
	}
}

// A hidingWriter hands on what is written to it without secrets.
type hidingWriter struct {
	hide *redactor
	to   io.Writer
	held []byte
}

func (w *hidingWriter) Write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	clean, n := w.hide.cut(w.held, false)
	if _, err := w.to.Write(clean); err != nil {
		return 0, err
	}
	w.held = append(w.held[:0], w.held[n:]...)
	return len(p), nil
}

// Close writes what was held back.
func (w *hidingWriter) Close() error {
	clean, _ := w.hide.cut(w.held, true)
	w.held = nil
	if len(clean) == 0 {
		return nil
	}
	_, err := w.to.Write(clean)
	return err
}
