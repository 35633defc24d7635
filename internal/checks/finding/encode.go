package finding

import (
	"bufio"
	stdjson "encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/deedrun/deed/contract/runner"
)

type rawMessage = stdjson.RawMessage

func quote(s string) rawMessage {
	text, _ := jsontext.AppendQuote(nil, s) // what is no UTF-8 is replaced
	return rawMessage(text)
}

// WriteJSON writes a report, or whatever holds findings, as encoding/json with an indent of two blanks does, and a line
// feed. It streams, and a report of many findings costs it a fraction of the time.
func WriteJSON(w io.Writer, v any) error {
	out := bufio.NewWriterSize(w, 64<<10)
	err := json.MarshalWrite(out, v, jsonv1.DefaultOptionsV1(), jsontext.WithIndent("  "),
		json.WithMarshalers(json.MarshalToFunc(encode)))
	if err != nil {
		return fmt.Errorf("encode findings: %w", err)
	}
	if err := out.WriteByte('\n'); err != nil {
		return err
	}
	return out.Flush()
}

// encode writes one finding: its fields in the order of the record, then every other key in order of its name.
func encode(enc *jsontext.Encoder, f runner.LintFinding) error {
	e := members{enc: enc}
	e.token(jsontext.BeginObject)
	e.text("id", f.ID)
	e.always("message", f.Message)
	e.text("category", f.Category)
	e.text("tool", f.Tool)
	e.text("rule", f.Rule)
	e.text("file", f.File)
	e.number("line", f.Line)
	e.number("column", f.Column)
	e.text("severity", f.Severity)
	e.truth("fixable", f.Fixable)
	e.text("fingerprint", f.Fingerprint)
	e.truth("known", f.Known)
	e.rest(f.Extra)
	e.token(jsontext.EndObject)
	return e.err
}

// members writes the members of an object until the first error.
type members struct {
	enc *jsontext.Encoder
	err error
}

func (e *members) token(t jsontext.Token) {
	if e.err == nil {
		e.err = e.enc.WriteToken(t)
	}
}

func (e *members) always(key, value string) {
	e.token(jsontext.String(key))
	e.token(jsontext.String(value))
}

func (e *members) text(key, value string) {
	if value != "" {
		e.always(key, value)
	}
}

func (e *members) number(key string, value int) {
	if value != 0 {
		e.token(jsontext.String(key))
		e.token(jsontext.Int(int64(value)))
	}
}

func (e *members) truth(key string, value bool) {
	if value {
		e.token(jsontext.String(key))
		e.token(jsontext.True)
	}
}

func (e *members) rest(extra map[string]rawMessage) {
	var few [16]string // most findings have fewer
	keys := few[:0]
	for k := range extra {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		e.token(jsontext.String(k))
		if e.err == nil {
			e.err = e.enc.WriteValue(jsontext.Value(extra[k]))
		}
	}
}
