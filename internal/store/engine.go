package store

import (
	"context"
	"database/sql"
	"strings"

	"github.com/deedrun/deed/internal/base/crashpoint"
)

// A conn runs statements. Their texts are the same on both engines; see toPostgres and toSQLite for the few words that are not.
type conn interface {
	exec(ctx context.Context, q string, args ...any) (sql.Result, error)
	query(ctx context.Context, q string, args ...any) (rows, error)
	row(ctx context.Context, q string, args ...any) scanner
}

// A scanner is a row that can be read once, and must be.
type scanner interface{ Scan(dest ...any) error }

// rows are a *sql.Rows. They must be closed.
type rows interface {
	scanner
	Next() bool
	Err() error
	Close() error
}

// A tx is a conn inside a write transaction.
type tx interface {
	conn
	// insertTasks inserts rows in the given order together with one task_enqueued event for each.
	insertTasks(ctx context.Context, rows []taskRow) error
	// values is the text of rows of parameters, in the engine's own way to write them.
	values(rows, columns int) string
	// notify wakes the listeners of other processes when the transaction commits.
	notify(ctx context.Context) error
}

// An engine is one of the two databases.
type engine interface {
	dialect() string
	// read returns a conn for reads outside of a transaction.
	read() conn
	// write runs fn in one transaction, and commits when fn returns nil. If the engine aborts the transaction, fn may run again from
	// its start; it must have no effect except on the tx and on variables that it resets.
	write(ctx context.Context, fn func(ctx context.Context, t tx) error) error
	// enqueue inserts tasks that need nothing else in their transaction.
	enqueue(ctx context.Context, rows []taskRow) error
	listen(ctx context.Context) (<-chan struct{}, error)
	// settle returns when the fate of every event that has a number by now is decided.
	settle(ctx context.Context) error
	close() error
	// migrateDB returns the handle and the lock that migrations need.
	migrateDB(ctx context.Context) (*sql.DB, error)
}

// What only PostgreSQL has. SQLite's write transaction excludes every other writer, so that there is nothing to lock.
// PostgreSQL takes a set that a query returns as an array, because it would plan a join for IN, and for a join it may
// read the whole table.
const (
	forUpdate  = "{FOR UPDATE}"
	skipLocked = "{FOR UPDATE SKIP LOCKED}"
	inSet      = "{IN}"
	endSet     = "{END}"
)

var (
	toPostgres = strings.NewReplacer(forUpdate, "FOR UPDATE", skipLocked, "FOR UPDATE SKIP LOCKED", inSet, "= ANY (ARRAY(", endSet, "))")
	// SQLite plans by the value of a bare parameter, as a LIMIT or after an equals sign in a query with ORDER BY, and so compiles the
	// statement again whenever one is bound: four times the work for a short one. In an expression it does not look at the value.
	toSQLite = strings.NewReplacer(forUpdate, "", skipLocked, "", inSet, "IN (", endSet, ")", "LIMIT $", "LIMIT 0+$", "= $", "= +$")
)

// rewrite turns a statement into PostgreSQL's words. SQLite's are made where a statement is compiled, which happens once.
func rewrite(q string) string {
	if strings.IndexByte(q, '{') < 0 {
		return q
	}
	return toPostgres.Replace(q)
}

// write is a transaction with classified errors.
func (s *Store) write(ctx context.Context, fn func(ctx context.Context, t tx) error) error {
	if checking(ctx) != nil {
		return errCheckWrites
	}
	g := guardOf(ctx)
	err := s.eng.write(ctx, guarding(g, acting(ctx, fn)))
	if err == nil {
		if g != nil {
			g.met.Store(true)
		}
		crashpoint.Hit(crashpoint.StoreWritten)
	}
	return s.commits.tell(classify(err))
}

// an errRow is a scanner that has failed already.
type errRow struct{ err error }

func (r errRow) Scan(...any) error { return r.err }
