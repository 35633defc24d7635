package fault

import "encoding/json"

// IsObject reports whether raw is one JSON object.
func IsObject(raw []byte) bool { return first(raw) == '{' && json.Valid(raw) }

// first returns the first byte of raw that is not JSON white space, or 0.
func first(raw []byte) byte {
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}
