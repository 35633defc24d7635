package jsonschema

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	oracle "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/deedrun/deed/contract/fault"
)

// A suiteGroup is one schema of the official test suite with its tests.
type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// refusedGroups are the groups that need what this package refuses by name. Each must be refused, not ignored.
var refusedGroups = map[string]string{
	"defs.json/validate definition against metaschema":                  "outside this schema",
	"ref.json/remote ref, containing refs itself":                       "outside this schema",
	"unevaluatedItems.json/unevaluatedItems with $dynamicRef":           "$dynamicRef",
	"unevaluatedProperties.json/unevaluatedProperties with $dynamicRef": "$dynamicRef",
}

func suite(t testing.TB) map[string][]suiteGroup {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "suite", "*.json"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	all := map[string][]suiteGroup{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var groups []suiteGroup
		if err := json.Unmarshal(data, &groups); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all[filepath.Base(f)] = groups
	}
	return all
}

func parse(t testing.TB, data []byte) any {
	t.Helper()
	v, err := Parse(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return v
}

func TestOfficialSuite(t *testing.T) {
	t.Parallel()
	ran := 0
	for file, groups := range suite(t) {
		for _, g := range groups {
			name := file + "/" + g.Description
			s, err := Compile(parse(t, g.Schema))
			if says := refusedGroups[name]; says != "" {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%s is not refused for %q: %v", name, says, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, tc := range g.Tests {
				ran++
				err := s.Check(parse(t, tc.Data))
				if (err == nil) != tc.Valid {
					t.Errorf("%s/%s: want %v, got %v\n%s\n%s", name, tc.Description, tc.Valid, err, g.Schema, tc.Data)
				}
			}
		}
	}
	if ran < 950 {
		t.Errorf("only %d tests ran", ran)
	}
}

// other compiles with the established validator.
func other(t testing.TB, doc []byte) (*oracle.Schema, error) {
	t.Helper()
	v, err := oracle.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	c := oracle.NewCompiler()
	c.DefaultDraft(oracle.Draft2020)
	if err := c.AddResource("deed:///schema", v); err != nil {
		return nil, err
	}
	return c.Compile("deed:///schema")
}

// FuzzAgainstOther compares the verdicts with those of the established validator, on schemas and values that grow out
// of the official suite.
func FuzzAgainstOther(f *testing.F) {
	for _, groups := range suite(f) {
		for _, g := range groups {
			for _, tc := range g.Tests {
				f.Add([]byte(g.Schema), []byte(tc.Data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, schema, data []byte) {
		doc, err := Parse(schema)
		if err != nil || !json.Valid(schema) || bytes.Contains(schema, []byte("$")) || bytes.Contains(schema, []byte(`"format"`)) {
			return // references are the suite's part; formats differ by choice
		}
		value, err := Parse(data)
		if err != nil {
			return
		}
		ours, err := Compile(doc)
		if err != nil {
			if fault.Of(err) == nil {
				t.Errorf("refused without faults: %v\n%s", err, schema)
			}
			return
		}
		theirs, err := other(t, schema)
		if err != nil {
			return // it checks the meta-schema, down to the annotations
		}
		got, want := ours.Check(value), verdict(theirs, data)
		if (got == nil) != want && !hugeNumber(schema) && !hugeNumber(data) {
			t.Errorf("we say %v, the other %v\n%s\n%s", got, want, schema, data)
		}
		for _, fl := range fault.Of(got) {
			if !strings.HasPrefix(fl.Path, fault.Root) || fl.Code == "" || fl.Message == "" {
				t.Errorf("half a fault: %+v", fl)
			}
		}
	})
}

func verdict(s *oracle.Schema, data []byte) (ok bool) {
	v, err := oracle.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return false
	}
	return s.Validate(v) == nil
}

// hugeNumber reports a number that this package does not compare and the other compares in its own way.
func hugeNumber(data []byte) bool {
	v, err := Parse(data)
	if err != nil {
		return false
	}
	var walk func(v any) bool
	walk = func(v any) bool {
		switch v := v.(type) {
		case json.Number:
			_, ok := rational(v)
			return !ok
		case []any:
			for _, e := range v {
				if walk(e) {
					return true
				}
			}
		case map[string]any:
			for _, e := range v {
				if walk(e) {
					return true
				}
			}
		}
		return false
	}
	return walk(v)
}

func TestHostileNumbers(t *testing.T) {
	t.Parallel()
	s, err := Compile(parse(t, []byte(`{"properties": {"n": {"maximum": 10, "multipleOf": 0.5}}, "uniqueItems": true}`)))
	if err != nil {
		t.Fatal(err)
	}
	for doc, ok := range map[string]bool{
		`{"n": 1e999999999}`: false, `{"n": -1e999999999}`: false, `{"n": 1e-999999999}`: false, `{"n": 0e999999999}`: true,
		`{"n": 9.5}`: true, `{"n": 9.25}`: false, `{"n": 10.000000000000000000000000001}`: false,
		`[1e999999999, 1e999999999]`: false, `[1, 1.0]`: false, `[1, "1", [1], {"a": 1}]`: true,
	} {
		if err := s.Check(parse(t, []byte(doc))); (err == nil) != ok {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for format, tc := range map[string]struct{ good, bad []string }{
		"date-time":     {[]string{"2026-01-31T08:00:00.5+02:00"}, []string{"2026-01-31", "2026-02-30T00:00:00Z", ""}},
		"date":          {[]string{"2024-02-29"}, []string{"2026-02-29", "2026-1-1"}},
		"email":         {[]string{"a@b.example"}, []string{"a", "A <a@b.example>"}},
		"ipv4":          {[]string{"127.0.0.1"}, []string{"::1", "127.0.0.256", "1"}},
		"ipv6":          {[]string{"::1", "::ffff:1.2.3.4"}, []string{"127.0.0.1", "::1%eth0", ":"}},
		"uri":           {[]string{"urn:a:b", "https://x/y"}, []string{"/y", "x y", "%zz"}},
		"uri-reference": {[]string{"/y", "#a"}, []string{`\x`, "%zz"}},
		"uuid":          {[]string{"018f0000-0000-7000-8000-00000000000A"}, []string{"018f0000-0000-7000-8000-00000000000", "018f0000x0000-7000-8000-00000000000a", "018g0000-0000-7000-8000-00000000000a"}},
		"regex":         {[]string{"^a+$"}, []string{"("}},
		"colour":        {[]string{"anything"}, nil},
	} {
		s, err := Compile(map[string]any{"format": format})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range tc.good {
			if err := s.Check(v); err != nil {
				t.Errorf("%s: %v", format, err)
			}
		}
		for _, v := range tc.bad {
			if s.Check(v) == nil {
				t.Errorf("%q is of the format %s", v, format)
			}
		}
	}
}

func TestCompileNamesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := Compile(parse(t, []byte(`{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"type": "thing", "required": "a", "minLength": -1, "maximum": "5", "pattern": "(", "enum": 5, "uniqueItems": 1,
		"items": [true], "allOf": [], "properties": {"a": 5, "b": {"type": ["string", 5]}}, "not": {"$ref": "#/nowhere"}, "multipleOf": 0,
		"if": {"$ref": "other.json"}, "minItems": 1.5, "patternProperties": {"[": {}}
	}`)))
	var got []string
	for _, f := range fault.Of(err) {
		got = append(got, f.Path)
	}
	want := []string{
		`$["$schema"]`, "$.allOf", "$.enum", "$.items", "$.maximum", "$.minItems", "$.minLength", "$.multipleOf", "$.pattern",
		`$.patternProperties["["]`, "$.properties.a", "$.properties.b.type[1]", "$.required", "$.type", "$.uniqueItems",
		`$.if["$ref"]`, `$.not["$ref"]`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v\n%v", strings.Join(got, " "), err)
	}
	for _, doc := range []string{`{"$ref": "#"}`, `{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}`} {
		if _, err := Compile(parse(t, []byte(doc))); err == nil || !strings.Contains(err.Error(), "without end") {
			t.Errorf("%s: %v", doc, err)
		}
	}
}
