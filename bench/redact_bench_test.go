package bench

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/isolate/redact"
)

// Redaction of a stream for 50 secrets in all their encodings, against SHA-256 of the same stream. The goal of 0.15 is for
// streams as agents print them; the hostile ones are there to show how bad it gets.
func TestBenchRedact(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	random := rand.New(rand.NewPCG(1, 2))
	secrets := benchSecrets(random)
	r := redact.New(secrets)
	for _, s := range []struct {
		name, goal string
		piece      func() string
	}{
		{"log", ">=0.15", logPiece(random)},
		{"json", ">=0.15", jsonPiece(random)},
		{"base64", ">=0.15", base64Piece(random)},
		{"random", ">=0.15", func() string { return letters(random, "", 4096) }},
		{"hits", ">=0.15", hitPiece(random, secrets)},
		{"nearmiss", "none", nearPiece(random, secrets)},
		{"escapes", "none", escapePiece(random)},
	} {
		chunk := longText(s.piece)
		size, times := streamSize()
		n := size/len(chunk) + 1
		megabytes := float64(n*len(chunk)) / 1e6
		var ours, floor []float64
		for range times {
			floor = append(floor, megabytes/seconds(func() { pour(t, sha256.New(), &repeated{chunk: chunk, left: n}) }))
			ours = append(ours, megabytes/seconds(func() { pour(t, r.Writer(io.Discard), &repeated{chunk: chunk, left: n}) }))
		}
		line(t, "redact."+s.name, median(ours), median(floor), "MB/s", s.goal)
		live, peak := growth(func(look func()) { pour(t, r.Writer(&sink{each: look}), &repeated{chunk: chunk, left: n}) })
		t.Logf("redact.%s: %d MB in one pass; what lives grew by %d KB at the end, and by %d KB at most", s.name, n*len(chunk)>>20, live>>10, peak>>10)
	}
}

func pour(t *testing.T, w io.Writer, r io.Reader) {
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 32<<10))
	must(t, err)
	if c, ok := w.(io.Closer); ok {
		must(t, c.Close())
	}
}

// sink takes everything and calls each now and then.
type sink struct {
	taken int
	each  func()
}

func (s *sink) Write(p []byte) (int, error) {
	before := s.taken
	if s.taken += len(p); before>>24 != s.taken>>24 {
		s.each()
	}
	return len(p), nil
}

// longText makes a text that is longer than the caches of a processor.
func longText(piece func() string) []byte {
	var b strings.Builder
	for b.Len() < 8<<20 {
		b.WriteString(piece())
	}
	return []byte(b.String())
}

const (
	alnum  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	symbol = alnum + `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~ `
)

// letters returns n bytes of an alphabet; of all bytes when there is none.
func letters(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		if alphabet == "" {
			b[i] = byte(r.Uint32())
		} else {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
	}
	return string(b)
}

// benchSecrets are 50 credentials of the kinds that agents are given.
func benchSecrets(r *rand.Rand) map[string]string {
	all := map[string]string{}
	for i := range 10 {
		add := func(kind, value string) { all[fmt.Sprintf("%s_%d", kind, i)] = value }
		add("GITHUB_TOKEN", "ghp_"+letters(r, alnum, 36))
		add("API_KEY", "sk-proj-"+letters(r, alnum+"-_", 48))
		add("DATABASE_URL", "postgres://app:"+url.QueryEscape(letters(r, symbol, 16))+"@db.internal:5432/app?sslmode=require")
		add("PASSWORD", letters(r, symbol, 12+i))
		add("AWS_SECRET_KEY", letters(r, alnum+"+/", 40))
	}
	return all
}

var words = strings.Fields("the request was served from cache and took longer than expected while worker seven wrote its result to disk because token budget error retry fetch parse build test module")

func logPiece(r *rand.Rand) func() string {
	return func() string {
		var b strings.Builder
		fmt.Fprintf(&b, "2026-11-15T%02d:%02d:%02d.%03dZ INFO [worker-%d] ", r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000), r.IntN(16))
		for range 6 + r.IntN(10) {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		fmt.Fprintf(&b, "path=/srv/app/internal/%s/%s.go:%d id=%08x\n", words[r.IntN(len(words))], words[r.IntN(len(words))], r.IntN(900), r.Uint32())
		return b.String()
	}
}

func jsonPiece(r *rand.Rand) func() string {
	logs := logPiece(r)
	return func() string {
		inner, _ := json.Marshal(map[string]any{"stdout": logs() + logs(), "exit_code": r.IntN(3)})
		text, _ := json.Marshal(map[string]any{"type": "tool_result", "id": letters(r, alnum, 24), "content": string(inner), "usage": map[string]int{"input": r.IntN(1e5), "output": r.IntN(1e4)}})
		return string(text) + "\n"
	}
}

// base64Piece is a file as base64 and as hexadecimal, in lines.
func base64Piece(r *rand.Rand) func() string {
	return func() string {
		data := []byte(letters(r, "", 57*40))
		text := base64.StdEncoding.EncodeToString(data) + hex.EncodeToString(data[:570])
		var b strings.Builder
		for ; len(text) > 76; text = text[76:] {
			b.WriteString(text[:76] + "\n")
		}
		return b.String() + text + "\n"
	}
}

// hitPiece is a log in which every tenth line shows a secret in some encoding.
func hitPiece(r *rand.Rand, secrets map[string]string) func() string {
	logs, forms := logPiece(r), spellings(secrets)
	return func() string {
		var b strings.Builder
		for range 10 {
			b.WriteString(logs())
		}
		return b.String() + "value: " + forms[r.IntN(len(forms))] + "\n"
	}
}

// nearPiece is nothing but starts of secrets: each is cut off or goes on with a wrong byte.
func nearPiece(r *rand.Rand, secrets map[string]string) func() string {
	forms := spellings(secrets)
	return func() string {
		f := forms[r.IntN(len(forms))]
		return f[:4+r.IntN(len(f)-5)] + "\x00"
	}
}

// escapePiece is what a JSON writer makes of text that is hardly ASCII, and of line breaks, inside JSON.
func escapePiece(r *rand.Rand) func() string {
	return func() string {
		return fmt.Sprintf(`\u00%02x\\u00%02X\n\\\"%%%02X`, r.IntN(256), r.IntN(256), r.IntN(256))
	}
}

func spellings(secrets map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		v := secrets[name]
		text, _ := json.Marshal(v)
		var percent, unicode strings.Builder
		for i := range len(v) {
			fmt.Fprintf(&percent, "%%%02X", v[i])
			fmt.Fprintf(&unicode, `\u%04x`, v[i])
		}
		all = append(all, v, base64.StdEncoding.EncodeToString([]byte(v)), base64.URLEncoding.EncodeToString([]byte("x"+v)),
			hex.EncodeToString([]byte(v)), url.QueryEscape(v), string(text[1:len(text)-1]), percent.String(), unicode.String())
	}
	return all
}
