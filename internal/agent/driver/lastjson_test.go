package driver_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
)

func TestLastJSON(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"bare":              {`{"a": 1}`, `{"a": 1}`},
		"after prose":       {"I did it.\nSo: {\"a\": 1}. Good.", `{"a": 1}`},
		"fenced":            {"text\n```json\n{\"a\": {\"b\": [{\"c\": 1}]}}\n```\nbye", `{"a": {"b": [{"c": 1}]}}`},
		"last of several":   {`{"a": 1} {"a": 2}` + "\n" + `{"a": 3}` + "\n", `{"a": 3}`},
		"pretty":            {"{\n  \"a\": [\n    {\n      \"b\": 1\n    }\n  ]\n}\n", "{\n  \"a\": [\n    {\n      \"b\": 1\n    }\n  ]\n}"},
		"braces in strings": {`{"a": "}{", "b": "\"}"}`, `{"a": "}{", "b": "\"}"}`},
		"unclosed before":   {"if (x) {\n{\"a\": 1}", `{"a": 1}`},
		"unclosed after":    {`{"a": 1} {"b": `, `{"a": 1}`},
		"not JSON":          {`{a: 1} {'b': 2} {}}`, `{}`},
		"quote in prose":    {`he said "hi {"a": 1}`, `{"a": 1}`},
		"array":             {`[{"a": 1}, {"a": 2}]`, `{"a": 2}`},
		"nothing":           {"no object here", ""},
		"empty":             {"", ""},
		"CRLF":              {"x\r\n{\"a\": 1}\r\n", `{"a": 1}`},
	} {
		got, err := driver.LastJSON(strings.NewReader(tc.in))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestLastJSONLooksOnlyAtTheEnd(t *testing.T) {
	t.Parallel()
	long := `{"a": 1}` + strings.Repeat("x", driver.JSONTail)
	if got, err := driver.LastJSON(strings.NewReader(long)); err != nil || got != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := driver.LastJSON(strings.NewReader(long + `{"b": 2}`)); err != nil || string(got) != `{"b": 2}` {
		t.Errorf("got %q, %v", got, err)
	}
}

// An output made to be slow to look through costs a bounded time.
func TestLastJSONIsBounded(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{"braces": "{", "nested": `{"a":[`, "lines": "{\"a\":[\n", "strings": `{"`} {
		in := strings.Repeat(part, driver.JSONTail/len(part))
		start := time.Now()
		if got, err := driver.LastJSON(strings.NewReader(in)); err != nil || got != nil {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func FuzzLastJSON(f *testing.F) {
	f.Add([]byte("x {\"a\": 1} y"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := driver.LastJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if got != nil && (!json.Valid(got) || got[0] != '{' || !bytes.Contains(data, got)) {
			t.Fatalf("got %q of %q", got, data)
		}
	})
}
