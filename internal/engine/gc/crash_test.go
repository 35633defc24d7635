package gc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/store"
)

// child is the owner of a run: it registers, takes the run to its end, and dies where DEED_CRASHPOINT says.
func child(dir string) int {
	err := func() error {
		ctx := context.Background()
		h, err := home.Open(dir)
		if err != nil {
			return err
		}
		st, err := store.Open(ctx, h.DB(), store.Options{})
		if err != nil {
			return err
		}
		self, err := proc.SelfIdentity()
		if err != nil {
			return err
		}
		if err := st.PutRunner(ctx, store.Runner{ID: "child", Host: self.Host, PID: self.PID, BootID: self.BootID + "|" + self.Namespace, ProcStart: int64(self.StartTime)}); err != nil {
			return err
		}
		reg := &runrecord.Recorder{Store: st, Clock: clock.System, RunnerID: "child", Home: h}
		r, err := reg.Create(ctx, runrecord.New{RunID: "r", Dir: filepath.Join(dir, "runs")})
		if err != nil {
			return err
		}
		if err := r.To(ctx, evidence.RunRunning); err != nil {
			return err
		}
		return r.Finish(ctx, runrecord.Outcome{Status: evidence.RunSucceeded, Cleanup: func(context.Context) error { return nil }})
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Wherever the owner of a run is killed, the sweep brings row and file to agreement, and the store wins.
func TestACrashBetweenRowAndFile(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.Runs {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), childEnv+"="+b.Home.Root(), "DEED_CRASHPOINT="+string(p))
			out, err := c.CombinedOutput()
			var exit *exec.ExitError
			if ws, ok := errorAs(err, &exit); !ok || ws.Signal() != syscall.SIGKILL {
				t.Fatalf("the crash point was never reached: %v\n%s", err, out)
			}
			before, err := b.Store.Run(t.Context(), "r")
			if err != nil || !before.Live {
				t.Fatalf("the run is %+v, %v", before, err)
			}
			file := runrecord.FilePath(before)
			was, err := os.ReadFile(file)
			if (p == crashpoint.RunRecorded) != errors.Is(err, os.ErrNotExist) {
				t.Fatalf("the file: %v", err)
			}
			b.now = b.now.Add(time.Hour) // whatever the child took to start
			b.sweep(t, Options{})
			after, err := b.Store.Run(t.Context(), "r")
			if err != nil || after.Live {
				t.Fatalf("the run is still live: %+v, %v", after, err)
			}
			want := evidence.RunSucceeded // it had ended in the store
			if p == crashpoint.RunRecorded {
				want = evidence.RunFailed
			}
			if c := after.Record.Lifecycle.Cleanup; after.Record.Status != want || c.Status != evidence.CleanupSucceeded {
				t.Errorf("the run is %s, clean-up %+v; want %s", after.Record.Status, c, want)
			}
			now, err := os.ReadFile(file)
			if err != nil || string(now) == string(was) {
				t.Errorf("the file was not written again: %v", err)
			}
			text, err := json.MarshalIndent(after.Record, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(text), strings.TrimSuffix(string(now), "\n")); d != "" {
				t.Errorf("file and store differ (-store +file):\n%s", d)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) != 0 {
				t.Errorf("left beside the file: %v", left)
			}
		})
	}
}
