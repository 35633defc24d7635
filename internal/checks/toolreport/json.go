package toolreport

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Lenient takes what tools write: names twice, text that is no UTF-8.
func Lenient() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Object reads the members of the object that a document is, one at a time, so that a large report is not held whole.
// member reads or skips the value. A document that ends in its middle is io.ErrUnexpectedEOF.
func Object(r io.Reader, member func(dec *jsontext.Decoder, name string) error) error {
	return Members(jsontext.NewDecoder(r, Lenient()), member)
}

// Array reads the items of the array that a document is, one at a time.
func Array(r io.Reader, item func(raw jsontext.Value) error) error {
	return Items(jsontext.NewDecoder(r, Lenient()), item)
}

// Members reads the members of the object that comes next.
func Members(dec *jsontext.Decoder, member func(dec *jsontext.Decoder, name string) error) error {
	if err := begin(dec, '{', "an object"); err != nil {
		return err
	}
	for {
		t, err := dec.ReadToken()
		if err != nil {
			return early(err)
		}
		if t.Kind() == '}' {
			return nil
		}
		if err := member(dec, t.String()); err != nil {
			return early(err)
		}
	}
}

// Items reads the items of the array that comes next. Null is an array without items. A value is only valid during the
// call.
func Items(dec *jsontext.Decoder, item func(raw jsontext.Value) error) error {
	if dec.PeekKind() == 'n' {
		return early(dec.SkipValue())
	}
	if err := begin(dec, '[', "an array"); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		raw, err := dec.ReadValue()
		if err != nil {
			return early(err)
		}
		if err := item(raw); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return early(err)
}

func begin(dec *jsontext.Decoder, kind jsontext.Kind, what string) error {
	t, err := dec.ReadToken()
	if err != nil {
		return early(err)
	}
	if t.Kind() != kind {
		return fmt.Errorf("%s is needed, not %s", what, t.Kind())
	}
	return nil
}

// early makes the end of a document one in its middle.
func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
