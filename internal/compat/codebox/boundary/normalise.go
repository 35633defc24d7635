package boundary

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/attempt/ending"
)

// Normalise reads an envelope, deed's or another program's, as an orchestrator does. It returns the envelope's one
// terminal status with every reference in its group. exitStatus is the exit code of the command that printed it.
//
// A canonical terminal result decides; then a no-op that is stated or visible; then the status word; then the flags.
// After that, the rules of the contract apply: a run whose command exited with a code other than 0, or that says
// itself that it was no success, is none, and a run that is known to have changed nothing did not succeed but is a
// no-op. What the run's own state says about a timeout or a cancellation is believed.
func Normalise(raw json.RawMessage, exitStatus int) (codebox.AgentTaskRunResult, error) {
	r, err := parse(raw)
	if err != nil {
		return codebox.AgentTaskRunResult{}, fmt.Errorf("normalise an envelope: %w", err)
	}
	v := view{tree: r, agent: r.either("agent_result", "agentResult"), outcome: r.either("completion_outcome", "completionOutcome"), exit: exitStatus}
	v.readChange()
	v.readTerminal()
	status, class := v.decide()

	out := codebox.AgentTaskRunResult{
		Schema: codebox.SchemaAgentTaskRunResult, Status: status, Success: evidence.Success(status), Summary: v.summary(status),
		Diagnostics: diagnostics(r), TerminalResult: v.terminal, Metadata: v.metadata(),
		NoOp: codebox.NoOp{Detected: status == evidence.StatusNoOp, Reason: v.reason, ChangedFilesCount: v.files, PatchBytes: v.bytes},
	}
	if !out.Success {
		out.FailureClassification = class
	}
	out.Artifacts = v.refs()
	out.Refs = group(out.Artifacts)
	return out, nil
}

// A view is an envelope with what was found in it.
type view struct {
	tree
	agent    tree
	outcome  tree
	exit     int
	terminal *evidence.TerminalResult
	files    *int64 // nil: unknown
	bytes    *int64
	reason   string
}

func (v *view) readChange() {
	if n, ok := v.agent.in("changedFiles").number("count"); ok {
		v.files = &n
	}
	if n, ok := v.agent.in("patch").number("bytes"); ok {
		v.bytes = &n
	}
	v.reason = cmp.Or(v.agent.text("noOpReason"), v.text("no_op_reason"), v.in("no_op").text("reason"))
}

// unchanged reports whether the run is known to have changed nothing; changed, whether it is known to have changed
// something.
func (v *view) unchanged() bool {
	return v.files != nil && v.bytes != nil && *v.files == 0 && *v.bytes == 0
}

func (v *view) changed() bool {
	return v.files != nil && *v.files > 0 || v.bytes != nil && *v.bytes > 0
}

// readTerminal finds the canonical terminal result. A successful completion outcome replaces one that is absent or
// empty.
func (v *view) readTerminal() {
	for _, t := range []tree{v.in("terminal_result"), v.in("result", "terminal_result"), v.agent.in("terminal_result")} {
		if v.terminal = canonical(t); v.terminal != nil {
			break
		}
	}
	t := v.terminal
	if v.outcome.text("status") == evidence.OutcomeSucceeded && (t == nil || t.Status == evidence.TerminalIncomplete || t.Status == evidence.TerminalUnknown) {
		v.terminal = &evidence.TerminalResult{
			Schema: evidence.SchemaTerminalResult, Terminal: true, Status: evidence.StatusSucceeded, Success: true, Source: "completion_outcome", EvidenceRefs: []evidence.EvidenceRef{},
		}
	}
}

// canonical reads a terminal result, or returns nil if it is not one.
func canonical(t tree) *evidence.TerminalResult {
	_, terminal := t["terminal"].(bool)
	_, status := t["status"].(string)
	_, success := t["success"].(bool)
	if t == nil || t.text("schema") != evidence.SchemaTerminalResult && !(terminal && status && success) {
		return nil
	}
	out := &evidence.TerminalResult{
		Schema: evidence.SchemaTerminalResult, Terminal: !t.is("terminal", false), Status: strings.ToLower(strings.TrimSpace(t.text("status"))),
		Success: t.is("success", true), Source: "canonical", FailureClassification: t.text("failure_classification"), EvidenceRefs: []evidence.EvidenceRef{},
	}
	out.MaxTurns = turnLimit(t)
	if p := t.in("pending_tools"); p != nil {
		count, _ := p.number("count")
		out.PendingTools = &evidence.PendingTools{Detected: p.is("detected", true) || count > 0, Count: int(count)}
	}
	if out.Status == "" {
		out.Status = impliedStatus(t, out)
	}
	if out.Success && !evidence.Success(out.Status) && !slices.Contains([]string{evidence.StatusCompleted, "passed"}, out.Status) {
		out.Success = false
	}
	return out
}

func turnLimit(t tree) *evidence.TurnLimit {
	m := t.in("max_turns")
	if m == nil {
		if t.is("max_turns_reached", true) || t.is("max_turns", true) {
			return &evidence.TurnLimit{Reached: true}
		}
		return nil
	}
	current, _ := m.number("current")
	limit, _ := m.number("max")
	return &evidence.TurnLimit{Reached: m.is("reached", true) || limit > 0 && current >= limit, Current: int(current), Max: int(limit)}
}

// impliedStatus is the status of a terminal result that does not name one.
func impliedStatus(t tree, r *evidence.TerminalResult) string {
	_, told := t["success"].(bool)
	switch {
	case r.MaxTurns != nil && r.MaxTurns.Reached:
		return evidence.TerminalMaxTurns
	case r.PendingTools != nil && r.PendingTools.Detected:
		return evidence.TerminalIncomplete
	case t.is("timeout", true):
		return evidence.StatusTimeout
	case hasValue(t["provider_error"]):
		return evidence.StatusProviderError
	case r.Success:
		return evidence.StatusSucceeded
	case told:
		return evidence.StatusFailed
	}
	return evidence.TerminalUnknown
}

// decide returns the terminal status and the classification of a failure.
func (v *view) decide() (status, class string) {
	claimed, cancelled := v.claimedStatus()
	status = v.checkSuccess(claimed)
	switch run := v.runStatus(); {
	case run == evidence.RunTimedOut && (evidence.Success(status) || status == evidence.StatusFailed):
		return evidence.StatusTimeout, cmp.Or(v.claimedClass(), ending.ClassTimeout)
	case cancelled, run == evidence.RunCancelled && (evidence.Success(status) || status == evidence.StatusFailed):
		return evidence.StatusFailed, ending.ClassCancelled
	case run == evidence.RunFailed && evidence.Success(status):
		status = evidence.StatusFailed
	}
	if class = v.claimedClass(); class != "" {
		return status, class
	}
	switch status {
	case evidence.StatusProviderError:
		class = ending.ClassProvider
	case evidence.StatusTimeout:
		class = ending.ClassTimeout
		if v.terminal != nil && v.terminal.Status == evidence.TerminalMaxTurns {
			class = ending.ClassMaxTurns
		}
	case evidence.StatusFailed:
		class = ending.ClassRuntime
		if claimed == evidence.StatusFailed && v.terminal != nil && v.terminal.Status == evidence.TerminalIncomplete {
			class = ending.ClassIncomplete
		}
	}
	return status, class
}

func (v *view) claimedClass() string {
	if c := v.text("failure_classification"); c != "" {
		return c
	}
	if v.terminal != nil {
		return v.terminal.FailureClassification
	}
	return ""
}

func (v *view) runStatus() evidence.RunStatus {
	return evidence.RunStatus(cmp.Or(v.in("run_metadata").text("run_status"), v.in("run").text("status")))
}

// claimedStatus returns the status that the envelope claims, and whether it says that it was cancelled.
func (v *view) claimedStatus() (status string, cancelled bool) {
	noOp := v.text("outcome") == evidence.StatusNoOp || v.is("no_op", true) || v.in("no_op").is("detected", true)
	if t := v.terminal; t != nil {
		switch t.Status {
		case evidence.TerminalMaxTurns:
			return evidence.StatusTimeout, false
		case evidence.TerminalIncomplete:
			if noOp {
				return evidence.StatusNoOp, false
			}
			return evidence.StatusFailed, false
		}
		if s := word(t.Status, t.Success); s != "" {
			return s, isCancelled(t.Status)
		}
		if t.Success {
			return evidence.StatusSucceeded, false
		}
		return evidence.StatusFailed, false
	}
	if noOp {
		return evidence.StatusNoOp, false
	}
	if s := v.text("status"); isCancelled(s) {
		return evidence.StatusFailed, true
	} else if w := word(s, !v.is("success", false)); w != "" {
		return w, false
	}
	switch {
	case v.is("unable_to_remediate", true):
		return evidence.StatusUnable, false
	case v.is("timeout", true):
		return evidence.StatusTimeout, false
	case hasValue(v.tree["provider_error"]):
		return evidence.StatusProviderError, false
	case v.is("success", true):
		return evidence.StatusSucceeded, false
	}
	return evidence.StatusFailed, false
}

func isCancelled(word string) bool { return word == "cancelled" || word == "canceled" }

// word maps a status word, or returns "" for an unknown one.
func word(s string, success bool) string {
	switch s {
	case evidence.StatusSucceeded, evidence.StatusNoOp, evidence.StatusFailed, evidence.StatusTimeout, evidence.StatusProviderError, evidence.StatusUnable:
		return s
	case evidence.StatusCompleted, "passed":
		if success {
			return evidence.StatusSucceeded
		}
		return evidence.StatusFailed
	case "timed_out":
		return evidence.StatusTimeout
	case "blocked":
		return evidence.StatusUnable
	case "cancelled", "canceled":
		return evidence.StatusFailed
	}
	return ""
}

// checkSuccess compares a claimed success with what is known. Any other status stays as it is.
func (v *view) checkSuccess(status string) string {
	if !evidence.Success(status) {
		return status
	}
	contradicted := v.exit != 0 || v.is("success", false) || v.terminal != nil && !v.terminal.Success && evidence.Success(v.terminal.Status)
	switch {
	case contradicted:
		return evidence.StatusFailed
	case v.unchanged():
		return evidence.StatusNoOp
	case status == evidence.StatusNoOp && v.changed():
		return evidence.StatusFailed
	}
	return status
}

func (v *view) summary(status string) string {
	if s := cmp.Or(v.text("summary", "message"), v.agent.text("summary")); s != "" {
		return s
	}
	switch status {
	case evidence.StatusSucceeded:
		return "The agent's task succeeded."
	case evidence.StatusNoOp:
		return "The agent's task was accepted and changed nothing."
	}
	return "The agent's task did not succeed."
}

func (v *view) metadata() codebox.ResultMetadata {
	m := v.in("run_metadata")
	return codebox.ResultMetadata{
		RunID: m.text("run_id"), RunStatus: string(v.runStatus()), RuntimeID: m.text("runtime_id"), RuntimeStatus: m.text("runtime_status"),
		ChangedFilesCount: v.files, PatchBytes: v.bytes, PatchSHA256: v.agent.in("patch").text("sha256"), NoOpReason: v.reason,
		CompletionStatus: v.outcome.text("status"), CompletionNextAction: v.outcome.text("nextAction"), Confidence: v.outcome.text("confidence"),
		ProviderError: v.raw("provider_error"), Timeout: v.is("timeout", true), ToolObservability: v.observed(),
	}
}

// maxDiagnostics bounds how much of another program's list is kept.
const maxDiagnostics = 100

func diagnostics(t tree) []evidence.Diagnostic {
	out := []evidence.Diagnostic{}
	for _, e := range t.list("diagnostics") {
		o, ok := e.(map[string]any)
		d := tree(o)
		if class := d.text("class", "code"); ok && class != "" && len(out) < maxDiagnostics {
			out = append(out, evidence.Diagnostic{Class: class, Message: d.text("message"), Path: d.text("path"), Remedy: d.text("remedy"), Data: d.raw("data")})
		}
	}
	return out
}
