package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
)

const orderSchema = `{
  "type": "object",
  "properties": {
    "id": {"type": "integer", "maximum": 9007199254740993},
    "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/line"}},
    "when": {"type": "string", "format": "date-time"},
    "pay": {"oneOf": [
      {"type": "object", "properties": {"by": {"const": "card"}, "number": {"type": "string"}}, "required": ["by", "number"]},
      {"type": "object", "properties": {"by": {"const": "cash"}}, "required": ["by"]}
    ]}
  },
  "required": ["id"],
  "additionalProperties": false,
  "$defs": {"line": {"type": "object", "properties": {"sku": {"type": "string", "pattern": "^[A-Z]+$"}}, "required": ["sku"]}}
}`

func paths(err error) []string {
	var out []string
	for _, f := range fault.Of(err) {
		out = append(out, f.Code+" "+f.Path)
	}
	return out
}

func TestPayloadCheck(t *testing.T) {
	t.Parallel()
	p, err := CompilePayload([]byte(orderSchema))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, payload string
		want          []string
	}{
		{"good", `{"id": 9007199254740993, "lines": [{"sku": "A"}], "when": "2026-01-31T08:00:00Z", "pay": {"by": "cash"}}`, nil},
		{"numbers are exact", `{"id": 9007199254740994}`, []string{"out_of_range $.id"}},
		{"all at once", `{"lines": [{"sku": "a"}, {}], "when": "now", "x.y": 1}`, []string{
			"missing_field $.id", `unknown_field $["x.y"]`, "bad_format $.lines[0].sku", "missing_field $.lines[1].sku", "bad_format $.when",
		}},
		{"the nearest alternative", `{"id": 1, "pay": {"by": "card"}}`, []string{"missing_field $.pay.number"}},
		{"names of digits", `{"id": 1, "0": 2}`, []string{`unknown_field $["0"]`}},
		{"not an object", `[]`, []string{"wrong_type $"}},
		{"twice", `{"id": 1, "id": 2}`, []string{"duplicate_key $.id"}},
		{"not JSON", `{"id": }`, []string{"invalid_json $.id"}},
		{"two documents", `{"id": 1}{}`, []string{"trailing_data $"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := p.Check([]byte(tc.payload))
			got := paths(err)
			less := func(a, b string) bool { return a < b }
			if diff := cmp.Diff(sorted(tc.want, less), sorted(got, less)); diff != "" {
				t.Errorf("%s\n%v", diff, err)
			}
		})
	}
}

func sorted(in []string, less func(a, b string) bool) []string {
	out := append([]string{}, in...)
	for i := range out {
		for j := i; j > 0 && less(out[j], out[j-1]); j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

func TestPayloadSchemaThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ doc, says string }{
		"not JSON":         {`{"type": `, "is not JSON"},
		"unknown type":     {`{"type": "thing"}`, "type"},
		"bad pattern":      {`{"pattern": "("}`, "pattern"},
		"a file":           {`{"$ref": "file:///etc/passwd"}`, "must stand alone"},
		"the network":      {`{"$ref": "https://example.com/s.json"}`, "must stand alone"},
		"dangling":         {`{"$ref": "#/$defs/none"}`, "none"},
		"a number":         {`7`, "compile payload schema"},
		"names that clash": {`{"type": "object", "type": "string"}`, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := CompilePayload([]byte(tc.doc))
			if err == nil || p != nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, %v", p, err)
			}
		})
	}
}

func TestPayloadSchemaMayNameItself(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"https://example.com/order/v1", "app/order/v1", "urn:app:order"} {
		doc := strings.Replace(orderSchema, "{", `{"$id": "`+id+`",`, 1)
		p, err := CompilePayload([]byte(doc))
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		if got := paths(p.Check([]byte(`{"id": 1, "lines": [{}]}`))); len(got) != 1 || got[0] != "missing_field $.lines[0].sku" {
			t.Errorf("%s: %v", id, got)
		}
	}
}
