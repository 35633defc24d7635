package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// wakeChannel carries the wake-ups between processes. The notification has no content: a receiver looks for work.
const wakeChannel = "deed_wake"

// postgresDB is the shared engine. pgx prepares each statement once for each connection.
type postgresDB struct {
	cfg *pgx.ConnConfig
	db  *sql.DB

	mu        sync.Mutex
	closed    bool                 // guarded by mu
	listeners []context.CancelFunc // guarded by mu
	wg        sync.WaitGroup       // of the listeners
}

func openPostgres(dsn string) (engine, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, invalid("open store: the PostgreSQL connection string cannot be parsed; use postgres://user@host/database")
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "deed"
	}
	// A commit must be on the server's disk before it is acknowledged, whatever the server's default is.
	if cfg.RuntimeParams["synchronous_commit"] == "" {
		cfg.RuntimeParams["synchronous_commit"] = "on"
	}
	d := &postgresDB{cfg: cfg, db: stdlib.OpenDB(*cfg)}
	d.db.SetMaxOpenConns(16)
	d.db.SetMaxIdleConns(8)
	d.db.SetConnMaxIdleTime(5 * time.Minute)
	return d, nil
}

func (d *postgresDB) dialect() string { return Postgres }

func (d *postgresDB) read() conn { return pgConn{pgPool{d.db}} }

func (d *postgresDB) write(ctx context.Context, fn func(context.Context, tx) error) error {
	for try := 1; ; try++ {
		err := d.once(ctx, fn)
		if err == nil || !transient(err) || try == 5 || ctx.Err() != nil {
			return err
		}
	}
}

func (d *postgresDB) once(ctx context.Context, fn func(context.Context, tx) error) error {
	var o *sql.TxOptions
	if guardOf(ctx) != nil { // what changes behind its look makes the write fail, and begin again
		o = &sql.TxOptions{Isolation: sql.LevelRepeatableRead}
	}
	t, err := d.db.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }() // after an error or a panic; after a commit it does nothing
	if err := fn(ctx, pgTx{pgConn{t}}); err != nil {
		return err
	}
	return t.Commit()
}

// enqueue is one statement, and so a transaction of its own in one round trip.
func (d *postgresDB) enqueue(ctx context.Context, rows []taskRow) error {
	if anyLarge(rows) {
		return d.write(ctx, func(ctx context.Context, t tx) error {
			if err := t.insertTasks(ctx, rows); err != nil {
				return err
			}
			return t.notify(ctx)
		})
	}
	_, err := d.db.ExecContext(ctx, pgInsert+` SELECT pg_notify('`+wakeChannel+`', '')`, pgArrays(rows)...)
	return err
}

func (d *postgresDB) close() error {
	d.mu.Lock()
	d.closed = true
	for _, stop := range d.listeners {
		stop()
	}
	d.mu.Unlock()
	d.wg.Wait()
	return d.db.Close()
}

func (d *postgresDB) migrateDB(context.Context) (*sql.DB, error) {
	return stdlib.OpenDB(*d.cfg), nil
}

// listen holds one connection of its own. After a break it connects again and wakes its listener, because a
// notification may have been missed meanwhile.
func (d *postgresDB) listen(ctx context.Context) (<-chan struct{}, error) {
	c, err := d.listenConn(ctx)
	if err != nil {
		return nil, classify(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		cancel()
		_ = c.Close(context.WithoutCancel(ctx))
		return nil, errStoreClosed
	}
	d.listeners = append(d.listeners, cancel)
	wake := make(chan struct{}, 1)
	d.wg.Go(func() {
		defer cancel()
		defer close(wake)
		for pause := time.Duration(0); ; {
			if c != nil {
				if _, err := c.WaitForNotification(ctx); err == nil {
					pause = 0
					signal(wake)
					continue
				}
				end, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
				_ = c.Close(end)
				stop()
				c = nil
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause+50*time.Millisecond, 5*time.Second)
			if c, err = d.listenConn(ctx); err == nil {
				signal(wake)
			}
		}
	})
	return wake, nil
}

func (d *postgresDB) listenConn(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, d.cfg.Copy())
	if err != nil {
		return nil, err
	}
	if _, err := c.Exec(ctx, "LISTEN "+wakeChannel); err != nil {
		_ = c.Close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("listen: %w", err)
	}
	return c, nil
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

type pgHandle interface {
	ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, q string, args ...any) *sql.Row
}

// pgPool reads by any connection, but what the condition of a write reads is read in the transaction of that write.
type pgPool struct{ db *sql.DB }

func (p pgPool) of(ctx context.Context) pgHandle {
	if t, ok := checking(ctx).(pgTx); ok {
		return t.h
	}
	return p.db
}

func (p pgPool) ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error) {
	return p.of(ctx).ExecContext(ctx, q, args...)
}

func (p pgPool) QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error) {
	return p.of(ctx).QueryContext(ctx, q, args...)
}

func (p pgPool) QueryRowContext(ctx context.Context, q string, args ...any) *sql.Row {
	return p.of(ctx).QueryRowContext(ctx, q, args...)
}

type pgConn struct{ h pgHandle }

func (c pgConn) exec(ctx context.Context, q string, args ...any) (sql.Result, error) {
	return c.h.ExecContext(ctx, rewrite(q), args...)
}

func (c pgConn) query(ctx context.Context, q string, args ...any) (rows, error) {
	return c.h.QueryContext(ctx, rewrite(q), args...) //nolint:rowserrcheck // eachRow asks
}

func (c pgConn) row(ctx context.Context, q string, args ...any) scanner {
	return c.h.QueryRowContext(ctx, rewrite(q), args...)
}

type pgTx struct{ pgConn }

var pgShapes shapes

func (t pgTx) values(rows, columns int) string {
	return pgShapes.text(shape{rows, columns}, func(i int) string { return "$" + strconv.Itoa(i) })
}

func (t pgTx) notify(ctx context.Context) error {
	_, err := t.exec(ctx, `SELECT pg_notify('`+wakeChannel+`', '')`)
	return err
}

func (t pgTx) insertTasks(ctx context.Context, rows []taskRow) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := t.exec(ctx, pgInsert+` SELECT 1`, pgArrays(rows)...); err != nil {
		return err
	}
	return insertBodies(ctx, t, rows)
}

// pgInsert takes one array for each column. The order of the arrays is the order of insertion.
const pgInsert = `WITH t AS (
	INSERT INTO tasks (` + taskInsertNames + `)
	SELECT u.id, u.task_type, 'pending', u.lane, u.rank, u.priority, u.available_at, u.created_at, u.created_at,
		u.max_attempts, u.profile_id, u.adapter_id, u.model, u.dedupe_key, u.intent, u.payload
	FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::int[],
		$9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[])
		WITH ORDINALITY AS u(id, task_type, lane, rank, priority, available_at, created_at, max_attempts,
		profile_id, adapter_id, model, dedupe_key, intent, payload, n)
	ORDER BY u.n
	RETURNING seq, id, created_at
), e AS (
	INSERT INTO events (type, at, task_id) SELECT 'task_enqueued', created_at, id FROM t ORDER BY seq
)`

func pgArrays(rows []taskRow) []any {
	n := len(rows)
	var (
		id, typ, profile                        = make([]string, n), make([]string, n), make([]string, n)
		lane, max                               = make([]int32, n), make([]int32, n)
		rank, prio, avail, created              = make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		adapter, model, dedupe, intent, payload = make([]*string, n), make([]*string, n), make([]*string, n), make([]*string, n), make([]*string, n)
	)
	for i := range rows {
		r := &rows[i]
		id[i], typ[i], profile[i] = r.id, r.taskType, r.profile
		lane[i], max[i] = int32(r.lane), int32(r.maxAttempts)
		rank[i], prio[i], avail[i], created[i] = r.rank, r.priority, r.availableAt, r.createdAt
		adapter[i], model[i], dedupe[i] = ptr(r.adapter), ptr(r.model), ptr(r.dedupeKey)
		if !r.big() {
			intent[i], payload[i] = &r.intent, &r.payload
		}
	}
	return []any{id, typ, lane, rank, prio, avail, created, max, profile, adapter, model, dedupe, intent, payload}
}
