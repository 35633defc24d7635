package dispatch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/store"
)

// An idle day writes nothing: the database has the same bytes after it, although schedules, workflows and tasks wait.
func TestAnIdleDayWritesNothing(t *testing.T) {
	l := newLife(t, 1, "")
	l.p.cfg.Sensors = nil // those that deed runs say now and then that they live
	ctx := context.Background()
	for i := range 20 {
		_, _, err := l.p.plans.Put(ctx, schedule.Plan{
			Name: fmt.Sprint("rare-", i), Every: 72 * time.Hour, Task: agentruntime.TaskIntent{TaskType: "script", Payload: json.RawMessage(`{}`)},
		}, "op")
		l.must(err)
		_, err = l.p.flows.Start(ctx, workflow.StartRequest{Type: "review", InstanceKey: fmt.Sprint(i), By: "op"})
		l.must(err)
	}
	_, err := l.p.Store.Enqueue(ctx, store.NewTask{
		Intent:    agentruntime.TaskIntent{TaskType: "script", Source: "later", Payload: json.RawMessage(`{}`)},
		ProfileID: "worker", AdapterID: "usual", MaxAttempts: 1, AvailableAt: l.clock().Add(72 * time.Hour),
	})
	l.must(err)
	var swept time.Time
	turn := func() { // of the loop in Serve
		l.p.upkeep(ctx, ServeOptions{}, &swept)
		n, err := l.p.fill(ctx, 0, func(*store.Claim) { t.Error("a task is due") })
		l.must(err)
		if n != 0 {
			t.Fatalf("%d tasks were claimed", n)
		}
		l.p.writeCycle(ctx)
		_ = l.p.sleep(ctx, false)
	}
	turn() // says once that it is idle
	turn()
	before := bytesOf(t, l.dsn)
	for i := range 24 * 120 {
		l.pass(30 * time.Second)
		if i%500 != 0 {
			l.p.deep = l.clock() // a deep sweep reads the whole machine: some are enough
		}
		turn()
	}
	if after := bytesOf(t, l.dsn); after != before {
		t.Error("an idle day changed the database")
	}
	l.p.did(func(w *store.CycleWork) { w.Sent++ })
	turn()
	if bytesOf(t, l.dsn) == before {
		t.Error("work does not change the bytes: this test sees nothing")
	}
}

// A stop that comes while the loop is about to claim is a stop, and no failure.
func TestAStopBeforeAClaimIsNoFailure(t *testing.T) {
	l := newLife(t, 1, "")
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := l.p.Serve(ctx, ServeOptions{UntilIdle: true, Cycle: func(Report) { stop() }}); err != nil || ctx.Err() == nil {
		t.Errorf("it ended with %v", err)
	}
}

// bytesOf is the digest of a database with its log.
func bytesOf(t *testing.T, path string) string {
	t.Helper()
	h := sha256.New()
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%d:", len(data))
		_, _ = h.Write(data)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
