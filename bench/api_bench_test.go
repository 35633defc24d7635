package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/api"
)

// apiMux mounts the API without the checks of the server.
type apiMux struct{ *http.ServeMux }

func (m apiMux) Handle(r access.Route) { m.ServeMux.Handle(r.Pattern, r.Handler) }

// apiPlace is the API over a home whose store has so many tasks.
func apiPlace(t *testing.T, tasks int) (http.Handler, *store.Store) {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	must(t, err)
	cfg, err := config.Load(config.Options{})
	must(t, err)
	st := openStore(t, h.DB())
	fill(t, st, tasks, func(*store.NewTask) {})
	log := slog.New(slog.DiscardHandler)
	fd := feed.New(st, h, log)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- fd.Run(ctx) }()
	v := view.New(view.Source{Store: st, Home: h, Config: cfg})
	t.Cleanup(func() { cancel(); must(t, <-ended); must(t, v.Close()) })
	m := apiMux{http.NewServeMux()}
	api.Mount(m, api.Options{
		Home: h, Store: st, Config: cfg, Feed: fd, Clock: clock.System, Log: log, View: v,
		Desk: &answer.Desk{Applier: &apply.Applier{Home: h, Clock: clock.System, Redact: redact.New(nil)}},
	})
	return m, st
}

// TestBenchAPILists measures reads of the API with a million tasks against the same with a thousand.
func TestBenchAPILists(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	small, _ := apiPlace(t, 1000)
	large, _ := apiPlace(t, 1_000_000)
	for _, path := range []string{"/tasks", "/tasks?status=pending", "/home", "/actions", "/workflows", "/runs"} {
		var s, l []float64
		for range 15 {
			s, l = append(s, took(t, small, path)), append(l, took(t, large, path))
		}
		line(t, "api.list"+strings.ReplaceAll(path, "/", "."), median(l), median(s), "ms a read with 1M tasks against 1k", "<=1.5")
	}
}

func took(t *testing.T, h http.Handler, path string) float64 {
	t.Helper()
	const n = 20
	start := time.Now()
	for range n {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, api.Prefix+path, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	return float64(time.Since(start).Microseconds()) / n / 1000
}

// countIDs reads a stream until it has seen so many ids. It costs little, so that what is measured is the server.
func countIDs(r io.Reader, most int) int {
	mark := []byte("\nid: ")
	buf := make([]byte, 64<<10)
	n, kept := 0, 0
	for n < most {
		k, err := r.Read(buf[kept:])
		if k == 0 && err != nil {
			break
		}
		data := buf[:kept+k]
		n += bytes.Count(data, mark)
		kept = copy(buf, data[max(len(data)-len(mark)+1, 0):])
	}
	return n
}

// The clients of a stream are a process of their own: their memory and their goroutines are not the server's. They are other
// machines' work, so that they give way where they share its processors.
const (
	streamURL  = "DEED_BENCH_STREAM_URL"
	clients    = 500
	loadRounds = 5 // seconds of 1,000 events
)

// streamClients reads streams, says when all of them have begun, and then how many events came and how many did not.
func streamClients() int {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var ready, readers sync.WaitGroup
	var got atomic.Int64
	client := &http.Client{Transport: &http.Transport{}}
	for range clients {
		ready.Add(1)
		readers.Go(func() {
			r, _ := http.NewRequestWithContext(ctx, http.MethodGet, os.Getenv(streamURL), nil)
			res, err := client.Do(r)
			ready.Done()
			if err != nil {
				return
			}
			defer func() { _ = res.Body.Close() }()
			got.Add(int64(countIDs(res.Body, 1000*loadRounds)))
		})
	}
	ready.Wait()
	fmt.Println("ready")
	readers.Wait()
	fmt.Println(got.Load(), clients*1000*loadRounds-got.Load())
	return 0
}

// startClients starts them and returns what waits for their count.
func startClients(t *testing.T, url string) (wait func() (got, missed int)) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), streamURL+"="+url)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	out := bufio.NewReader(pipe)
	said, err := out.ReadString('\n')
	if err != nil || said != "ready\n" {
		t.Fatalf("the clients said %q: %v", said, err)
	}
	return func() (got, missed int) {
		_, err := fmt.Fscan(out, &got, &missed)
		must(t, err)
		must(t, cmd.Wait())
		return got, missed
	}
}

// TestBenchAPIStream follows 1,000 events a second with 500 clients: none may be missed, and claims beside it go on. It measures in
// turns, without the clients and beside them, so that what else happens on the machine meets both.
func TestBenchAPIStream(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	h, st := apiPlace(t, 200_000)
	srv := httptest.NewServer(h)
	defer srv.Close()
	load := func() float64 { // claims a second while 1,000 events a second are written
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		claims := 0
		start := time.Now()
		for n := 0; n < 100*loadRounds; n++ {
			batch := make([]store.Event, 10)
			for i := range batch {
				batch[i] = store.Event{Type: "bench"}
			}
			must(t, st.Append(t.Context(), batch...))
			for stop := false; !stop; {
				select {
				case <-tick.C:
					stop = true
				default:
					_, err := st.Claim(t.Context(), store.ClaimOptions{RunnerID: "r", Lease: time.Hour})
					must(t, err)
					claims++
				}
			}
		}
		return float64(claims) / time.Since(start).Seconds()
	}
	var alone, beside []float64
	deliveries := 0
	var heap uint64
	for range 3 {
		alone = append(alone, load())
		wait := startClients(t, srv.URL+api.Prefix+"/events?event=bench")
		beside = append(beside, load())
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap = max(heap, m.HeapInuse>>20)
		got, missed := wait()
		if deliveries += got; missed > 0 {
			t.Errorf("%d events were missed", missed)
		}
	}
	line(t, "api.stream.dispatch", median(beside), median(alone), fmt.Sprintf("claims/s beside 500 clients (%d deliveries, heap %d MB)", deliveries, heap), ">=0.9")
}
