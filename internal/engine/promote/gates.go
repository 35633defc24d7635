package promote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/proc"
)

const (
	maxTail        = 64 << 10 // of a gate's output that is reported
	maxProgress    = 2 << 10  // of a line of progress
	progressPrefix = "HOMEBOY_PROGRESS"
)

// errNoProgress ends a gate that prints nothing any more.
var errNoProgress = errors.New("the gate printed nothing for too long")

// gates runs the checks of the bundle again and then the caller's gates, each in a clean room of base and patch. After the
// first that fails the others are skipped, in order.
func (j *job) gates(ctx context.Context, sup *proc.Supervisor) (passed bool, err error) {
	in, drop, err := j.Recorded(ctx, j.offer.Dir, j.offer.Verification, j.repo)
	if err != nil {
		return false, err
	}
	defer drop()
	w := deed.Workspace{}
	if in.Spec.Workspace != nil {
		w = *in.Spec.Workspace
	}
	// What is judged is what the branch will have: the base as it is now, whatever it was then.
	w.Type, w.Source, w.Ref, w.Bundle = deed.SeedGit, j.repo, j.report.Base.Commit, ""
	in.Spec.Workspace, in.Spec.Workspaces, in.Base, in.Patch = &w, nil, "", j.patch
	recorded, own := in.Spec.Checks, make([]deed.Check, len(j.Gates))
	for i, g := range j.Gates {
		own[i] = deed.Check{Name: fmt.Sprintf("gate-%d", i+1), Shell: g.Command, Hidden: g.Private, TimeoutSeconds: int64(j.timeout().Seconds())}
		if g.Private {
			own[i].Name = fmt.Sprintf("private-gate-%d", i+1)
		}
	}
	passed = true
	if j.Unchecked {
		recorded = nil
	}
	for _, list := range [][]deed.Check{recorded, own} {
		if len(list) == 0 {
			continue
		}
		r := &round{job: j, recorded: len(recorded) > 0 && &list[0] == &recorded[0], skip: !passed}
		if passed, err = r.run(ctx, sup, in, list); err != nil {
			return false, err
		}
	}
	return passed, nil
}

func (j *job) timeout() time.Duration {
	if j.Timeout > 0 {
		return max(j.Timeout, time.Second)
	}
	return DefaultGateTimeout
}

// A round runs one list of checks.
type round struct {
	*job
	recorded bool
	skip     bool
	sinks    map[string]*sink
	skipped  map[string]bool
}

func (r *round) run(ctx context.Context, sup *proc.Supervisor, in attempt.Rerun, list []deed.Check) (bool, error) {
	if r.skip {
		for i, c := range list {
			g := r.gate(i, c)
			g.Status = homeboy.GateSkipped
			r.report.Gates = append(r.report.Gates, g)
		}
		return false, nil
	}
	r.sinks, r.skipped = map[string]*sink{}, map[string]bool{}
	in.Spec.Checks, in.Verdict, in.Around = list, deed.Verdict{}, r.around
	out, err := r.Rerun(ctx, sup, in)
	if err != nil {
		return false, err
	}
	r.ran = true
	passed := true
	for i, c := range list {
		g := r.gate(i, c)
		if i < len(out.Verdict.Checks) {
			r.judge(&g, c, out.Verdict, out.Verdict.Checks[i])
		} else {
			g.Status = homeboy.GateSkipped
		}
		passed = passed && (g.Status == homeboy.GateSucceeded || g.Status == homeboy.GateAcceptedInherited)
		r.report.Gates = append(r.report.Gates, g)
	}
	// A reason that is no check's, such as a patch that does not apply, fails the whole.
	if k := slices.IndexFunc(out.Verdict.Reasons, func(r deed.Reason) bool { return r.Check == "" }); k >= 0 {
		r.report.Gates = append(r.report.Gates, homeboy.PromotionGate{
			ID: out.Verdict.Reasons[k].Code, Visibility: homeboy.GateVisible, Status: homeboy.GateFailed, Termination: homeboy.GateCompleted,
			Tail: r.Redact.String(out.Verdict.Reasons[k].Message),
		})
		passed = false
	}
	return passed, nil
}

// gate describes a check before it has run.
func (r *round) gate(i int, c deed.Check) homeboy.PromotionGate {
	g := homeboy.PromotionGate{ID: gate.CheckName(c), Visibility: homeboy.GateVisible, Recorded: r.recorded}
	if c.Hidden {
		g.Visibility = homeboy.GatePrivate
		if r.recorded {
			g.ID = fmt.Sprintf("hidden-check-%d", i+1) // its name may be its command
		}
		return g
	}
	g.ID, g.Command = r.Redact.String(g.ID), r.Redact.String(strings.Join(gate.Argv(c), " "))
	if c.Shell != "" {
		g.Command = r.Redact.String(c.Shell)
	}
	return g
}

// judge fills in how a check ended. A failure that the verdict does not count against the change was there before it.
func (r *round) judge(g *homeboy.PromotionGate, c deed.Check, v deed.Verdict, res deed.CheckResult) {
	name := gate.CheckName(c)
	against := slices.ContainsFunc(v.Reasons, func(reason deed.Reason) bool { return reason.Check == name })
	g.DurationMS, g.Termination = res.DurationMS, homeboy.GateCompleted
	code := int64(res.ExitCode)
	switch {
	case r.skipped[name]:
		g.Status, g.Termination = homeboy.GateSkipped, ""
		return
	case res.Status == deed.CheckPassed:
		g.Status, g.ExitCode = homeboy.GateSucceeded, &code
	case !against:
		g.Status = homeboy.GateAcceptedInherited
	default:
		g.Status = homeboy.GateFailed
	}
	if res.Status == deed.CheckFailed && res.ExitCode >= 0 {
		g.ExitCode = &code
	}
	if res.Status == deed.CheckTimeout {
		g.Termination = homeboy.GateTimedOut
	}
	s := r.sinks[name]
	if s == nil { // by capability: its report is its output
		s = newSink(nil)
		_, _ = io.WriteString(s, r.Redact.String(res.Tail))
	}
	if s.ended != "" {
		g.Termination = s.ended
	}
	g.Bytes, g.SHA256 = s.total, hex.EncodeToString(s.sum.Sum(nil))
	if c.Hidden {
		g.ExitCode = nil
		return
	}
	g.Tail, g.Progress = s.text(), s.progress
	if g.Tail == "" && g.Status == homeboy.GateFailed {
		g.Tail = r.Redact.String(res.Tail) // it could not be run, and this says why
	}
}

// around runs one check by command, and listens to it. Only a run on the change is reported; the limit on silence holds for both, since
// a command that hangs there hangs on the base as well.
func (r *round) around(ctx context.Context, c deed.Check, base bool, run func(context.Context, io.Writer) deed.CheckResult) deed.CheckResult {
	name := gate.CheckName(c)
	if r.skip {
		r.skipped[name] = true
		return deed.CheckResult{Name: name, Command: gate.Argv(c), Status: deed.CheckError, ExitCode: -1}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := newSink(func(line string) {
		if r.Progress != nil && !c.Hidden && !base {
			r.Progress(name, line)
		}
	})
	if !base {
		r.sinks[name] = s
	}
	if r.Idle > 0 {
		timer := time.AfterFunc(r.Idle, func() { cancel(errNoProgress) })
		defer timer.Stop()
		s.onOutput = func() { timer.Reset(r.Idle) }
	}
	clean := r.Redact.Writer(s)
	res := run(ctx, clean)
	_ = clean.Close() // a sink takes everything
	switch cause := context.Cause(ctx); {
	case res.Status == deed.CheckTimeout || cause == nil:
	case errors.Is(cause, errNoProgress):
		s.ended = homeboy.GateNoProgress
		if base {
			res.Status = deed.CheckTimeout // it is there what it will be on the change: too slow
		}
	default:
		s.ended = homeboy.GateCancelled
	}
	if !base {
		r.skip = res.Status != deed.CheckPassed && !c.Advisory
	}
	return res
}

// A sink keeps the end of what a gate prints, counts and hashes all of it, and picks out its lines of progress.
type sink struct {
	mu         sync.Mutex // a check prints on two streams
	total      int64
	sum        hash.Hash
	tail       []byte
	line       []byte // of which the beginning is kept
	progress   string
	ended      string
	onProgress func(line string)
	onOutput   func()
}

func newSink(hear func(string)) *sink { return &sink{sum: sha256.New(), onProgress: hear} }

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onOutput != nil {
		s.onOutput()
	}
	s.total += int64(len(p))
	s.sum.Write(p)
	s.tail = append(s.tail, p[max(0, len(p)-maxTail):]...)
	if over := len(s.tail) - maxTail; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		s.line = append(s.line, line[:min(len(line), maxProgress-len(s.line))]...)
		if ended {
			s.endLine()
		}
		rest = after
	}
	return len(p), nil
}

// endLine handles a complete line.
func (s *sink) endLine() {
	text, ok := strings.CutPrefix(string(s.line), progressPrefix)
	s.line = s.line[:0]
	if !ok || s.onProgress == nil {
		return
	}
	s.progress = strings.ToValidUTF8(strings.TrimSpace(strings.TrimPrefix(text, ":")), "\uFFFD")
	s.onProgress(s.progress)
}

// text is the tail as JSON can carry it.
func (s *sink) text() string { return strings.ToValidUTF8(string(s.tail), "\uFFFD") }
