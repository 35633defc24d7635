package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/driver/agentcli"
	"github.com/deedrun/deed/internal/driver/claudecode"
	"github.com/deedrun/deed/internal/driver/codex"
	"github.com/deedrun/deed/internal/driver/process"
	"github.com/deedrun/deed/internal/failure"
)

// streamBytes is how much of an agent's stream is read in each round.
const streamBytes = 64 << 20

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
		n := streamBytes / len(chunk)
		var ours, floor []float64
		megabytes := float64(n*len(chunk)) / 1e6
		for range rounds {
			floor = append(floor, megabytes/seconds(func() { decodeAll(t, &repeated{chunk: chunk, left: n}, c.event) }))
			ours = append(ours, megabytes/seconds(func() { tellAll(t, c.dialect, c.adapter, &repeated{chunk: chunk, left: n}) }))
		}
		line(t, "stream."+c.name, median(ours), median(floor), "MB/s", ">=1")
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		tellAll(t, c.dialect, c.adapter, &repeated{chunk: chunk, left: n})
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Logf("stream.%s: %d MB read, the heap grew by %d KB", c.name, n*len(chunk)>>20, (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>10)
	}
}

// recorded joins the recorded streams of a driver.
func recorded(t *testing.T, name string) []byte {
	files, err := filepath.Glob(filepath.Join("../internal/driver", name, "testdata/*.jsonl"))
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
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.at == len(r.chunk) {
		r.at = 0
		r.left--
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
	l, err := c.Launch(t.Context(), "", agentcli.NewTeller(driver.Discard, nil, state), func(*failure.Error) {})
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
