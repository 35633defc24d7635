package draft

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// shown writes a value short, for a message.
func shown(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "the value"
	}
	return cut(strings.TrimSuffix(b.String(), "\n"))
}

// cut keeps the texts of others short in a message.
func cut(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// alternatives lists the values of a closed set.
func alternatives(values []any) string {
	const most = 20
	words := make([]string, 0, most+1)
	for i, v := range values {
		if i == most {
			words = append(words, "…")
			break
		}
		words = append(words, shown(v))
	}
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

// texts returns the values of a closed set when all are texts.
func texts(values []any) ([]string, bool) {
	out := make([]string, 0, len(values))
	for _, v := range values {
		s, ok := v.(string)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// says names the JSON types of a schema, for people.
func says(types []string) string {
	words := map[string]string{
		"null": "null", "boolean": "true or false", "number": "a number", "integer": "a whole number",
		"string": "a string", "array": "a list", "object": "an object",
	}
	var out []string
	for _, t := range types {
		if t != "null" {
			out = append(out, words[t])
		}
	}
	if slices.Contains(types, "null") {
		out = append(out, "null")
	}
	return strings.Join(out, " or ")
}

// is names the JSON type of a value, for people.
func is(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// need says what a missing member should hold, or "".
func need(s *jsonschema.Schema) string {
	s, null := behind(s)
	switch {
	case s == nil:
		return ""
	case s.Const != nil:
		return shown(*s.Const)
	case s.Enum != nil:
		if words, ok := texts(s.Enum.Values); ok {
			return "one of " + strings.Join(words, ", ")
		}
		return alternatives(s.Enum.Values)
	}
	var types []string
	switch {
	case s.Types != nil:
		types = s.Types.ToStrings()
	case s.Properties != nil || s.OneOf != nil:
		types = []string{"object"}
	default:
		return ""
	}
	if null {
		types = append(types, "null")
	}
	return says(types)
}

// behind follows references, and takes off what only allows null.
func behind(s *jsonschema.Schema) (_ *jsonschema.Schema, null bool) {
	for range 20 { // references may go round in circles
		switch {
		case s == nil:
			return nil, null
		case s.Ref != nil:
			s = s.Ref
		case len(s.AnyOf) == 2 && isNull(s.AnyOf[1]):
			s, null = s.AnyOf[0], true
		default:
			return s, null
		}
	}
	return s, null
}

func isNull(s *jsonschema.Schema) bool {
	return s.Types != nil && slices.Equal(s.Types.ToStrings(), []string{"null"})
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return cut(r.RatString())
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25")

// escaped makes a name a part of a JSON pointer in the fragment of a URL.
func escaped(name string) string { return escaper.Replace(name) }
