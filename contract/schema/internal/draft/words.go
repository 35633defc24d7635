package draft

import (
	"encoding/json"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/fault"
)

// pointer returns the parts of the JSON pointer in the fragment of a URL.
func pointer(address string) []string {
	_, fragment, _ := strings.Cut(address, "#")
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	if !strings.HasPrefix(fragment, "/") {
		return nil
	}
	parts := strings.Split(fragment[1:], "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts
}

// descend follows the parts of a location as far as it goes, and returns the value there and its JSON path. The
// document tells a list's index from a name of digits.
func descend(doc any, location []string) (any, string) {
	p := fault.Root
	for _, part := range location {
		switch d := doc.(type) {
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(d) {
				return doc, p
			}
			p, doc = fault.Index(p, i), d[i]
		case map[string]any:
			v, ok := d[part]
			if !ok {
				return doc, p
			}
			p, doc = fault.Field(p, part), v
		default:
			return doc, p
		}
	}
	return doc, p
}

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

func article(typ string) string {
	switch typ {
	case "null":
		return "null"
	case "array", "integer", "object":
		return "an " + typ
	}
	return "a " + typ
}

func articles(types []string) string {
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = article(t)
	}
	return strings.Join(words, " or ")
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return cut(r.RatString())
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
