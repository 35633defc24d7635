package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

// schemaKnown is the newest migration that this binary carries. Migrations only go forward, and a released one is
// never edited.
const schemaKnown = 23

//go:embed migrations
var migrations embed.FS

// schemaVersion reads the schema's version, 0 for an empty database, and the ageing step of the ranks.
func (s *Store) schemaVersion(ctx context.Context) (version, step int64, err error) {
	var text *string
	err = s.eng.read().row(ctx, `SELECT (SELECT max(version_id) FROM schema_migrations WHERE is_applied),
		(SELECT value FROM controls WHERE name = 'ageing_step')`).Scan(&version, &text)
	if err == nil {
		if text != nil {
			step, err = strconv.ParseInt(*text, 10, 64)
		}
		return version, step, err
	}
	// Something of it is not there. Whether that is an empty database is asked apart, so that the common case is
	// one query.
	if v, ok := s.probe(ctx); ok {
		return v, 0, nil
	}
	if s.Dialect() == SQLite {
		// One question for both: another deed may begin to migrate between two.
		var tables, ours int
		if cerr := s.eng.read().row(ctx, `SELECT count(*), count(CASE WHEN name = 'schema_migrations' THEN 1 END) FROM sqlite_master`).Scan(&tables, &ours); cerr != nil {
			return 0, 0, classify(cerr)
		}
		if tables > 0 && ours == 0 {
			return 0, 0, ErrForeign
		}
		return 0, 0, nil
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Code == "42P01" { // undefined_table
		return 0, 0, nil
	}
	return 0, 0, classify(err)
}

// probe reads the version of a database whose other tables this binary does not know.
func (s *Store) probe(ctx context.Context) (int64, bool) {
	var v *int64
	if err := s.eng.read().row(ctx, `SELECT max(version_id) FROM schema_migrations WHERE is_applied`).Scan(&v); err != nil {
		return 0, false
	}
	if v == nil {
		return 0, true
	}
	return *v, true
}

// migrateLock is the key of the advisory lock that keeps two migrating processes apart on PostgreSQL.
const migrateLock = 0x64656564 // "deed"

// migrate applies what is missing, each migration in its own transaction. Processes that open a new store at the same
// moment wait for each other, by an advisory lock on PostgreSQL and by one of the file system on SQLite. Where a file system has no
// locks, the second one fails on what the first one has made, looks again and finds the work done, a second later.
func (s *Store) migrate(ctx context.Context, have int64) error {
	db, err := s.eng.migrateDB(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	dialect := goose.DialectSQLite3
	if s.Dialect() == Postgres {
		dialect = goose.DialectPostgres
		unlock, err := advisoryLock(ctx, db)
		if err != nil {
			return classify(err)
		}
		defer unlock()
	} else {
		db.SetMaxOpenConns(1)
		defer lockMigration(s.eng.(*sqliteDB).path)()
	}
	sub, err := fs.Sub(migrations, "migrations/"+s.Dialect())
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, sub,
		goose.WithTableName("schema_migrations"), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		if _, err = p.Up(ctx); err == nil {
			return nil
		}
		if v, ok := s.probe(ctx); ok && v >= schemaKnown {
			return nil
		}
		if try == 5 || ctx.Err() != nil || s.Dialect() == Postgres {
			return fmt.Errorf("migrate from schema %d to %d: %w", have, schemaKnown, classify(err))
		}
	}
}

// lockMigration waits, at most ten seconds, for another process that migrates the database at path, and returns a function that releases the
// lock. The lock is on a directory next to the database, which exists as long as a migration runs.
func lockMigration(path string) (unlock func()) {
	dir := path + "-migrating"
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return func() {}
	}
	release, err := atomicfile.LockDir(dir)
	if err != nil {
		return func() {} // it was taken away after the work was done, or takes too long
	}
	return func() {
		_ = os.Remove(dir) // who waits for it finds everything done
		release()
	}
}

// advisoryLock waits for the lock and returns what gives it back.
func advisoryLock(ctx context.Context, db *sql.DB) (func(), error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, migrateLock); err != nil {
		_ = c.Close()
		return nil, err
	}
	return func() {
		_, _ = c.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, migrateLock)
		_ = c.Close()
	}, nil
}
