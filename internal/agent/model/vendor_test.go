package model_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/model/scripted"
)

// vendors are the clients on the services' own packages, by wire. What they send and read, deed's own clients do too.
var vendors = map[string]func(model.Options) (model.Client, error){
	"messages": model.NewVendorAnthropic, "responses": model.NewVendorResponses, "chat": model.NewVendorChat,
}

// eachVendor runs a test for every wire that a vendor has a package for.
func eachVendor(t *testing.T, f func(t *testing.T, own, vendor wire)) {
	t.Helper()
	for name, make := range vendors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := wireOf(t, name)
			vendor := own
			vendor.make = make
			f(t, own, vendor)
		})
	}
}

// A recorder keeps the request and refuses it.
type recorder struct {
	target string
	header http.Header
	body   string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.target, r.header, r.body = req.Method+" "+req.URL.String(), req.Header.Clone(), string(body)
	return canned{status: http.StatusTeapot}.RoundTrip(req)
}

func (w wire) record(t *testing.T, base string, req model.Request) *recorder {
	t.Helper()
	var r recorder
	c, err := w.make(model.Options{BaseURL: base, Key: "the-key", HTTPClient: &http.Client{Transport: &r}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stream(t.Context(), req, nil); model.KindOf(err) != model.KindBadRequest {
		t.Fatal(err)
	}
	return &r
}

func TestVendorsSendTheSame(t *testing.T) {
	t.Parallel()
	requests := map[string]func(*model.Request){
		"everything": func(*model.Request) {},
		"least": func(r *model.Request) {
			*r = model.Request{Model: "m", Messages: r.Messages[:1]}
		},
		"empty words": func(r *model.Request) {
			r.Tools = []model.Tool{{Name: "none", Schema: json.RawMessage(`{}`)}}
			r.Messages = append(r.Messages, model.Message{Role: model.RoleAssistant, Blocks: []model.Block{
				{Call: &model.Call{ID: "call_3", Name: "none", Input: json.RawMessage(`{}`)}},
			}}, model.Message{Role: model.RoleUser, Blocks: []model.Block{
				{Result: &model.Result{CallID: "call_3"}},
			}}, model.Message{Role: model.RoleAssistant})
		},
		"odd signs": func(r *model.Request) {
			r.System = "tab\t quote\" back\\slash \u2028 \u007f \x00 é 😀 </script>"
			r.Messages[0].Blocks[0].Text = "line\r\nline \xff"
			r.Messages[1].Blocks[0].Opaque = json.RawMessage(`{"type":"thinking","thinking":"a<b","signature":"c2ln","n":1e400,"deep":[{"é":"\u00e9"}]}`)
			r.Messages[1].Blocks[6].Call.Input = json.RawMessage(` {"a": 12345678901234567890, "b": "<&>"} `)
		},
		"numbers in a schema": func(r *model.Request) {
			r.Tools = []model.Tool{{Name: "n", Description: "<d>", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"maximum":1000000,"minimum":0.5}},"x":null}`)}}
		},
	}
	bases := []string{
		"http://h", "http://h/", "https://h:8443/v1", "https://h/v1/", "http://h/a/b%20c", "http://h/a//b", "http://h/a/../b", "http://[::1]:9/v1",
	}
	eachVendor(t, func(t *testing.T, own, vendor wire) {
		for name, change := range requests {
			for _, base := range bases {
				mine, theirs := conversation(), conversation()
				change(&mine)
				change(&theirs)
				got, want := own.record(t, base, mine), vendor.record(t, base, theirs)
				if got.target != want.target {
					t.Errorf("%s: %s, not %s", base, got.target, want.target)
				}
				for _, h := range []string{"Accept", "Content-Type", "Authorization", "X-Api-Key", "Anthropic-Version"} {
					if got.header.Get(h) != want.header.Get(h) {
						t.Errorf("%s: header %s is %q, not %q", name, h, got.header.Get(h), want.header.Get(h))
					}
				}
				if diff := cmp.Diff(canonical(t, want.body), canonical(t, got.body)); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
				if strings.Contains(got.body, `\u003c`) { // Anthropic's package escapes it, OpenAI's does not
					t.Errorf("%s: a sign is escaped that needs it not: %s", name, got.body)
				}
				if got.header.Get("User-Agent") != "deed" || strings.Contains(strings.Join(headerNames(got.header), " "), "Stainless") {
					t.Errorf("headers %v", got.header)
				}
			}
		}
	})
}

func headerNames(h http.Header) []string {
	var names []string
	for name := range h {
		names = append(names, name)
	}
	return names
}

// canonical reads a document with its numbers as they are written.
func canonical(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// A reading is all that a client makes of an answer.
type reading struct {
	Response model.Response
	Deltas   []model.Delta
	Error    model.Error // without the words about what cannot be read, which are each client's own
}

func read(t testing.TB, c model.Client) reading {
	t.Helper()
	var r reading
	var err error
	r.Response, err = c.Stream(t.Context(), ask("go"), func(d model.Delta) { r.Deltas = append(r.Deltas, d) })
	var e *model.Error
	switch {
	case errors.As(err, &e):
		r.Error = *e
		if e.Kind == model.KindGarbage {
			r.Error.Message = ""
			r.Deltas = nil // of a piece that is half nonsense, one may say more than the other
		}
	case err != nil:
		t.Fatal(err)
	}
	return r
}

// sameReading compares readings, and JSON that is passed on by what it says.
func sameReading(t testing.TB, want, got reading) string {
	t.Helper()
	return cmp.Diff(want, got, cmp.Transformer("JSON", func(raw json.RawMessage) any {
		if len(raw) == 0 {
			return nil
		}
		return canonical(t, string(raw))
	}))
}

// TestVendorsReadTheScript: all that the scripted model can say.
func TestVendorsReadTheScript(t *testing.T) {
	t.Parallel()
	server := serve(t)
	t.Run("vendors", func(t *testing.T) {
		eachVendor(t, func(t *testing.T, own, vendor wire) {
			for _, scenario := range server.Scenarios() {
				if scenario == "silent" || scenario == "stuck" {
					continue // they wait
				}
				compareScenario(t, server, scenario, own, vendor)
			}
		})
	})
}

func compareScenario(t *testing.T, server *scripted.Server, scenario string, own, vendor wire) {
	t.Helper()
	// The tags keep the counts of faults apart.
	want := read(t, vendor.client(t, server, scenario+"~vendor-"+own.name))
	got := read(t, own.client(t, server, scenario+"~own-"+own.name))
	want.Response.ID, got.Response.ID = "", "" // they are made of the scenario's name
	for _, r := range []*reading{&want, &got} {
		for i := range r.Response.Blocks {
			if c := r.Response.Blocks[i].Call; c != nil {
				c.ID = ""
			}
		}
		for i := range r.Deltas {
			if c := r.Deltas[i].Call; c != nil {
				c.ID = ""
			}
		}
	}
	if diff := sameReading(t, want, got); diff != "" {
		t.Errorf("%s: %s", scenario, diff)
	}
}
