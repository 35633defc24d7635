package store

import (
	"context"
	"database/sql"
	"sync"
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
