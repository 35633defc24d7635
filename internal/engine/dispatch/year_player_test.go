package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
)

// A player is the driver of agents that do what the dice say: work, fail, ask, and lie.
type player struct{ l *life }

func (player) Kind() string { return agentruntime.KindScript }

func (player) Ready(context.Context, agentruntime.AdapterConfig) driver.Readiness {
	return driver.Readiness{}
}

func (p player) Start(_ context.Context, j driver.Job) (driver.Session, error) {
	return &played{l: p.l, job: j}, nil
}

type played struct {
	l    *life
	job  driver.Job
	done bool
}

func (s *played) Done() bool                  { return s.done }
func (s *played) Ref() string                 { return "" }
func (s *played) Close(context.Context) error { return nil }

// Turn plays one answer. The messages of a lie must never leave the outbox: the work that they belong to is not
// there.
func (s *played) Turn(_ context.Context, _ driver.Input, _ driver.Sink) (driver.Yield, error) {
	if s.done {
		return driver.Yield{}, driver.ErrLastTurn
	}
	s.done = true
	rng := s.l.rng // the step waits for this
	c := &driver.Claim{Source: driver.SourceResultFile, Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, Summary: "done"}
	y := driver.Yield{Kind: driver.YieldCompletion, Class: failure.None, ExitStatus: agentruntime.ExitOK, Claim: c}
	message := map[string]any{"target": []string{"hook", "hook", "mail", "desk", "nowhere"}[rng.IntN(5)], "task": s.job.TaskID, "lie": false}
	n := rng.IntN(100)
	if s.l.world.calm {
		n = 99
	}
	switch {
	case n < 6: // it claims a file that is not there
		c.FileChanges, message["lie"] = []string{"src/never-written.go"}, true
	case n < 12:
		c.Status, c.MachineStatus, message["lie"] = agentruntime.TaskRetryableFailure, agentruntime.MachineNeedsRetry, true
	case n < 15:
		c.Status, c.MachineStatus, message["lie"] = agentruntime.TaskPermanentFailure, agentruntime.MachineFailed, true
	case n < 20:
		c.Status, c.MachineStatus, message["lie"] = agentruntime.TaskBlocked, agentruntime.MachineBlocked, true
	case n < 23:
		return driver.Yield{
			Kind: driver.YieldEnd, Class: failure.AgentFailed, ExitStatus: agentruntime.ExitError,
			Err: failure.New(failure.AgentFailed, "play", errors.New("the agent fell over"), ""),
		}, nil
	}
	if err := s.signal(c); err != nil {
		return driver.Yield{}, err
	}
	if rng.IntN(4) == 0 && !s.l.world.calm || message["lie"] == true {
		text, err := json.Marshal(message)
		if err != nil {
			return driver.Yield{}, err
		}
		c.ExternalMessages = append(c.ExternalMessages, text)
	}
	if rng.IntN(12) == 0 && !s.l.world.calm || message["lie"] == true {
		c.FollowUpTasks = append(c.FollowUpTasks, agentruntime.TaskIntent{
			TaskType: "script", Source: "follow-up", Payload: json.RawMessage(fmt.Sprintf(`{"parent": %q}`, s.job.TaskID)),
		})
	}
	kind, end := c.Outcome() // as every driver reads a claim
	if y.Kind = kind; end != nil {
		y.Class, y.Err = failure.ClassOf(end), end
	}
	return y, nil
}

// signal gives one of the signals that the workflow takes, or an unknown one, and leaves the artifacts that it asks for.
func (s *played) signal(c *driver.Claim) error {
	var in struct {
		Phase    string `json:"phase"`
		Workflow struct {
			Accepted []string `json:"accepted_signals"`
		} `json:"workflow"`
	}
	if err := json.Unmarshal(s.job.Payload, &in); err != nil || len(in.Workflow.Accepted) == 0 {
		return err
	}
	rng := s.l.rng
	n := rng.IntN(12)
	if i := slices.IndexFunc(in.Workflow.Accepted, func(w string) bool { return strings.HasPrefix(w, "complete") }); s.l.world.calm && i >= 0 {
		in.Workflow.Accepted, n = in.Workflow.Accepted[i:i+1], 11
	}
	switch n {
	case 0: // no signal
	case 1:
		c.WorkflowSignal = "abracadabra"
	default:
		c.WorkflowSignal = in.Workflow.Accepted[rng.IntN(len(in.Workflow.Accepted))]
	}
	if in.Phase == "" || rng.IntN(15) == 0 && !s.l.world.calm { // an artifact that is missing is refused
		return nil
	}
	return os.WriteFile(filepath.Join(s.job.Dirs.Artifacts, in.Phase+".md"), []byte("# "+in.Phase+"\n"), 0o600)
}
