package store_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	s, err := store.Open(ctx, filepath.Join(t.TempDir(), "deed.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Enqueue(ctx, store.NewTask{Intent: agentruntime.TaskIntent{TaskType: "x", Source: "s", Payload: json.RawMessage(`{"a": 1.0}`)}, ProfileID: "p", MaxAttempts: 2})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(ctx, store.ClaimOptions{RunnerID: "r", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if c.Task.ID() != out[0].TaskID || string(c.Task.Record.Payload) != `{"a": 1.0}` {
		t.Fatalf("%+v", c)
	}
	if err := s.Begin(ctx, c.Ref, store.Begin{AdapterID: "a", AdapterKind: "script"}); err != nil {
		t.Fatal(err)
	}
	err = s.Settle(ctx, c.Ref, store.Settlement{State: "completed", Class: "none", Status: agentruntime.TaskCompleted, Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK}})
	if err != nil {
		t.Fatal(err)
	}
	ev, _ := s.Events(ctx, store.EventFilter{TaskID: c.Ref.TaskID})
	for _, e := range ev {
		t.Log(e.Seq, e.Type, e.AttemptID, string(e.Detail))
	}
	t.Log(s.Counts(ctx))
}
