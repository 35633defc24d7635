package store

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// A stmtCache is a conn over a pool that compiles each statement once for each connection.
type stmtCache struct {
	db *sql.DB
	m  sync.Map // string to *sql.Stmt
}

func (c *stmtCache) stmt(ctx context.Context, q string) (*sql.Stmt, error) {
	if s, ok := c.m.Load(q); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := c.db.PrepareContext(ctx, toSQLite.Replace(q))
	if err != nil {
		return nil, err
	}
	if old, loaded := c.m.LoadOrStore(q, s); loaded {
		_ = s.Close()
		return old.(*sql.Stmt), nil
	}
	return s, nil
}

func (c *stmtCache) exec(ctx context.Context, q string, args ...any) (sql.Result, error) {
	s, err := c.stmt(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

func (c *stmtCache) query(ctx context.Context, q string, args ...any) (rows, error) {
	s, err := c.stmt(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...) //nolint:rowserrcheck // eachRow asks
}

func (c *stmtCache) row(ctx context.Context, q string, args ...any) scanner {
	s, err := c.stmt(ctx, q)
	if err != nil {
		return errRow{err}
	}
	return s.QueryRowContext(ctx, args...)
}

func (c *stmtCache) close() {
	c.m.Range(func(_, s any) bool { _ = s.(*sql.Stmt).Close(); return true })
}

// sqliteShared reads through the writing connection while nobody uses it, and else through the readers. Every connection compiles
// the whole schema by itself, which takes a process that lives for one task longer than all that it reads.
//
// Rows that are not closed keep writes waiting, so nothing may be written between the first of them and the last.
type sqliteShared sqliteDB

// take returns the writing connection, until give, or nil when somebody uses it. The condition of a write reads as the write does.
func (c *sqliteShared) take(ctx context.Context) (t *sqliteTx, give func(), err error) {
	if t, ok := checking(ctx).(*sqliteTx); ok {
		return t, func() {}, nil
	}
	d := (*sqliteDB)(c)
	if !d.idle(ctx) {
		return nil, nil, nil
	}
	if d.stmts == nil {
		err = errStoreClosed
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = d.openWriter(ctx)
	}
	if err != nil {
		d.unlock()
		return nil, nil, err
	}
	return (*sqliteTx)(d), d.unlock, nil
}

// sharedWait is how long a read waits for the writing connection before it opens one for readers, which takes about as long. Most writes
// are over sooner.
const sharedWait = 4 * time.Millisecond

// idle takes the turn if nobody has it. While there is no connection for readers it waits a moment for that.
func (d *sqliteDB) idle(ctx context.Context) bool {
	select {
	case <-d.turn:
		return true
	default:
	}
	if d.reader.Stats().OpenConnections > 0 {
		return false
	}
	late := time.NewTimer(sharedWait)
	defer late.Stop()
	select {
	case <-d.turn:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

func (c *sqliteShared) exec(ctx context.Context, q string, args ...any) (sql.Result, error) {
	return c.readers.exec(ctx, q, args...)
}

func (c *sqliteShared) query(ctx context.Context, q string, args ...any) (rows, error) {
	t, give, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return c.readers.query(ctx, q, args...)
	}
	r, err := t.query(context.WithoutCancel(ctx), q, args...)
	if err != nil {
		give()
		return nil, err
	}
	return &sharedRows{r, sync.OnceFunc(give)}, nil
}

func (c *sqliteShared) row(ctx context.Context, q string, args ...any) scanner {
	t, give, err := c.take(ctx)
	if err != nil {
		return errRow{err}
	}
	if t == nil {
		return c.readers.row(ctx, q, args...)
	}
	return sharedRow{t.row(context.WithoutCancel(ctx), q, args...), give}
}

type sharedRows struct {
	rows
	give func()
}

func (r *sharedRows) Close() error {
	err := r.rows.Close()
	r.give()
	return err
}

type sharedRow struct {
	scanner
	give func()
}

func (r sharedRow) Scan(dest ...any) error {
	defer r.give()
	return r.scanner.Scan(dest...)
}
