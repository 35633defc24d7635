package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// oracle redacts text the slow way: every form is tried at every position, on the whole text at once.
func oracle(r *Redactor, all []form, text []byte) ([]byte, Counts) {
	var out []byte
	counts := Counts{}
	until := 0 // bytes before it lie under a replacement
	for i := range text {
		var best form
		n := 0
		for _, f := range all {
			if m := f.match(text[i:]); m > n {
				best, n = f, m
			}
		}
		if n > 0 {
			if i >= until {
				out = append(out, r.labels[best.secret]...)
				counts[r.names[best.secret]]++
			}
			until = max(until, i+n)
		}
		if i >= until {
			out = append(out, text[i])
		}
	}
	return out, counts
}

// match returns how much of b the form takes, or 0.
func (f form) match(b []byte) int {
	if !f.wraps {
		if bytes.HasPrefix(b, f.text) {
			return len(f.text)
		}
		return 0
	}
	i := 0
	for k, c := range f.text {
		if k > 0 {
			i += gap(b[i:])
		}
		if i == len(b) || b[i] != c {
			return 0
		}
		i++
	}
	return i
}

// formsOf lists the forms as New gathers them.
func formsOf(secrets map[string]string) (all []form) {
	n := 0
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if trivial(secrets[name]) {
			continue
		}
		for _, f := range forms(secrets[name]) {
			f.secret = n
			all = append(all, f)
		}
		n++
	}
	return all
}

// agree holds the stream, however it is cut, and the whole text against the oracle.
func agree(t interface{ Fatalf(string, ...any) }, secrets map[string]string, text []byte, cut func(left int) int) {
	r := New(secrets)
	want, counts := oracle(r, formsOf(secrets), text)
	var buf bytes.Buffer
	w := r.Writer(&buf)
	for rest := text; len(rest) > 0; {
		n := min(len(rest), max(1, cut(len(rest))))
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatalf("%v", err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatalf("%v", err)
	}
	if !bytes.Equal(buf.Bytes(), want) {
		t.Fatalf("secrets %q, text %q:\n got %q\nwant %q", secrets, text, buf.Bytes(), want)
	}
	if !maps.Equal(w.Counts(), counts) {
		t.Fatalf("secrets %q, text %q: counts %v, want %v", secrets, text, w.Counts(), counts)
	}
	if whole := r.Bytes(text); !bytes.Equal(whole, want) {
		t.Fatalf("secrets %q, text %q: whole %q, want %q", secrets, text, whole, want)
	}
	if r.Contains(text) != (len(counts) > 0) {
		t.Fatalf("secrets %q, text %q: contains is %v", secrets, text, r.Contains(text))
	}
}

// Few letters make texts that nearly match, overlap and share their starts.
func TestStreamAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.StringMatching(`[ab]{4,9}`), rapid.StringMatching(`[a/"\\é\n ]{4,12}`), rapid.StringN(4, 20, 40), rapid.Just("a line that is long enough\nanother line that is too"))
		secrets := map[string]string{}
		var all []form
		for i := range rapid.IntRange(1, 4).Draw(t, "secrets") {
			secrets[fmt.Sprint("S", i)] = value.Draw(t, "value")
		}
		if all = formsOf(secrets); len(all) == 0 {
			return
		}
		brk := rapid.SampledFrom([]string{"\n", "\r\n", "\r", "\n  ", `\n`, `\r\n`, `\\n    `, `\\\\r\\\\n`, `\`, "\n\n", ""})
		var text []byte
		for range rapid.IntRange(0, 12).Draw(t, "parts") {
			f := all[rapid.IntRange(0, len(all)-1).Draw(t, "form")].text
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				text = append(text, f...)
			case 1: // a near miss
				text = append(text, f[:rapid.IntRange(0, len(f)).Draw(t, "n")]...)
			case 2: // in lines
				width := rapid.IntRange(1, len(f)).Draw(t, "width")
				for line := range slices.Chunk(f, width) {
					text = append(append(text, line...), brk.Draw(t, "break")...)
				}
			case 3:
				text = append(text, f[rapid.IntRange(0, len(f)).Draw(t, "n"):]...)
			default:
				text = append(text, rapid.StringMatching(`[ab\\rn\n\r u0 ]{0,9}`).Draw(t, "noise")...)
			}
		}
		agree(t, secrets, text, func(left int) int { return rapid.IntRange(1, left).Draw(t, "cut") })
	})
}

// Texts longer than one step of the writer, with forms over its edges.
func TestLongTextsAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	const value = "correct-horse-battery"
	secrets := map[string]string{"A": value, "B": "horse-bat", "C": "staple/" + value}
	forms := []string{
		value, base64.StdEncoding.EncodeToString([]byte("x" + value)), hex.EncodeToString([]byte(value[:6])) + "\\n" + hex.EncodeToString([]byte(value[6:])),
	}
	for _, shift := range []int{0, 1, 3, 4, 20, 41} {
		for _, f := range forms {
			text := strings.Repeat("x", 64<<10-shift) + f + strings.Repeat("\\", shift%5) + "y"
			agree(t, secrets, []byte(text), func(left int) int { return left })
		}
	}
}

func FuzzAgreesWithTheOracle(f *testing.F) {
	f.Add("hunter2", "ter2hun", []byte("a hunter2hunter2ter2hun b"), uint8(3))
	f.Add("line one of it\nline two of it", "6c696e65", []byte("\\\\n6c\\n69"), uint8(1))
	f.Add("aaaa", "aaaab", []byte("YWF\nhYQ==YWFh\\nYWI="), uint8(2))
	f.Fuzz(func(t *testing.T, a, b string, text []byte, step uint8) {
		if len(a)+len(b) > 200 || len(text) > 1000 {
			return
		}
		secrets := map[string]string{"A": a, "B": b}
		if len(formsOf(secrets)) == 0 {
			return
		}
		agree(t, secrets, text, func(int) int { return int(step%37) + 1 })
	})
}
