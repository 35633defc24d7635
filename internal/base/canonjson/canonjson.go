// Package canonjson owns the one byte form of a JSON value that deed hashes and signs: RFC 8785, which is also what
// JavaScript writes for a value with its keys sorted by UTF-16 code unit and no white space. It does not validate values
// against schemas.
package canonjson

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// Marshal returns the canonical form of v's JSON, which is what encoding/json writes, put in order.
func Marshal(v any) ([]byte, error) {
	return Append(nil, v)
}

// Append appends the canonical form of v's JSON.
func Append(dst []byte, v any) ([]byte, error) {
	return appendValue(dst, reflect.ValueOf(v), 0)
}

// throughText is Marshal by way of what encoding/json writes.
func throughText(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode for hashing: %w", err)
	}
	out := jsontext.Value(buf.Bytes()) // our own, so that it is put in order where it is
	if err := out.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonicalize JSON: %w", err)
	}
	if bytes.Contains(out, largest) { // it may be another number: look at what was written before it was put in order
		raw, err := json.Marshal(v)
		if err == nil {
			err = inRange(raw)
		}
		if err != nil {
			return nil, fmt.Errorf("canonicalize JSON: %w", err)
		}
	}
	return out, nil
}

// Canonicalize returns the canonical form of one JSON text. Duplicate keys, lone surrogates, numbers outside the range
// of a double and bytes after the value are errors.
func Canonicalize(raw []byte) ([]byte, error) {
	out := jsontext.Value(bytes.Clone(raw))
	err := out.Canonicalize()
	if err == nil && bytes.Contains(out, largest) {
		err = inRange(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("canonicalize JSON: %w", err)
	}
	return out, nil
}

// largest is what a number beyond the range of a double is written as. Such a number is refused: two values would have one form.
var largest = []byte("1.7976931348623157e+308")

// inRange finds out whether the largest number was meant.
func inRange(raw []byte) error {
	var v any
	return json.Unmarshal(raw, &v)
}

// Hash returns the SHA-256 of v's canonical form in lower-case hexadecimal.
func Hash(v any) (string, error) {
	b, err := Marshal(v)
	if err != nil {
		return "", err
	}
	return sum(b), nil
}

// HashIn is Hash with a first line that names what is hashed, so that digests of different kinds never collide.
func HashIn(domain string, v any) (string, error) {
	b, err := Marshal(v)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write([]byte(domain + "\n"))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil)), nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
