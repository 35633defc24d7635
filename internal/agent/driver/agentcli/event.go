package agentcli

import (
	"bytes"
	jsonv1 "encoding/json"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/contract/agentruntime"
)

// At reads an instant in milliseconds; empty when there is none that can be written.
func At(ms int64) agentruntime.Timestamp {
	const year9999 = 253402300800000
	if ms <= 0 || ms >= year9999 {
		return ""
	}
	return agentruntime.At(time.UnixMilli(ms))
}

var typeFirst = []byte(`{"type":"`)

// TypeOf returns the type of an event. Most CLIs write it first, so that an event of no interest costs no more than this
// look at it. A line that is no JSON object, or has no type, has none.
func TypeOf(line []byte) string {
	if rest, ok := bytes.CutPrefix(line, typeFirst); ok {
		if i := bytes.IndexAny(rest[:min(len(rest), 64)], `"\`); i >= 0 && rest[i] == '"' {
			return string(rest[:i])
		}
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := Decode(line, &head); err != nil {
		return ""
	}
	return head.Type
}

// lenient takes what agents write: names twice, text that is no UTF-8.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Decode reads an event. A member of another type than expected is left out, and is no error: the next version of a CLI
// may well have made an object of a string.
func Decode(line []byte, v any) error {
	if json.Unmarshal(line, v, lenient) == nil {
		return nil
	}
	// What is read quickly is read strictly. The reader of the standard library goes on after a member that does not fit.
	err := jsonv1.Unmarshal(line, v)
	var mismatch *jsonv1.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return nil
	}
	return err
}
