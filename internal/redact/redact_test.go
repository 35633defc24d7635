package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/redact"
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

func FuzzChunksDoNotMatter(f *testing.F) {
	f.Add("hunter2", "ter2hun", []byte("a hunter2hunter2ter2hun b"), uint8(3))
	f.Add("aaaa", "aaaab", []byte("aaaaaaaaab"), uint8(1))
	f.Add(`a"b\c/d`, "é", []byte(`{"x":"a\"b\\c\/d"}`), uint8(2))
	f.Add("[REDACTED:A]", "<RED", []byte("[REDACTED:A]<RED"), uint8(5))
	f.Fuzz(func(t *testing.T, a, b string, text []byte, step uint8) {
		// The text is seeded with spellings, or the fuzzer would hardly ever hit one.
		for _, s := range []string{a, b} {
			text = append(text, s...)
			text = append(text, base64.StdEncoding.EncodeToString([]byte("x"+s+"yy"))...)
			text = append(text, hex.EncodeToString([]byte(s))...)
			text = append(text, url.QueryEscape(s)...)
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
