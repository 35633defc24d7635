package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
)

// A copy that another program made of a database may have no log. It has one from the first write on.
func TestACopyGetsItsLog(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "deed.db"))
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
