package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/loop"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/crashpoint"
)

// crashMode makes the test binary a process that holds a conversation in the directory that it names.
const crashMode = "LOOP_TEST_CRASH"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashMode); dir != "" {
		os.Exit(crashMain(dir))
	}
	goleak.VerifyTestMain(m)
}

func crashMain(dir string) int {
	cfg := loop.Config{
		Client: stepper{}, Model: "m", Workspace: "/workspace", Dir: dir,
		Bounds: loop.Bounds{Tools: tool.Names(), Depth: 1, Delegates: 3, Window: 2000},
	}
	c, err := loop.Resume(cfg, "conv")
	if errors.Is(err, fs.ErrNotExist) {
		c, err = loop.Begin(cfg, "conv", "Take the steps.")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	y := c.Turn(context.Background(), "", loop.Env{Hands: diskHands{dir}})
	if !y.Completed {
		fmt.Fprintf(os.Stderr, "%+v\n", y)
		return 1
	}
	return 0
}

// A stepper is a model without a memory: it derives the next step from the request. After an interruption it looks.
type stepper struct{}

const lastStep = 6

var stepMark = regexp.MustCompile(`step-(\d+)`)

func (stepper) Stream(_ context.Context, req model.Request, _ func(model.Delta)) (model.Response, error) {
	n, unknown := 0, false
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			known := b.Text
			if b.Result != nil && !b.Result.Failed {
				known = b.Result.Output
				unknown = unknown && !strings.HasPrefix(known, "effects so far")
			}
			if b.Result != nil && b.Result.Failed {
				unknown = true
			}
			if m.Role == model.RoleUser && !strings.Contains(known, "word for word\n\nTake") || strings.Contains(known, "in short") {
				for _, f := range stepMark.FindAllStringSubmatch(known, -1) {
					k, _ := strconv.Atoi(f[1])
					n = max(n, k)
				}
			}
		}
	}
	if len(req.Tools) == 0 {
		return says(fmt.Sprintf("it came to step-%d", n)), nil
	}
	helper := strings.Contains(req.System, "a helper to")
	switch {
	case unknown:
		return calls(tool.Read, `{"path": "effects"}`), nil
	case n == 0 && !helper:
		return calls(tool.Delegate, `{"goal": "Begin."}`), nil
	case n == 1 && helper:
		return says("I took step-1"), nil
	case n == lastStep:
		return completes("all steps taken"), nil
	}
	r := calls(tool.Shell, fmt.Sprintf(`{"command": "step-%d"}`, n+1), tool.List, `{}`)
	if n == 3 && len(req.Messages) > 3 {
		r.Usage = agentruntime.Usage{InputTokens: 5000}
	}
	return r, nil
}

// diskHands take a step by adding a line to a file.
type diskHands struct{ dir string }

func (h diskHands) Call(_ context.Context, name string, input json.RawMessage, out io.Writer) (tool.Outcome, error) {
	path := filepath.Join(h.dir, "effects")
	switch name {
	case tool.Read:
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return tool.Outcome{}, err
		}
		fmt.Fprintf(out, "effects so far:\n%s", data)
	case tool.Shell:
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return tool.Outcome{}, err
		}
		step := stepMark.FindString(string(input))
		_, err = fmt.Fprintln(f, step)
		fmt.Fprintf(out, "%s taken", step)
		return tool.Outcome{}, errors.Join(err, f.Close())
	}
	return tool.Outcome{}, nil
}

// TestKilledAnywhere kills the process at each of its durable steps, several times, and has others go on. Every step must be
// taken once.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	for i := range lastStep {
		fmt.Fprintf(&want, "step-%d\n", i+1)
	}
	for _, point := range append([]crashpoint.Point{"none"}, crashpoint.OfLoop...) {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killed := 0
			for i := range 10 {
				cmd := exec.Command(os.Args[0], "-test.run=^$")
				cmd.Env = append(os.Environ(), crashMode+"="+dir)
				if i < 4 {
					cmd.Env = append(cmd.Env, "DEED_CRASHPOINT="+string(point))
				}
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				err := cmd.Run()
				if err == nil {
					break
				}
				if killed++; i >= 4 || cmd.ProcessState.ExitCode() != -1 {
					t.Fatalf("%v\n%s", err, &stderr)
				}
			}
			if killed == 0 && point != "none" {
				t.Errorf("%s was never reached", point)
			}
			got, err := os.ReadFile(filepath.Join(dir, "effects"))
			if err != nil || string(got) != want.String() {
				t.Errorf("%v, taken:\n%s", err, got)
			}
			log, err := os.ReadFile(filepath.Join(dir, loop.LogFile))
			if err != nil || point == "none" && !bytes.Contains(log, []byte(`"compacted"`)) {
				t.Errorf("%v: it was never shortened", err)
			}
		})
	}
}

// TestEveryPrefixGoesOn cuts the log of a whole conversation after each entry and in the middle of each. Whatever is left
// gives requests that are in order; the script checks them.
func TestEveryPrefixGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), crashMode+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log, err := os.ReadFile(filepath.Join(dir, loop.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	for i, end := 0, 0; ; i++ {
		n := bytes.IndexByte(log[end:], '\n')
		if n < 0 {
			break
		}
		for _, cut := range []int{end + n + 1, end + n/2} {
			if cut <= bytes.IndexByte(log, '\n') {
				continue
			}
			b := newBench(t, calls(tool.Shell, `{"command": "step-7"}`), says("done"), says("done"), says("done"), says("done"))
			b.cfg.Bounds.Window = 2000
			b.script.aside = func(model.Request) (model.Response, error) { return says("step-3"), nil }
			if err := os.WriteFile(filepath.Join(b.cfg.Dir, loop.LogFile), log[:cut], 0o600); err != nil {
				t.Fatal(err)
			}
			if b.conv, err = loop.Resume(b.cfg, "conv"); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			for range 2 {
				if y := b.turn(t.Context(), "Go on."); !y.Completed {
					t.Errorf("cut at %d: %+v", cut, y)
				}
			}
			b.close()
		}
		end += n + 1
	}
}
