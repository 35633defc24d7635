package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
)

func openFile(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func plainTask(source string) NewTask {
	return NewTask{Intent: agentruntime.TaskIntent{TaskType: "t", Source: source, Payload: json.RawMessage(`{}`)}, MaxAttempts: 1}
}

// A commit waits for the disk on every connection that writes, whatever SQLite's default may become.
func TestSQLiteIsDurableOnEveryWriter(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "deed.db"))
	d := s.eng.(*sqliteDB)
	check := func(name string, row func(q string) scanner) {
		t.Helper()
		for pragma, want := range map[string]string{
			"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "10000",
		} {
			var got string
			if err := row("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %s = %s, want %s (%v)", name, pragma, got, want, err)
			}
		}
	}
	writer := func(name string) {
		err := s.write(t.Context(), func(ctx context.Context, x tx) error {
			check(name, func(q string) scanner { return x.row(ctx, q) })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	writer("the writer")
	<-d.turn
	d.dropWriter()
	d.turn <- struct{}{}
	writer("the writer after a lost connection")
	m, err := d.migrateDB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	check("the migrator", func(q string) scanner { return m.QueryRowContext(t.Context(), q) })
	if _, err := d.reader.ExecContext(t.Context(), "DELETE FROM tasks"); err == nil {
		t.Error("a reader can write")
	}
}

func TestSQLiteFileIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deed.db")
	s := openFile(t, path)
	if _, err := s.Enqueue(t.Context(), plainTask("x")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + "-wal", path + "-shm"} {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", p, st.Mode())
		}
	}
}

func TestSQLiteNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"plain.db", "with space.db", "a?mode=memory&x#y%20z.db", "ünïcode.db", "-dash.db"} {
		path := filepath.Join(dir, name)
		s := openFile(t, "sqlite:"+path)
		if _, err := s.Enqueue(t.Context(), plainTask("x")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if st, err := os.Stat(path); err != nil || st.Size() == 0 {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func TestSQLiteRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	write(t, garbage, bytes.Repeat([]byte("not a database. "), 1000))
	truncated := filepath.Join(dir, "truncated.db")
	openFile(t, truncated)
	data, err := os.ReadFile(truncated)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.db")
	write(t, cut, data[:len(data)/2])
	foreign := filepath.Join(dir, "foreign.db")
	db, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE songs (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	for _, c := range []struct {
		name, path string
		want       error
	}{
		{"garbage", garbage, ErrCorrupt},
		{"half a database", cut, ErrCorrupt},
		{"another program's", foreign, ErrForeign},
		{"a directory", dir, ErrInvalid},
		{"no name", "", ErrInvalid},
		{"a NUL", "a\x00b", ErrInvalid},
		{"no parent", filepath.Join(dir, "no", "such", "deed.db"), os.ErrNotExist},
		{"a file as parent", filepath.Join(garbage, "deed.db"), nil},
		{"a bad server", "postgres://%zz", ErrInvalid},
		{"no server", "postgres:///x?host=" + dir, ErrUnavailable},
	} {
		before, _ := os.ReadFile(c.path)
		s, err := Open(t.Context(), c.path, Options{})
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: opened", c.name)
			continue
		}
		if c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if after, _ := os.ReadFile(c.path); !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed", c.name)
		}
		if !strings.HasPrefix(err.Error(), "open store: ") {
			t.Errorf("%s: %v", c.name, err)
		}
		if errors.Is(c.want, ErrCorrupt) && !strings.HasSuffix(err.Error(), ": "+c.path+" (restore a backup of it, or move the home that it belongs to aside: deed makes a new one)") {
			t.Errorf("%s: no path, or no remedy: %v", c.name, err)
		}
	}
}

// A newer store is refused without changing a byte, and no other file is left behind.
func TestSQLiteNewerIsUntouched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "deed.db")
	s := openFile(t, path)
	if err := s.write(t.Context(), func(ctx context.Context, x tx) error {
		_, err := x.exec(ctx, "INSERT INTO schema_migrations (version_id, is_applied) VALUES (1000, 1)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), path, Options{AgeingStep: 1e9})
	var newer *SchemaNewerError
	if !errors.As(err, &newer) || newer.Have != 1000 || newer.Known != schemaKnown {
		t.Fatalf("open: %v", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Fatalf("the file was changed (%v)", err)
	}
	if left, _ := filepath.Glob(path + "-*"); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

// A full disk fails the write that needs room, and nothing else.
func TestSQLiteFull(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "deed.db"))
	ids, err := s.Enqueue(t.Context(), plainTask("before"))
	if err != nil {
		t.Fatal(err)
	}
	limit := func(q string) {
		t.Helper()
		if err := s.write(t.Context(), func(ctx context.Context, x tx) error { _, err := x.exec(ctx, q); return err }); err != nil {
			t.Fatal(err)
		}
	}
	limit("PRAGMA max_page_count = 1") // the lowest that SQLite allows is the present size
	big := plainTask("big")
	big.Intent.Payload = json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	if _, err := s.Enqueue(t.Context(), plainTask("with it"), big); !errors.Is(err, ErrFull) {
		t.Fatalf("enqueue: %v", err)
	}
	n, err := s.Counts(t.Context())
	if err != nil || n[agentruntime.TaskPending] != 1 {
		t.Fatalf("counts: %v %v", n, err)
	}
	limit("PRAGMA max_page_count = 1000000")
	if _, err := s.Enqueue(t.Context(), big); err != nil {
		t.Fatalf("after room was made: %v", err)
	}
	if _, err := s.Task(t.Context(), ids[0].TaskID); err != nil {
		t.Fatal(err)
	}
}

// Damage that is found later is distinguished from other faults.
func TestSQLiteCorruptLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deed.db")
	s := openFile(t, path)
	for range 50 {
		if _, err := s.Enqueue(t.Context(), plainTask("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 3 * 4096; i < len(data); i++ { // the schema stays readable
		data[i] ^= 0x5a
	}
	write(t, path, data)
	damaged, err := Open(t.Context(), path, Options{})
	if err == nil {
		defer func() { _ = damaged.Close() }()
		_, err = damaged.Tasks(t.Context(), TaskFilter{})
	}
	if !errors.Is(err, ErrCorrupt) {
		t.Fatalf("got %v", err)
	}
}

func TestSQLiteBusyCanBeCanceled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deed.db")
	holder, waiter := openFile(t, path), openFile(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	err := holder.write(t.Context(), func(context.Context, tx) error {
		done := make(chan error, 1)
		go func() { _, err := waiter.Enqueue(ctx, plainTask("x")); done <- err }()
		cancel() // before or while it waits for the lock
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("enqueue: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := waiter.Enqueue(t.Context(), plainTask("x")); err != nil {
		t.Fatal(err)
	}
}

// A panic inside a transaction leaves nothing behind and the store usable.
func TestPanicRollsBack(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "deed.db"))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = s.write(t.Context(), func(ctx context.Context, x tx) error {
			if _, err := x.exec(ctx, "INSERT INTO runners VALUES ('r','',1,'',1,1,1,'')"); err != nil {
				t.Error(err)
			}
			panic("fault")
		})
	}()
	if list, err := s.Runners(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("runners: %v %v", list, err)
	}
	if err := s.PutRunner(t.Context(), Runner{ID: "r"}); err != nil {
		t.Fatal(err)
	}
}

// A store that is current costs one query to open, and reading opens no writer.
func TestOpenIsCheap(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deed.db")
	if err := openFile(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	s := openFile(t, path)
	d := s.eng.(*sqliteDB)
	if got := statementsOf(d); len(got) != 1 {
		t.Fatalf("opening ran %d statements: %q", len(got), got)
	}
	if _, err := s.Counts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.conn != nil || d.writer != nil {
		t.Fatal("reading opened a writer")
	}
}

// Whoever opens a new store while others do finds it whole, also after one of them died at it, and the lock between them leaves nothing behind.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "deed.db")
	if err := os.Mkdir(path+"-migrating", 0o700); err != nil { // as one leaves it that is killed
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if _, err := s.Enqueue(t.Context(), plainTask("x")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := openFile(t, path).Counts(t.Context()); err != nil || list[agentruntime.TaskPending] != 8 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := os.Stat(path + "-migrating"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock is left: %v", err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
