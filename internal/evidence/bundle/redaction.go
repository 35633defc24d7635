package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/deedrun/deed/internal/isolate/redact"
)

// maxLine is how long a line of a JSON-lines file may be to be kept valid JSON when something in it is replaced.
const maxLine = 1 << 20

// redactJSON replaces secrets in one JSON text and keeps it JSON. Replacing in the text keeps the order of the keys; where
// that breaks the syntax, as with a number that is a secret, the values are replaced one by one. Secrecy comes before
// syntax: what still holds a secret then is replaced in the text after all.
func redactJSON(r *redact.Redactor, doc []byte, indent string) ([]byte, redact.Counts) {
	out, counts := r.Redact(doc)
	if len(counts) == 0 || json.Valid(out) {
		return out, counts
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return out, counts // it was no JSON to begin with
	}
	b, err := encode(redactValue(r, v), indent)
	if err != nil {
		return out, counts
	}
	final, more := r.Redact(b)
	for name, n := range more {
		counts[name] += n
	}
	return final, counts
}

// redactValue replaces secrets in every string and key of v. A number that is or holds one becomes a string.
func redactValue(r *redact.Redactor, v any) any {
	switch v := v.(type) {
	case string:
		return r.String(v)
	case json.Number:
		if s := r.String(v.String()); s != v.String() {
			return s
		}
	case []any:
		for i := range v {
			v[i] = redactValue(r, v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[r.String(k)] = redactValue(r, e)
		}
		return out
	}
	return v
}

// encode writes a record as deed's bundles hold it: indented, characters as they are, a line feed at the end.
func encode(v any, indent string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return buf.Bytes(), nil
}

// A lineWriter redacts JSON lines one by one, in bounded memory.
type lineWriter struct {
	r      *redact.Redactor
	w      io.Writer
	line   []byte
	long   *redact.Writer // the rest of a line that is too long to be kept
	counts redact.Counts
}

func (l *lineWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		if whole {
			part = rest[:len(part)+1]
		}
		rest = after
		if l.long == nil && len(l.line)+len(part) > maxLine {
			l.long = l.r.Writer(l.w)
			if _, err := l.long.Write(l.line); err != nil {
				return 0, err
			}
			l.line = l.line[:0]
		}
		if l.long != nil {
			if _, err := l.long.Write(part); err != nil {
				return 0, err
			}
		} else {
			l.line = append(l.line, part...)
		}
		if whole {
			if err := l.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

func (l *lineWriter) flush() error {
	if l.long != nil {
		err := l.long.Close()
		l.add(l.long.Counts())
		l.long = nil
		return err
	}
	if len(l.line) == 0 {
		return nil
	}
	body, eol := l.line, []byte(nil)
	if n := len(body) - 1; body[n] == '\n' {
		body, eol = body[:n], body[n:]
	}
	out, counts := redactJSON(l.r, body, "")
	l.add(counts)
	_, err := l.w.Write(bytes.TrimSuffix(out, []byte("\n")))
	if err == nil {
		_, err = l.w.Write(eol)
	}
	l.line = l.line[:0]
	return err
}

func (l *lineWriter) add(c redact.Counts) {
	for name, n := range c {
		if l.counts == nil {
			l.counts = redact.Counts{}
		}
		l.counts[name] += n
	}
}
