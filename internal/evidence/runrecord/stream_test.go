package runrecord

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/clock"
)

func line(text string) deed.Progress {
	return deed.Progress{Schema: deed.SchemaProgress, At: "2026-01-31T08:00:00Z", RunID: "r", Step: "s", Text: text, Status: "running"}
}

func last() deed.Progress {
	p := line("over")
	p.Terminal, p.Status = true, "failed"
	return p
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}

func TestAQuietRunBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		s := newStream(&out, clock.System, func() {})
		<-time.After(20 * time.Second) // fake time: nothing was sent yet, so there is nothing to repeat
		s.say(line("one"))
		<-time.After(12 * time.Second)
		s.say(line("two"))
		<-time.After(2 * time.Second)
		s.say(last())
		s.say(line("too late"))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		var beats []bool
		lines := readLines(t, out.bytes())
		for _, p := range lines {
			beats = append(beats, p.Heartbeat)
		}
		if len(beats) != 5 || beats[0] || !beats[1] || !beats[2] || beats[3] || beats[4] || !lines[4].Terminal || lines[1].Text != "" {
			t.Errorf("lines %+v", lines)
		}
	})
}

// blocked is a reader that does not read.
type blocked struct{ release chan struct{} }

func (b blocked) Write(p []byte) (int, error) {
	<-b.release
	return len(p), nil
}

func TestASlowReaderDoesNotHoldTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := blocked{make(chan struct{})}
		s := newStream(w, clock.System, func() {})
		const said = 10 * streamRoom
		for range said {
			s.say(line("x")) // would deadlock if it waited
		}
		s.say(last())
		if n := s.Dropped(); n < said-streamRoom-1 {
			t.Errorf("%d lines dropped", n)
		}
		if err := s.Close(); !errors.Is(err, ErrStalled) {
			t.Errorf("Close = %v, want ErrStalled", err)
		}
		close(w.release)
	})
}

// The terminal line has a place of its own, and gaps in seq show what was dropped.
func TestTheLastLineIsNeverDropped(t *testing.T) {
	t.Parallel()
	var out lockedBuffer
	gate := make(chan struct{})
	s := NewStream(writerFunc(func(p []byte) (int, error) {
		<-gate
		return out.Write(p)
	}), clock.System)
	for range 2 * streamRoom {
		s.say(line("x"))
	}
	s.say(last())
	close(gate)
	<-s.done
	lines := readLines(t, out.bytes())
	end := lines[len(lines)-1]
	if !end.Terminal || end.Seq != 2*streamRoom+1 || int64(len(lines))+s.Dropped() != end.Seq {
		t.Errorf("%d lines, %d dropped, the last is %+v", len(lines), s.Dropped(), end)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A reader that has gone does not end the run.
func TestAReaderThatIsGone(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Close()); err != nil {
		t.Fatal(err)
	}
	s := NewStream(w, clock.System)
	for range 3 {
		s.say(line("x"))
	}
	s.say(last())
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := s.Dropped(); n != 4 {
		t.Errorf("%d lines dropped, want all 4", n)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseWithoutAnEnd(t *testing.T) {
	t.Parallel()
	s := NewStream(io.Discard, clock.System)
	s.say(line("x"))
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
