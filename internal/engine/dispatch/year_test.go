package dispatch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	os.Exit(m.Run())
}

// number reads a setting of make soak.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestYear lives some days of an agent's life: schedules, sensors, workflows, deliveries and people, with crashes, a clock that
// jumps, floods and definitions that turn bad; the invariants are checked after every step. DEED_YEAR_DAYS makes it longer,
// DEED_YEAR_SEED repeats one. It simulates the death of processes inside this one, so no other test may run at the same time.
func TestYear(t *testing.T) {
	days, seed := number(t, "DEED_YEAR_DAYS", 14), number(t, "DEED_YEAR_SEED", uint64(time.Now().UnixNano())%1_000_000)
	const day = 24 * time.Hour
	t.Run("sqlite", func(t *testing.T) { liveFor(t, seed, "", time.Duration(days)*day) })
	t.Run("postgres", func(t *testing.T) { liveFor(t, seed, pgtest.DSN(t), time.Duration(days)*day/4) })
}

func liveFor(t *testing.T, seed uint64, dsn string, span time.Duration) {
	l := newLife(t, seed, dsn)
	st, err := store.Open(context.Background(), l.dsn, store.Options{Clock: l.clock})
	l.must(err)
	t.Cleanup(func() { _ = st.Close() })
	l.seen = newChronicle(st)
	l.settle()
	end := l.clock().Add(span)
	steps := 0
	for l.clock().Before(end) {
		l.step()
		steps++
	}
	l.comeHome()
	t.Logf("what happened: %v", l.seen.types)
	t.Logf("seed %d: %d steps, %d processes of which %d died, %d events sent, %d tasks ended", seed, steps, l.born, l.deaths, l.world.events, len(l.seen.ends))
}

// rest reports whether nothing waits any more, for a person or for its time.
func (l *life) rest() bool {
	l.Helper()
	ctx := context.Background()
	_, due, err := l.seen.watch.NextDue(ctx)
	l.must(err)
	_, mail, err := l.seen.watch.NextOutbox(ctx)
	l.must(err)
	asked, err := l.seen.watch.Actions(ctx, store.ActionFilter{State: store.ActionOpen, Limit: 1})
	l.must(err)
	box, err := os.ReadDir(filepath.Join(l.dir, "box"))
	l.must(err)
	letters := slices.ContainsFunc(box, func(e os.DirEntry) bool { return !e.IsDir() })
	return !due && !mail && len(asked) == 0 && !letters
}

// comeHome lets everybody do what they owe. Then nothing may be left: whatever was begun has ended.
func (l *life) comeHome() {
	l.Helper()
	l.mu.Lock()
	l.world.calm = true
	l.mu.Unlock()
	l.healthy = true
	l.restart()
	l.do(func(ctx context.Context, p *process) error { return p.Store.Resume(ctx, "op") })
	for _, s := range plans {
		sc, err := l.seen.watch.Schedule(context.Background(), s.name)
		l.must(err)
		l.do(func(ctx context.Context, p *process) error {
			_, err := p.Store.EnableSchedule(ctx, sc.Record.ScheduleID, false, time.Time{}, "op")
			return err
		})
	}
	l.resend()
	for range 60 {
		l.pass(3 * time.Hour)
		l.answer(0)
		l.cycles(200)
		if l.rest() {
			break
		}
	}
	ctx := context.Background()
	for _, s := range []agentruntime.TaskStatus{agentruntime.TaskPending, agentruntime.TaskRunning, agentruntime.TaskRetryableFailure, agentruntime.TaskBlocked} {
		list, err := l.seen.watch.Tasks(ctx, store.TaskFilter{Status: []agentruntime.TaskStatus{s}})
		l.must(err)
		for _, x := range list {
			l.fault("at the end task %s is %s", x.ID(), s)
		}
	}
	flows, err := l.seen.watch.Workflows(ctx, store.WorkflowFilter{})
	l.must(err)
	for _, w := range flows {
		l.fault("at the end workflow %s is %s in %s", w.ID(), w.Record.Status, w.Record.CurrentState)
	}
	for key := range l.seen.expected {
		if l.seen.recorded[key] == 0 {
			l.fault("at the end event %s is nowhere", key)
		}
	}
	letters, err := l.seen.watch.Outbox(ctx, store.OutboxFilter{State: store.OutboxPending})
	l.must(err)
	for _, it := range letters {
		l.fault("at the end outbox item %s waits until %s: %s", it.ID, it.NextAt, it.LastError)
	}
}
