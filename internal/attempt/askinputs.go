package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// An InputsQuestion is what a person at the terminal is asked when the agent changed inputs of a check.
type InputsQuestion struct {
	Check   string
	Changed []deed.ChangedInput
	Failing []string // what fails with these files as on the base; for suspicious lines, what each of them does
	Patch   string   // a file with the whole change

	Kind gate.AskKind
}

// maxAskedInputs bounds how many changed inputs a person is shown by name.
const maxAskedInputs = 50

// askInputs asks a person whether the agent may have changed what a check judges by. At a terminal, that person is
// asked directly. Elsewhere the question becomes a required action. Its answer holds for these files with this
// content, so a second attempt that ends with the same content does not ask again. If the check does not ask for a
// person, one is asked only where people answer actions, and not about a change of nothing but inputs.
func (a *run) askInputs(ctx context.Context, c deed.Check, q gate.Question) (bool, string, error) {
	switch {
	case a.AskInputs != nil:
		a.showMu.Lock()
		defer a.showMu.Unlock()
		return a.AskInputs(ctx, InputsQuestion{Check: gate.CheckName(c), Changed: q.Changed, Failing: q.Failing, Patch: a.patch, Kind: q.Kind})
	case q.Optional && (!a.Staffed || q.NoWorkDone):
		return false, "nobody", nil
	case a.guard == nil:
		return false, "nobody, since nobody can be asked here", nil
	}
	digest, what, err := a.inputsDigest(c, q.Changed)
	if err != nil {
		return false, "", err
	}
	prompt, why := inputsQuestion(c, q, what)
	subject := action.Subject{Tool: "check_inputs", Agent: gate.CheckName(c), Subject: what, Digest: digest}
	got, closed, err := a.guard.ask(ctx, store.NewAction{
		Kind: action.KindPermission, Prompt: prompt, Why: why, ContextDigest: digest,
		Default: json.RawMessage(`{"decision":"` + deed.RuleDeny + `","note":"nobody answered before the deadline"}`),
	}, &subject, state.WaitingForPermission)
	switch {
	case errors.Is(err, errAskedTooOften):
		return false, "nobody: " + err.Error(), nil
	case err != nil:
		return false, "", err
	case !closed:
		return false, "", driver.ErrAsked
	}
	said, by := action.Read(got), got.AnsweredBy
	if by == "" {
		by = "nobody in time"
	}
	return said.Allowed(), by, nil
}

// inputsQuestion returns the question to a person, and the reason for it.
func inputsQuestion(c deed.Check, q gate.Question, what string) (prompt, why string) {
	first := strings.Join(q.Failing[:min(len(q.Failing), 3)], "; ")
	switch q.Kind {
	case gate.AskSuspicious:
		return fmt.Sprintf("All checks pass, and %s has lines that could make them pass without the work being done. Is it right as the agent left it?", what), first
	case gate.AskUnrun:
		return fmt.Sprintf("The check %q passes, and did not run all that it ran on the base. Is the work done all the same?", gate.CheckName(c)), first
	case gate.AskUnfinished:
		return fmt.Sprintf("The check %q fixes some tests, and others beside them fail as before. Is the work done all the same?", gate.CheckName(c)), first
	}
	why = "on_changed_inputs of the check is ask"
	if q.Optional {
		why = "the check passes only with these files as the agent left them"
		if first != "" {
			why += "; as they were: " + first
		}
	}
	return fmt.Sprintf("The check %q judges by files that the agent changed: %s. May they count as the agent left them?", gate.CheckName(c), what), why
}

// inputsDigest identifies the changed inputs with their content, and lists them for a person.
func (a *run) inputsDigest(c deed.Check, changed []deed.ChangedInput) (digest, what string, err error) {
	type input struct{ Path, Status, SHA256 string }
	var list []input
	var shown []string
	for i, ch := range changed {
		in := input{Path: ch.Path, Status: ch.Status}
		if e := a.after.Find(workspace.FromTextPath(ch.Path)); e != nil {
			in.SHA256 = e.SHA256.String()
		}
		list = append(list, in)
		if i < maxAskedInputs {
			shown = append(shown, fmt.Sprintf("%s (%s)", workspace.Display(ch.Path), ch.Status))
		}
	}
	if n := len(changed) - maxAskedInputs; n > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", n))
	}
	digest, err = canonjson.HashIn("deed/check-inputs/v1", map[string]any{"check": c, "inputs": list})
	return digest, strings.Join(shown, ", "), err
}
