package acp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/agent/driver/process"
)

// NewHasty makes a driver that waits less for its agent.
func NewHasty(setUp time.Duration) *agentcli.Driver { return agentcli.New(dialect{setUp: setUp}) }

// Listen returns a function that reads lines as those of an agent that says them.
func Listen(sink driver.Sink) (feed func(line []byte), end func() (message string)) {
	state := &agentcli.State{}
	report := agentcli.NewReporter(sink, nil, state)
	w, r := newWire()
	c := &conversation{plan: agentcli.Plan{State: state, Agent: &process.Agent{Job: driver.Job{Guard: never{}}, Dir: "/", Vars: process.Vars{}}}}
	t := &turn{conversation: c, ctx: context.Background(), report: report, wire: w, track: newTracker(report, state), slots: make(chan struct{}, maxAsked), abort: func(error) {}}
	t.terminals = newTerminals(t)
	c.turn = t
	go func() {
		b := make([]byte, 4096)
		for {
			if _, err := r.Read(b); err != nil {
				return
			}
		}
	}()
	return c.Feed, func() string {
		t.wire.close()
		t.asked.Wait()
		t.track.finish()
		return t.track.message()
	}
}

// never is a guard that allows nothing.
type never struct{}

func (never) Before(context.Context, agentruntime.ToolCall) (agentruntime.PolicyDecision, error) {
	return agentruntime.PolicyDecision{Effect: agentruntime.PolicyDeny}, nil
}

func (never) After(context.Context, agentruntime.ToolCall, agentruntime.ToolResult) (string, error) {
	return "", nil
}

func (never) Ask(context.Context, string) (string, error) { return "", driver.ErrAsked }

// Answer reads the answer to a prompt.
func Answer(sink driver.Sink, line []byte) error {
	state := &agentcli.State{}
	var p prompted
	err := json.Unmarshal(line, &p)
	newTracker(agentcli.NewReporter(sink, nil, state), state).over(p)
	return err
}
