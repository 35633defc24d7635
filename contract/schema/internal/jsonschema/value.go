package jsonschema

import (
	"encoding/json"
	"maps"
	"math/big"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/agentruntime"
)

// maxExponent bounds the numbers that are compared exactly. Beyond it a number of a few characters would take
// seconds and megabytes to write out.
const maxExponent = 1000

// rational returns the exact value of a number, or false when it is out of all bounds.
func rational(n json.Number) (*big.Rat, bool) {
	s := string(n)
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		if err != nil || e > maxExponent || e < -maxExponent {
			if strings.Trim(s[:i], "-0.") == "" {
				return new(big.Rat), true // 0e9999 is 0
			}
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

// typeOf names the JSON type of a value. A number without a fraction is an integer however it is written.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if r, ok := rational(v); ok && r.IsInt() {
			return "integer"
		}
	}
	return "number"
}

// canonical writes a value so that equal values, and only they, have equal texts: 1 and 1.0 are equal.
func canonical(v any) string {
	var b strings.Builder
	writeCanonical(&b, v)
	return b.String()
}

func writeCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		b.WriteString(strconv.Quote(v))
	case json.Number:
		if r, ok := rational(v); ok {
			b.WriteString(r.RatString())
		} else {
			b.WriteString(string(v))
		}
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			writeCanonical(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(k))
			b.WriteByte(':')
			writeCanonical(b, v[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
}

// show writes a value short, for a message.
func show(v any) string {
	const most = 60
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "the value"
	}
	s := strings.TrimSuffix(b.String(), "\n")
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// formats holds the formats that are asserted; any other is an annotation.
var formats = map[string]func(string) bool{
	"date-time": func(s string) bool {
		_, err := agentruntime.Timestamp(s).Time()
		return err == nil
	},
	"date": func(s string) bool {
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	},
	"email": func(s string) bool {
		a, err := mail.ParseAddress(s)
		return err == nil && a.Address == s
	},
	"ipv4": func(s string) bool {
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	},
	"ipv6": func(s string) bool { return net.ParseIP(s) != nil && strings.Contains(s, ":") },
	"uri": func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.IsAbs()
	},
	"uri-reference": func(s string) bool {
		_, err := url.Parse(s)
		return err == nil && !strings.Contains(s, `\`)
	},
	"uuid":  isUUID,
	"regex": func(s string) bool { _, err := regexp.Compile(s); return err == nil },
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}
