//go:build linux

package sandbox_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
)

// A signalWriter collects output and calls back once at a text.
type signalWriter struct {
	text string
	call func()

	mu   sync.Mutex
	buf  bytes.Buffer // guarded by mu
	once sync.Once
}

func (w *signalWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	if strings.Contains(w.buf.String(), w.text) {
		w.once.Do(w.call)
	}
	return len(p), nil
}

func (w *signalWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// mustBeGone asserts that no process carries the marker now.
func mustBeGone(t testing.TB, value string) {
	t.Helper()
	if left, err := proc.FindByEnv(marker, value); err != nil || len(left) > 0 {
		t.Errorf("processes left: %v, %v", left, err)
	}
}

// waitGone waits for the end of processes that are nobody's children here.
func waitGone(t testing.TB, value string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for {
		left, err := proc.FindByEnv(marker, value)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Errorf("processes left: %v", left)
			return
		}
	}
}
