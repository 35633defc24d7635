package boundary

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/attempt/ending"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/redact"
)

func (r Run) failureEvidence(diagnostics []evidence.Diagnostic) *codebox.FailureEvidence {
	s := r.FailedStep()
	e := &codebox.FailureEvidence{
		Schema: codebox.SchemaFailureEvidence, Phase: r.phase(), Command: s.Command, ExitCode: s.ExitCode, Message: r.Summary(), Task: r.Request.Goal,
		Sandbox: codebox.SandboxState{
			SandboxSessionID: r.sessionID(), Orchestrator: r.Request.Orchestrator, ArtifactsDirectory: r.BundleDir, ArtifactBundleID: r.BundleID,
		},
		Stdout: r.snippet(s.Stdout), Stderr: r.snippet(s.Stderr), Diagnostics: diagnostics,
		Error: codebox.SerializedError{Name: r.Ending.Classification, Message: r.Summary(), Code: r.Code}, WP: r.Request.WP,
	}
	if r.RuntimeID != "" {
		e.Runtime = &codebox.RuntimeState{ID: r.RuntimeID, Status: r.RuntimeStatus}
	}
	return e
}

// snippet keeps the end of a stream. It redacts before it cuts, so that no half of a secret is left at the start.
func (r Run) snippet(t ending.Tail) *codebox.Snippet {
	if t.Text == "" && t.Bytes == 0 {
		return nil
	}
	text := r.clean(r.Redactor.String(strings.ToValidUTF8(t.Text, "\uFFFD")))
	s := &codebox.Snippet{Bytes: cmp.Or(t.Bytes, int64(len(t.Text))), Truncated: t.Cut, Value: text}
	if n := utf8.RuneCountInString(text); n > codebox.MaxSnippet {
		runes := []rune(text)
		s.Value, s.Truncated = string(runes[n-codebox.MaxSnippet:]), true
	}
	return s
}

// clean removes credentials and hidden places from a text that deed did not write itself.
func (r Run) clean(s string) string {
	for _, p := range r.Hide {
		if p.Dir != "" && p.Dir != "/" {
			s = strings.ReplaceAll(s, p.Dir, p.Name)
		}
	}
	return codebox.MaskCredentials(s)
}

// hide cleans every text of the run that others may have written. The longest place goes first, since one can be
// inside another.
func (r *Run) hide() {
	r.Hide = slices.Clone(r.Hide)
	slices.SortStableFunc(r.Hide, func(a, b Place) int { return len(b.Dir) - len(a.Dir) })
	r.Message, r.Command = brief(r.clean(r.Message)), brief(r.clean(r.Command))
	if r.Judging != nil {
		s := *r.Judging
		s.Command = brief(r.clean(s.Command))
		r.Judging = &s
	}
	r.Diagnostics = slices.Clone(r.Diagnostics)
	for i := range r.Diagnostics {
		d := &r.Diagnostics[i]
		d.Message, d.Remedy = r.clean(d.Message), r.clean(d.Remedy)
	}
	if r.Verdict != nil {
		v := *r.Verdict
		v.Reasons, v.Notes, v.Checks = slices.Clone(v.Reasons), slices.Clone(v.Notes), slices.Clone(v.Checks)
		for _, list := range [][]deed.Reason{v.Reasons, v.Notes} {
			for i := range list {
				list[i].Message = r.clean(list[i].Message)
			}
		}
		for i := range v.Checks {
			v.Checks[i].Command = []string{r.clean(strings.Join(v.Checks[i].Command, " "))}
		}
		r.Verdict = &v
	}
}

// brief shortens a text that people read: a stack trace does not help them, and a message is not a log.
func brief(s string) string {
	s, _, _ = strings.Cut(s, "\ngoroutine ")
	if r := []rune(s); len(r) > codebox.MaxSnippet {
		return string(r[:codebox.MaxSnippet]) + "…"
	}
	return s
}

// maxEcho bounds how much of a refused request is returned.
const maxEcho = 1 << 20

// Refusal answers a request that was refused: a whole envelope, with every fault as a diagnostic. The request may be
// anything; the envelope returns its valid parts, so that the caller can find its own record again.
func Refusal(request json.RawMessage, err error, redactor *redact.Redactor) codebox.AgentTaskRun {
	r := Run{Account: ending.Account{Ending: ending.Decide(ending.Facts{Refused: true}), Code: ending.ClassInvalidRequest, Redactor: redactor, Message: "the request was refused"}}
	faults := fault.Of(mask(err))
	if len(faults) == 0 && err != nil {
		r.Message = err.Error()
		r.Diagnostics = append(r.Diagnostics, evidence.Diagnostic{Class: evidence.ClassInvalidRequest, Message: err.Error()})
	}
	r.Diagnostics = append(r.Diagnostics, ending.DiagnosticsOf(faults)...)
	if len(faults) > 0 {
		r.Message = RefusalMessage(faults)
	}
	return r.notStarted(request)
}

// RefusalMessage names the first fault of a request, and how many more there are.
func RefusalMessage(faults fault.Faults) string {
	s := "the request was refused: " + faults[0].String()
	if n := len(faults) - 1; n > 0 {
		s += fmt.Sprintf("; and %d more", n)
	}
	return s
}

// NotStarted answers a request whose run did not start for a reason other than the request. err says whose fault it
// is; a context that has ended means that deed was told to stop. It also returns the exit code.
func NotStarted(request json.RawMessage, err error, redactor *redact.Redactor) (codebox.AgentTaskRun, int) {
	class := failure.ClassOf(err)
	facts := ending.FactsOf(ending.End{Class: class})
	if errors.Is(err, context.Canceled) {
		class, facts = failure.Interrupted, ending.Facts{Cancelled: ending.BySignal}
	}
	r := Run{Account: ending.Account{Ending: ending.Decide(facts), Code: string(class), Message: err.Error(), Diagnostics: ending.DiagnosticsOf(err), Redactor: redactor}}
	if facts.Cancelled != ending.NotCancelled {
		r.Message = r.Ending.About
	}
	return r.notStarted(request), r.Ending.Exit
}

func (r Run) notStarted(request json.RawMessage) codebox.AgentTaskRun {
	r.Command, r.Request = defaultPhase, echo(request)
	env, err := Envelope(r)
	if err != nil {
		r.Request = codebox.TaskRequest{} // deed's own words can always be encoded
		env, _ = Envelope(r)
	}
	return env
}

// echo returns the well-formed parts of a request, without credentials.
func echo(request json.RawMessage) codebox.TaskRequest {
	if len(request) > maxEcho || !json.Valid(request) {
		return codebox.TaskRequest{}
	}
	s, _ := ValidPart([]byte(codebox.MaskCredentials(string(request))))
	return s.Request
}
