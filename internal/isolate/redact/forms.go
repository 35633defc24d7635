package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A form is one spelling of one secret.
type form struct {
	text   []byte
	secret int
	wraps  bool // tools break this spelling into lines
	rank   int  // its place among all forms
}

// minForm is the shortest spelling looked for; the pieces of a short secret inside longer base64 text can be shorter.
const minForm = 4

// forms lists the spellings of value that are looked for, without duplicates.
func forms(value string) []form {
	var out []form
	add := func(wraps bool, s ...string) {
		for _, f := range s {
			if len(f) >= minForm {
				out = append(out, form{text: []byte(f), wraps: wraps})
			}
		}
	}
	for _, v := range plain(value) {
		add(false, v)
		add(true, base64Forms(v)...)
		h := hex.EncodeToString([]byte(v))
		add(true, h, strings.ToUpper(h))
		add(false, urlForms(v)...)
		add(false, htmlForms(v)...)
		if utf8.ValidString(v) { // JSON writers put the same mark for every invalid byte, which says nothing of the value
			add(false, jsonForms(v)...)
		}
	}
	slices.SortFunc(out, func(a, b form) int {
		if c := bytes.Compare(a.text, b.text); c != 0 || a.wraps == b.wraps {
			return c
		}
		if a.wraps { // of two spellings that are equal the one that finds more is kept
			return -1
		}
		return 1
	})
	return slices.CompactFunc(out, func(a, b form) bool { return bytes.Equal(a.text, b.text) })
}

// plain lists the texts that count as the value: itself, itself without the white space that a file or a shell puts around
// it, and, of a value of several lines, each line long enough to be unmistakable, because a key is often re-indented.
func plain(value string) []string {
	out := []string{value}
	if t := strings.TrimSpace(value); t != value {
		out = append(out, t)
	}
	if strings.ContainsAny(value, "\r\n") {
		for line := range strings.Lines(value) {
			line = strings.TrimSpace(line)
			if len(line) >= 16 && !strings.HasPrefix(line, "-----") { // armour says only what kind of key it is
				out = append(out, line)
			}
		}
	}
	return out
}

// base64Forms returns the value encoded by itself, padded and not, and the characters that it alone decides when it
// stands at each of the three offsets inside a longer text.
func base64Forms(v string) []string {
	var out []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		raw := enc.WithPadding(base64.NoPadding)
		out = append(out, enc.EncodeToString([]byte(v)), raw.EncodeToString([]byte(v)))
		for offset := range 3 {
			text := raw.EncodeToString(append(make([]byte, offset), v...))
			from := (offset*8 + 5) / 6      // the first character made of the value's bits alone
			to := (offset + len(v)) * 8 / 6 // and the one after the last
			out = append(out, text[from:to])
		}
	}
	return out
}

// urlKept are the marks that writers of URLs leave as they are, besides letters and digits.
var urlKept = []string{
	"-_.~",                             // RFC 3986: curl, rawurlencode of PHP, quote of Python with nothing safe
	"-_.~/",                            // quote of Python
	"-_.!~*'()",                        // encodeURIComponent, Perl, jq
	"-_.!~*'();/?:@&=+$,#",             // encodeURI
	"*-._",                             // forms of browsers, of Java and of Ruby
	"-_.",                              // urlencode of PHP
	"-_.~$&+,;=",                       // user and password in Go
	"-_.~$&+,/:;=@",                    // a path in Go
	"-_.!~*'()$&+,%",                   // user and password in browsers
	"-_.!~*'();/:@&=+$,[]|^%",          // a path in browsers
	`-_.!~*();/?:@&=+$,[]|^%\` + "`{}", // a query in browsers
}

// urlForms returns the value as it stands in URLs and in forms, where a space is a plus sign.
func urlForms(v string) []string {
	out := []string{url.QueryEscape(v), url.PathEscape(v)}
	for _, keep := range urlKept {
		f := percent(v, keep)
		out = append(out, f)
		if strings.Contains(f, "%20") {
			out = append(out, strings.ReplaceAll(f, "%20", "+"))
		}
	}
	for _, f := range out {
		out = append(out, lowerEscapes(f))
	}
	return append(out, percentAll(v, "%%%02X"), percentAll(v, "%%%02x"))
}

// htmlForms returns the value as writers of HTML and XML spell it, who agree on three marks and not on quotes.
func htmlForms(v string) []string {
	if !strings.ContainsAny(v, `&<>"'`) {
		return nil
	}
	var out []string
	for _, double := range []string{`"`, "&quot;", "&#34;", "&#x22;"} {
		for _, single := range []string{"'", "&#39;", "&#039;", "&#x27;", "&apos;"} {
			out = append(out, strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, double, "'", single).Replace(v))
		}
	}
	return out
}

// percent escapes every byte but letters, digits and those in keep.
func percent(v, keep string) string {
	var b strings.Builder
	for i := range len(v) {
		c := v[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func percentAll(v, verb string) string {
	var b strings.Builder
	for i := range len(v) {
		fmt.Fprintf(&b, verb, v[i])
	}
	return b.String()
}

// lowerEscapes writes the hexadecimal digits of percent escapes in lower case.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// jsonForms returns the value as JSON writers of several languages spell it inside a string, and those spellings inside
// a JSON text that is itself a JSON string, which is how an agent's output ends up in an event.
func jsonForms(v string) []string {
	var once []string
	for _, html := range []bool{false, true} {
		once = append(once, jsonText(v, html))
	}
	once = append(once, strings.ReplaceAll(jsonText(v, false), "/", `\/`), jsonASCII(v, false), strings.ReplaceAll(jsonASCII(v, false), "/", `\/`))
	out := slices.Clone(once)
	for _, f := range once {
		out = append(out, jsonText(f, false), jsonText(f, true))
	}
	for _, upper := range []bool{false, true} {
		all := jsonEscapeAll(v, upper)
		out = append(out, all, jsonText(all, false))
	}
	return out
}

func jsonText(v string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	_ = enc.Encode(v) // a string always encodes
	s := strings.TrimSuffix(b.String(), "\n")
	return s[1 : len(s)-1]
}

// jsonASCII is jsonText with everything beyond ASCII as \u escapes.
func jsonASCII(v string, html bool) string {
	var b strings.Builder
	for _, c := range jsonText(v, html) {
		if c < utf8.RuneSelf {
			b.WriteRune(c)
		} else {
			writeEscape(&b, c, `\u%04x`)
		}
	}
	return b.String()
}

// jsonEscapeAll spells every character as a \u escape.
func jsonEscapeAll(v string, upper bool) string {
	verb := `\u%04x`
	if upper {
		verb = `\u%04X`
	}
	var b strings.Builder
	for _, c := range v {
		writeEscape(&b, c, verb)
	}
	return b.String()
}

func writeEscape(b *strings.Builder, c rune, verb string) {
	if hi, lo := utf16.EncodeRune(c); hi != utf8.RuneError {
		fmt.Fprintf(b, verb, hi)
		fmt.Fprintf(b, verb, lo)
		return
	}
	fmt.Fprintf(b, verb, c)
}
