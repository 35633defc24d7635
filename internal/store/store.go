// Package store owns deed's durable state: tasks, attempts, artifacts, events, the outbox, runners, runs, fanouts, agents and
// required actions, in one schema on SQLite or PostgreSQL. It is the only package with SQL. It decides nothing about a run;
// it refuses what package state refuses, and every write of an attempt carries the fence of its claim.
//
// Each exported method that writes is one transaction, and its commit is its last act: when the method has returned
// nil, the effect is on the disk. When it has returned an error, nothing of it is, with one exception that no
// database can avoid: a connection that breaks during the commit leaves it open whether the commit happened.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/deedrun/deed/internal/base/clock"
)

// The dialects.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Options change how a store behaves. The zero value is the default.
type Options struct {
	// Clock gives the present instant; nil means clock.System. Machines that share a PostgreSQL store must agree on
	// the time to within a small part of a lease.
	Clock clock.Clock

	// AgeingStep is the wait that is worth one step of priority. 0 means strict priority, then first in, first out.
	// The step is folded into each task's rank at enqueue; opening a store with another step recomputes the rank of the waiting
	// tasks.
	AgeingStep time.Duration
}

// A Store is safe for concurrent use by many goroutines, and several processes may open the same one.
type Store struct {
	eng   engine
	now   clock.Clock
	step  int64 // the ageing step in microseconds
	close sync.Once

	commits commits
}

// Open opens the store at dsn, makes it when it is not there, and migrates an older schema. A dsn that begins with
// postgres:// or postgresql:// is a PostgreSQL connection string; anything else is the path of a SQLite file, with
// an optional prefix "sqlite:".
//
// It returns ErrSchemaNewer, and touches nothing, when a newer deed has written the store.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.AgeingStep < 0 {
		return nil, fmt.Errorf("open store: ageing step %s is negative; use 0 for strict priority: %w", o.AgeingStep, ErrInvalid)
	}
	s := &Store{now: o.Clock, step: o.AgeingStep.Microseconds()}
	var err error
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		s.eng, err = openPostgres(dsn)
	} else {
		s.eng, err = openSQLite(strings.TrimPrefix(dsn, "sqlite:"))
	}
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		_ = s.eng.close()
		if d, ok := s.eng.(*sqliteDB); ok && errors.Is(err, ErrCorrupt) {
			err = fmt.Errorf("%w: %s (restore a backup of it, or move the home that it belongs to aside: deed makes a new one)", err, d.path)
		}
		return nil, err
	}
	return s, nil
}

// prepare brings the schema and the ranks to what this binary and these options need. A store that is current
// costs one query.
func (s *Store) prepare(ctx context.Context) error {
	have, step, err := s.schemaVersion(ctx)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	if have > schemaKnown {
		return fmt.Errorf("open store: %w", &SchemaNewerError{Have: have, Known: schemaKnown})
	}
	if have < schemaKnown {
		if err := s.migrate(ctx, have); err != nil {
			return fmt.Errorf("open store: %w", err)
		}
		if _, step, err = s.schemaVersion(ctx); err != nil {
			return fmt.Errorf("open store: %w", err)
		}
	}
	if step != s.step {
		if err := s.rerank(ctx); err != nil {
			return fmt.Errorf("open store: %w", err)
		}
	}
	return nil
}

// Close releases every connection. It waits for transactions that are under way.
func (s *Store) Close() error {
	var err error
	s.close.Do(func() { err = s.eng.close() })
	return err
}

// Dialect returns SQLite or Postgres.
func (s *Store) Dialect() string { return s.eng.dialect() }

// NewID returns a fresh id: a UUIDv7, so that ids sort by the time they were made.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// micros is the form in which instants are stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }
