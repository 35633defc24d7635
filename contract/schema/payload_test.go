package schema

import (
	"errors"
	"fmt"
	"strings"
	"sync"
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
		{"a number beyond all bounds", `{"id": 1e9999999}`, []string{"out_of_range $.id"}},
		{"a number next to nothing", `{"id": -1e-99999999999999999999}`, []string{"wrong_type $.id"}},
		{"zero in many words", `{"id": 0e9999999}`, nil},
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
		"another draft":    {`{"$schema": "http://json-schema.org/draft-07/schema#"}`, "write https://json-schema.org/draft/2020-12/schema"},
		"an own draft":     {`{"$schema": "https://example.com/meta"}`, "is not supported here"},
		"a bound beyond":   {`{"multipleOf": -1e-9999999}`, "out of range"},
		"too large":        {`{"allOf": [` + strings.Repeat(`true,`, 10_000) + `true]}`, "at most 10000"},
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

// Every keyword has its code, its place and words that say what to do.
func TestPayloadFaultsInWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ schema, payload, want string }{
		{`{"type": "object"}`, `[]`, `wrong_type $: is a list (use an object)`},
		{`{"type": ["string", "null"]}`, `1`, `wrong_type $: is a number (use a string or null)`},
		{`{"enum": ["a", 1, null]}`, `"b"`, `not_allowed $: "b" is not allowed (use one of "a", 1, null)`},
		{`{"const": {"a": 1}}`, `2`, `not_allowed $: 2 is not allowed (use {"a":1})`},
		{`{"format": "ipv4"}`, `"1.2.3"`, `bad_format $: "1.2.3" is not of the format ipv4: `},
		{`{"pattern": "^a+$"}`, `"b"`, `bad_format $: "b" does not match ^a+$`},
		{`{"minimum": 2}`, `1.5`, `out_of_range $: 1.5 is out of range (use at least 2)`},
		{`{"maximum": 2}`, `1234567`, `out_of_range $: 1234567 is out of range (use at most 2)`},
		{`{"exclusiveMinimum": 2}`, `2`, `out_of_range $: 2 is out of range (use more than 2)`},
		{`{"exclusiveMaximum": 0.5}`, `2`, `out_of_range $: 2 is out of range (use less than 0.5)`},
		{`{"multipleOf": 2}`, `3`, `out_of_range $: 3 is out of range (use a multiple of 2)`},
		{`{"minLength": 2}`, `"é"`, `out_of_range $: has 1 character (use at least 2)`},
		{`{"maxLength": 1}`, `"éé"`, `out_of_range $: has 2 characters (use at most 1)`},
		{`{"minItems": 1}`, `[]`, `out_of_range $: has 0 entries (use at least 1)`},
		{`{"maxItems": 0}`, `[1]`, `out_of_range $: has 1 entry (use at most 0)`},
		{`{"minProperties": 1}`, `{}`, `out_of_range $: has 0 members (use at least 1)`},
		{`{"maxProperties": 0}`, `{"a": 1}`, `out_of_range $: has 1 member (use at most 0)`},
		{`{"uniqueItems": true}`, `[1, 2, 1.0]`, `duplicate $[2]: is the same as entry 0 (list it once)`},
		{`{"contains": {"type": "string"}}`, `[1, 2]`, `out_of_range $: has 0 entries of the kind that it must contain (use at least 1)`},
		{`{"contains": true, "minContains": 2}`, `[1]`, `out_of_range $: has 1 entry of the kind that it must contain (use at least 2)`},
		{`{"contains": true, "maxContains": 1}`, `[1, 2]`, `out_of_range $: has 2 entries of the kind that it must contain (use at most 1)`},
		{`{"required": ["b", "a"]}`, `{}`, "missing_field $.b: is missing (add it)\nmissing_field $.a: is missing (add it)"},
		{`{"dependentRequired": {"a": ["b"]}}`, `{"a": 1}`, `missing_field $.b: is missing, and "a" is there (add it)`},
		{
			`{"additionalProperties": false, "properties": {"colour": true}}`, `{"color": 1, "x": 2}`,
			"unknown_field $.color: is not a member of this record; did you mean \"colour\"? (rename or remove it)\nunknown_field $.x: is not a member of this record (remove it; known are colour)",
		},
		{
			`{"properties": {"a": {"$ref": "#/$defs/x~1y"}}, "$defs": {"x/y": {"additionalProperties": false, "properties": {"name": true}}}}`, `{"a": {"nam": 1}}`,
			`unknown_field $.a.nam: is not a member of this record; did you mean "name"? (rename or remove it)`,
		},
		{`{"unevaluatedProperties": false, "properties": {"a": true}}`, `{"b": 1}`, `unknown_field $.b: is not allowed by the schema (remove it)`},
		{`{"propertyNames": {"maxLength": 1}}`, `{"ab": 1}`, `out_of_range $.ab: has a name that the schema refuses: has 2 characters (use at most 1)`},
		{`{"not": {"type": "string"}}`, `"a"`, `conflict $: is what the schema excludes`},
		{`{"oneOf": [true, true]}`, `1`, `conflict $: fits more than one alternative where it must fit one`},
		{`{"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]}`, `{}`, `missing_field $.a: is missing (add it)`},
		{`{"if": {"type": "string"}, "else": {"maximum": 1}}`, `2`, `out_of_range $: 2 is out of range (use at most 1)`},
		{`{"$ref": "#"}`, `1`, `conflict $: cannot be checked: the schema refers to itself without end (correct the schema)`},
		{`false`, `1`, `unknown_field $: is not allowed by the schema (remove it)`},
		{`{"items": {"type": "string"}}`, `[0,1,2,3,4,5,6,7,8,9,10,"x"]`, strings.Join(func() (lines []string) {
			for i := range 11 {
				lines = append(lines, "wrong_type "+fault.Index("$", i)+": is a number (use a string)")
			}
			return lines
		}(), "\n")},
		{`{"propertyNames": false, "dependentRequired": {"b": ["x"], "a": ["x"]}}`, `{"a": 1, "b": 1}`, strings.Join([]string{
			`missing_field $.x: is missing, and "a" is there (add it)`, `missing_field $.x: is missing, and "b" is there (add it)`,
			"unknown_field $.a: has a name that the schema refuses: is not allowed by the schema (remove it)",
			"unknown_field $.b: has a name that the schema refuses: is not allowed by the schema (remove it)",
		}, "\n")},
		{
			`{"additionalProperties": {"propertyNames": {"pattern": "^x"}}}`, `{"a": {"p": 1}, "b": {"q": 1}, "c": {"x": 1}}`,
			"bad_format $.a.p: has a name that the schema refuses: \"p\" does not match ^x\nbad_format $.b.q: has a name that the schema refuses: \"q\" does not match ^x",
		},
	} {
		p, err := CompilePayload([]byte(tc.schema))
		if err != nil {
			t.Errorf("%s: %v", tc.schema, err)
			continue
		}
		for range 3 { // the same words in the same order every time
			if got := strings.TrimSuffix(listing(p.Check([]byte(tc.payload))), "\n"); got != tc.want && !(strings.HasSuffix(tc.want, ": ") && strings.HasPrefix(got, tc.want)) {
				t.Errorf("%s\n%s\n%s\nwant\n%s", tc.schema, tc.payload, got, tc.want)
			}
		}
	}
}

func TestPayloadSchemaFaultsHavePlaces(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string][]string{
		`{"type": "thing", "properties": {"a": {"minLength": -1}}}`:               {"out_of_range $.properties.a.minLength", "not_allowed $.type"},
		`{"properties": {"a": {"pattern": "("}}}`:                                 {"bad_format $.properties.a.pattern"},
		`{"patternProperties": {"(": true}}`:                                      {`bad_format $.patternProperties["("]`},
		`{"items": [{"$ref": "#/x"}]}`:                                            {"wrong_type $.items"},
		`{"allOf": [{"$ref": "#/x"}], "x": {"type": 7}}`:                          {"not_allowed $.x.type"},
		`{"allOf": [true, {"$ref": "#/$defs/no%20ne"}]}`:                          {`dangling $.allOf[1]["$ref"]`},
		`{"not": {"$ref": "#here"}}`:                                              {`dangling $.not["$ref"]`},
		`{"not": {"$ref": "file:///etc/passwd#/a"}}`:                              {`dangling $.not["$ref"]`},
		`{"$id": "https://example.com/a/b", "not": {"$ref": "c.json"}}`:           {`dangling $.not["$ref"]`},
		`{"$defs": {"a": {"$anchor": "q"}, "b": {"$anchor": "q"}}}`:               {`duplicate $["$defs"].b["$anchor"]`},
		`{"$defs": {"a": {"$id": "q"}, "b": {"$id": "q"}}}`:                       {`duplicate $["$defs"].b["$id"]`},
		`{"$id": "http://[::1"}`:                                                  {`bad_format $["$id"]`},
		`{"properties": {"a": {"$schema": "https://example.com/x", "$id": "a"}}}`: {`not_allowed $.properties.a["$schema"]`},
		`7`: {"wrong_type $"},
	} {
		_, err := CompilePayload([]byte(doc))
		if diff := cmp.Diff(want, paths(err)); diff != "" {
			t.Errorf("%s:\n%s\n%v", doc, diff, err)
		}
	}
}

// FuzzPayload demands that no schema and no payload breaks the validator, and that what is refused is refused with faults.
func FuzzPayload(f *testing.F) {
	for _, s := range []string{
		orderSchema, `true`, `{"$ref": "#"}`, `{"minimum": 1e5000, "multipleOf": 1e-5000}`, `{"uniqueItems": true}`, `{"propertyNames": {"format": "regex"}}`,
		`{"$dynamicRef": "#a", "$dynamicAnchor": "a", "unevaluatedItems": false}`, `{"$id": "a:b", "$ref": "c"}`, `{"maxLength": 1e30}`,
	} {
		f.Add([]byte(s), []byte(`{"a": [1, 1e9999999, "x"], "b": {"a": null}}`))
		f.Add([]byte(s), []byte(`[1e999, 1e1001, -0.0e77777777777777777777]`))
	}
	f.Fuzz(func(t *testing.T, doc, payload []byte) {
		b := NewBudget(100_000)
		p, err := CompilePayloadWithin(b, doc)
		if err == nil {
			err = p.CheckWithin(b, payload)
		}
		if err != nil && len(fault.Of(err)) == 0 && !errors.Is(err, ErrBudget) {
			t.Errorf("refused without faults: %v\n%s\n%s", err, doc, payload)
		}
	})
}

// What asks for 2^40 evaluations ends.
func TestPayloadIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"$ref": "#/$defs/l0", "$defs": {`)
	for i := range 40 {
		fmt.Fprintf(&b, `"l%d": {"allOf": [{"$ref": "#/$defs/l%d"}, {"$ref": "#/$defs/l%d"}]}, `, i, i+1, i+1)
	}
	b.WriteString(`"l40": {"type": "string"}}}`)
	p, err := CompilePayload([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	budget := NewBudget(10_000)
	if err := p.CheckWithin(budget, []byte(`"x"`)); !errors.Is(err, ErrBudget) {
		t.Errorf("%v", err)
	}
	if err := p.CheckWithin(budget, []byte(`1`)); !errors.Is(err, ErrBudget) {
		t.Errorf("a budget that is used up goes on: %v", err)
	}
}

// Many goroutines may use one schema.
func TestPayloadConcurrently(t *testing.T) {
	t.Parallel()
	p, err := CompilePayload([]byte(orderSchema))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				good := p.Check([]byte(`{"id": 1, "lines": [{"sku": "A"}]}`))
				bad := p.Check([]byte(`{"id": "x"}`))
				if good != nil || len(fault.Of(bad)) != 1 {
					t.Errorf("%d: %v, %v", i, good, bad)
				}
			}
		})
	}
	wg.Wait()
}
