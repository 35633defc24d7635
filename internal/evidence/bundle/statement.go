package bundle

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// The types that in-toto has for statements: the one that deed writes, and the one before it, which is well-formed.
const (
	statementType       = "https://in-toto.io/Statement/v1"
	statementTypeLegacy = "https://in-toto.io/Statement/v0.1"
)

// A statement is in-toto's. Its authors' own type is a protobuf message, which costs every process half a millisecond to set up; in
// tests it has to agree on what is written and on what is read.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// A received statement is one that was read. Its predicate is whatever object it has.
type received struct {
	typ, predicateType string
	subjects           []descriptor
	predicate          map[string]any // nil: there is none
}

// A descriptor is in-toto's term for what a statement is about.
type descriptor struct {
	name, uri string
	digest    map[string]string
}

// readStatement reads a statement as protobuf's JSON does: unknown members are skipped, as the format asks of readers, null counts as
// absent, and both spellings of a name are accepted, but not together. A name that occurs twice is refused, since readers would
// disagree on which counts; protobuf's reader does not notice it below a member that it skips.
func readStatement(payload []byte) (received, error) {
	var st received
	var doc map[string]any
	if err := json.Unmarshal(payload, &doc); err != nil {
		return st, err
	}
	if doc == nil {
		return st, errors.New("null is not an object")
	}
	m := members{of: doc, at: "$"}
	st.typ = m.text("_type", "type")
	st.predicateType = m.text("predicateType", "predicate_type")
	st.predicate = m.object("predicate")
	for i, one := range m.list("subject") {
		s := members{at: fmt.Sprintf("$.subject[%d]", i)}
		var ok bool
		if s.of, ok = one.(map[string]any); !ok {
			return st, fmt.Errorf("%s is not an object", s.at)
		}
		st.subjects = append(st.subjects, descriptor{s.text("name"), s.text("uri"), s.texts("digest")})
		s.text("downloadLocation", "download_location")
		s.text("mediaType", "media_type")
		s.object("annotations")
		if !isBase64(s.text("content")) {
			s.fault("content", "base64")
		}
		if s.err != nil {
			return st, s.err
		}
	}
	return st, m.err
}

// validate holds a statement to what in-toto asks of one.
func (st *received) validate() error {
	if st.typ != statementType && st.typ != statementTypeLegacy {
		return fmt.Errorf("$._type is %q (want %s)", st.typ, statementType)
	}
	if len(st.subjects) == 0 {
		return errors.New("$.subject is empty (a statement is about something)")
	}
	for i, s := range st.subjects {
		for _, algorithm := range slices.Sorted(maps.Keys(s.digest)) {
			if err := checkDigest(algorithm, s.digest[algorithm]); err != nil {
				return fmt.Errorf("$.subject[%d].digest.%s: %w", i, algorithm, err)
			}
		}
		if len(s.digest) == 0 {
			return fmt.Errorf("$.subject[%d].digest is empty (nothing else tells what is meant)", i)
		}
	}
	if st.predicateType == "" {
		return errors.New("$.predicateType is empty")
	}
	if st.predicate == nil {
		return errors.New("$.predicate is missing")
	}
	return nil
}

// digestSizes are the bytes that a digest of a known algorithm has. Others may be anything.
var digestSizes = map[string]int{
	"md5": 16, "sha1": 20, "gitBlob": 20, "gitCommit": 20, "gitTag": 20, "gitTree": 20, "sha224": 28, "sha512_224": 28, "sha3_224": 28,
	"sha256": 32, "sha512_256": 32, "sha3_256": 32, "dirHash": 32, "sha384": 48, "sha3_384": 48, "sha512": 64, "sha3_512": 64,
}

func checkDigest(algorithm, digest string) error {
	size, known := digestSizes[algorithm]
	if !known {
		return nil
	}
	sum, err := hex.DecodeString(digest)
	if err != nil {
		return fmt.Errorf("%q is not hexadecimal", digest)
	}
	if len(sum) != size {
		return fmt.Errorf("it has %d bytes (want %d)", len(sum), size)
	}
	return nil
}

// members reads an object of JSON. The first fault stays; what is read after it is of no use.
type members struct {
	of  map[string]any
	at  string
	err error
}

func (m *members) fault(name, want string) {
	if m.err == nil {
		m.err = fmt.Errorf("%s.%s is not %s", m.at, name, want)
	}
}

// get returns the member with one of the names; nil: there is none.
func (m *members) get(names ...string) (value any) {
	found := ""
	for _, name := range names {
		v, ok := m.of[name]
		if ok && found != "" && m.err == nil {
			m.err = fmt.Errorf("%s has both %s and %s", m.at, found, name)
		}
		if ok {
			value, found = v, name
		}
	}
	return value
}

func (m *members) text(names ...string) string {
	v := m.get(names...)
	text, ok := v.(string)
	if v != nil && !ok {
		m.fault(names[0], "a string")
	}
	return text
}

func (m *members) object(name string) map[string]any {
	v := m.get(name)
	object, ok := v.(map[string]any)
	if v != nil && !ok {
		m.fault(name, "an object")
	}
	return object
}

func (m *members) list(name string) []any {
	v := m.get(name)
	list, ok := v.([]any)
	if v != nil && !ok {
		m.fault(name, "a list")
	}
	return list
}

func (m *members) texts(name string) map[string]string {
	out := map[string]string{}
	for key, v := range m.object(name) {
		text, ok := v.(string)
		if !ok {
			m.fault(name+"."+key, "a string")
		}
		out[key] = text
	}
	return out
}

// isBase64 takes both alphabets, with and without padding.
func isBase64(text string) bool {
	encoding := base64.StdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.URLEncoding
	}
	if len(text)%4 != 0 {
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	_, err := encoding.DecodeString(text)
	return err == nil
}
