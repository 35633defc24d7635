package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
)

// oneThatWrites returns a store for a process that writes and ends, with a task in it.
func oneThatWrites(t *testing.T) (*Store, *sqliteDB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "deed.db")
	s, err := Open(t.Context(), path, Options{Writes: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	out, err := s.Enqueue(t.Context(), plainTask("x"))
	if err != nil {
		t.Fatal(err)
	}
	return s, s.eng.(*sqliteDB), out[0].TaskID
}

// Reads and writes that follow each other have one connection, and so has the condition of a write.
func TestOneThatWritesHasOneConnection(t *testing.T) {
	t.Parallel()
	s, d, id := oneThatWrites(t)
	look := func(ctx context.Context) error {
		if _, err := s.Tasks(ctx, TaskFilter{}); err != nil {
			return err
		}
		_, err := s.Task(ctx, id)
		return err
	}
	if err := look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Cancel(Guarded(t.Context(), look), id, "", "me"); err != nil {
		t.Fatal(err)
	}
	if n := d.reader.Stats().OpenConnections; n != 0 {
		t.Errorf("%d readers are open", n)
	}
}

// A read neither waits for a write nor sees what is not committed. Nor does one that failed keep writes waiting.
func TestReadBesideAWrite(t *testing.T) {
	t.Parallel()
	s, d, id := oneThatWrites(t)
	err := s.write(t.Context(), func(ctx context.Context, x tx) error {
		if _, err := x.exec(ctx, `UPDATE tasks SET priority = 7 WHERE id = $1`, id); err != nil {
			return err
		}
		got, err := s.Task(t.Context(), id)
		if err == nil && got.Record.Priority != 0 {
			t.Error("it sees what is not committed")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := d.reader.Stats().OpenConnections; n != 1 {
		t.Errorf("%d readers are open", n)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Task(gone, id); err == nil {
		t.Error("a read after the end of its context")
	}
	if _, err := s.eng.read().query(t.Context(), `SELECT nothing FROM tasks`); err == nil {
		t.Error("a read of what is not there")
	}
	if err := s.eng.read().row(t.Context(), `SELECT nothing FROM tasks`).Scan(); err == nil {
		t.Error("a read of what is not there")
	}
	if got, err := s.Task(t.Context(), id); err != nil || got.Record.Priority != 7 {
		t.Errorf("priority %d, %v", got.Record.Priority, err)
	}
	if _, err := s.Enqueue(t.Context(), plainTask("y")); err != nil {
		t.Fatal(err)
	}
}

// A copy that another program made of a database may have no log. It has one from the first write on.
func TestACopyGetsItsLog(t *testing.T) {
	t.Parallel()
	s, _, _ := oneThatWrites(t)
	path := filepath.Join(t.TempDir(), "copy.db")
	db, err := sql.Open("sqlite", s.eng.(*sqliteDB).path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), `VACUUM INTO ?`, path); err != nil {
		t.Fatal(err)
	}
	c := openFile(t, path)
	var before, after string
	if err := c.eng.read().row(t.Context(), `PRAGMA journal_mode`).Scan(&before); err != nil || before == "wal" {
		t.Fatalf("the copy begins with %q (%v)", before, err)
	}
	err = c.write(t.Context(), func(ctx context.Context, x tx) error { return x.row(ctx, `PRAGMA journal_mode`).Scan(&after) })
	if err != nil || after != "wal" {
		t.Errorf("the copy has %q (%v)", after, err)
	}
}
