package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// How every connection is set. synchronous(FULL) makes a commit wait for the disk; with WAL that is one fsync.
const (
	sqliteReaders   = 4
	sqliteAll       = "_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)"
	sqliteReader    = sqliteAll + "&_pragma=query_only(1)"
	sqliteWriter    = sqliteAll + "&_pragma=synchronous(FULL)"
	sqliteMigrator  = sqliteWriter + "&_pragma=journal_mode(WAL)&_txlock=immediate"
	sqliteBatchRows = 100 // rows of one multi-row insert
)

// sqliteDB is the embedded engine: one connection writes, a small pool reads. Readers never wait for the writer.
type sqliteDB struct {
	path    string
	reader  *sql.DB
	readers stmtCache

	// turn holds one token. Who has it may use the fields below: SQLite has one writer at a time anyway, and
	// waiting here is fair and can be cancelled.
	turn   chan struct{}
	writer *sql.DB
	conn   *sql.Conn
	logs   bool // conn has made sure that the database has a log
	stmts  map[string]*sql.Stmt
}

func openSQLite(path string) (engine, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return nil, invalid("open store: path %q is empty or has a NUL; give the path of a file", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	// The file is made here and not by SQLite so that its mode is private; the log files take it over.
	switch st, err := os.Stat(abs); {
	case err == nil && st.IsDir():
		return nil, invalid("open store: %s is a directory; give the path of a file", abs)
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(abs, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open store: %w", classify(err))
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
	case err != nil:
		return nil, fmt.Errorf("open store: %w", classify(err))
	}
	d := &sqliteDB{path: abs, turn: make(chan struct{}, 1), stmts: map[string]*sql.Stmt{}}
	d.turn <- struct{}{}
	if d.reader, err = sql.Open("sqlite", d.dsn(sqliteReader)); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	d.reader.SetMaxOpenConns(sqliteReaders)
	d.reader.SetMaxIdleConns(sqliteReaders)
	d.readers.db = d.reader
	return d, nil
}

func (d *sqliteDB) dsn(params string) string {
	return "file:" + (&url.URL{Path: d.path}).EscapedPath() + "?mode=rw&" + params
}

func (d *sqliteDB) dialect() string { return SQLite }

func (d *sqliteDB) read() conn { return &d.readers }

// openWriter opens the writing connection when it is needed first: most commands only read.
func (d *sqliteDB) openWriter(ctx context.Context) error {
	if d.conn != nil {
		return nil
	}
	if d.writer == nil {
		db, err := sql.Open("sqlite", d.dsn(sqliteWriter))
		if err != nil {
			return err
		}
		db.SetMaxOpenConns(1)
		d.writer = db
	}
	c, err := d.writer.Conn(ctx)
	if err != nil {
		return err
	}
	d.conn, d.logs = c, false
	return nil
}

// keepLog gives the database its log, which a copy that somebody made of it may lack. Before the first write nothing is changed: the
// file may be somebody else's.
func (d *sqliteDB) keepLog(ctx context.Context) error {
	if d.logs {
		return nil
	}
	_, err := (*sqliteTx)(d).exec(context.WithoutCancel(ctx), "PRAGMA journal_mode = WAL")
	d.logs = err == nil
	return err
}

func (d *sqliteDB) lock(ctx context.Context) error {
	select {
	case <-d.turn:
		return nil
	default:
	}
	select {
	case <-d.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *sqliteDB) unlock() { d.turn <- struct{}{} }

var errStoreClosed = fmt.Errorf("the store is closed: %w", ErrUnavailable)

func (d *sqliteDB) write(ctx context.Context, fn func(context.Context, tx) error) (err error) {
	if err := d.lock(ctx); err != nil {
		return err
	}
	defer d.unlock()
	if d.stmts == nil {
		return errStoreClosed
	}
	if err := d.openWriter(ctx); err != nil {
		return err
	}
	if err := d.keepLog(ctx); err != nil {
		return err
	}
	t := (*sqliteTx)(d)
	// Waiting for another process's lock can be cancelled. What follows takes milliseconds and is not: a context
	// that can be cancelled costs a goroutine for each statement.
	inner := context.WithoutCancel(ctx)
	if _, err := t.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		// The driver reports the end of the context also when BEGIN itself succeeded: a transaction left open here
		// would hold the lock for ever. Outside of one, ROLLBACK is an error that means nothing.
		if ctx.Err() != nil {
			if _, rerr := t.exec(inner, "ROLLBACK"); rerr != nil && !strings.Contains(rerr.Error(), "no transaction is active") {
				d.dropWriter()
			}
		}
		return err
	}
	done := false
	defer func() {
		if !done { // an error or a panic
			if _, rerr := t.exec(inner, "ROLLBACK"); rerr != nil {
				d.dropWriter()
			}
		}
	}()
	if err := fn(inner, t); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if _, err := t.exec(inner, "COMMIT"); err != nil {
		return err
	}
	done = true
	return nil
}

// dropWriter gives up a connection whose transaction cannot be ended; closing it rolls back.
func (d *sqliteDB) dropWriter() {
	for q, s := range d.stmts {
		_ = s.Close()
		delete(d.stmts, q)
	}
	if d.conn != nil {
		_ = d.conn.Close()
		d.conn = nil
	}
	if d.writer != nil {
		_ = d.writer.Close()
		d.writer = nil
	}
}

func (d *sqliteDB) enqueue(ctx context.Context, rows []taskRow) error {
	return d.write(ctx, func(ctx context.Context, t tx) error { return t.insertTasks(ctx, rows) })
}

func (d *sqliteDB) listen(context.Context) (<-chan struct{}, error) { return nil, nil }

func (d *sqliteDB) close() error {
	_ = d.lock(context.Background())
	defer d.unlock()
	d.readers.close()
	err := d.reader.Close()
	for _, s := range d.stmts {
		_ = s.Close()
	}
	d.stmts = nil
	if d.conn != nil {
		err = errors.Join(err, d.conn.Close())
	}
	if d.writer != nil {
		err = errors.Join(err, d.writer.Close())
	}
	d.conn, d.writer = nil, nil
	return err
}

func (d *sqliteDB) migrateDB(context.Context) (*sql.DB, error) {
	return sql.Open("sqlite", d.dsn(sqliteMigrator))
}

// sqliteTx is the writer inside a transaction. Statements are compiled once for the life of the connection.
type sqliteTx sqliteDB

func (t *sqliteTx) stmt(ctx context.Context, q string) (*sql.Stmt, error) {
	if s, ok := t.stmts[q]; ok {
		return s, nil
	}
	s, err := t.conn.PrepareContext(context.WithoutCancel(ctx), toSQLite.Replace(q))
	if err != nil {
		return nil, err
	}
	t.stmts[q] = s
	return s, nil
}

func (t *sqliteTx) exec(ctx context.Context, q string, args ...any) (sql.Result, error) {
	s, err := t.stmt(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

func (t *sqliteTx) query(ctx context.Context, q string, args ...any) (rows, error) {
	s, err := t.stmt(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...) //nolint:rowserrcheck // eachRow asks
}

func (t *sqliteTx) row(ctx context.Context, q string, args ...any) scanner {
	s, err := t.stmt(ctx, q)
	if err != nil {
		return errRow{err}
	}
	return s.QueryRowContext(ctx, args...)
}

var sqliteShapes shapes

// values has parameters without numbers: the driver asks for the name of each one that has, and every answer is a walk.
func (t *sqliteTx) values(rows, columns int) string {
	return sqliteShapes.text(shape{rows, columns}, func(int) string { return "?" })
}

func (t *sqliteTx) notify(context.Context) error { return nil }

// insertRows numbers what it inserts without a gap, and what is in the way of a row takes no number.
func (t *sqliteTx) insertRows(ctx context.Context, q string, args ...any) (first int64, n int, err error) {
	res, err := t.exec(ctx, q, args...)
	if err != nil {
		return 0, 0, err
	}
	made, err := res.RowsAffected()
	if err != nil {
		return 0, 0, err
	}
	last, err := res.LastInsertId()
	return last - made + 1, int(made), err
}

// insertTasks uses the widest multi-row insert that fits, and copies the events out of the rows just written:
// SQLite gives one writer consecutive row ids.
func (t *sqliteTx) insertTasks(ctx context.Context, rows []taskRow) error {
	if len(rows) == 0 {
		return nil
	}
	var last int64
	args := make([]any, 0, sqliteBatchRows*taskInsertColumns)
	for i := 0; i < len(rows); {
		n := 1
		if len(rows)-i >= sqliteBatchRows {
			n = sqliteBatchRows
		}
		args = args[:0]
		for _, r := range rows[i : i+n] {
			args = r.appendArgs(args)
		}
		res, err := t.exec(ctx, sqliteInsert[n], args...)
		if err != nil {
			return err
		}
		if last, err = res.LastInsertId(); err != nil {
			return err
		}
		i += n
	}
	_, err := t.exec(ctx, sqliteEnqueued, last-int64(len(rows))+1, last)
	if err != nil {
		return err
	}
	return insertBodies(ctx, t, rows)
}

const sqliteEnqueued = `INSERT INTO events (type, at, task_id)
	SELECT 'task_enqueued', created_at, id FROM tasks WHERE seq BETWEEN $1 AND $2 ORDER BY seq`

var sqliteInsert = map[int]string{
	1:               sqliteInsertText(1),
	sqliteBatchRows: sqliteInsertText(sqliteBatchRows),
}

func sqliteInsertText(rows int) string {
	one := "(" + strings.TrimSuffix(strings.Repeat("?,", taskInsertColumns), ",") + ")"
	return "INSERT INTO tasks (" + taskInsertNames + ") VALUES " + strings.TrimSuffix(strings.Repeat(one+",", rows), ",")
}
