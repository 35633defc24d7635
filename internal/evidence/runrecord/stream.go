package runrecord

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/terminal"
)

const (
	quietTime  = 5 * time.Second // after so long without a line, a heartbeat says that the run lives
	streamRoom = 256             // lines that wait for a slow reader
	patience   = time.Second     // how long Close waits for a reader that does not read
)

// ErrStalled says that the reader of a stream did not take its last lines in time.
var ErrStalled = errors.New("the reader of the progress stream does not read")

// A Stream writes the progress of a run as deed/progress/v1 lines, each in one write. Whatever its reader does, the
// run goes on: a line for which there is no room is dropped, and the gap in seq shows it. Its input has been
// redacted. The caller closes it.
type Stream struct {
	w     io.Writer
	now   clock.Clock
	lines chan deed.Progress
	quit  chan struct{} // closed when no more lines come
	done  chan struct{} // closed when the writer has ended

	release func() // gives the signal back

	mu      sync.Mutex
	seq     int64          // guarded by mu
	dropped int64          // guarded by mu
	closed  bool           // guarded by mu
	last    *deed.Progress // guarded by mu; the terminal line: it has a place of its own, so that it is never dropped
}

// NewStream begins to write to w. It does not close w.
func NewStream(w io.Writer, now clock.Clock) *Stream {
	// A reader of standard error that has gone must not end deed: without this the runtime dies of the signal.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return newStream(w, now, func() { signal.Stop(pipe) })
}

func newStream(w io.Writer, now clock.Clock, release func()) *Stream {
	s := &Stream{w: w, now: now, lines: make(chan deed.Progress, streamRoom), quit: make(chan struct{}), done: make(chan struct{}), release: release}
	go s.write()
	return s
}

// say hands a line over, or drops it.
func (s *Stream) say(p deed.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.seq++
	p.Seq = s.seq
	if p.Terminal {
		s.last, s.closed = &p, true
		close(s.quit)
		return
	}
	select {
	case s.lines <- p:
	default:
		s.dropped++
	}
}

// Dropped returns how many lines did not reach the reader.
func (s *Stream) Dropped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close writes what is left and ends the stream. It waits for a slow reader only a moment, and returns ErrStalled when
// that was not enough.
func (s *Stream) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.quit)
	}
	s.mu.Unlock()
	defer s.release()
	select {
	case <-s.done:
		return nil
	case <-time.After(patience):
		return ErrStalled // the writer ends with its write; nothing waits for it
	}
}

// write is the one goroutine that touches the writer.
func (s *Stream) write() {
	defer close(s.done)
	beat := time.NewTicker(quietTime)
	defer beat.Stop()
	var newest *deed.Progress
	broken := false
	put := func(p deed.Progress) {
		newest = &p
		beat.Reset(quietTime)
		text, err := json.Marshal(p)
		text = terminal.SafeJSON(text) // it may be a terminal that listens
		if err == nil && !broken {
			_, err = s.w.Write(append(text, '\n'))
		}
		if err != nil || broken {
			broken = true
			s.mu.Lock()
			s.dropped++
			s.mu.Unlock()
		}
	}
	for {
		select {
		case p := <-s.lines:
			put(p)
		case <-beat.C:
			if newest != nil {
				put(s.heartbeat(*newest))
			}
		case <-s.quit:
			for {
				select {
				case p := <-s.lines:
					put(p)
					continue
				default:
				}
				break
			}
			s.mu.Lock()
			last := s.last
			s.mu.Unlock()
			if last != nil {
				put(*last)
			}
			return
		}
	}
}

// heartbeat says the newest line's place again, with nothing new in it.
func (s *Stream) heartbeat(p deed.Progress) deed.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	p.Seq, p.At, p.Text, p.Heartbeat = s.seq, string(agentruntime.At(s.now())), "", true
	return p
}
