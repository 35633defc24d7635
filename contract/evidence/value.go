package evidence

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// A Value is any JSON value, kept as it was written: numbers keep their digits and members their order.
type Value []byte

// MarshalJSON returns the value itself; nothing is null.
func (v Value) MarshalJSON() ([]byte, error) {
	if len(v) == 0 {
		return []byte("null"), nil
	}
	return v, nil
}

// UnmarshalJSON keeps a copy of the text.
func (v *Value) UnmarshalJSON(text []byte) error {
	*v = append((*v)[:0:0], text...)
	return nil
}

// Null reports whether the value is absent or null.
func (v Value) Null() bool { return len(v) == 0 || string(bytes.TrimSpace(v)) == "null" }

// Text returns the string that the value is, if it is one.
func (v Value) Text() (string, bool) {
	if b := bytes.TrimSpace(v); len(b) == 0 || b[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(v, &s)
	return s, err == nil
}

// Positive returns the value as a positive number, which may be written as text. 1.0 is one as a number, as it is for every reader of JSON Schema.
func (v Value) Positive() (int64, bool) {
	s, ok := v.Text()
	if !ok {
		s = string(bytes.TrimSpace(v))
		if whole, fraction, dot := strings.Cut(s, "."); dot && strings.Trim(fraction, "0") == "" {
			s = whole
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n > 0 && s[0] != '+'
}
