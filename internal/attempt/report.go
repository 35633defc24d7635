package attempt

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/attempt/ending"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// The phases of an attempt, by the names that run evidence knows.
const (
	PhaseStartup = evidence.PhaseNameStartup
	PhaseAgent   = evidence.PhaseNameWorkloads
	PhaseJudge   = evidence.PhaseNameProbes
	PhaseCollect = evidence.PhaseNameCollect
)

// report builds the account of the attempt. Every document that says how it ended, in the bundle and in the answer to
// a caller, is derived from it, so that no two of them can contradict each other.
func (a *run) report(w *bundle.Writer, e end) ending.Account {
	change := a.changeSummary(w, a.changedFiles())
	r := ending.Account{
		Isolation: string(a.plan.kind), RuntimeID: "runtime-" + a.claim.Ref.AttemptID, RuntimeStatus: evidence.RuntimeDestroyed,
		Started: a.started, Finished: a.Clock(), BundleDir: ".", Changes: change.files, Patch: change.patch,
		Phase: a.phase, Command: a.plan.adapter.ID(), Code: string(e.class), Verdict: a.verdict, Components: a.componentRecords(), Redactor: a.redactor,
	}
	if a.verdict == nil && len(a.checks) > 0 {
		r.Verdict = &deed.Verdict{Checks: a.checks} // the checks that ran are listed; the decision is "not judged"
	}
	ended := ending.End{
		Class: e.class, Stopped: errors.Is(e.err, Stopped), Verdict: a.verdict, Files: change.files.Count, PatchBytes: change.patch.Bytes,
		KeptBack: a.plan.spec.ApplyBack == deed.ApplyBackDisabled,
	}
	var dropped []string
	if y := a.yield(); y != nil {
		dropped, _ = y.Diagnostics["dropped"].([]string)
		r.Executions, r.ExitCode, ended.Done = len(a.conversation.yields), y.Proc.Code, y.Class == failure.None
		r.Stdout, r.Stderr = tail(y.StdoutPath), tail(y.StderrPath)
		if y.Class != failure.None {
			r.Phase = PhaseAgent // whatever was captured afterwards
		}
		if e.class != failure.Spawn {
			ended.Exit = &ending.Exit{Code: y.Proc.Code, Signal: y.Proc.Signal}
		}
		if c := y.Claim; c != nil {
			r.Outputs, r.Statement = c.Outputs, c.Raw
			for _, s := range c.StructuredArtifacts {
				var artifact evidence.StructuredArtifact
				if json.Unmarshal(s, &artifact) == nil { // the driver leaves out an invalid one
					r.StructuredArtifacts = append(r.StructuredArtifacts, artifact)
				}
			}
		}
	}
	if most := a.plan.spec.MaxTurns; most > 0 {
		r.MaxTurns = &evidence.TurnLimit{Reached: e.class == failure.Turns, Current: min(a.watch.turns(), most), Max: most}
	}
	r.Ending = ending.Decide(ending.FactsOf(ended))
	if d := r.Ending; !d.Success() && ended.Done && r.Phase == PhaseJudge {
		r.Judging = a.failedStep(w)
	}
	r.Diagnostics = slices.Concat(ending.DiagnosticsOf(e.err), a.denials(e), a.runtimeDiagnostics(), a.seedDiagnostics())
	for _, what := range dropped {
		r.Diagnostics = append(r.Diagnostics, evidence.Diagnostic{Class: "deed.result.dropped", Message: "left out of the agent's result: " + a.redactor.String(what)})
	}
	r.Diagnostics = append(r.Diagnostics, a.droppedArtifacts()...)
	switch {
	case e.err != nil:
		r.Message = a.redactor.String(e.err.Error())
	case e.class == failure.None:
		r.Message = a.summary()
	}
	return r
}

// failedStep returns what counts against work that the agent has finished: the first check that does, else the gate.
// If no decision was reached, it is the check that was running.
func (a *run) failedStep(w *bundle.Writer) *ending.Step {
	s := &ending.Step{Command: "deed gate"}
	var list []deed.CheckResult
	if a.verdict != nil {
		list = slices.DeleteFunc(slices.Clone(a.verdict.Checks), func(c deed.CheckResult) bool { return c.Advisory })
	} else if n := len(a.checks); n > 0 {
		list = a.checks[n-1:]
	}
	for _, c := range list {
		if c.Status == deed.CheckPassed {
			continue
		}
		s.Command, s.ExitCode, s.Stdout = strings.Join(c.Command, " "), c.ExitCode, ending.Tail{Text: c.Tail} // both streams are written to one log
		if _, size, ok := w.File(c.Log); ok {
			s.Stdout.Bytes, s.Stdout.Cut = size, size > int64(min(len(c.Tail), tailSize))+1 // the tail lacks the last newline, and may have a line of deed
		}
		break
	}
	return s
}

// droppedArtifacts lists what of the directory of artifacts is not in the bundle. A name that cannot be kept is a
// reason of the gate.
func (a *run) droppedArtifacts() []evidence.Diagnostic {
	left := a.artifacts.LeftOut()
	if left == "" {
		return nil
	}
	return []evidence.Diagnostic{{
		Class: "deed.artifacts.dropped", Message: a.redactor.String(left), Remedy: "have the agent leave files, and a copy in the place of a link",
	}}
}

// denials are what the sandbox denied to the agent and the checks, as far as deed can see it: limits that ended them,
// and refused connections. A call that the kernel refuses is only visible to the agent.
func (a *run) denials(e end) []evidence.Diagnostic {
	out := a.egress.diagnostics()
	var limit *sandbox.LimitError
	if errors.As(e.err, &limit) {
		out = append(out, limitDiagnostic(limit, limit.Error(), nil))
	}
	for _, l := range a.limits {
		name := a.redactor.String(l.check)
		out = append(out, limitDiagnostic(l.LimitError, fmt.Sprintf("check %q: %v", name, l.LimitError), map[string]any{"check": name}))
	}
	return out
}

func limitDiagnostic(l *sandbox.LimitError, message string, more map[string]any) evidence.Diagnostic {
	data := map[string]any{"limit": l.Limit, "used": l.Used, "max": l.Max}
	maps.Copy(data, more)
	return evidence.Diagnostic{
		Class: evidence.ClassLimit + "." + l.Limit, Message: message, Remedy: "raise it (policy.limits of a request, deed.sandbox.limits of a task), or make the work smaller",
		Data: mustJSON(data),
	}
}

// reportedSeedNotes are the notes about a seed that the caller gets, with their remedies: the agent lacks something
// that the source has, and nothing in the workspace shows that. All notes are in the bundle's metadata.
var reportedSeedNotes = map[string]string{
	workspace.NoteSubmodule: "seed a checkout that has it with type directory, or mount it",
	workspace.NoteHistory:   "exclude nothing that was ever committed, if the agent needs the history",
}

// maxNamedInSeed bounds how many paths a message names; the data has all of them.
const maxNamedInSeed = 10

// seedDiagnostics lists what of the sources was not copied, once for each part and kind.
func (a *run) seedDiagnostics() []evidence.Diagnostic {
	var out []evidence.Diagnostic
	for _, p := range a.seeded.Parts {
		for _, code := range slices.Sorted(maps.Keys(reportedSeedNotes)) {
			var paths []string
			detail := ""
			for _, n := range p.Notes {
				if n.Code == code {
					paths, detail = append(paths, a.redactor.String(n.Path)), n.Detail
				}
			}
			if len(paths) == 0 {
				continue
			}
			named := strings.Join(paths[:min(len(paths), maxNamedInSeed)], ", ")
			if more := len(paths) - maxNamedInSeed; more > 0 {
				named += fmt.Sprintf(" and %d more", more)
			}
			d := evidence.Diagnostic{Class: "deed.seed." + code, Message: fmt.Sprintf("%s in %s: %s", named, p.Target, detail), Remedy: reportedSeedNotes[code], Data: mustJSON(map[string]any{"paths": paths})}
			if p.Index < len(a.plan.spec.Workspaces) {
				d.Path = fault.Index("$.workspaces", p.Index) + ".seed"
			}
			out = append(out, d)
		}
	}
	return out
}

// tailBytes is longer than any snippet, so that the start of a snippet never cuts a secret in half.
const tailBytes = 64 << 10

func tail(file string) ending.Tail {
	f, err := os.Open(file)
	if err != nil {
		return ending.Tail{}
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return ending.Tail{}
	}
	buf := make([]byte, min(st.Size(), tailBytes))
	n, _ := f.ReadAt(buf, st.Size()-int64(len(buf)))
	return ending.Tail{Text: strings.ToValidUTF8(string(buf[:n]), "\uFFFD"), Bytes: st.Size(), Cut: int64(n) < st.Size()}
}
