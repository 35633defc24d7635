package redact

import "bytes"

const (
	maxIndent    = 8 // spaces after a line break inside a form
	maxBackslash = 4 // backslashes of an escaped line break: one in JSON, two in JSON inside JSON, four inside that
)

// gap returns the length of the line break at the start of b, plain or escaped, with the indentation after it. It is all of
// b when b may end within one. No form that wraps holds any of these bytes but the letters.
func gap(b []byte) int {
	if len(b) == 0 || !breaking(b[0]) {
		return 0
	}
	return lineBreaks(b)
}

// breaking reports whether a line break may start with c.
func breaking(c byte) bool { return c == '\\' || c == '\n' || c == '\r' }

func lineBreaks(b []byte) int {
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
	if len(b) >= minForm && !breaking(b[1]) && !breaking(b[2]) && !breaking(b[3]) {
		return [minForm]byte(b), minForm
	}
	for i := 0; i < len(b) && k < minForm; k++ {
		q[k] = b[i]
		i++
		i += gap(b[i:])
	}
	return q, k
}

// breaks finds the line breaks of a text in one pass over it: each field is where the next byte of its kind is, once that
// is known. Positions are asked for in rising order.
type breaks struct {
	b              []byte
	cr, lf, escape int
	at             int // the answer for positions after from and up to it
}

// next returns the first position at or after i where a gap starts, or the length of the text.
func (k *breaks) next(i int) int {
	if i <= k.at {
		return k.at
	}
	k.cr, k.lf, k.escape = seek(k.b, k.cr, i, '\r'), seek(k.b, k.lf, i, '\n'), seek(k.b, k.escape, i, '\\')
	for k.escape < min(k.cr, k.lf) && gap(k.b[k.escape:]) == 0 { // an escape of something else
		k.escape = seek(k.b, k.escape, k.escape+1, '\\')
	}
	k.at = min(k.cr, k.lf, k.escape)
	return k.at
}

// seek returns where c is next at or after i, given where it was last found.
func seek(b []byte, known, i int, c byte) int {
	if known >= i {
		return known
	}
	if i < len(b) {
		if n := bytes.IndexByte(b[i:], c); n >= 0 {
			return i + n
		}
	}
	return len(b)
}
