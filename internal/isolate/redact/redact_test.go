package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/isolate/redact"
)

const secret = `s3cr3t/Va+lue"<é>& end`

func TestEveryFormIsReplaced(t *testing.T) {
	t.Parallel()
	quote := func(s string, html bool) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(b.String())
	}
	cases := map[string]string{
		"plain":            secret,
		"base64":           base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64 raw":       base64.RawStdEncoding.EncodeToString([]byte(secret)),
		"base64 url":       base64.URLEncoding.EncodeToString([]byte(secret)),
		"base64 raw url":   base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"hex":              hex.EncodeToString([]byte(secret)),
		"hex upper":        strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"query":            url.QueryEscape(secret),
		"path":             url.PathEscape(secret),
		"query lower":      `s3cr3t%2fVa%2blue%22%3c%c3%a9%3e%26+end`,
		"encodeURI":        `s3cr3t/Va+lue%22%3C%C3%A9%3E&%20end`,
		"json":             quote(secret, false),
		"json html":        quote(secret, true),
		"json in json":     quote(quote(secret, false), false),
		"json ascii":       `"s3cr3t/Va+lue\"<\u00e9>& end"`,
		"json php":         `"s3cr3t\/Va+lue\"<\u00e9>& end"`,
		"json all escaped": `\u0073\u0033\u0063\u0072\u0033\u0074\u002f\u0056\u0061\u002b\u006c\u0075\u0065\u0022\u003c\u00e9\u003e\u0026\u0020\u0065\u006e\u0064`,
		"json all upper":   `\u0073\u0033\u0063\u0072\u0033\u0074\u002F\u0056\u0061\u002B\u006C\u0075\u0065\u0022\u003C\u00E9\u003E\u0026\u0020\u0065\u006E\u0064`,
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := redact.New(map[string]string{"TOKEN": secret})
			in := "before " + text + " after"
			if !r.Contains([]byte(in)) {
				t.Fatalf("not found in %q", in)
			}
			out := r.String(in)
			trimmed := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(out, "before "), " after"), `"\`)
			if trimmed != "[REDACTED:TOKEN]" {
				t.Errorf("redacted to %q", out)
			}
			if got := r.Report(); got["TOKEN"] != 1 || got.Total() != 1 {
				t.Errorf("report is %v", got)
			}
		})
	}
}

// What the libraries of several languages really write for one value, with all the marks in it that they treat differently.
func TestFormsOfURLsAndOfHTML(t *testing.T) {
	t.Parallel()
	const value = `p@ss/w+rd!(1)*'x9~e:n;d&="<[k]|^%>é ü$,#?`
	for name, text := range map[string]string{
		"python quote":               `p%40ss/w%2Brd%21%281%29%2A%27x9~e%3An%3Bd%26%3D%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9%20%C3%BC%24%2C%23%3F`,
		"python quote, nothing safe": `p%40ss%2Fw%2Brd%21%281%29%2A%27x9~e%3An%3Bd%26%3D%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9%20%C3%BC%24%2C%23%3F`,
		"python quote_plus":          `p%40ss%2Fw%2Brd%21%281%29%2A%27x9~e%3An%3Bd%26%3D%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9+%C3%BC%24%2C%23%3F`,
		"python urlencode":           `p%40ss%2Fw%2Brd%21%281%29%2A%27x9~e%3An%3Bd%26%3D%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9+%C3%BC%24%2C%23%3F`,
		"python html.escape":         `p@ss/w+rd!(1)*&#x27;x9~e:n;d&amp;=&quot;&lt;[k]|^%&gt;é ü$,#?`,
		"encodeURIComponent":         `p%40ss%2Fw%2Brd!(1)*'x9~e%3An%3Bd%26%3D%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9%20%C3%BC%24%2C%23%3F`,
		"encodeURI":                  `p@ss/w+rd!(1)*'x9~e:n;d&=%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9%20%C3%BC$,#?`,
		"URLSearchParams":            `p%40ss%2Fw%2Brd%21%281%29*%27x9%7Ee%3An%3Bd%26%3D%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9+%C3%BC%24%2C%23%3F`,
		"password of URL":            `p%40ss%2Fw+rd!(1)*'x9~e%3An%3Bd&%3D%22%3C%5Bk%5D%7C%5E%%3E%C3%A9%20%C3%BC$,%23%3F`,
		"pathname of URL":            `p@ss/w+rd!(1)*'x9~e:n;d&=%22%3C[k]|^%%3E%C3%A9%20%C3%BC$,%23%3F`,
		"search of URL":              `p@ss/w+rd!(1)*%27x9~e:n;d&=%22%3C[k]|^%%3E%C3%A9%20%C3%BC$,%23?`,
		"querystring of node":        `p%40ss%2Fw%2Brd!(1)*'x9~e%3An%3Bd%26%3D%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9%20%C3%BC%24%2C%23%3F`,
		"urlencode of PHP":           `p%40ss%2Fw%2Brd%21%281%29%2A%27x9%7Ee%3An%3Bd%26%3D%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9+%C3%BC%24%2C%23%3F`,
		"rawurlencode of PHP":        `p%40ss%2Fw%2Brd%21%281%29%2A%27x9~e%3An%3Bd%26%3D%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9%20%C3%BC%24%2C%23%3F`,
		"htmlspecialchars of PHP":    `p@ss/w+rd!(1)*&#039;x9~e:n;d&amp;=&quot;&lt;[k]|^%&gt;é ü$,#?`,
		"jq @uri":                    `p%40ss%2Fw%2Brd!(1)*'x9~e%3An%3Bd%26%3D%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9%20%C3%BC%24%2C%23%3F`,
		"jq @html":                   `p@ss/w+rd!(1)*&apos;x9~e:n;d&amp;=&quot;&lt;[k]|^%&gt;é ü$,#?`,
		"QueryEscape of Go":          `p%40ss%2Fw%2Brd%21%281%29%2A%27x9~e%3An%3Bd%26%3D%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9+%C3%BC%24%2C%23%3F`,
		"PathEscape of Go":           `p@ss%2Fw+rd%21%281%29%2A%27x9~e:n%3Bd&=%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9%20%C3%BC$%2C%23%3F`,
		"password in Go":             `p%40ss%2Fw+rd%21%281%29%2A%27x9~e%3An;d&=%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9%20%C3%BC$,%23%3F`,
		"html of Go":                 `p@ss/w+rd!(1)*&#39;x9~e:n;d&amp;=&#34;&lt;[k]|^%&gt;é ü$,#?`,
		"a path in Go":               `p@ss/w+rd%21%281%29%2A%27x9~e:n;d&=%22%3C%5Bk%5D%7C%5E%25%3E%C3%A9%20%C3%BC$,%23%3F`,
	} {
		r := redact.New(map[string]string{"TOKEN": value})
		if got := r.String(text); got != "[REDACTED:TOKEN]" {
			t.Errorf("%s: %s became %s", name, text, got)
		}
	}
}

func TestBase64InsideLongerText(t *testing.T) {
	t.Parallel()
	r := redact.New(map[string]string{"K": "correct-horse-battery"})
	for offset := range 6 {
		for tail := range 6 {
			text := strings.Repeat("u", offset) + "correct-horse-battery" + strings.Repeat("p", tail)
			for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
				out := r.String(enc.EncodeToString([]byte(text)))
				if !strings.Contains(out, "[REDACTED:K]") {
					t.Errorf("offset %d, tail %d: %q", offset, tail, out)
				}
			}
		}
	}
}

func TestOverlapsBecomeOneReplacement(t *testing.T) {
	t.Parallel()
	r := redact.New(map[string]string{"A": "abcdefgh", "B": "efghijkl", "C": "cdef"})
	for in, want := range map[string]string{
		"abcdefghijkl":     "[REDACTED:A]",
		"xefghijkly":       "x[REDACTED:B]y",
		"abcdef":           "ab[REDACTED:C]",
		"abcdefghabcdefgh": "[REDACTED:A][REDACTED:A]",
		"abcdefg":          "ab[REDACTED:C]g",
	} {
		if got := r.String(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTrivialValuesAreReportedNotReplaced(t *testing.T) {
	t.Parallel()
	r := redact.New(map[string]string{"A": "abc", "B": "TRUE", "C": "12345", "D": "", "E": "null", "F": "123456", "G": " x \n"})
	if diff := cmp.Diff([]string{"A", "B", "C", "D", "E", "G"}, r.Unredactable()); diff != "" {
		t.Error(diff)
	}
	if got := r.String("abc true 12345 123456"); got != "abc true 12345 [REDACTED:F]" {
		t.Errorf("got %q", got)
	}
}

func TestMultilineSecretIsFoundByLine(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v\nVpguoRK9JLsLMREScVpezJpGXA7r\n-----END PRIVATE KEY-----\n"
	r := redact.New(map[string]string{"KEY": key})
	out := r.String("  -----BEGIN PRIVATE KEY-----\n    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v\n    VpguoRK9JLsLMREScVpezJpGXA7r\n")
	if strings.Contains(out, "MC4CAQ") || strings.Contains(out, "Vpguo") || !strings.Contains(out, "BEGIN") {
		t.Errorf("got %q", out)
	}
}

func TestLabelNeverCompletesASecret(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"[REDACTED:X]", "REDACTED", `["a","b"]`, "]abc", "abc[", "EDAC", "[RED<RED{RED"} {
		r := redact.New(map[string]string{"X": v, "Y": "other-value"})
		out := r.Bytes([]byte("abc" + "other-value" + "abc" + v + "RED abc"))
		if r.Contains(out) {
			t.Errorf("secret %q is in the output %q", v, out)
		}
	}
}

func TestNothingToRedactPassesThrough(t *testing.T) {
	t.Parallel()
	in := []byte("hello")
	for _, r := range []*redact.Redactor{nil, redact.New(nil), redact.New(map[string]string{"A": "x"})} {
		if r.Active() || r.Contains(in) || &r.Bytes(in)[0] != &in[0] || r.Report().Total() != 0 {
			t.Error("an idle redactor did something")
		}
		var buf bytes.Buffer
		w := r.Writer(&buf)
		if _, err := w.Write(in); err != nil || buf.String() != "hello" {
			t.Errorf("wrote %q, %v", buf.String(), err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWriterHoldsBackOnlyWhatMayBeASecret(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	w := redact.New(map[string]string{"A": "hunter2hunter2"}).Writer(&buf)
	for _, step := range []struct{ in, out string }{
		{"done\n", "done\n"}, {"hunter2", "done\n"}, {"x\n", "done\nhunter2x\n"}, {"hunter2hunter2", "done\nhunter2x\n[REDACTED:A]"},
	} {
		if _, err := io.WriteString(w, step.in); err != nil {
			t.Fatal(err)
		}
		if buf.String() != step.out {
			t.Errorf("after %q: %q, want %q", step.in, buf.String(), step.out)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("a write after close succeeded")
	}
}

func TestWriterKeepsTheFirstError(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	w := redact.New(map[string]string{"A": "hunter2"}).Writer(failing{boom})
	if _, err := w.Write([]byte("some text")); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	if err := w.Close(); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestFindCountsAcrossChunks(t *testing.T) {
	t.Parallel()
	r := redact.New(map[string]string{"A": "hunter2", "B": "swordfish"})
	text := strings.Repeat("x", 70_000) + "hunter2" + strings.Repeat("y", 70_000) + "swordfish hunter2"
	got, err := r.Find(iotest.OneByteReader(strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(redact.Counts{"A": 2, "B": 1}, got); diff != "" {
		t.Error(diff)
	}
	if r.Report().Total() != 0 {
		t.Error("looking counted as replacing")
	}
}

// wrap breaks text into lines as base64 -w and xxd -p do.
func wrap(text string, width int, brk string) string {
	var b strings.Builder
	for ; len(text) > width; text = text[width:] {
		b.WriteString(text[:width] + brk)
	}
	return b.String() + text
}

func TestWrappedEncodingsAreReplaced(t *testing.T) {
	t.Parallel()
	r := redact.New(map[string]string{"K": secret})
	long := strings.Repeat("some text before ", 5) + secret + " and some after it, so that it lies over an end of line"
	encodings := map[string]string{
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64 url": base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"hex": hex.EncodeToString([]byte(secret)), "hex upper": strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"base64 in a file": base64.StdEncoding.EncodeToString([]byte(long)), "hex in a file": hex.EncodeToString([]byte(long)),
	}
	for name, text := range encodings {
		for _, brk := range []string{"\n", "\r\n", "\r", "\n  ", "\r\n        ", `\n`, `\r\n`, `\\n    `, `\\\\r\\\\n`} {
			for _, width := range []int{1, 2, 3, 4, 5, 7, 19, 60, 64, 76} {
				in := "first\n" + wrap(text, width, brk) + "\nlast\n"
				out := r.String(in)
				if strings.Count(out, "[REDACTED:K]") != 1 || !strings.HasPrefix(out, "first\n") || !strings.HasSuffix(out, "\nlast\n") {
					t.Errorf("%s, width %d, break %q: %q", name, width, brk, out)
				}
				var buf bytes.Buffer
				w := r.Writer(&buf)
				if _, err := io.Copy(w, iotest.OneByteReader(strings.NewReader(in))); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil || buf.String() != out {
					t.Errorf("%s, width %d, break %q: by the byte %q, %v", name, width, brk, buf.String(), err)
				}
			}
		}
	}
}

func TestOnlyLineBreaksMayWrap(t *testing.T) {
	t.Parallel()
	r := redact.New(map[string]string{"K": "correct-horse-battery"})
	plain := "correct-horse\n-battery"
	h := hex.EncodeToString([]byte("correct-horse-battery"))
	for _, in := range []string{
		plain, h[:10] + " " + h[10:], h[:10] + "\n\n" + h[10:], h[:10] + "\n         " + h[10:], h[:10] + `\` + h[10:], h[:10] + `\\\\\n` + h[10:], h[:10] + `\t` + h[10:],
	} {
		if out := r.String(in); out != in {
			t.Errorf("%q became %q", in, out)
		}
	}
}

func TestWriterHoldsLittleOfEndlessBreaks(t *testing.T) {
	t.Parallel()
	h := hex.EncodeToString([]byte("correct-horse-battery"))
	for _, brk := range []string{"\n", " ", `\`, "\r\n", "\n        "} {
		var buf bytes.Buffer
		w := redact.New(map[string]string{"K": "correct-horse-battery"}).Writer(&buf)
		in := h[:41] + strings.Repeat(brk, 10_000)
		if _, err := io.WriteString(w, in); err != nil {
			t.Fatal(err)
		}
		if held := len(in) - buf.Len(); held > 20*len(h) {
			t.Errorf("break %q: %d bytes are held", brk, held)
		}
	}
}

// left finds an encoding of s, broken into lines or not, by other means than the package's own.
func left(t *testing.T, s string, text []byte) string {
	t.Helper()
	for _, e := range []string{base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s)), hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s)))} {
		var parts []string
		for _, c := range e {
			parts = append(parts, regexp.QuoteMeta(string(c)))
		}
		const cr, lf = `(\r|\\{1,4}r)`, `(\n|\\{1,4}n)`
		re, err := regexp.Compile(strings.Join(parts, `((`+cr+lf+`?|`+lf+`) {0,8})?`))
		if err != nil {
			t.Fatal(err)
		}
		if found := re.Find(text); found != nil {
			return string(found)
		}
	}
	return ""
}

func FuzzChunksDoNotMatter(f *testing.F) {
	f.Add("hunter2", "ter2hun", []byte("a hunter2hunter2ter2hun b"), uint8(3), uint8(5), "\n")
	f.Add("aaaa", "aaaab", []byte("aaaaaaaaab"), uint8(1), uint8(1), "\r\n  ")
	f.Add(`a"b\c/d`, "é", []byte(`{"x":"a\"b\\c\/d"}`), uint8(2), uint8(2), `\r\n`)
	f.Add("[REDACTED:A]", "<RED", []byte("[REDACTED:A]<RED"), uint8(5), uint8(3), "\r")
	f.Add("correct-horse", "Y29y", []byte("Y29ycmVj\n\ndC1o\r"), uint8(0), uint8(4), "\n        ")
	f.Add("line one of it\nline two of it", "6c696e65", []byte("\\\\n6c\\n69"), uint8(7), uint8(9), `\\n`)
	f.Fuzz(func(t *testing.T, a, b string, text []byte, step, width uint8, brk string) {
		// The text is seeded with spellings, or the fuzzer would hardly ever hit one.
		for _, s := range []string{a, b} {
			text = append(text, s...)
			text = append(text, base64.StdEncoding.EncodeToString([]byte("x"+s+"yy"))...)
			text = append(text, hex.EncodeToString([]byte(s))...)
			text = append(text, url.QueryEscape(s)...)
			text = append(text, wrap(base64.StdEncoding.EncodeToString([]byte(s)), int(width%80)+1, brk)...)
			text = append(text, wrap(hex.EncodeToString([]byte("z"+s)), int(width%80)+1, brk)...)
		}
		r := redact.New(map[string]string{"A": a, "B": b})
		whole := r.Bytes(text)
		var buf bytes.Buffer
		w := r.Writer(&buf)
		for rest := text; len(rest) > 0; {
			n := min(len(rest), int(step%37)+1)
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(whole, buf.Bytes()) {
			t.Fatalf("in one write %q, in steps %q", whole, buf.Bytes())
		}
		if r.Contains(whole) {
			t.Fatalf("secrets %q, %q: a form is left in %q", a, b, whole)
		}
		for name, s := range map[string]string{"A": a, "B": b} {
			if len(s) > 100 || slices.Contains(r.Unredactable(), name) {
				continue
			}
			if found := left(t, s, whole); found != "" {
				t.Fatalf("secret %q: %q is left in %q", s, found, whole)
			}
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	text := []byte(strings.Repeat("2026-01-01 12:00:00 INFO ok: GET /v1/things?id=42 {\"status\":\"fine\",\"n\":17} took 12ms\n", 12_000))
	for name, secrets := range map[string]map[string]string{
		"none": nil,
		"one":  {"A": "sk-live-51Habcdefghijklmnopqrstuvwx"},
		"five": {"A": "sk-live-51Habcdefghijklmnopqrstuvwx", "B": "ghp_0123456789abcdefABCDEF0123456789", "C": "postgres://u:p4ss@db/x", "D": "hunter2-hunter2", "E": "AKIAIOSFODNN7EXAMPLE"},
	} {
		b.Run(name, func(b *testing.B) {
			r := redact.New(secrets)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				w := r.Writer(io.Discard)
				if _, err := w.Write(text); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
