package packaged

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// Why deed ended a run.
var (
	errStalled   = errors.New("it wrote nothing for as long as it may")
	errOutputCap = errors.New("it printed more than it may")
)

// maxOutput is how much a provider may print when its request does not say.
const maxOutput = 32 << 20

// A watcher sees what a provider writes, on both streams, and ends the run when it writes too much or nothing at all.
type watcher struct {
	end    func(error)
	silent time.Duration // 0: it may be
	most   int

	mu      sync.Mutex
	timer   *time.Timer
	answer  bytes.Buffer // guarded by mu, as all below
	dropped int64
	over    bool
}

// begin starts the clock of silence.
func (w *watcher) begin() {
	if w.silent > 0 {
		w.timer = time.AfterFunc(w.silent, func() {
			w.end(failure.New(failure.Timeout, "run the provider", fmt.Errorf("%w: %v", errStalled, w.silent), "raise limits.liveness_timeout_ms, or have it write progress to stderr"))
		})
	}
}

func (w *watcher) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// reset restarts the timer of the silence limit.
func (w *watcher) reset() {
	if w.timer != nil {
		w.timer.Reset(w.silent)
	}
}

// stdout keeps the answer as it was written, up to its bound. Beyond it the run is ended, and what still comes is counted.
type stdout struct{ *watcher }

func (s stdout) Write(p []byte) (int, error) {
	s.reset()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(p), s.most-s.answer.Len())
	s.answer.Write(p[:n])
	if s.dropped += int64(len(p) - n); s.dropped > 0 && !s.over {
		s.over = true
		s.end(failure.New(failure.Limit, "run the provider", fmt.Errorf("%w: %d bytes", errOutputCap, s.most), "raise limits.max_output_bytes, or have it print its outcome alone"))
	}
	return len(p), nil
}

// stderr takes progress lines out of the stream. The record has all lines.
type stderr struct {
	*watcher
	redactor *redact.Redactor
	sink     driver.Sink
	line     []byte
	skip     bool // the rest of a line that is too long
	events   int
}

// Bounds of progress: it goes into the journal.
const (
	maxProgressLine = 16 << 10
	maxProgress     = 1000
)

// progressWord begins a line of progress that is no JSON.
const progressWord = "HOMEBOY_PROGRESS"

func (s *stderr) Write(p []byte) (int, error) {
	s.reset()
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part = p[:i]
		}
		if len(s.line)+len(part) > maxProgressLine {
			s.line, s.skip = s.line[:0], true
		}
		if !s.skip {
			s.line = append(s.line, part...)
		}
		if i < 0 {
			break
		}
		s.flush()
		p = p[i+1:]
	}
	return n, nil
}

// flush reads a line that is whole.
func (s *stderr) flush() {
	line := s.redactor.Bytes(bytes.TrimSpace(s.line))
	if p, ok := progressOf(line); ok && !s.skip && s.events < maxProgress {
		s.events++
		s.sink.Event(driver.EventProgress, p)
	}
	s.line, s.skip = s.line[:0], false
}

// progressOf reads a line of progress: one that begins with progressWord, or an object that says of itself that it is
// progress.
func progressOf(line []byte) (driver.Progress, bool) {
	if rest, ok := bytes.CutPrefix(line, []byte(progressWord)); ok {
		text := strings.ToValidUTF8(strings.TrimSpace(strings.TrimLeft(string(rest), ":= \t")), "\ufffd")
		p, ok := readProgress(text)
		if !ok {
			p = driver.Progress{Message: text}
		}
		return p, true
	}
	if len(line) == 0 || line[0] != '{' || !bytes.Contains(line, []byte("progress")) {
		return driver.Progress{}, false
	}
	p, ok := readProgress(string(line))
	if !ok {
		return p, false
	}
	for _, name := range []string{"type", "event", "kind", "schema"} {
		if word, _ := p.Data[name].(string); strings.Contains(word, "progress") {
			return p, true
		}
	}
	_, has := p.Data["progress"]
	return p, has
}

// readProgress reads an object of progress.
func readProgress(text string) (driver.Progress, bool) {
	var data map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&data) != nil || data == nil || d.More() {
		return driver.Progress{}, false
	}
	p := driver.Progress{Data: data}
	for _, name := range []string{"message", "summary", "status", "phase"} {
		if s, ok := data[name].(string); ok && s != "" {
			p.Message = driver.Shorten(s)
			break
		}
	}
	return p, true
}
