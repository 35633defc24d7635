package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/deedrun/deed/contract/agentruntime"
)

// What a caller may decide on, with errors.Is. Everything else is a fault of the database or of deed.
var (
	// ErrNoTask: nothing is due, or the task that was asked for is not due yet or is being run.
	ErrNoTask = errors.New("no task is due")
	// ErrFenced: a later claim, a sweep or a settlement exists; the holder of this Ref must stop and write nothing.
	ErrFenced = errors.New("the claim is no longer held: a later claim or settlement exists")
	// ErrNotFound: there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrAmbiguous: the id prefix fits more than one row.
	ErrAmbiguous = errors.New("the id prefix fits more than one; give more characters")
	// ErrTerminal: the task has ended, so the operation does not apply. The error is a *StatusError.
	ErrTerminal = errors.New("the task has ended")
	// ErrRunning: the task is running, so the operation does not apply. The error is a *StatusError.
	ErrRunning = errors.New("the task is running")
	// ErrDuplicate: another task holds the dedupe key. The error is a *DuplicateError with its id.
	ErrDuplicate = errors.New("another task holds the dedupe key")
	// ErrExists: there is one already with this name.
	ErrExists = errors.New("it is there already")
	// ErrInvalid: the caller's argument cannot be stored. The text names the field and the remedy.
	ErrInvalid = errors.New("invalid argument")
	// ErrClosed: the action or outbox item was already answered, delivered or given up.
	ErrClosed = errors.New("already closed")
	// ErrStale: another writer changed the workflow, the constitution, or what a sensor has seen since it was read. The caller reads it again and
	// decides again.
	ErrStale = errors.New("it has changed meanwhile")
	// ErrDisabled: the sensor is switched off, and nothing is taken from it.
	ErrDisabled = errors.New("the sensor is disabled (`deed sensor enable` switches it on)")
	// ErrMayNotAnswer: the action lists who may answer it, and the caller is not among them.
	ErrMayNotAnswer = errors.New("not allowed to answer")
	// ErrSchemaNewer: a newer deed has written the store. The error is a *SchemaNewerError.
	ErrSchemaNewer = errors.New("the store was written by a newer deed")
	// ErrForeign: the file is a database of another program.
	ErrForeign = errors.New("the database belongs to another program")
	// ErrReadOnly: the store cannot be written: a read-only file, directory, file system or server.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrFull: the disk under the store is full.
	ErrFull = errors.New("the disk under the store is full")
	// ErrCorrupt: the file is damaged or is no database.
	ErrCorrupt = errors.New("the store is damaged or is no database")
	// ErrBusy: another process held the write lock for longer than the time limit.
	ErrBusy = errors.New("the store is locked by another process")
	// ErrUnavailable: the file or server cannot be reached.
	ErrUnavailable = errors.New("the store cannot be reached")
)

// A SchemaNewerError says which schema the store has and which one this binary knows.
type SchemaNewerError struct{ Have, Known int64 }

func (e *SchemaNewerError) Error() string {
	return fmt.Sprintf("the store has schema %d and this deed knows up to %d: use the newer deed that wrote it", e.Have, e.Known)
}

// Is makes errors.Is(err, ErrSchemaNewer) true.
func (e *SchemaNewerError) Is(target error) bool { return target == ErrSchemaNewer }

// A StatusError says that a task's state does not allow the operation.
type StatusError struct {
	TaskID string
	Status agentruntime.TaskStatus
	Kind   error // ErrTerminal or ErrRunning
}

func (e *StatusError) Error() string { return fmt.Sprintf("task %s is %s", e.TaskID, e.Status) }

// Unwrap returns ErrTerminal or ErrRunning.
func (e *StatusError) Unwrap() error { return e.Kind }

// A DuplicateError names the task that holds the dedupe key.
type DuplicateError struct{ Key, TaskID string }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("dedupe key %q is held by task %s", e.Key, e.TaskID)
}

// Is makes errors.Is(err, ErrDuplicate) true.
func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }

// invalid names a field that cannot be stored, and the remedy.
func invalid(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrInvalid)...)
}

// classify adds the sentinel that fits a driver's error. Codes decide, never texts.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if kind := kindOf(err); kind != nil && !errors.Is(err, kind) {
		return fmt.Errorf("%w: %w", kind, err)
	}
	return err
}

func kindOf(err error) error {
	var se *sqlite.Error
	if errors.As(err, &se) {
		switch se.Code() & 0xff {
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
			return ErrReadOnly
		case sqlite3.SQLITE_FULL:
			return ErrFull
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return ErrCorrupt
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return ErrBusy
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR:
			if se.Code() == sqlite3.SQLITE_IOERR_SHMSIZE { // there is no room for the file that readers share
				return ErrFull
			}
			return ErrUnavailable
		}
		return nil
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		switch {
		case pe.Code == "25006":
			return ErrReadOnly
		case pe.Code == "53100":
			return ErrFull
		case pe.Code == "XX001" || pe.Code == "XX002":
			return ErrCorrupt
		case pe.Code == "55P03":
			return ErrBusy
		case pe.Code[:2] == "08" || pe.Code[:2] == "57" || pe.Code[:2] == "53" || pe.Code[:2] == "28" || pe.Code == "3D000":
			return ErrUnavailable
		}
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	var ne *net.OpError
	var ce *pgconn.ConnectError
	if errors.As(err, &ce) || errors.As(err, &ne) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return ErrUnavailable
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return ErrReadOnly
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return ErrFull
	}
	return nil
}

// transient reports whether PostgreSQL gave the transaction up for the sake of another one; it may be run again.
func transient(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && (pe.Code == "40001" || pe.Code == "40P01")
}
