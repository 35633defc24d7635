// Package runrecord owns the life of one run as others see it: its record in the store and in the file next to its
// artifacts, its heartbeat, its phases, its progress and what it really took. It decides nothing about the work, and
// does not clear away what a dead run left behind.
//
// The store is the truth and the file is a copy. Each change goes to the row first and to the file second, and a run
// stays live until both agree, so that a sweep finds a run whose owner died in between:
//
//	row inserted, no file       live: the sweep ends the run and writes the file
//	row changed, file older     live: the same
//	ended, not cleaned up       live: the sweep cleans up and says so in both
//	row and file agree          closed: nothing to do
//
// So only the last write of the file waits for the disk: before it, whoever sweeps writes the file again.
package runrecord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/store"
)

// A Recorder records the runs of one process.
type Recorder struct {
	Store     *store.Store
	Clock     clock.Clock
	RunnerID  string        // registered in the store, so that others can see whether the owner lives
	Home      *home.Home    // bundles below it are recorded relative to it; may be nil
	BeatEvery time.Duration // 0: two seconds
}

// A New is a run that begins.
type New struct {
	RunID     string             // "": a fresh one
	Status    evidence.RunStatus // "": booting
	TaskID    string
	AttemptID string
	SessionID string
	Dir       string // where its file goes, outside of the bundle; "": there is no file
	Bundle    string // where its bundle will be; recorded before the bundle is begun, so that a sweep finds an unfinished one
	Metadata  map[string]any
	Retention *evidence.RunRetention
	Replay    *evidence.RunReplay
	Redactor  *redact.Redactor // nil: there are no secrets
	Streams   []*Stream        // who gets its progress
}

// A Run is the owner's handle of one run. It is safe for concurrent use.
type Run struct {
	reg      *Recorder
	redactor *redact.Redactor
	streams  []*Stream
	start    time.Time // monotonic

	mu      sync.Mutex                  // held while row and file change, so that they change in one order
	row     store.Run                   // guarded by mu; as the store returned it last
	ending  bool                        // guarded by mu; Finish has begun, and only it writes
	startup *time.Duration              // guarded by mu; from creation until the agent's process ran
	phases  []evidence.RunPhaseEvidence // guarded by mu
	open    []string                    // guarded by mu; phases that have not ended, innermost last
	failed  string                      // guarded by mu; the first phase that failed
	seq     int64                       // guarded by mu; lines of progress so far
	line    json.RawMessage             // guarded by mu; the newest line
	stored  bool                        // guarded by mu; the newest line is in the store
}

// Create records a run that begins, in the store and, when a directory is given, in a file.
func (r *Recorder) Create(ctx context.Context, n New) (*Run, error) {
	if n.Dir != "" && !filepath.IsAbs(n.Dir) {
		return nil, fmt.Errorf("create run: directory %q is not an absolute path", n.Dir)
	}
	if n.Status == "" {
		n.Status = evidence.RunBooting
	}
	in := store.NewRun{
		RunID: n.RunID, Status: n.Status, TaskID: n.TaskID, AttemptID: n.AttemptID, SessionID: n.SessionID,
		RunnerID: r.RunnerID, Dir: n.Dir, BundleDir: n.Bundle, Metadata: n.Metadata, Retention: n.Retention, Replay: n.Replay,
	}
	if err := n.Redactor.Value(&in); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	start := clock.Start()
	row, err := r.Store.InsertRun(ctx, in)
	if err != nil {
		return nil, err
	}
	crashpoint.Hit(crashpoint.RunRecorded)
	run := &Run{reg: r, redactor: n.Redactor, streams: n.Streams, start: start, row: row}
	if err := writeFile(row, atomicfile.Replace); err != nil {
		// No one looks after a run whose creation failed.
		_, uerr := r.Store.UpdateRun(context.WithoutCancel(ctx), row.ID(), store.RunUpdate{
			To: evidence.RunFailed, Error: runError("RunFileError", err.Error(), ""), Close: true,
		})
		return nil, errors.Join(err, uerr)
	}
	return run, nil
}

// ID returns the run's id.
func (r *Run) ID() string { return r.Record().RunID }

// Record returns the record as it stands.
func (r *Run) Record() evidence.RunRegistryEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.row.Record
}

// To takes the run to another state. Changes may carry more for the record; their To is not looked at.
func (r *Run) To(ctx context.Context, status evidence.RunStatus, changes ...store.RunUpdate) error {
	u := store.RunUpdate{}
	if len(changes) > 0 {
		u = changes[0]
	}
	u.To = status
	if err := r.update(ctx, u); err != nil {
		return err
	}
	r.Progress("status", string(status))
	return nil
}

func (r *Run) update(ctx context.Context, u store.RunUpdate) error {
	if err := r.redactor.Value(&u); err != nil {
		return fmt.Errorf("update run: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	u.Progress = r.news()
	row, err := r.reg.Store.UpdateRun(ctx, r.row.Record.RunID, u)
	if err != nil {
		return err
	}
	r.row, r.stored = row, true
	return writeFile(row, atomicfile.Replace)
}

// news returns the newest line when the store does not have it yet. The caller holds mu.
func (r *Run) news() json.RawMessage {
	if r.stored {
		return nil
	}
	return r.line
}

// Started says that the agent's process runs now: the start-up is over. Later calls change nothing.
func (r *Run) Started() {
	took := clock.Since(r.start)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.startup == nil {
		r.startup = &took
	}
}

// Phase begins a phase. The returned function ends it, and must be called once.
func (r *Run) Phase(name string) func(err error) {
	begun, at := clock.Start(), r.reg.Clock()
	r.mu.Lock()
	r.open = append(r.open, name)
	r.mu.Unlock()
	r.Progress("phase_started", name)
	return func(err error) {
		p := evidence.RunPhaseEvidence{
			Schema: evidence.SchemaRecipePhaseEvidence, Name: name, Status: evidence.PhaseCompleted,
			StartedAt: string(agentruntime.At(at)), EndedAt: string(agentruntime.At(r.reg.Clock())), DurationMS: millis(clock.Since(begun)),
		}
		text := name
		if err != nil {
			p.Status = evidence.PhaseFailed
			p.Error = runError("PhaseError", r.redactor.String(err.Error()), "")
			text += ": " + p.Error.Message
		}
		r.mu.Lock()
		r.phases = append(r.phases, p)
		if err != nil && r.failed == "" {
			r.failed = name
		}
		r.mu.Unlock()
		r.Progress("phase_"+p.Status, text)
		r.leave(name)
	}
}

// leave takes a phase off the list of those that are open.
func (r *Run) leave(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.open) - 1; i >= 0; i-- {
		if r.open[i] == name {
			r.open = append(r.open[:i], r.open[i+1:]...)
			return
		}
	}
}

// Progress says one line to everybody who listens. It never waits.
func (r *Run) Progress(step, text string) { r.say(step, text, false) }

func (r *Run) say(step, text string, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.row.Record
	r.seq++
	p := deed.Progress{
		Schema: deed.SchemaProgress, Seq: r.seq, At: string(agentruntime.At(r.reg.Clock())), RunID: rec.RunID, TaskID: r.row.TaskID, AttemptID: r.row.AttemptID,
		Phase: rec.Lifecycle.Phase, Step: r.redactor.String(step), Text: r.redactor.String(strings.ToValidUTF8(text, "\uFFFD")), Status: string(rec.Status), Terminal: last,
	}
	if n := len(r.open); n > 0 {
		p.Phase = r.open[n-1]
	}
	if line, err := json.Marshal(p); err == nil {
		r.line, r.stored = line, false
	}
	for _, s := range r.streams {
		s.say(p)
	}
}

// FilePath is where the file of a run is, or "".
func FilePath(row store.Run) string {
	if row.Dir == "" {
		return ""
	}
	return filepath.Join(row.Dir, row.Record.RunID+".json")
}

// writeFile makes the file of a run say what its row says. It does nothing for a run without one.
func writeFile(row store.Run, write func(string, []byte, os.FileMode) error) error {
	path := FilePath(row)
	if path == "" {
		return nil
	}
	text, err := fileText(row)
	if err != nil {
		return fmt.Errorf("write run %s: %w", row.ID(), err)
	}
	if err := atomicfile.MkdirAll(row.Dir, 0o700); err != nil {
		return fmt.Errorf("write run %s: %w", row.ID(), err)
	}
	return write(path, text, 0o600)
}

func fileText(row store.Run) ([]byte, error) {
	text, err := json.MarshalIndent(row.Record, "", "  ")
	return append(text, '\n'), err
}

// AsWritten reports whether the file of a run is byte for byte the one that deed wrote.
func AsWritten(row store.Run) bool {
	want, err := fileText(row)
	if err != nil {
		return false
	}
	f, err := plainfile.OpenNoLink(FilePath(row))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	have, err := io.ReadAll(io.LimitReader(f, int64(len(want))+1))
	return err == nil && bytes.Equal(have, want)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func runError(name, message, code string) *evidence.RunError {
	return &evidence.RunError{Name: name, Message: message, Code: code}
}
