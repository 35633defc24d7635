package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/store/pgtest"
)

var makeFixture = flag.Bool("make-fixture", false, "write the file of the newest schema anew; only before it is released")

// Each file was written by a deed that knew that schema. Every later deed must open it, bring it up to date, and find
// in it what was put there.
func TestSchemas(t *testing.T) {
	t.Parallel()
	if *makeFixture {
		writeFixture(t, fmt.Sprintf("testdata/schema%d.db", schemaKnown))
	}
	for fixture, runs := range map[string]int{"testdata/schema1.db": 0, "testdata/schema2.db": 1, "testdata/schema3.db": 1, "testdata/schema4.db": 1, "testdata/schema5.db": 1, "testdata/schema6.db": 1, "testdata/schema7.db": 1, "testdata/schema8.db": 1, "testdata/schema9.db": 1, "testdata/schema10.db": 1, "testdata/schema11.db": 1, "testdata/schema12.db": 1, "testdata/schema13.db": 1, "testdata/schema14.db": 1, "testdata/schema15.db": 1, "testdata/schema16.db": 1, "testdata/schema17.db": 1, "testdata/schema18.db": 1, "testdata/schema21.db": 1, "testdata/schema22.db": 1, "testdata/schema23.db": 1} {
		t.Run(filepath.Base(fixture), func(t *testing.T) {
			t.Parallel()
			checkFixture(t, fixture, runs)
		})
	}
}

func checkFixture(t *testing.T, fixture string, runs int) {
	data, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "deed.db")
	write(t, path, data)
	s := openFile(t, path)
	if v, ok := s.probe(t.Context()); !ok || v != schemaKnown {
		t.Fatalf("schema %d, want %d", v, schemaKnown)
	}
	counts, err := s.Counts(t.Context()) // what ended before anybody counted was counted by the migration
	if d := cmp.Diff(map[agentruntime.TaskStatus]int64{
		agentruntime.TaskCompleted: 1, agentruntime.TaskPermanentFailure: 1, agentruntime.TaskBlocked: 1,
		agentruntime.TaskRunning: 1, agentruntime.TaskRetryableFailure: 1, agentruntime.TaskPending: 1,
	}, counts); err != nil || d != "" {
		t.Errorf("counts %v\n%s", err, d)
	}
	used, err := s.UsageByModel(t.Context(), "2000-01-01", "2100-01-01")
	if err != nil {
		t.Error(err)
	}
	for day, want := range used.Days { // and so was what had been used
		if got, err := s.UsageOfDay(t.Context(), day, ""); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v\n%s", day, err, cmp.Diff(want, got))
		}
	}
	got := map[string]agentruntime.TaskStatus{}
	list, err := s.Tasks(t.Context(), TaskFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range list {
		got[task.Record.Source] = task.Record.Status
		if string(task.Record.Payload) != `{ "n": 1.10 }` {
			t.Errorf("payload %s", task.Record.Payload)
		}
	}
	if d := cmp.Diff(map[string]agentruntime.TaskStatus{
		"done": agentruntime.TaskCompleted, "failed": agentruntime.TaskPermanentFailure, "blocked": agentruntime.TaskBlocked,
		"running": agentruntime.TaskRunning, "waiting": agentruntime.TaskRetryableFailure, "fresh": agentruntime.TaskPending,
	}, got); d != "" {
		t.Fatalf("tasks differ (-want +got):\n%s", d)
	}
	if faults, err := s.Audit(t.Context()); err != nil || len(faults) > 0 {
		t.Fatalf("audit: %v %v", faults, err)
	}
	if p, on, err := s.Paused(t.Context()); !on || err != nil || p.Reason != "kept" {
		t.Fatalf("pause: %+v %v %v", p, on, err)
	}
	ev, err := s.Events(t.Context(), EventFilter{})
	if err != nil || len(ev) < 20 {
		t.Fatalf("%d events: %v", len(ev), err)
	}
	// The queue goes on.
	for range 2 {
		if _, err := s.Claim(t.Context(), ClaimOptions{RunnerID: "r", Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	lost, err := s.Lost(t.Context(), []string{"gone"})
	if err != nil || len(lost) != 1 || lost[0].Task.Record.Source != "running" {
		t.Fatalf("lost: %+v %v", lost, err)
	}
	live, err := s.LiveRuns(t.Context())
	if err != nil || len(live) != runs {
		t.Fatalf("%d live runs: %v", len(live), err)
	}
	if _, err := s.InsertRun(t.Context(), NewRun{Status: evidence.RunBooting, RunnerID: "r"}); err != nil {
		t.Fatal(err)
	}
	open, err := s.Actions(t.Context(), ActionFilter{State: ActionOpen})
	if err != nil || len(open) != 1 {
		t.Fatalf("actions: %+v %v", open, err)
	}
	if err := s.AnswerAction(t.Context(), open[0].ID, json.RawMessage(`true`), "me"); err != nil {
		t.Fatal(err)
	}
}

func writeFixture(t *testing.T, fixture string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fixture.db")
	s := openFile(t, path)
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		in   *Settlement
	}{
		{"done", &Settlement{
			State: "completed", Class: "none", Status: agentruntime.TaskCompleted,
			Outcome:   &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, OperatorSummary: "done"},
			Artifacts: []agentruntime.ArtifactRecord{{Role: agentruntime.RoleOutput, RelativePath: "artifacts/out.txt"}},
			Outbox:    []OutboxItem{{Kind: OutboxFollowUpTask, Body: json.RawMessage(`{"task_type":"t"}`)}},
			Verdict:   json.RawMessage(`{"accepted":true}`), BundleDir: "bundles/x", BundleID: "x",
		}},
		{"failed", &Settlement{State: "failed_terminal", Class: "config", Status: agentruntime.TaskPermanentFailure, LastError: "no adapter"}},
		{"blocked", &Settlement{State: "resumable", Class: "blocked", Status: agentruntime.TaskBlocked, Action: &NewAction{Kind: "question", Prompt: "which?", Why: "two fit", ContextDigest: "sha256:1", MayAnswer: []string{"me"}}}},
		{"waiting", &Settlement{State: "failed_terminal", Class: "timeout", Status: agentruntime.TaskRetryableFailure, LastError: "slow"}},
		{"running", nil},
	} {
		n := plainTask(c.name)
		n.MaxAttempts, n.Intent.Payload = 3, json.RawMessage(`{ "n": 1.10 }`)
		claim, err := s.EnqueueClaimed(ctx, n, ClaimOptions{RunnerID: "gone", Lease: 100 * 365 * 24 * time.Hour})
		ok(err)
		ok(s.Begin(ctx, claim.Ref, Begin{AdapterID: "a", AdapterKind: "script"}))
		ok(s.UpdateUsage(ctx, claim.Ref, []UsagePart{{Day: "2026-01-31", Model: "m", Usage: Usage{Turns: 1, CostMicroUSD: 5}}}))
		if c.in != nil {
			ok(s.Settle(ctx, claim.Ref, *c.in))
		}
	}
	n := plainTask("fresh")
	n.Intent.Payload, n.DedupeKey = json.RawMessage(`{ "n": 1.10 }`), "key"
	_, err := s.Enqueue(ctx, n)
	ok(err)
	ok(s.PutRunner(ctx, Runner{ID: "gone", Host: "h", PID: 1}))
	_, err = s.InsertRun(ctx, NewRun{RunID: "run-of-the-past", Status: evidence.RunQueued, RunnerID: "gone"})
	ok(err)
	ok(s.Pause(ctx, "kept", "me"))
	ok(s.Close())
	db, err := s.eng.(*sqliteDB).migrateDB(context.Background())
	ok(err)
	_, err = db.Exec("VACUUM")
	ok(err)
	ok(db.Close())
	data, err := os.ReadFile(path)
	ok(err)
	ok(os.MkdirAll(filepath.Dir(fixture), 0o755))
	ok(os.WriteFile(fixture, data, 0o644))
}

// Events that were taken under the digests of earlier schemas are known when they come again.
func TestSensorKeysAreKept(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{"SQLite": filepath.Join(t.TempDir(), "deed.db"), "PostgreSQL": pgtest.DSN(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list []Intake
			for i, id := range []string{"1", "ä", strings.Repeat("é", 24), strings.Repeat("long ", 20) + "ü", "https://example.com/events/1000001"} {
				e := NewSensorEvent{SensorID: "s", EventID: id, SourceRef: "r", DedupeKey: "key of " + id, ObservedAt: clock.System(), Payload: json.RawMessage(`{}`)}
				if i == 3 {
					e.Late = "late"
				}
				list = append(list, Intake{Sensor: &e})
			}
			s := openFile(t, dsn)
			if _, err := s.TakeAll(t.Context(), list...); err != nil {
				t.Fatal(err)
			}
			digest := func(parts ...string) string {
				h := sha256.New()
				for _, p := range parts {
					fmt.Fprintf(h, "%d:%s", len(p), p)
				}
				return hex.EncodeToString(h.Sum(nil))
			}
			err := s.write(t.Context(), func(ctx context.Context, x tx) error {
				for _, in := range list {
					e := in.Sensor
					if _, err := x.exec(ctx, `UPDATE sensor_events SET same = $1, held = CASE WHEN held IS NOT NULL THEN $2 END WHERE event_id = $3`,
						digest(e.SensorID, e.EventID, e.SourceRef), digest(e.SensorID, e.DedupeKey), e.EventID); err != nil {
						return err
					}
				}
				text, err := migrations.ReadFile("migrations/" + s.Dialect() + "/00022_sensor_keys.sql")
				if err != nil {
					return err
				}
				for _, q := range strings.SplitAfter(string(text), ";\n") {
					if i := strings.Index(q, "UPDATE"); i >= 0 {
						if _, err := x.exec(ctx, q[i:]); err != nil {
							return err
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range list {
				again := *list[i].Sensor
				if i%2 == 0 {
					again.EventID += " by its key"
				}
				out, err := s.TakeIn(t.Context(), Intake{Sensor: &again})
				if err != nil || !out.Sensor.Deduped {
					t.Errorf("%s: %+v %v", again.EventID, out.Sensor, err)
				}
			}
		})
	}
}
