package codebox

import (
	"bytes"
	"encoding/json"
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
