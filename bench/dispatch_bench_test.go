package bench

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

const workers = 2

// TestBenchSettle measures settled no-op script tasks, end to end through the real binary with a signed bundle and
// full durability, against the least that any implementation must do: start a process, commit twice, write as many
// small files, make them durable, rename and sync the directory.
func TestBenchSettle(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	const n = 400
	bin := build(t)
	var whole, bare, floor []float64
	var files, size int
	for range 3 {
		v, f, s := settleDeed(t, bin, n)
		whole = append(whole, v)
		files, size = f, s
		floor = append(floor, settleFloor(t, n, files, size))
		bare = append(bare, settleBare(t, n))
	}
	line(t, "settle/with-bundle", median(whole), median(floor), fmt.Sprintf("tasks/s, %d files of %d bytes each", files, size), ">=0.25")
	line(t, "settle/without-bundle", median(bare), median(floor), "tasks/s, claim, begin, run and settle alone", "-")
}

// build makes the binary that users get, or takes the one that DEED_BENCH_BINARY names.
func build(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("DEED_BENCH_BINARY"); bin != "" { // one that is there already, to compare two
		return bin
	}
	bin := filepath.Join(t.TempDir(), "deed")
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "github.com/deedrun/deed/cmd/deed")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// settleDeed queues n tasks and dispatches them, and returns tasks per second with the shape of a bundle.
func settleDeed(t *testing.T, bin string, n int) (rate float64, files, size int) {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	must(t, os.WriteFile(filepath.Join(dir, "deed.yaml"), []byte("adapters:\n  noop: {kind: script, command: /bin/true, timeout_ms: 10000}\n"), 0o600))
	var in bytes.Buffer
	for range n {
		in.WriteString(`{"task_type": "script", "source": "bench", "requested_adapter_id": "noop", "payload": {}}` + "\n")
	}
	deed := func(stdin []byte, args ...string) []byte {
		c := exec.Command(bin, args...)
		c.Dir, c.Stdin = dir, bytes.NewReader(stdin)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "DEED_HOME=" + home}
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil {
			t.Fatalf("deed %v: %v\n%s", args, err, errs.String())
		}
		return out
	}
	deed(in.Bytes(), "task", "add", "--file", "-")
	start := time.Now()
	out := deed(nil, "dispatch", "--json", "--concurrency", strconv.Itoa(workers))
	took := time.Since(start)
	var rep struct {
		Ran []struct {
			Status string `json:"status"`
			Bundle string `json:"bundle"`
		} `json:"ran"`
	}
	must(t, json.Unmarshal(out, &rep))
	if len(rep.Ran) != n {
		t.Fatalf("%d of %d tasks ran", len(rep.Ran), n)
	}
	for _, r := range rep.Ran {
		if r.Status != "completed" {
			t.Fatalf("a task is %s", r.Status)
		}
	}
	total := 0
	must(t, filepath.WalkDir(rep.Ran[0].Bundle, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			fi, ierr := d.Info()
			err = ierr
			files++
			total += int(fi.Size())
		}
		return err
	}))
	return float64(n) / took.Seconds(), files, total / files
}

// settleFloor does the least, with as many workers.
func settleFloor(t *testing.T, n, files, size int) float64 {
	t.Helper()
	_, _, db := sqliteTarget(t)
	_, err := db.Exec(`CREATE TABLE bare (id INTEGER PRIMARY KEY, body TEXT)`)
	must(t, err)
	root := t.TempDir()
	text := bytes.Repeat([]byte("x"), size)
	start := time.Now()
	inParallel(t, n, func(i int) error {
		if err := commit(db); err != nil {
			return err
		}
		if err := exec.Command("/bin/true").Run(); err != nil {
			return err
		}
		tmp := filepath.Join(root, fmt.Sprintf(".tmp-%d", i))
		if err := os.Mkdir(tmp, 0o700); err != nil {
			return err
		}
		for k := range files {
			if err := os.WriteFile(filepath.Join(tmp, strconv.Itoa(k)), text, 0o600); err != nil {
				return err
			}
		}
		if err := atomicfile.SyncTree(context.Background(), tmp); err != nil {
			return err
		}
		if err := os.Rename(tmp, filepath.Join(root, strconv.Itoa(i))); err != nil {
			return err
		}
		if err := atomicfile.SyncDir(root); err != nil {
			return err
		}
		return commit(db)
	})
	return float64(n) / time.Since(start).Seconds()
}

func commit(db *sql.DB) error {
	_, err := db.Exec(`INSERT INTO bare (body) VALUES ('a row of about the size of an event, with some detail in it')`)
	return err
}

// settleBare runs the same tasks through store and supervisor without any evidence.
func settleBare(t *testing.T, n int) float64 {
	t.Helper()
	ctx := t.Context()
	_, dsn, _ := sqliteTarget(t)
	st, err := store.Open(ctx, dsn, store.Options{})
	must(t, err)
	defer st.Close()
	for range n {
		_, err := st.Enqueue(ctx, store.NewTask{
			Intent:    agentruntime.TaskIntent{TaskType: "script", Source: "bench", Payload: json.RawMessage(`{}`)},
			ProfileID: "default", AdapterID: "noop", MaxAttempts: 1,
		})
		must(t, err)
	}
	supers := make(chan *proc.Supervisor, workers)
	for range workers {
		s, err := proc.NewSupervisor(ctx, proc.Options{})
		must(t, err)
		defer s.Close()
		supers <- s
	}
	start := time.Now()
	inParallel(t, n, func(int) error {
		c, err := st.Claim(ctx, store.ClaimOptions{RunnerID: "bench", Lease: time.Minute})
		if err != nil {
			return err
		}
		if err := st.Begin(ctx, c.Ref, store.Begin{AdapterID: "noop", AdapterKind: "script"}); err != nil {
			return err
		}
		s := <-supers
		_, err = s.Run(ctx, proc.Spec{Argv: []string{"/bin/true"}, Dir: "/", Timeout: time.Minute})
		supers <- s
		if err != nil {
			return err
		}
		now := agentruntime.At(time.Now())
		return st.Settle(ctx, c.Ref, store.Settlement{
			Attempt: agentruntime.TaskAttempt{EndedAt: &now, ExitStatus: agentruntime.ExitOK, RetryClass: agentruntime.RetryNone},
			State:   string(state.Completed), Class: "none", Status: agentruntime.TaskCompleted,
			Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, OperatorSummary: "done"},
		})
	})
	return float64(n) / time.Since(start).Seconds()
}

// inParallel calls fn for 0 to n-1 from as many workers as deed has slots.
func inParallel(t *testing.T, n int, fn func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make(chan error, workers)
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for i := range next {
				if err := fn(i); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
}

// TestBenchStart measures the cold start of `deed version` above that of an empty Go program, and the anonymous
// memory of an idle `deed serve`.
func TestBenchStart(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	bin := build(t)
	hello := filepath.Join(t.TempDir(), "hello")
	src := filepath.Join(t.TempDir(), "hello.go")
	must(t, os.WriteFile(src, []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"), 0o600))
	if out, err := exec.Command("go", "build", "-o", hello, src).CombinedOutput(); err != nil {
		t.Fatalf("build hello: %v\n%s", err, out)
	}
	var ours, floor []float64
	for range 31 {
		floor = append(floor, milliseconds(t, hello))
		ours = append(ours, milliseconds(t, bin, "version"))
	}
	v, f := median(ours), median(floor)
	fmt.Printf("bench start/version %.2f %.2f %.2f <=40 # value floor difference goal, ms\n", v, f, v-f)
	fmt.Printf("bench serve/idle-anonymous-memory %.1f - - <=40 # MB\n", idleMemory(t, bin))
}

func milliseconds(t *testing.T, argv ...string) float64 {
	t.Helper()
	start := time.Now()
	if err := exec.Command(argv[0], argv[1:]...).Run(); err != nil {
		t.Fatal(err)
	}
	return float64(time.Since(start).Microseconds()) / 1000
}

// idleMemory starts `deed serve` on an empty home and reads its anonymous memory when it has nothing to do.
func idleMemory(t *testing.T, bin string) float64 {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command(bin, "serve")
	c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "DEED_HOME=" + filepath.Join(dir, "home"), "DEED_LISTEN=127.0.0.1:0"}
	pipe, err := c.StderrPipe()
	must(t, err)
	must(t, c.Start())
	defer func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	}()
	buf := make([]byte, 4096)
	_, err = pipe.Read(buf) // "serving"
	must(t, err)
	<-time.After(2 * time.Second) // let it become idle; a measurement, not a test
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", c.Process.Pid))
	must(t, err)
	for l := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(l, "Anonymous:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			must(t, err)
			return kb / 1024
		}
	}
	t.Fatal("no Anonymous line")
	return 0
}
