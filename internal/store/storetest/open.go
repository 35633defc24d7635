package storetest

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

func twoStores(t *testing.T, target Target) {
	b := setup(t, target)
	other := b.open(store.Options{})
	id := b.add(task("x"))[0]
	c, err := other.Claim(b.ctx, lease)
	b.ok(err)
	if c.Ref.TaskID != id {
		t.Fatalf("claimed %s", c.Ref.TaskID)
	}
	b.wantStatus(id, agentruntime.TaskRunning)
	_, err = b.s.Renew(b.ctx, c.Ref, time.Hour)
	b.ok(err)
}

func reopen(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x"))[0]
	b.ok(b.s.Close())
	b.ok(b.s.Close())
	b.s = b.open(store.Options{})
	b.wantStatus(id, agentruntime.TaskPending)
}

// Several processes may meet an empty database at the same moment.
func openConcurrent(t *testing.T, target Target) {
	b := newBench(t, target)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			s, err := store.Open(b.ctx, b.dsn, store.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = s.Close() }()
			if _, err := s.Enqueue(b.ctx, task("x")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b.s = b.open(store.Options{})
	n, err := b.s.Counts(b.ctx)
	b.ok(err)
	if n[agentruntime.TaskPending] != 6 {
		t.Fatalf("counts: %v", n)
	}
}

func schemaNewer(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x"))[0]
	_, err := b.raw().ExecContext(b.ctx, `INSERT INTO schema_migrations (version_id, is_applied) VALUES (99, TRUE)`)
	b.ok(err)
	_, err = store.Open(b.ctx, b.dsn, store.Options{})
	b.is(err, store.ErrSchemaNewer)
	var newer *store.SchemaNewerError
	if !errors.As(err, &newer) || newer.Have != 99 {
		t.Fatalf("error: %v", err)
	}
	b.wantStatus(id, agentruntime.TaskPending)
}

// raw opens the database a second time, without the store.
func (b *bench) raw() *sql.DB {
	b.Helper()
	driver := "sqlite"
	if b.s.Dialect() == store.Postgres {
		driver = "pgx"
	}
	db, err := sql.Open(driver, b.dsn)
	b.ok(err)
	b.Cleanup(func() { _ = db.Close() })
	return db
}

// Every migration is recorded, under the name that people look for.
func migrationsRecorded(t *testing.T, target Target) {
	b := setup(t, target)
	var n, newest int
	b.ok(b.raw().QueryRowContext(b.ctx, `SELECT count(*), max(version_id) FROM schema_migrations WHERE version_id > 0 AND is_applied`).Scan(&n, &newest))
	if n < 1 || n != newest {
		t.Fatalf("%d migrations recorded, the newest is %d", n, newest)
	}
}

func canceledContext(t *testing.T, target Target) {
	b := setup(t, target)
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if _, err := b.s.Enqueue(ctx, task("x")); !errors.Is(err, context.Canceled) {
		t.Fatalf("enqueue: %v", err)
	}
	if _, err := b.s.Claim(ctx, lease); !errors.Is(err, context.Canceled) {
		t.Fatalf("claim: %v", err)
	}
	if n, err := b.s.Counts(b.ctx); err != nil || len(n) != 0 {
		t.Fatalf("counts: %v %v", n, err)
	}
	b.add(task("x")) // the store still works
	b.claim()
}

func closeThenUse(t *testing.T, target Target) {
	b := setup(t, target)
	b.add(task("x"))
	b.ok(b.s.Close())
	if _, err := b.s.Enqueue(b.ctx, task("x")); err == nil {
		t.Fatal("enqueue after close")
	}
	if _, err := b.s.Task(b.ctx, store.NewID()); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Fatalf("read after close: %v", err)
	}
}
