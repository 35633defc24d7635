package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/state"
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
