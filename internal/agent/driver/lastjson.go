package driver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// JSONTail is how much of the end of an output LastJSON looks at. An object that begins before it is not found.
const JSONTail = 1 << 20

// LastJSON returns the last whole JSON object of an output that is not part of another one, bare, in a line of
// text or in a fenced block. It reads at most the last JSONTail bytes, and returns nil when there is no object.
func LastJSON(r io.ReadSeeker) (json.RawMessage, error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("look for JSON at the end of the output: %w", err)
	}
	from := max(0, size-JSONTail)
	if _, err := r.Seek(from, io.SeekStart); err != nil {
		return nil, fmt.Errorf("look for JSON at the end of the output: %w", err)
	}
	tail, err := io.ReadAll(io.LimitReader(r, JSONTail))
	if err != nil {
		return nil, fmt.Errorf("look for JSON at the end of the output: %w", err)
	}
	return lastObject(tail), nil
}

// lastObject scans forward, because an outer object can be distinguished from an inner one only from the outside.
func lastObject(b []byte) json.RawMessage {
	// An unclosed brace costs a scan to the end. The budget keeps an output full of them from costing the square
	// of its length; past it, the rest of the output is not looked at.
	budget := 64 * JSONTail
	var last json.RawMessage
	for budget > 0 {
		i := bytes.IndexByte(b, '{')
		if i < 0 {
			break
		}
		b = b[i:]
		n, whole := objectEnd(b)
		budget -= n
		if whole && json.Valid(b[:n]) {
			last, b = b[:n], b[n:]
			continue
		}
		b = b[1:]
	}
	return bytes.Clone(last)
}

// objectEnd returns the length of the bracketed text that begins b, and whether it is whole; it is not yet known to
// be JSON.
func objectEnd(b []byte) (n int, whole bool) {
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString && c < 0x20:
			return i, false // no string of JSON has a bare line break
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(b), false
}
