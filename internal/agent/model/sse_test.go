package model

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	anthropicstream "github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/google/go-cmp/cmp"
	openaistream "github.com/openai/openai-go/v3/packages/ssestream"
)

// A kept event outlives the next one.
type kept struct{ Name, Data string }

func readEvents(in io.Reader) (all, withData []kept, err error) {
	r := newEventReader(in)
	for {
		e, err := r.next()
		if err != nil {
			return all, withData, err
		}
		k := kept{e.name, string(e.data)}
		all = append(all, k)
		if e.hasData {
			withData = append(withData, k)
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want []kept
	}{
		"nothing":              {"", nil},
		"one":                  {"event: a\ndata: b\n\n", []kept{{"a", "b"}}},
		"CRLF":                 {"event: a\r\ndata: b\r\n\r\n", []kept{{"a", "b"}}},
		"a mark of UTF-8":      {"\ufeffdata: b\n\n", []kept{{"", "b"}}},
		"a mark further on":    {"data: a\n\n\ufeffdata: b\n\n", []kept{{"", "a"}}},
		"lines":                {"data: a\ndata:\ndata:  b\n\n", []kept{{"", "a\n\n b"}}},
		"comments":             {": a\n:\ndata: b\n: c\n\n:\n\n", []kept{{"", "b"}}},
		"name without data":    {"event: a\n\ndata: b\n\n", []kept{{"a", ""}, {"", "b"}}},
		"empty data":           {"data\n\ndata:\n\n", []kept{{"", ""}, {"", ""}}},
		"the last name counts": {"event: a\nevent: b\ndata: c\n\n", []kept{{"b", "c"}}},
		"other fields":         {"id: 1\nretry: 2\nx\nDATA: d\n data: d\n\n", nil},
		"colons":               {"data: a: b:c\n\n", []kept{{"", "a: b:c"}}},
		"no last empty line":   {"data: a\n\ndata: b\n", []kept{{"", "a"}}},
		"no last line end":     {"data: a\n\ndata: b", []kept{{"", "a"}}},
		"half of a line end":   {"data: a\r\n\r", []kept{{"", "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := readEvents(strings.NewReader(c.in))
			if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("%v: %s", err, diff)
			}
			slow, _, err := readEvents(iotest.OneByteReader(strings.NewReader(c.in)))
			if diff := cmp.Diff(c.want, slow); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("byte by byte: %v: %s", err, diff)
			}
		})
	}
}

// TestEventsOfAStreamThatFails: events that arrived complete count, and the failure is returned unchanged.
func TestEventsOfAStreamThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("reset by peer")
	got, _, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if diff := cmp.Diff([]kept{{"", "a"}}, got); diff != "" || !errors.Is(err, broken) {
		t.Errorf("%v: %s", err, diff)
	}
}

// FuzzEvents: the services' own packages find the same events, and no more is kept than came.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"event: a\ndata: b\n\n", "data: a\r\ndata: b\r\n\r\n", ": c\n\nevent: x\n\ndata\n\n", "data: a\n\ndata: b", "\r\n\r", "event:\ndata:\n\n",
		"data: " + strings.Repeat("x", 5000) + "\n\n", "\ufeffdata: a\n\n", "a\x00b: c\n\ndata:\xff\n\n", "data: a\n\r\n\r",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r := newEventReader(strings.NewReader(in))
		for range len(in) + 1 {
			if _, err := r.next(); err != nil {
				break
			}
		}
		if r.failed == nil {
			t.Fatal("it has no end")
		}
		if most := 4*len(in) + 1<<10; cap(r.line) > most || cap(r.data) > most {
			t.Fatalf("%d and %d bytes are kept of %d", cap(r.line), cap(r.data), len(in))
		}
		all, withData, err := readEvents(iotest.HalfReader(strings.NewReader(in)))
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		// The packages do not know the mark.
		resp := &http.Response{Body: io.NopCloser(strings.NewReader(strings.TrimPrefix(in, "\ufeff")))}
		defer func() { _ = resp.Body.Close() }()
		var want []kept
		for d := anthropicstream.NewDecoder(resp); d.Next(); {
			want = append(want, kept{d.Event().Type, string(bytes.TrimSuffix(d.Event().Data, []byte("\n")))})
		}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("Anthropic's: %s", diff)
		}
		want = nil
		resp.Body = io.NopCloser(strings.NewReader(strings.TrimPrefix(in, "\ufeff")))
		for d := openaistream.NewDecoder(resp); d.Next(); {
			want = append(want, kept{d.Event().Type, string(bytes.TrimSuffix(d.Event().Data, []byte("\n")))})
		}
		if diff := cmp.Diff(want, withData); diff != "" {
			t.Errorf("OpenAI's: %s", diff)
		}
	})
}
