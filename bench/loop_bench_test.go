//go:build linux

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/loop"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// A busyModel writes a file with every answer, until it has answered often enough.
type busyModel struct{ left int }

func (m *busyModel) Stream(context.Context, model.Request, func(model.Delta)) (model.Response, error) {
	if m.left--; m.left < 0 {
		return model.Response{Blocks: []model.Block{{Text: "done"}}, Stop: model.StopEnd}, nil
	}
	in, err := json.Marshal(map[string]string{"path": "a", "content": fmt.Sprint(m.left)})
	return model.Response{
		Blocks: []model.Block{{Text: "One more."}, {Call: &model.Call{ID: fmt.Sprintf("c%d", m.left), Name: tool.Write, Input: in}}},
		Stop:   model.StopTools, Usage: agentruntime.Usage{InputTokens: 1000, OutputTokens: 50},
	}, err
}

// idleHands say that it is done.
type idleHands struct{}

func (idleHands) Call(_ context.Context, _ string, _ json.RawMessage, out io.Writer) (tool.Outcome, error) {
	_, err := io.WriteString(out, "wrote 1 byte to a\n")
	return tool.Outcome{}, err
}

// TestBenchLoop measures turns of the native agent with a call that changes something in each, against a bare loop that
// makes as many lines of the same length durable; and beside it what a call costs in the process of the tools.
func TestBenchLoop(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	const turns, rounds = 100, 21 // short and interleaved: the disk is shared
	var whole, floor []float64
	for range rounds {
		dir := t.TempDir()
		c, err := loop.Begin(loop.Config{
			Client: &busyModel{left: turns}, Model: "m", Workspace: "/workspace", Dir: dir, Bounds: loop.Bounds{Tools: tool.Names()},
		}, "bench", "Be busy.")
		must(t, err)
		whole = append(whole, seconds(func() {
			if y := c.Turn(t.Context(), "", loop.Env{Hands: idleHands{}}); !y.Completed {
				t.Fatalf("%+v", y)
			}
		}))
		must(t, c.Close())
		log, err := os.ReadFile(filepath.Join(dir, loop.LogFile))
		must(t, err)
		floor = append(floor, seconds(func() { bareLog(t, filepath.Join(dir, "bare"), bytes.SplitAfter(log, []byte("\n"))) }))
	}
	line(t, "loop.turns", turns/median(whole), turns/median(floor), "turns/s with a call each and two syncs, against the bare syncs", ">=200 turns/s")
	t.Logf("a turn takes %.2f ms, of which the disk takes %.2f ms", 1000*median(whole)/turns, 1000*median(floor)/turns)
	for _, kind := range []sandbox.Kind{sandbox.Process, sandbox.Namespace} {
		start, write, shell := hostCost(t, kind)
		t.Logf("tools in %s: the process starts and ends in %.1f ms; a write takes %.2f ms, a shell command %.1f ms", kind, 1000*start, 1000*write, 1000*shell)
	}
}

// bareLog writes lines as a conversation does: each at once, and durable where a call begins and where it ends.
func bareLog(t *testing.T, path string, lines [][]byte) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	must(t, err)
	for _, l := range lines {
		_, err := f.Write(l)
		must(t, err)
		if bytes.Contains(l, []byte(`"kind":"started"`)) || bytes.Contains(l, []byte(`"kind":"result"`)) {
			must(t, f.Sync())
		}
	}
	must(t, f.Close())
}

// hostCost is what the process of the tools costs, in seconds.
func hostCost(t *testing.T, kind sandbox.Kind) (start, write, shell float64) {
	ws := t.TempDir()
	spec := sandbox.Spec{Kind: kind}
	if kind == sandbox.Namespace {
		spec.Mounts = []sandbox.Mount{{Source: ws, Target: "/workspace", Writable: true}}
	}
	box, err := sandbox.New(t.Context(), spec)
	if err != nil {
		t.Skipf("missing tool: bwrap: apt-get install bubblewrap (%v)", err)
	}
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	must(t, err)
	defer func() { must(t, sup.Close()) }()
	inside, _ := box.Inside(ws)
	call := func(h *tool.Host, name, input string) {
		o, err := h.Call(t.Context(), name, json.RawMessage(input), io.Discard)
		must(t, err)
		if o.Failed {
			t.Fatalf("%+v", o)
		}
	}
	var starts, writes, shells []float64
	for range 10 {
		h := tool.Open(t.Context(), tool.HostConfig{
			Run:  func(ctx context.Context, s proc.Spec) (sandbox.Exit, error) { return box.Run(ctx, sup, s) },
			Self: box.Self(), Workspace: inside, Env: []string{"PATH=/usr/bin:/bin"},
		})
		starts = append(starts, seconds(func() {
			call(h, tool.List, `{}`)
			must(t, h.Close())
		}))
		call(h, tool.Shell, `{"command": "true"}`) // starts it again, with what commands need
		for range 20 {
			writes = append(writes, seconds(func() { call(h, tool.Write, `{"path": "a", "content": "x"}`) }))
			shells = append(shells, seconds(func() { call(h, tool.Shell, `{"command": "true"}`) }))
		}
		must(t, h.Close())
	}
	return median(starts), median(writes), median(shells)
}
