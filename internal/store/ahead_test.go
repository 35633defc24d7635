package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/store/state"
)

// A rehearsal leaves no row, no event and no lock behind, and the settlement after it has nothing left to compile.
func TestRehearse(t *testing.T) {
	t.Parallel()
	s, d, _ := oneThatWrites(t)
	ctx := t.Context()
	c, err := s.EnqueueClaimed(ctx, plainTask("mine"), ClaimOptions{RunnerID: "me", Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(ctx, c.Ref, Begin{AdapterID: "a", AdapterKind: "script"}); err != nil {
		t.Fatal(err)
	}
	before := everyRow(t, s)
	s.Rehearse(ctx, c.Ref)
	if diff := cmp.Diff(before, everyRow(t, s)); diff != "" {
		t.Errorf("the rehearsal changed the database (-before +after):\n%s", diff)
	}
	known := maps.Clone(d.stmts)
	settlement := Settlement{
		State: string(state.Completed), Status: agentruntime.TaskCompleted, BundleID: "b",
		Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, OperatorSummary: "done"},
		Usage:   []UsagePart{{Day: s.now().UTC().Format(time.DateOnly), Model: "m", Usage: Usage{Turns: 1, AgentMS: 5}}},
	}
	if err := s.Settle(Soon(ctx), c.Ref, settlement); err != nil {
		t.Fatal(err)
	}
	if _, err := s.OutboxDue(ctx, "kind", 1); err != nil {
		t.Fatal(err)
	}
	if err := s.DropRunner(Soon(ctx), "me"); err != nil {
		t.Fatal(err)
	}
	for q := range d.stmts {
		if known[q] == nil {
			t.Errorf("the end compiled %.120s", q)
		}
	}
	// One for an attempt that has ended, or with a context that has, changes nothing either.
	before = everyRow(t, s)
	s.Rehearse(ctx, c.Ref)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	s.Rehearse(gone, c.Ref)
	if diff := cmp.Diff(before, everyRow(t, s)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// What leads to an agent finds its statements compiled, and nothing was changed for it.
func TestCompileAhead(t *testing.T) {
	t.Parallel()
	s, d, _ := oneThatWrites(t)
	ctx := t.Context()
	before := everyRow(t, s)
	s.CompileAhead(ctx)
	if diff := cmp.Diff(before, everyRow(t, s)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	known := maps.Clone(d.stmts)
	c, err := s.EnqueueClaimed(Soon(ctx), plainTask("mine"), ClaimOptions{RunnerID: "me", Lease: time.Hour, Runner: &Runner{ID: "me"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.InsertRun(Soon(ctx), NewRun{RunID: "r", RunnerID: "me", Status: codebox.RunQueued, TaskID: c.Ref.TaskID, AttemptID: c.Ref.AttemptID})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(Soon(ctx), c.Ref, Begin{AdapterID: "a", AdapterKind: "script"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.UpdateRun(Soon(ctx), r.ID(), RunUpdate{To: codebox.RunBooting}); err != nil {
		t.Fatal(err)
	}
	for q := range d.stmts {
		if known[q] == nil && !strings.HasPrefix(q, "PRAGMA ") { // some of those take effect when they are compiled
			t.Errorf("%.120s was compiled when it was asked", q)
		}
	}
	// Neither a store that is closed nor a context that has ended is told of.
	gone, cancel := context.WithCancel(ctx)
	cancel()
	s.CompileAhead(gone)
	if err := s.Leave(); err != nil {
		t.Fatal(err)
	}
	s.CompileAhead(ctx)
}

// everyRow is all that is in a database.
func everyRow(t *testing.T, s *Store) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	each := func(q string, fn func(*sql.Rows) error) {
		rows, err := s.eng.(*sqliteDB).reader.QueryContext(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			if err := fn(rows); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	each(`SELECT name FROM sqlite_schema WHERE type = 'table'`, func(r *sql.Rows) error {
		var name string
		err := r.Scan(&name)
		out[name] = nil
		return err
	})
	for _, table := range slices.Collect(maps.Keys(out)) {
		each(`SELECT * FROM `+table, func(r *sql.Rows) error {
			columns, err := r.Columns()
			if err != nil {
				return err
			}
			row := make([]any, len(columns))
			for i := range row {
				row[i] = new(any)
			}
			err = r.Scan(row...)
			text := ""
			for i := range row {
				text += fmt.Sprintf("%s=%v ", columns[i], *row[i].(*any))
			}
			out[table] = append(out[table], text)
			return err
		})
	}
	return out
}

// A log that was shortened is begun anew by the next transaction, and nothing of it is lost. One that another process still reads
// stays as it is, and nobody waits for that process.
func TestShorten(t *testing.T) {
	t.Parallel()
	s, d, _ := oneThatWrites(t)
	ctx, path := t.Context(), d.path
	sources := 1
	add := func(n int) {
		t.Helper()
		for range n {
			sources++
			if _, err := s.Enqueue(ctx, plainTask(fmt.Sprint("source ", sources))); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(20)
	long := logFrames(t, path)
	s.Shorten(ctx)
	add(1)
	if short := logFrames(t, path); short >= long/5 {
		t.Errorf("the log has %d frames after it was shortened and one task was added, and had %d", short, long)
	}

	snapshot, err := d.reader.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	for _, q := range []string{"BEGIN", "SELECT count(*) FROM tasks"} {
		if _, err := snapshot.ExecContext(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	add(20)
	long = logFrames(t, path)
	s.Shorten(ctx)
	add(1)
	if after := logFrames(t, path); after <= long {
		t.Errorf("the log has %d frames, and had %d while somebody reads it", after, long)
	}
	var seen int
	if err := snapshot.QueryRowContext(ctx, "SELECT count(*) FROM tasks").Scan(&seen); err != nil || seen != 22 {
		t.Errorf("who reads on sees %d tasks (%v), and saw 22", seen, err)
	}
	if _, err := snapshot.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}

	before := everyRow(t, s)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	s.Shorten(gone)
	s.Shorten(ctx)
	if err := s.Leave(); err != nil {
		t.Fatal(err)
	}
	again := openFile(t, path)
	if diff := cmp.Diff(before, everyRow(t, again)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if n := len(before["tasks"]); n != sources {
		t.Errorf("%d tasks of %d", n, sources)
	}
	s.Shorten(ctx) // of a store that was left: nothing
}

// logFrames counts the frames that a process reads when it opens the store: those of the salt that the log was begun with.
func logFrames(t *testing.T, path string) (n int) {
	t.Helper()
	text, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	const header, frame = 32, 24 + 4096
	for at := header; at+frame <= len(text) && bytes.Equal(text[at+8:at+16], text[16:24]); at += frame {
		n++
	}
	return n
}
