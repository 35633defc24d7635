package opencode

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/base/failure"
)

var update = flag.Bool("update", false, "write the golden files")

// A streamResult is what was read from a stream.
type streamResult struct {
	Events  []streamEvent `json:"events"`
	ID      string        `json:"id,omitempty"`
	Turns   int           `json:"turns,omitempty"`
	Success bool          `json:"success"`
	Class   failure.Class `json:"class,omitempty"`
	Error   string        `json:"error,omitempty"`
	Wait    time.Duration `json:"retry_after,omitempty"`
	Message string        `json:"message,omitempty"`
}

type streamEvent struct {
	Kind   string `json:"kind"`
	Detail any    `json:"detail"`
}

func readStream(data []byte) (streamResult, *stream) {
	var h streamResult
	sink := driver.SinkFunc(func(kind string, detail any) { h.Events = append(h.Events, streamEvent{kind, detail}) })
	state := &agentcli.State{}
	s := newStream(agentcli.NewReporter(sink, nil, state), state, "fake/fake-model", time.Hour, func(*failure.Error) {})
	defer s.end()
	lines := agentcli.Lines{Line: s.line, Long: func([]byte, int64) {}}
	_, _ = lines.Write(data)
	lines.Close()
	o := s.outcome()
	h.ID, h.Turns, h.Success, h.Message = state.ID, state.Turns, o.Succeeded, o.Message
	if o.Failure != nil {
		h.Class, h.Error, h.Wait = o.Failure.Class, o.Failure.Error(), o.Failure.RetryAfter
	}
	return h, s
}

func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h, _ := readStream(data)
		var got bytes.Buffer
		e := json.NewEncoder(&got)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(h); err != nil {
			t.Fatal(err)
		}
		golden := strings.TrimSuffix(file, ".jsonl") + ".golden.json"
		if *update {
			if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got.String()); d != "" {
			t.Errorf("%s:\n%s", file, d)
		}
	}
}

func TestHowAStreamEnds(t *testing.T) {
	t.Parallel()
	const (
		start = `{"type":"step_start","sessionID":"s","part":{}}` + "\n"
		say   = `{"type":"text","sessionID":"s","part":{"text":"done"}}` + "\n"
		stop  = `{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}` + "\n"
		calls = `{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls"}}` + "\n"
		no    = `{"type":"tool_use","sessionID":"s","part":{"tool":"bash","callID":"c","state":{"status":"error","error":"` + rejectedText + `"}}}` + "\n"
	)
	fail := func(data string) string { return `{"type":"error","sessionID":"s","error":` + data + "}\n" }
	for name, tc := range map[string]struct {
		text    string
		success bool
		class   failure.Class
		wantErr string
	}{
		"success":                {start + say + stop, true, "", ""},
		"nothing":                {"", false, "", ""},
		"no end":                 {start + say, false, "", ""},
		"no word":                {start + stop, false, "", ""},
		"a step after the end":   {start + say + stop + start, false, "", ""},
		"rejected":               {start + no + calls, false, failure.AgentFailed, "tool bash"},
		"rejected and went on":   {start + no + calls + start + say + stop, true, "", ""},
		"cut at its length":      {start + say + `{"type":"step_finish","part":{"reason":"length"}}`, false, failure.AgentFailed, `"length"`},
		"tool calls without end": {start + say + calls, false, failure.AgentFailed, "tool-calls"},
		"401":                    {fail(`{"name":"APIError","data":{"message":"no","statusCode":401}}`), false, failure.Config, "check the key"},
		"403":                    {fail(`{"name":"APIError","data":{"message":"no","statusCode":403}}`), false, failure.Config, "check the key"},
		"404":                    {fail(`{"name":"APIError","data":{"message":"no","statusCode":404}}`), false, failure.Config, "check the model"},
		"400":                    {fail(`{"name":"APIError","data":{"message":"no","statusCode":400}}`), false, failure.Provider, "no"},
		"529":                    {fail(`{"name":"APIError","data":{"message":"no","statusCode":529}}`), false, failure.RateLimited, "no"},
		"no network":             {fail(`{"name":"APIError","data":{"message":"no"}}`), false, failure.Provider, ""},
		"unknown":                {fail(`{"name":"UnknownError","data":{"message":"Unexpected server error."}}`), false, failure.AgentFailed, "Unexpected"},
		"unreadable error":       {fail(`7`), false, failure.AgentFailed, "cannot read"},
		"an error, then success": {fail(`{"name":"APIError"}`) + start + say + stop, true, "", ""},
	} {
		h, _ := readStream([]byte(tc.text))
		if h.Success != tc.success || h.Class != tc.class || !strings.Contains(h.Error, tc.wantErr) {
			t.Errorf("%s: got success %v, class %q, %q", name, h.Success, h.Class, h.Error)
		}
	}
}

func TestWhatCannotBeReadIsToldAndSurvived(t *testing.T) {
	t.Parallel()
	ok, err := os.ReadFile("testdata/ok.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for name, junk := range map[string]string{
		"prose": "warming up\n", "null": "null\n", "a list": "[]\n", "another type": `{"type":"session.idle","sessionID":7}` + "\n",
		"a part of another shape": `{"type":"text","part":[1]}` + "\n", "cut": `{"type":"text","part":{"te` + "\n",
		"numbers": `{"type":"step_finish","part":{"reason":7}}` + "\n", "deep": strings.Repeat("[", 20000) + "\n", "binary": "\x00\xff\xfe\n",
		"an unknown event": `{"type":"compaction","sessionID":"x"}` + "\n",
	} {
		h, _ := readStream(append([]byte(junk), ok...))
		if !h.Success || h.Message == "" || !slices.ContainsFunc(h.Events, func(e streamEvent) bool { return e.Kind == driver.EventStrange }) {
			t.Errorf("%s: success %v, %d events", name, h.Success, len(h.Events))
		}
	}
}

func TestUsageIsWhatEachStepAdds(t *testing.T) {
	t.Parallel()
	var p stepPart
	if err := json.Unmarshal([]byte(`{"cost":0.001052,"tokens":{"input":1000,"output":14,"reasoning":7,"cache":{"read":100,"write":5}}}`), &p); err != nil {
		t.Fatal(err)
	}
	u := p.usage("m")
	if u.InputTokens != 1105 || u.CachedInputTokens != 100 || u.CacheWriteTokens != 5 || u.OutputTokens != 21 || u.ReasoningTokens != 7 || u.CostMicroUSD == nil || *u.CostMicroUSD != 1052 {
		t.Errorf("got %+v", u)
	}
	p.Cost, p.Tokens.Input, p.Tokens.Output = 0, -5, 1<<62
	if u := p.usage("m"); u.CostMicroUSD != nil || u.InputTokens != 105 || u.OutputTokens < 0 {
		t.Errorf("got %+v", u)
	}
}

func TestASilentModelEndsTheTurn(t *testing.T) {
	t.Parallel()
	begin, step := `{"type":"step_start","sessionID":"s","part":{}}`, `{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls"}}`
	for name, lines := range map[string][]string{
		"from the start": nil, "after its tools": {begin, step}, "breaking off again and again": {begin, begin, begin},
	} {
		stopped := make(chan *failure.Error, 1)
		state := &agentcli.State{}
		s := newStream(agentcli.NewReporter(driver.Discard, nil, state), state, "m", time.Millisecond, func(f *failure.Error) { stopped <- f })
		for _, l := range lines {
			s.line([]byte(l))
		}
		if f := <-stopped; f.Class != failure.Provider || f.Remedy == "" {
			t.Errorf("%s: got %v", name, f)
		}
		s.end()
	}
}

func FuzzStream(f *testing.F) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, s := readStream(data)
		if h.Success && (h.Message == "" || s.open || h.Class != "") {
			t.Errorf("success without a last word: %+v", h)
		}
		for _, e := range h.Events {
			text, err := json.Marshal(e.Detail)
			if err != nil || len(text) > 4*driver.MaxEventText+8<<10 {
				t.Errorf("%s: %d bytes, %v", e.Kind, len(text), err)
			}
		}
	})
}
