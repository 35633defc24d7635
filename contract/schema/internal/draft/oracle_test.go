package draft

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/deedrun/deed/contract/fault"
)

// oracle compiles a schema with a validator by somebody else.
func oracle(doc []byte) (*jsonschema.Schema, error) {
	v, _, err := parse(doc, nil)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(base, v); err != nil {
		return nil, err
	}
	return c.Compile(base)
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("outside") }

// dangling reports whether a reference leads nowhere. The other follows some that nothing leads to.
func dangling(err error) bool {
	var load *jsonschema.LoadURLError
	var pointer *jsonschema.JSONPointerNotFoundError
	var anchor *jsonschema.AnchorNotFoundError
	return errors.As(err, &load) || errors.As(err, &pointer) || errors.As(err, &anchor)
}

// compare demands that both say the same of a schema and of values, and that a refusal has faults.
func compare(t *testing.T, doc []byte, values ...[]byte) (compared bool) {
	t.Helper()
	mine, err := Compile(doc, nil)
	theirs, terr := oracle(doc)
	if (err == nil) != (terr == nil) && !dangling(terr) {
		t.Errorf("%s\nhere: %v\nthere: %v", doc, err, terr)
	}
	if err != nil && len(fault.Of(err)) == 0 {
		t.Errorf("%s is refused without faults: %v", doc, err)
	}
	if err != nil || terr != nil {
		return false
	}
	for _, data := range values {
		v, _, perr := parse(data, nil)
		if perr != nil {
			t.Fatal(perr)
		}
		err, terr := mine.Validate(data, nil), theirs.Validate(v)
		if (err == nil) != (terr == nil) {
			t.Errorf("%s\n%s\nhere: %v\nthere: %v", doc, data, err, terr)
		}
		if err != nil && len(fault.Of(err)) == 0 {
			t.Errorf("%s\n%s is refused without faults: %v", doc, data, err)
		}
	}
	return true
}

// TestAgreesWithAnother compares thousands of schemas and values, made of few names and small numbers so that they meet.
func TestAgreesWithAnother(t *testing.T) {
	t.Parallel()
	compared := 0
	for seed := range uint64(1500) {
		g := maker{rand.New(rand.NewPCG(seed, 7))}
		doc := g.document()
		values := make([][]byte, 6)
		for i := range values {
			values[i] = text(t, g.value(3))
		}
		if compare(t, text(t, doc), values...) {
			compared++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if compared < 700 {
		t.Errorf("only %d schemas are any", compared)
	}
}

func text(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A maker makes schemas and values.
type maker struct{ *rand.Rand }

func pick[T any](g maker, of ...T) T { return of[g.IntN(len(of))] }

func (g maker) name() string { return pick(g, "a", "b", "c", "ab", "x/y", "p~q", "0", "%25") }

func (g maker) value(depth int) any {
	n := 8
	if depth == 0 {
		n = 5
	}
	switch g.IntN(n) {
	case 0:
		return nil
	case 1:
		return pick(g, true, false)
	case 2, 3:
		return json.Number(pick(g, "0", "1", "2", "-1", "1.0", "1.5", "3", "1e2", "0.1", "-0.0", "12345678901234567890"))
	case 4:
		return pick(g, "", "a", "ab", "abc", "é", "2026-01-31", "1.2.3.4", "a@b.c", "/a", "x y", "P1D")
	case 5, 6:
		m := map[string]any{}
		for range g.IntN(4) {
			m[g.name()] = g.value(depth - 1)
		}
		return m
	}
	list := make([]any, g.IntN(4))
	for i := range list {
		list[i] = g.value(depth - 1)
	}
	return list
}

func (g maker) document() any {
	doc, ok := g.schema(3).(map[string]any)
	if !ok {
		return true
	}
	defs := map[string]any{}
	for _, name := range []string{"a", "b", "x/y"} {
		sub := g.schema(2)
		if m, ok := sub.(map[string]any); ok {
			switch g.IntN(6) {
			case 0:
				m["$anchor"] = "here-" + strings.ReplaceAll(name, "/", "")
			case 1:
				m["$dynamicAnchor"] = "dyn"
			case 2:
				m["$id"] = pick(g, "https://example.com/", "sub/") + strings.ReplaceAll(name, "/", "")
				m["$dynamicAnchor"] = "dyn"
			}
		}
		defs[name] = sub
	}
	doc["$defs"] = defs
	if g.IntN(4) == 0 {
		doc["$id"] = "https://example.com/root"
	}
	if g.IntN(3) == 0 {
		doc["$dynamicAnchor"] = "dyn"
	}
	return doc
}

func (g maker) schema(depth int) any {
	if g.IntN(12) == 0 {
		return g.IntN(3) > 0
	}
	m := map[string]any{}
	for range 1 + g.IntN(3) {
		g.keyword(m, depth)
	}
	return m
}

func (g maker) list(depth int) []any {
	list := make([]any, 1+g.IntN(3))
	for i := range list {
		list[i] = g.schema(depth)
	}
	return list
}

func (g maker) named(depth int) map[string]any {
	m := map[string]any{}
	for range 1 + g.IntN(3) {
		m[g.name()] = g.schema(depth)
	}
	return m
}

func (g maker) names() []any {
	return pick(g, []any{"a"}, []any{"b", "c"}, []any{}, []any{"a", "b"})
}

var (
	counts  = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}
	numbers = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
	deeper  = []string{"additionalProperties", "propertyNames", "unevaluatedProperties", "items", "contains", "unevaluatedItems", "not", "if", "then", "else"}
	lists   = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	groups  = []string{"properties", "patternProperties", "dependentSchemas"}
	refs    = []string{"#", "#/$defs/a", "#/$defs/b", "#/$defs/x~1y", "#here-a", "#dyn", "https://example.com/a", "sub/a", "#/properties/a", "#/x/y", "https://example.com/b#dyn", "root", "#/$defs/a", "#/$defs/b", "#/$defs/x~1y", "#"}
	words   = []string{"date", "ipv4", "email", "json-pointer", "duration", "uri-reference", "unknown", "regex"}
)

func (g maker) keyword(m map[string]any, depth int) {
	if depth > 0 && g.IntN(5) < 3 {
		switch g.IntN(4) {
		case 0, 1:
			m[pick(g, deeper...)] = g.schema(depth - 1)
		case 2:
			m[pick(g, lists...)] = g.list(depth - 1)
		case 3:
			m[pick(g, groups...)] = g.named(depth - 1)
		}
		return
	}
	switch g.IntN(12) {
	case 0:
		m["type"] = pick[any](g, "object", "array", "string", "number", "integer", "null", []any{"string", "null"}, []any{"integer", "object"})
	case 1:
		m[pick(g, counts...)] = g.IntN(3)
	case 2:
		m[pick(g, numbers...)] = json.Number(pick(g, "0", "1", "1.5", "100"))
	case 3:
		m["multipleOf"] = json.Number(pick(g, "1", "0.5", "2", "0.1"))
	case 4:
		m["enum"] = []any{g.value(1), g.value(1)}
	case 5:
		m["const"] = g.value(1)
	case 6:
		m["required"] = g.names()
	case 7:
		m["dependentRequired"] = map[string]any{g.name(): g.names()}
	case 8:
		m["uniqueItems"] = true
	case 9:
		m["pattern"] = pick(g, "^a", "b$", ".", "^[a-c]+$")
	case 10:
		m["format"] = pick(g, words...)
	case 11:
		m[pick(g, "$ref", "$ref", "$dynamicRef")] = pick(g, refs...)
	}
}

// TestFormats says of each format what is one and what is none, and asks the other for its opinion.
func TestFormats(t *testing.T) {
	t.Parallel()
	for format, texts := range map[string]struct{ good, bad []string }{
		"date":                  {[]string{"2026-01-31", "2024-02-29"}, []string{"2026-02-29", "2026-1-31", "20260131", "", "2026-01-31 "}},
		"time":                  {[]string{"08:00:00Z", "08:00:00.5z", "23:59:60Z", "01:29:60+01:30", "15:59:60-08:00"}, []string{"08:00:00", "24:00:00Z", "08:60:00Z", "08:00:60Z", "08:00:00+24:00", "08:00:00.Z", "8:00:00Z", "08:00:00+0100"}},
		"date-time":             {[]string{"2026-01-31T08:00:00Z", "2026-01-31t08:00:00.123+01:00"}, []string{"2026-01-31 08:00:00Z", "2026-01-31T08:00:00", "now", "2026-13-31T08:00:00Z"}},
		"duration":              {[]string{"P1D", "P2W", "PT1H30M", "P1Y2M3DT4H5M6S"}, []string{"P", "PT", "1D", "P1DT", "PW", "P1H", "PT1D", "P1M1Y", "P1D2W"}},
		"period":                {[]string{"2026-01-31T08:00:00Z/P1D", "P1D/2026-01-31T08:00:00Z", "2026-01-31T08:00:00Z/2026-02-01T08:00:00Z"}, []string{"P1D", "P1D/P1D", "/", "2026-01-31T08:00:00Z/"}},
		"email":                 {[]string{"a@b.c", "a.b+c@example.com", `"a b"@example.com`, "a@[127.0.0.1]", "a@[IPv6:::1]"}, []string{"a", ".a@b.c", "a..b@c.d", "a@-b.c", "a@[1.2.3]", "a b@c.d", "a@"}},
		"hostname":              {[]string{"example.com", "a", "a-b.c1"}, []string{"-a.b", "a-.b", "a..b", "a_b", "", strings.Repeat("a", 64), strings.Repeat("a.", 200) + "a"}},
		"ipv4":                  {[]string{"1.2.3.4", "255.255.255.255"}, []string{"1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.4.5", "::1", "a.b.c.d"}},
		"ipv6":                  {[]string{"::1", "fe80::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"}, []string{"1.2.3.4", "::1%eth0", "1:2:3:4:5:6:7", ":::", "g::"}},
		"uri":                   {[]string{"https://example.com/a?b#c", "urn:a:b", "http://[::1]:80/"}, []string{"/a", "", "http://[1/", "https://[::g]/", "a b"}},
		"uri-reference":         {[]string{"/a", "#a", "", "https://example.com"}, []string{`\a`, "http://[::1", "%zz"}},
		"uri-template":          {[]string{"https://example.com/{a}/b", "/a", "/{a}{b}"}, []string{"/{a", "/{{a}}"}},
		"regex":                 {[]string{"^a+$", ""}, []string{"(", "a**"}},
		"uuid":                  {[]string{"01890a5d-ac96-774b-bcce-b302099a8057", "01890A5D-AC96-774B-BCCE-B302099A8057"}, []string{"01890a5dac96774bbcceb302099a8057", "01890a5d-ac96-774b-bcce-b302099a805", "g1890a5d-ac96-774b-bcce-b302099a8057"}},
		"json-pointer":          {[]string{"", "/", "/a/0", "/a~0b~1c"}, []string{"a", "/a~", "/a~2"}},
		"relative-json-pointer": {[]string{"0", "1/a", "2#", "10/a~1b"}, []string{"", "/a", "01", "-1", "1a", "1#a"}},
		"semver":                {[]string{"1.2.3", "1.0.0-rc.1+b.5", "0.0.0-a-b"}, []string{"1.2", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "v1.2.3"}},
	} {
		for want, list := range map[bool][]string{true: texts.good, false: texts.bad} {
			for _, s := range list {
				if err := formats[format](s); (err == nil) != want {
					t.Errorf("%s %q: %v", format, s, err)
				}
				compare(t, fmt.Appendf(nil, `{"format": %q}`, format), text(t, s))
			}
		}
	}
}

// FuzzValidate demands that whatever comes up ends, and that what is refused is refused with faults.
func FuzzValidate(f *testing.F) {
	for seed := range uint64(40) {
		g := maker{rand.New(rand.NewPCG(seed, 9))}
		doc, _ := json.Marshal(g.document())
		value, _ := json.Marshal(g.value(3))
		f.Add(doc, value)
	}
	f.Fuzz(func(t *testing.T, doc, value []byte) {
		if !json.Valid(doc) || !json.Valid(value) {
			return
		}
		b := NewBudget(1_000_000)
		s, err := Compile(doc, b)
		if err == nil {
			err = s.Validate(value, b)
		}
		if err != nil && len(fault.Of(err)) == 0 && !errors.Is(err, ErrBudget) {
			t.Errorf("refused without faults: %v", err)
		}
	})
}
