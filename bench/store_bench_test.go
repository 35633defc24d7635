package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

// The speeds of the store, each against a bare floor with the same driver and the same durability, measured in
// turns in the same run. Nothing here fails for being slow: read the ratios.

func TestBenchStoreSQLite(t *testing.T) {
	storeBench(t, sqliteTarget)
}

func TestBenchStorePostgres(t *testing.T) {
	storeBench(t, postgresTarget)
}

// A storeTarget makes an empty database: its name for the store, and a bare handle for the floor.
type storeTarget func(t *testing.T) (name, dsn string, bare *sql.DB)

// sqliteTarget is a file with the durability that the store itself asks for.
func sqliteTarget(t *testing.T) (string, string, *sql.DB) {
	path := filepath.Join(t.TempDir(), "store.db")
	floor := filepath.Join(t.TempDir(), "bare.db")
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: floor}).EscapedPath()+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)")
	must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return "sqlite", path, db
}

// postgresTarget is a database on a throw-away cluster with fsync on.
func postgresTarget(t *testing.T) (string, string, *sql.DB) {
	db, err := sql.Open("pgx", pgtest.DSN(t))
	must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return "postgres", pgtest.DSN(t), db
}

func storeBench(t *testing.T, target storeTarget) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	t.Run("Enqueue", func(t *testing.T) { benchEnqueue(t, target) })
	t.Run("Batch", func(t *testing.T) { benchBatch(t, target) })
	t.Run("Claim", func(t *testing.T) { benchClaim(t, target) })
}

// line prints one result. A ratio of speeds is to be at least the goal, one of latencies (goal "<=") at most.
func line(t *testing.T, name string, value, floor float64, unit, goal string) {
	t.Helper()
	fmt.Printf("bench %s %.4g %.4g %.2f %s # value floor ratio goal, %s\n", name, value, floor, value/floor, goal, unit)
}

func benchIntent(i int) agentruntime.TaskIntent {
	return agentruntime.TaskIntent{
		TaskType: "code-change", Source: "bench:" + strconv.Itoa(i), Subject: "make the failing test pass",
		Description: "The test of package parser fails since the last release. Find the cause and mend it.",
		Payload:     json.RawMessage(`{"repository": "example/parser", "test": "TestParse", "n": ` + strconv.Itoa(i) + `}`),
	}
}

func benchTask(i int) store.NewTask {
	return store.NewTask{Intent: benchIntent(i), ProfileID: "default", AdapterID: "codex", Priority: int64(i % 7), MaxAttempts: 3}
}

// bareColumns are those of a task's row at enqueue, so that the floor writes the same bytes.
const bareColumns = 16

func bareTable(t *testing.T, db *sql.DB) {
	_, err := db.Exec(`CREATE TABLE bare (id TEXT PRIMARY KEY, c2 TEXT, c3 TEXT, c4 BIGINT, c5 BIGINT, c6 BIGINT, c7 BIGINT,
		c8 BIGINT, c9 BIGINT, c10 BIGINT, c11 TEXT, c12 TEXT, c13 TEXT, c14 TEXT, c15 TEXT, c16 TEXT)`)
	must(t, err)
}

func bareRow(args []any, i int) []any {
	in := benchIntent(i)
	payload := string(in.Payload)
	in.Payload = nil
	text, _ := json.Marshal(in)
	now := time.Now().UnixMicro()
	return append(args, store.NewID(), in.TaskType, "pending", 1, int64(i%7), int64(i%7), now, now, now, 3, "default", "codex", nil, nil,
		string(text), payload)
}

func bareInsert(dialect string, rows int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO bare VALUES ")
	for r := range rows {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('(')
		for c := range bareColumns {
			if c > 0 {
				b.WriteByte(',')
			}
			if dialect == "sqlite" {
				b.WriteByte('?')
			} else {
				fmt.Fprintf(&b, "$%d", r*bareColumns+c+1)
			}
		}
		b.WriteByte(')')
	}
	return b.String()
}

// benchEnqueue measures one durable transaction for each task.
func benchEnqueue(t *testing.T, target storeTarget) {
	ctx := context.Background()
	name, dsn, db := target(t)
	s := openStore(t, dsn)
	bareTable(t, db)
	one, err := db.Prepare(bareInsert(name, 1))
	must(t, err)
	const rounds, ops = 40, 100
	var ours, floor []float64
	n := 0
	for range rounds {
		floor = append(floor, rate(ops, func() {
			for range ops {
				n++
				_, err := one.Exec(bareRow(nil, n)...)
				must(t, err)
			}
		}))
		ours = append(ours, rate(ops, func() {
			for range ops {
				n++
				_, err := s.Enqueue(ctx, benchTask(n))
				must(t, err)
			}
		}))
	}
	line(t, "store/"+name+"/enqueue", median(ours), median(floor), "tasks/s", ">=0.60")
}

// benchBatch measures 100k tasks, 1000 to a transaction.
func benchBatch(t *testing.T, target storeTarget) {
	ctx := context.Background()
	name, dsn, db := target(t)
	s := openStore(t, dsn)
	bareTable(t, db)
	const total, chunk, round, wide = 100_000, 1000, 5000, 50
	many, err := db.Prepare(bareInsert(name, wide))
	must(t, err)
	var ours, floor []float64
	tasks := make([]store.NewTask, chunk)
	args := make([]any, 0, wide*bareColumns)
	for at := 0; at < total; at += round {
		floor = append(floor, rate(round, func() {
			for c := at; c < at+round; c += chunk {
				tx, err := db.Begin()
				must(t, err)
				stmt := tx.Stmt(many)
				for i := c; i < c+chunk; i += wide {
					args = args[:0]
					for j := i; j < i+wide; j++ {
						args = bareRow(args, j)
					}
					_, err := stmt.Exec(args...)
					must(t, err)
				}
				must(t, tx.Commit())
			}
		}))
		ours = append(ours, rate(round, func() {
			for c := at; c < at+round; c += chunk {
				for i := range tasks {
					tasks[i] = benchTask(c + i)
				}
				_, err := s.Enqueue(ctx, tasks...)
				must(t, err)
			}
		}))
	}
	line(t, "store/"+name+"/batch", median(ours), median(floor), "tasks/s", ">=0.40")
}

// benchClaim measures a claim, durable commit included, at several depths of the queue, in turns.
func benchClaim(t *testing.T, target storeTarget) {
	ctx := context.Background()
	depths := []struct {
		name  string
		ready int
		undue int // of a higher priority
	}{{"1k", 1000, 0}, {"100k", 100_000, 0}, {"1M", 1_000_000, 0}, {"1M-undue", 1000, 1_000_000}}
	var dialect string
	stores := make([]*store.Store, len(depths))
	for i, d := range depths {
		name, dsn, _ := target(t)
		dialect, stores[i] = name, openStore(t, dsn)
		fill(t, stores[i], d.undue, func(nt *store.NewTask) {
			nt.Priority, nt.AvailableAt = 100, time.Now().Add(24*time.Hour)
		})
		fill(t, stores[i], d.ready, func(*store.NewTask) {})
	}
	const rounds, ops = 20, 40
	got := make([][]float64, len(depths))
	for range rounds {
		for i, s := range stores {
			for range ops {
				start := time.Now()
				_, err := s.Claim(ctx, store.ClaimOptions{RunnerID: "bench", Lease: time.Hour})
				must(t, err)
				got[i] = append(got[i], time.Since(start).Seconds()*1e6)
			}
		}
	}
	for i, d := range depths {
		line(t, "store/"+dialect+"/claim-"+d.name, median(got[i]), median(got[0]), "µs", "<=1.50")
	}
}

func fill(t *testing.T, s *store.Store, n int, change func(*store.NewTask)) {
	const chunk = 5000
	tasks := make([]store.NewTask, 0, chunk)
	for i := range n {
		nt := benchTask(i)
		change(&nt)
		if tasks = append(tasks, nt); len(tasks) == chunk || i == n-1 {
			_, err := s.Enqueue(context.Background(), tasks...)
			must(t, err)
			tasks = tasks[:0]
		}
	}
}

func openStore(t *testing.T, dsn string) *store.Store {
	s, err := store.Open(context.Background(), dsn, store.Options{})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func rate(n int, fn func()) float64 {
	start := time.Now()
	fn()
	return float64(n) / time.Since(start).Seconds()
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
