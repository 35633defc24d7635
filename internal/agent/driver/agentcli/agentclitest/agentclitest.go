// Package agentclitest owns the tests that every dialect of package agentcli runs on recorded streams. It has no stream of
// its own.
package agentclitest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/failure"
)

var update = flag.Bool("update", false, "write the golden files")

// An Event is one that a dialect reported.
type Event struct {
	Kind   string
	Detail any
}

// A Reading is what a dialect made of a stream.
type Reading struct {
	Events  []Event
	Outcome agentcli.Outcome
	State   agentcli.State
}

// Read feeds a stream to a new conversation, or to one that goes on from state.
func Read(t testing.TB, d agentcli.Dialect, a agentruntime.AdapterConfig, state agentcli.State, stream []byte) Reading {
	t.Helper()
	c, ok := process.Of(a)
	if !ok {
		t.Fatal("the adapter starts no process")
	}
	state.Runs++
	r := Reading{State: state}
	conversation, err := d.Begin(agentcli.Plan{
		Agent: &process.Agent{Job: driver.Job{Adapter: a}, Config: c, Vars: process.Vars{}, Dir: "/workspace"}, State: &r.State, Home: "/home",
	})
	if err != nil {
		t.Fatal(err)
	}
	report := agentcli.NewReporter(driver.SinkFunc(func(kind string, detail any) { r.Events = append(r.Events, Event{kind, detail}) }), nil, &r.State)
	launch, err := conversation.Launch(t.Context(), "prompt", report, func(*failure.Error) {})
	if err != nil {
		t.Fatal(err)
	}
	lines := &agentcli.Lines{Line: conversation.Feed, Long: func(head []byte, _ int64) { report.Strange("long", head) }}
	_, _ = lines.Write(stream)
	lines.Close()
	if launch.Done != nil {
		launch.Done()
	}
	r.Outcome = conversation.Outcome()
	return r
}

// Golden compares what a dialect makes of each testdata/*.jsonl with the .golden file beside it.
func Golden(t *testing.T, d agentcli.Dialect, a agentruntime.AdapterConfig) {
	streams, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(streams) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	for _, file := range streams {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			stream, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := Read(t, d, a, agentcli.State{}, stream).String()
			golden := strings.TrimSuffix(file, ".jsonl") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("go test -update writes it anew, if that is right:\n%s", diff)
			}
		})
	}
}

// String is the reading as text, one event on a line.
func (r Reading) String() string {
	var b strings.Builder
	for _, e := range r.Events {
		detail, err := json.Marshal(e.Detail)
		if err != nil {
			detail = []byte(err.Error())
		}
		fmt.Fprintf(&b, "%s %s\n", e.Kind, detail)
	}
	fmt.Fprintf(&b, "\nsucceeded %v\nmessage %q\n", r.Outcome.Succeeded, r.Outcome.Message)
	if f := r.Outcome.Failure; f != nil {
		fmt.Fprintf(&b, "failure %s: %v; retry after %v\n", f.Class, f, f.RetryAfter)
	}
	if len(r.Outcome.Notes) > 0 {
		notes, _ := json.Marshal(r.Outcome.Notes)
		fmt.Fprintf(&b, "notes %s\n", notes)
	}
	state, _ := json.Marshal(r.State)
	fmt.Fprintf(&b, "state %s\n", state)
	return b.String()
}

// Fuzz feeds a dialect what no agent wrote, beginning with the recorded streams, and checks what holds for any stream.
func Fuzz(f *testing.F, d agentcli.Dialect, a agentruntime.AdapterConfig) {
	streams, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(streams) == 0 {
		f.Fatalf("no streams: %v", err)
	}
	for _, file := range streams {
		stream, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stream)
		for line := range bytes.Lines(stream) {
			f.Add(line)
			f.Add(line[:len(line)/2])
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) { Read(t, d, a, agentcli.State{}, stream).Check(t) })
}

// Check asserts what holds for any stream.
func (r Reading) Check(t testing.TB) {
	t.Helper()
	if id := r.State.ID; id != "" && !agentcli.GoodID(id) {
		t.Errorf("the conversation goes on as %q, which could be taken for an option", id)
	}
	strange := 0
	for _, e := range r.Events {
		if _, err := json.Marshal(e.Detail); err != nil {
			t.Errorf("%s cannot be written: %v", e.Kind, err)
		}
		switch v := e.Detail.(type) {
		case agentruntime.ToolCall:
			if v.CallID == "" || v.Tool == "" || len(v.Input) > 8*driver.MaxEventText {
				t.Errorf("%+v", v)
			}
		case agentruntime.ToolResult:
			if v.CallID == "" || len(v.Output) > driver.MaxEventText {
				t.Errorf("%+v", v)
			}
		case driver.Text:
			if v.Text == "" || len(v.Text) > driver.MaxEventText {
				t.Errorf("%+v", v)
			}
		case agentruntime.Usage:
			if v.InputTokens < 0 || v.OutputTokens < 0 || v.CachedInputTokens < 0 || v.CacheWriteTokens < 0 || v.ReasoningTokens < 0 {
				t.Errorf("%+v", v)
			}
		case driver.Strange:
			strange++
		}
	}
	if strange > driver.MaxStrange {
		t.Errorf("%d strange events are told one by one", strange)
	}
	if r.Outcome.Succeeded && r.Outcome.Failure != nil {
		t.Errorf("it succeeded, and failed: %v", r.Outcome.Failure)
	}
}
