package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/loop"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/tool"
)

// A script is a model with prepared answers, one item for each request: a model.Response, an error, or a function of the request
// that returns both. Every request is checked.
type script struct {
	t     testing.TB
	items []any
	reqs  []model.Request
	aside func(model.Request) (model.Response, error) // answers requests without tools; nil: they count as others
}

func (s *script) Stream(_ context.Context, req model.Request, on func(model.Delta)) (model.Response, error) {
	checkRequest(s.t, req)
	if len(req.Tools) == 0 && s.aside != nil {
		return s.aside(req)
	}
	req.Messages = slices.Clone(req.Messages)
	s.reqs = append(s.reqs, req)
	if len(s.items) == 0 {
		return model.Response{}, errors.New("the script is at its end")
	}
	item := s.items[0]
	s.items = s.items[1:]
	switch item := item.(type) {
	case model.Response:
		if on != nil {
			on(model.Delta{Thinking: "hm"})
		}
		return item, nil
	case error:
		return model.Response{}, item
	case func(model.Request) (model.Response, error):
		return item(req)
	}
	return model.Response{}, fmt.Errorf("no item of a script: %T", item)
}

// checkRequest holds every request to what services demand: roles take turns, each call has its result in the next message,
// and no result is without its call.
func checkRequest(t testing.TB, req model.Request) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range req.Messages {
		want := model.RoleUser
		if i%2 == 1 {
			want = model.RoleAssistant
		}
		if m.Role != want || len(m.Blocks) == 0 {
			t.Errorf("message %d of %d: role %s with %d blocks", i, len(req.Messages), m.Role, len(m.Blocks))
		}
		for _, b := range m.Blocks {
			if b.Result != nil {
				if !open[b.Result.CallID] {
					t.Errorf("message %d: a result without its call: %+v", i, b.Result)
				}
				delete(open, b.Result.CallID)
			}
		}
		if len(open) > 0 {
			t.Errorf("message %d: calls without results: %v", i, open)
		}
		for _, b := range m.Blocks {
			if b.Call != nil {
				open[b.Call.ID] = true
			}
		}
	}
	if len(open) > 0 || len(req.Messages)%2 != 1 {
		t.Errorf("the request ends with an answer, or with open calls %v", open)
	}
}

func says(text string) model.Response {
	return model.Response{Blocks: []model.Block{{Text: text}}, Stop: model.StopEnd, Served: "m-1", Usage: agentruntime.Usage{InputTokens: 10, OutputTokens: 5}}
}

// calls is an answer that makes calls: pairs of a tool and its input.
func calls(pairs ...string) model.Response {
	r := model.Response{Stop: model.StopTools, Served: "m-1", Usage: agentruntime.Usage{InputTokens: 10, OutputTokens: 5}}
	for i := 0; i < len(pairs); i += 2 {
		r.Blocks = append(r.Blocks, model.Block{Call: &model.Call{ID: fmt.Sprintf("c%d", i/2), Name: pairs[i], Input: json.RawMessage(pairs[i+1])}})
	}
	return r
}

func completes(summary string) model.Response {
	b, _ := json.Marshal(map[string]string{"summary": summary})
	return calls(tool.TaskComplete, string(b))
}

// hands do nothing and return prepared results, by tool; a function decides by the input.
type hands struct {
	mu   sync.Mutex
	say  map[string]func(input string) (string, tool.Outcome, error)
	done []string // what was carried out
}

func (h *hands) Call(_ context.Context, name string, input json.RawMessage, out io.Writer) (tool.Outcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(h.done, name+" "+string(input))
	if f := h.say[name]; f != nil {
		text, o, err := f(string(input))
		if err == nil {
			_, err = io.WriteString(out, text)
		}
		return o, err
	}
	_, err := fmt.Fprintf(out, "%s done", name)
	return tool.Outcome{}, err
}

type event struct {
	kind   string
	detail any
}

// A bench is a conversation with everything around it.
type bench struct {
	t      testing.TB
	cfg    loop.Config
	script *script
	hands  *hands
	guard  driver.Guard
	events []event
	conv   *loop.Conversation
	log    strings.Builder
}

func newBench(t testing.TB, items ...any) *bench {
	b := &bench{t: t, script: &script{t: t, items: items}, hands: &hands{say: map[string]func(string) (string, tool.Outcome, error){}}}
	b.cfg = loop.Config{
		Client: b.script, Model: "m", Workspace: "/workspace", Dir: t.TempDir(),
		Bounds: loop.Bounds{Tools: tool.Names(), Depth: 1, Delegates: 3},
	}
	return b
}

// turn begins the conversation with the first call, and tells it something with the others.
func (b *bench) turn(ctx context.Context, text string) loop.Yield {
	b.t.Helper()
	var err error
	if b.conv == nil {
		b.conv, err = loop.Begin(b.cfg, "conv", "Fix it.")
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return b.conv.Turn(ctx, text, b.env())
}

func (b *bench) env() loop.Env {
	return loop.Env{Hands: b.hands, Guard: b.guard, Transcript: &b.log, Sink: driver.SinkFunc(func(kind string, detail any) {
		b.events = append(b.events, event{kind, detail})
	})}
}

// reopen goes on as a new process would.
func (b *bench) reopen() {
	b.t.Helper()
	if err := b.conv.Close(); err != nil {
		b.t.Fatal(err)
	}
	c, err := loop.Resume(b.cfg, "conv")
	if err != nil {
		b.t.Fatal(err)
	}
	b.conv = c
}

func (b *bench) close() {
	if b.conv != nil {
		if err := b.conv.Close(); err != nil {
			b.t.Error(err)
		}
	}
}

// last is the last message of the last request, as text.
func (b *bench) last() string {
	m := b.script.reqs[len(b.script.reqs)-1].Messages
	return text(m[len(m)-1])
}

func text(m model.Message) string {
	var w strings.Builder
	for _, b := range m.Blocks {
		switch {
		case b.Result != nil:
			fmt.Fprintf(&w, "[%s %v] %s\n", b.Result.CallID, b.Result.Failed, b.Result.Output)
		case b.Call != nil:
			fmt.Fprintf(&w, "[%s] %s %s\n", b.Call.ID, b.Call.Name, b.Call.Input)
		default:
			w.WriteString(b.Text + "\n")
		}
	}
	return w.String()
}

func details[T any](b *bench, kind string) []T {
	var out []T
	for _, e := range b.events {
		if e.kind == kind {
			if d, ok := e.detail.(T); ok {
				out = append(out, d)
			} else {
				b.t.Errorf("event %s with a detail of type %T", kind, e.detail)
			}
		}
	}
	return out
}

func mustContain(t testing.TB, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			t.Errorf("%q is not in\n%s", p, s)
		}
	}
}
