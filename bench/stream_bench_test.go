package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/agent/driver/claudecode"
	"github.com/deedrun/deed/internal/agent/driver/codex"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/failure"
)

// streamSize is how much of an agent's stream is read in each round, and how many rounds there are. DEED_BENCH_STREAM_MB asks
// for one round of another size.
func streamSize() (bytes, times int) {
	if n, err := strconv.Atoi(os.Getenv("DEED_BENCH_STREAM_MB")); err == nil && n > 0 {
		return n << 20, 1
	}
	return 64 << 20, rounds
}

// The stream of an agent CLI from its bytes to told events, against encoding/json that decodes the same bytes into the same
// structs and does nothing with them.
func TestBenchStream(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	for _, c := range []struct {
		name    string
		dialect agentcli.Dialect
		adapter agentruntime.AdapterConfig
		event   func() any
	}{
		{"codex", codex.Dialect{}, agentruntime.AdapterConfig{Codex: &agentruntime.CodexAdapter{}}, func() any { return new(codex.Event) }},
		{"claudecode", claudecode.Dialect{}, agentruntime.AdapterConfig{ClaudeCode: &agentruntime.ClaudeCodeAdapter{}}, func() any { return new(claudecode.Event) }},
	} {
		chunk := recorded(t, c.name)
		size, times := streamSize()
		n := size/len(chunk) + 1
		var ours, floor []float64
		megabytes := float64(n*len(chunk)) / 1e6
		for range times {
			floor = append(floor, megabytes/seconds(func() { decodeAll(t, &repeated{chunk: chunk, left: n}, c.event) }))
			ours = append(ours, megabytes/seconds(func() { tellAll(t, c.dialect, c.adapter, &repeated{chunk: chunk, left: n}) }))
		}
		line(t, "stream."+c.name, median(ours), median(floor), "MB/s", ">=1")
		live, peak := growth(func(look func()) { tellAll(t, c.dialect, c.adapter, &repeated{chunk: chunk, left: n, each: look}) })
		t.Logf("stream.%s: %d MB read in one pass; what lives grew by %d KB at the end, and by %d KB at most", c.name, n*len(chunk)>>20, live>>10, peak>>10)
	}
}

// growth is by how much the live heap is larger after fn than before, and at most when fn calls look.
func growth(fn func(look func())) (live, peak int64) {
	var m runtime.MemStats
	heap := func() int64 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	fn(func() { peak = max(peak, heap()-before) })
	return heap() - before, peak
}

// recorded joins the recorded streams of a driver.
func recorded(t *testing.T, name string) []byte {
	files, err := filepath.Glob(filepath.Join("../internal/agent/driver", name, "testdata/*.jsonl"))
	must(t, err)
	var all []byte
	for _, f := range files {
		text, err := os.ReadFile(f)
		must(t, err)
		all = append(all, bytes.TrimRight(text, "\n")...)
		all = append(all, '\n')
	}
	if len(all) == 0 {
		t.Fatal("no streams")
	}
	return all
}

// repeated is a text again and again.
type repeated struct {
	chunk []byte
	at    int
	left  int
	each  func() // called now and then; may be nil
}

// eachTimes is how many times the text is read between two calls of each.
const eachTimes = 500

func (r *repeated) Read(p []byte) (int, error) {
	if r.at == len(r.chunk) {
		r.at = 0
		r.left--
		if r.each != nil && r.left%eachTimes == 0 {
			r.each()
		}
	}
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, r.chunk[r.at:])
	r.at += n
	return n, nil
}

func decodeAll(t *testing.T, r io.Reader, event func() any) {
	d := json.NewDecoder(r)
	for {
		err := d.Decode(event())
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
	}
}

func tellAll(t *testing.T, d agentcli.Dialect, a agentruntime.AdapterConfig, r io.Reader) {
	config, _ := process.Of(a)
	state := &agentcli.State{Runs: 1}
	c, err := d.Begin(agentcli.Plan{Agent: &process.Agent{Job: driver.Job{Adapter: a}, Config: config, Vars: process.Vars{}}, State: state})
	must(t, err)
	l, err := c.Launch(t.Context(), "", agentcli.NewReporter(driver.Discard, nil, state), func(*failure.Error) {})
	must(t, err)
	lines := &agentcli.Lines{Line: c.Feed, Long: func([]byte, int64) {}}
	_, err = io.CopyBuffer(struct{ io.Writer }{lines}, struct{ io.Reader }{r}, make([]byte, 64<<10))
	must(t, err)
	lines.Close()
	if l.Done != nil {
		l.Done()
	}
	c.Outcome()
}
