package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/deedrun/deed/internal/store/pgtest"
)

// wakeLimit is far above what a wake-up takes; only a lost one reaches it.
const wakeLimit = 30 * time.Second

func TestListen(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	a, b := openFile(t, dsn), openFile(t, dsn)
	ctx, cancel := context.WithCancel(t.Context())
	wake, err := a.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	woken := func(by string) {
		t.Helper()
		select {
		case _, ok := <-wake:
			if !ok {
				t.Fatalf("closed at %s", by)
			}
		case <-time.After(wakeLimit):
			t.Fatalf("not woken by %s", by)
		}
	}
	out, err := b.Enqueue(ctx, plainTask("x"))
	if err != nil {
		t.Fatal(err)
	}
	woken("enqueue")
	big := plainTask("big")
	big.DedupeKey = "k"
	if _, err := b.Enqueue(ctx, big); err != nil {
		t.Fatal(err)
	}
	woken("a keyed enqueue")
	if err := b.Retry(ctx, out[0].TaskID, "", ""); err != nil {
		t.Fatal(err)
	}
	woken("retry")
	if err := b.Pause(ctx, "", ""); err != nil {
		t.Fatal(err)
	}
	woken("pause")
	if err := b.Resume(ctx, ""); err != nil {
		t.Fatal(err)
	}
	woken("resume")
	if _, err := b.Cancel(ctx, out[0].TaskID, "", ""); err != nil {
		t.Fatal(err)
	}
	woken("cancel")

	// The listener's connection is cut: it comes back, and wakes because it may have missed something.
	db := b.eng.(*postgresDB).db
	if _, err := db.ExecContext(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE 'LISTEN%'`); err != nil {
		t.Fatal(err)
	}
	woken("the new connection")
	if _, err := b.Enqueue(ctx, plainTask("y")); err != nil {
		t.Fatal(err)
	}
	woken("enqueue after the cut")

	cancel()
	for range wake { // it is closed when the context ends
	}
	again, err := a.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for range again { // and when the store is closed
	}
	if _, err := a.Listen(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("listen after close: %v", err)
	}
}

func TestListenOnSQLiteIsNil(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "deed.db"))
	if c, err := s.Listen(t.Context()); c != nil || err != nil {
		t.Fatalf("listen: %v %v", c, err)
	}
}

// The two engines have one schema: the same tables, columns, NULLs and indexes.
func TestSchemasAgree(t *testing.T) {
	t.Parallel()
	pg := openFile(t, pgtest.DSN(t))
	lite := openFile(t, filepath.Join(t.TempDir(), "deed.db"))
	list := func(s *Store, q string) []string {
		t.Helper()
		rows, err := s.eng.read().query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		if err := eachRow(rows, func() error {
			var table, column string
			var required bool
			err := rows.Scan(&table, &column, &required)
			out = append(out, fmt.Sprintf("%s.%s required=%v", table, column, required))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	// tally_log keeps the writers of PostgreSQL from waiting for each other's counters, and the views add it up. SQLite has one writer.
	const own = `('goose', 'schema_migrations', 'sqlite_sequence', 'tally', 'tally_log', 'tasks_made')`
	got := list(pg, `SELECT table_name, column_name, is_nullable = 'NO' FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name NOT IN `+own+` ORDER BY table_name COLLATE "C", ordinal_position`)
	want := list(lite, `SELECT m.name, c.name, c."notnull" = 1 OR c.pk > 0 FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT IN `+own+` ORDER BY m.name, c.cid`)
	if d := cmp.Diff(want, got); d != "" || len(want) < 80 {
		t.Fatalf("columns differ (-sqlite +postgres):\n%s", d)
	}
	words := strings.NewReplacer("public.", "", "= ANY (ARRAY[", "IN ", "])", " ", " USING btree", "", `"`, "", "::text", "", " COLLATE C", "", "(", " ", ")", " ", ",", " ")
	indexes := func(s *Store, q string) (out []string) {
		t.Helper()
		rows, err := s.eng.read().query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if err := eachRow(rows, func() error {
			var text string
			err := rows.Scan(&text)
			out = append(out, strings.Join(strings.Fields(words.Replace(text)), " "))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	got = indexes(pg, `SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%\_pkey'
		AND indexname NOT LIKE '%\_key' AND tablename <> 'tally_log' ORDER BY indexname COLLATE "C"`)
	want = indexes(lite, `SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`)
	if d := cmp.Diff(want, got); d != "" || len(want) < 10 {
		t.Fatalf("indexes differ (-sqlite +postgres):\n%s", d)
	}
}

// roundTrips counts what goes to the server.
type roundTrips struct{ n atomic.Int64 }

func (r *roundTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	r.n.Add(1)
	return ctx
}

func (r *roundTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Intake keeps up with enqueue because it is one statement too, and a run of a sensor needs few however many events it brings.
func TestIntakeNeedsFewRoundTrips(t *testing.T) {
	t.Parallel()
	s := openFile(t, pgtest.DSN(t))
	var trips roundTrips
	d := s.eng.(*postgresDB)
	d.cfg.Tracer = &trips
	_ = d.db.Close()
	d.db = stdlib.OpenDB(*d.cfg)
	ctx, n := t.Context(), 0
	seen := func() Intake {
		n++
		return Intake{Tasks: []NewTask{plainTask("x")}, Sensor: &NewSensorEvent{
			SensorID: "s", EventID: strconv.Itoa(n), SourceRef: "src", DedupeKey: strconv.Itoa(n), ObservedAt: time.Unix(1, 0), Payload: json.RawMessage(`{}`),
		}}
	}
	again := seen()
	for _, c := range []struct {
		name string
		most int64
		do   func() error
	}{
		{"enqueue", 1, func() error { _, err := s.Enqueue(ctx, plainTask("x")); return err }},
		{"intake", 1, func() error { _, err := s.TakeIn(ctx, again); return err }},
		{"intake of what was seen", 7, func() error { _, err := s.TakeIn(ctx, again); return err }},
		{"a run of a hundred", 5, func() error {
			run := SensorRun{SensorID: "s", Cursor: json.RawMessage(`1`), OK: true}
			for range 100 {
				run.Intakes = append(run.Intakes, seen())
			}
			out, err := s.TakeRun(ctx, run)
			for i := range out {
				if out[i].Sensor.Deduped || len(out[i].Tasks) != 1 {
					t.Errorf("%d: %+v", i, out[i])
				}
			}
			return err
		}},
	} {
		before := trips.n.Load()
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := trips.n.Load() - before; got > c.most {
			t.Errorf("%s: %d round trips, want at most %d", c.name, got, c.most)
		}
	}
	var empty int
	if err := d.db.QueryRowContext(ctx, `SELECT count(*) FROM tally_log WHERE n = 0`).Scan(&empty); err != nil || empty > 0 {
		t.Errorf("%d counts of nothing: %v", empty, err)
	}
}
