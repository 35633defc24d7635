//go:build linux

package proc_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
)

type counter struct {
	n    int64
	peak uint64 // of the heap, sampled
}

func (c *counter) Write(p []byte) (int, error) {
	if c.n>>27 != (c.n+int64(len(p)))>>27 { // every 128 MiB
		var ms runtime.MemStats
		runtime.ReadMemStats(&ms)
		c.peak = max(c.peak, ms.HeapInuse)
	}
	c.n += int64(len(p))
	return len(p), nil
}

func TestOneGiBOfOutputDoesNotGrowMemory(t *testing.T) {
	// Not parallel: the heap is everybody's.
	b := setup(t)
	spec := b.shell("head -c 1073741824 /dev/zero")
	c := &counter{}
	spec.Stdout = c
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	exit, err := b.sup.Run(t.Context(), spec)
	if err != nil || exit.Code != 0 || c.n != 1<<30 {
		t.Fatalf("got %+v, %v, %d bytes", exit, err, c.n)
	}
	if c.peak > before.HeapInuse+8<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before.HeapInuse, c.peak)
	}
}

func TestNoOutputIsLostAtTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 20 {
		spec := b.shell("seq 1 20000; seq 1 20000 >&2")
		var out, errOut bytes.Buffer
		spec.Stdout, spec.Stderr = &out, &errOut
		if _, err := b.sup.Run(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		if sha256.Sum256(out.Bytes()) != sha256.Sum256(errOut.Bytes()) || !strings.HasSuffix(out.String(), "\n20000\n") {
			t.Fatalf("%d and %d bytes", out.Len(), errOut.Len())
		}
	}
}

// A writer that does not take anything holds the agent at the capacity of the pipe.
func TestSlowWriterSlowsTheAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := b.shell(`head -c 10000000 /dev/zero; echo done >&2`)
	release := make(chan struct{})
	first := make(chan struct{})
	var total int64
	spec.Stdout = writerFunc(func(p []byte) (int, error) {
		if total == 0 {
			close(first)
			<-release
		}
		total += int64(len(p))
		return len(p), nil
	})
	var errOut bytes.Buffer
	spec.Stderr = writerFunc(func(p []byte) (int, error) {
		select {
		case <-release:
		default:
			t.Error("the agent went on although nothing was taken")
		}
		return errOut.Write(p)
	})
	go func() {
		<-first
		// The agent is held when it waits to write into the full pipe.
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		deadline := time.After(10 * time.Second)
		head := pollMarkedCmd(t, b.marker, "head")
		for {
			w, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", head))
			if strings.Contains(string(w), "pipe_write") {
				break
			}
			select {
			case <-tick.C:
				continue
			case <-deadline:
			}
			break
		}
		close(release)
	}()
	if exit, err := b.sup.Run(t.Context(), spec); err != nil || exit.Code != 0 || total != 10000000 || errOut.String() != "done\n" {
		t.Errorf("got %+v, %v, %d bytes, %q", exit, err, total, errOut.String())
	}
}

func pollMarkedCmd(t *testing.T, value, name string) (found int) {
	pollMarked(t, value, func(pids []int) bool {
		for _, pid := range pids {
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if strings.TrimSpace(string(comm)) == name {
				found = pid
				return true
			}
		}
		return false
	})
	return found
}

func TestWriterErrorEndsTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	full := errors.New("disk full")
	spec := b.shell(`trap '' TERM; while :; do echo x; done`)
	spec.Stdout = writerFunc(func([]byte) (int, error) { return 0, full })
	exit, err := b.sup.Run(t.Context(), spec)
	if !errors.Is(err, full) || exit.Canceled || exit.TimedOut {
		t.Errorf("got %+v, %v", exit, err)
	}
	mustBeGone(t, b.marker)
}

// Someone outside the tree holds the pipe: the run ends all the same, with what was written.
func TestPipeHeldFromOutside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := b.shell(`read go; echo last words`)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var held *os.File
	spec.Stdin = r
	spec.OnStart = func(pid int) {
		if held, err = os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", pid), os.O_WRONLY, 0); err != nil {
			t.Error(err)
		}
		w.Close()
	}
	var out bytes.Buffer
	spec.Stdout = &out
	exit, err := b.sup.Run(t.Context(), spec)
	if err != nil || out.String() != "last words\n" {
		t.Errorf("got %+v, %v, %q", exit, err, out.String())
	}
	held.Close()
}

func BenchmarkRun(b *testing.B) {
	bb := setup(b)
	b.Run("supervised", func(b *testing.B) {
		for b.Loop() {
			var out, errOut bytes.Buffer
			_, err := bb.sup.Run(b.Context(), proc.Spec{Argv: []string{"/bin/true"}, Dir: "/", Stdout: &out, Stderr: &errOut})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			if _, err := proc.Tool(b.Context(), proc.ToolSpec{Argv: []string{"/bin/true"}}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("limits", func(b *testing.B) {
		for b.Loop() {
			if _, err := bb.sup.Run(b.Context(), proc.Spec{Argv: []string{"/bin/true"}, Dir: "/", Limits: proc.Limits{OpenFiles: 1024}}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			sup, err := proc.NewSupervisor(b.Context(), proc.Options{})
			if err != nil {
				b.Fatal(err)
			}
			if err := sup.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
