// Package brief compiles what an agent is told and hashes it. It owns the text, its canonical document and the
// replay grade; it does not decide who runs the task or what counts as done.
package brief

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/canonjson"
)

// Version names the document's layout. A change of layout changes every hash, so it gets a new version.
const Version = "deed/brief/v1"

// The replay grades: how far the same brief can be expected to give the same work.
const (
	GradeInputsFrozen  = "inputs_frozen"        // a deterministic driver on pinned inputs
	GradeBestEffort    = "best_effort"          // an input was not pinned
	GradeModelInvolved = "non_replayable_model" // a model takes part
)

// Input is everything that goes into a brief.
type Input struct {
	RuntimeName string
	Agent       *Agent // who this runtime is; nil: it has no agent, and nothing of one is in the brief
	Intent      agentruntime.TaskIntent
	Profile     agentruntime.SubagentProfile
	AdapterID   string
	AdapterKind string
	Model       string
	Spec        deed.TaskSpec // effective, with the task type's part merged in
	Required    []string      // artifacts that must be there at the end
	Base        string        // the digest of the workspace's first state
	Commit      string        // the commit behind it, when it came from git
	Answers     []Answer      // what people answered when an earlier attempt asked
	House       *Instructions // what the repository itself says to agents; nil: nothing
	Runtime     []string      // what there is to use besides the workspace, a sentence each
	Skills      []Skill       // what the agent can do for this task, in the order in which it is told
}

// Instructions are a file in which a repository tells agents how to work in it, as the base has it.
type Instructions struct {
	File string // below the workspace
	Text string
	Cut  bool // there is more in the file
}

// An Answer is a person's answer to a required action.
type Answer struct {
	Prompt string          `json:"prompt"`
	Answer json.RawMessage `json:"answer"`
}

// A Brief is the compiled result.
type Brief struct {
	Text     string   // what the agent reads
	Document []byte   // canonical JSON (RFC 8785) of all inputs and the text
	Hash     string   // SHA-256 of the document, lower-case hex
	Grade    string   // one of the grades
	Dropped  []string // what did not fit into max_prompt_chars, in the order in which it was dropped
}

type document struct {
	Version      string                       `json:"version"`
	Agent        string                       `json:"agent"`
	Identity     *identityPart                `json:"identity,omitempty"`
	Constitution *constitutionPart            `json:"constitution,omitempty"`
	Task         taskPart                     `json:"task"`
	Profile      agentruntime.SubagentProfile `json:"profile"`
	Adapter      adapterPart                  `json:"adapter"`
	Work         workPart                     `json:"workspace"`
	Skills       []skillPart                  `json:"skills,omitempty"`
	Answers      []Answer                     `json:"answers,omitempty"`
	Prompt       string                       `json:"prompt"`
	Dropped      []string                     `json:"dropped"`
}

// taskPart has no id and no time, so that two equal tasks have one hash.
type taskPart struct {
	TaskType             string                             `json:"task_type"`
	Subject              string                             `json:"subject"`
	Description          string                             `json:"description"`
	Payload              json.RawMessage                    `json:"payload"`
	EvidenceRequirements *agentruntime.EvidenceRequirements `json:"evidence_requirements,omitempty"`
	Deed                 deed.TaskSpec                      `json:"deed"`
}

type adapterPart struct {
	AdapterID string `json:"adapter_id"`
	Kind      string `json:"kind"`
	Model     string `json:"model"`
}

type workPart struct {
	BaseDigest string `json:"base_digest"`
	Commit     string `json:"commit"`
}

// Compile renders the text within the profile's max_prompt_chars, then hashes everything. The output contract is
// never dropped; when even the rest's first needs do not fit, the error says by how much.
func Compile(in Input) (Brief, error) {
	in.Spec.Checks = visible(in.Spec.Checks)
	text, dropped, err := render(in)
	if err != nil {
		return Brief{}, err
	}
	spec := in.Spec
	spec.Adapter = nil // its command and environment are the operator's own; the adapter's id and kind are here
	if spec.Workspace != nil {
		spec.Workspace = &deed.Workspace{Ref: spec.Workspace.Ref} // where the source lies differs by machine; its digest is pinned
	}
	payload := in.Intent.Payload
	if len(payload) == 0 {
		payload = json.RawMessage("{}")
	}
	if dropped == nil {
		dropped = []string{}
	}
	doc, err := canonjson.Marshal(document{
		Version: Version,
		Agent:   in.RuntimeName, Identity: in.Agent.identity(), Constitution: in.Agent.constitution(),
		Task: taskPart{
			TaskType: in.Intent.TaskType, Subject: in.Intent.Subject, Description: in.Intent.Description,
			Payload: payload, EvidenceRequirements: in.Intent.EvidenceRequirements, Deed: spec,
		},
		Profile: in.Profile,
		Adapter: adapterPart{in.AdapterID, in.AdapterKind, in.Model},
		Work:    workPart{in.Base, in.Commit},
		Skills:  skillParts(in.Skills),
		Answers: in.Answers,
		Prompt:  text,
		Dropped: dropped,
	})
	if err != nil {
		return Brief{}, fmt.Errorf("canonical brief: %w", err)
	}
	sum := sha256.Sum256(doc)
	return Brief{Text: text, Document: doc, Hash: hex.EncodeToString(sum[:]), Grade: grade(in.AdapterKind), Dropped: dropped}, nil
}

func grade(kind string) string {
	if kind == agentruntime.KindScript {
		return GradeInputsFrozen
	}
	return GradeModelInvolved
}

// A part of the text; parts with a larger rank are dropped first, rank 0 never.
type part struct {
	name string
	rank int
	text string
}

func render(in Input) (string, []string, error) {
	parts := []part{
		{"identity", 0, identityText(in.Agent)},
		{"constitution", 1, constitutionText(in.Agent)},
		{"goal", 0, goal(in.Intent)},
		{"answers", 1, answersText(in.Answers)},
		{"rules", 1, rules(in)},
		{"runtime", 1, strings.Join(in.Runtime, "\n")},
		{"instructions", 2, houseText(in.House)},
		{"payload", 2, payloadText(in.Intent.Payload)},
		{"profile", 3, strings.Join(in.Profile.PromptParts, "\n\n")},
		{"skills", 1, skillIndex(in.Skills)},
		{"output contract", 0, outputContract(in.AdapterKind)},
		{"signals", 0, signalContract(in.Intent)},
	}
	for _, s := range in.Skills {
		parts = slices.Insert(parts, len(parts)-2, part{"skill " + s.ID, 2, skillText(s)})
	}
	limit := int(in.Profile.ContextPolicy.MaxPromptChars)
	var dropped []string
	for {
		text := join(parts)
		if limit <= 0 || len(text) <= limit {
			return text, dropped, nil
		}
		worst := -1
		for i, p := range parts {
			if p.rank > 0 && p.text != "" && (worst < 0 || p.rank > parts[worst].rank) {
				worst = i
			}
		}
		if worst < 0 {
			return "", nil, fmt.Errorf("brief needs %d characters for the goal and the output contract, and the profile's context_policy.max_prompt_chars is %d (shorten the description or raise the limit)", len(text), limit)
		}
		dropped = append(dropped, parts[worst].name)
		parts[worst].text = ""
	}
}

func join(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(p.text)
	}
	b.WriteString("\n")
	return b.String()
}

func goal(t agentruntime.TaskIntent) string {
	switch {
	case t.Subject != "" && t.Description != "":
		return "# " + t.Subject + "\n\n" + t.Description
	case t.Subject != "":
		return "# " + t.Subject
	case t.Description != "":
		return t.Description
	default:
		return "# " + t.TaskType
	}
}

func rules(in Input) string {
	var b strings.Builder
	line := func(f string, a ...any) { fmt.Fprintf(&b, f+"\n", a...) }
	if len(in.Spec.WriteScope) > 0 {
		line("- Change files only under: %s", strings.Join(in.Spec.WriteScope, ", "))
	}
	if len(in.Spec.ProtectedPaths) > 0 {
		line("- Do not change: %s", strings.Join(in.Spec.ProtectedPaths, ", "))
	}
	for _, c := range in.Spec.Checks {
		if c.Capability != "" {
			line("- %s", capabilityRule(c))
			continue
		}
		cmd := c.Shell
		if cmd == "" {
			cmd = strings.Join(c.Command, " ")
		}
		line("- This must exit 0 on a clean copy with your change applied: %s", cmd)
	}
	req := append([]string(nil), in.Required...)
	sort.Strings(req)
	for _, a := range req {
		line("- Leave this file in $DEED_ARTIFACTS: %s", a)
	}
	if b.Len() == 0 {
		return ""
	}
	return "## Rules\n\n" + strings.TrimRight(b.String(), "\n")
}

// visible are the checks that an agent is told of.
func visible(list []deed.Check) []deed.Check {
	return slices.DeleteFunc(slices.Clone(list), func(c deed.Check) bool { return c.Hidden })
}

// capabilityRule says what a check by capability asks for.
func capabilityRule(c deed.Check) string {
	switch c.Capability {
	case runner.Test:
		s := "The project's tests are run on a clean copy with your change applied, and compared by name with the same tests before it: none may newly fail, vanish or be skipped, and what you were asked to mend must pass. Tests that you add count too."
		if c.Policy() == deed.InputsRefuse {
			return s + " Do not change existing tests, fixtures or test configuration."
		}
		return s + " Existing tests, fixtures and test configuration are also run as they were before your change."
	case runner.Lint:
		return "The project's linters are run on a clean copy with your change applied: they may find nothing that they did not find before it."
	case runner.Build:
		return "The project must build on a clean copy with your change applied."
	}
	return "deed's " + c.Capability + " may find nothing in a clean copy with your change applied that it did not find before it."
}

func answersText(list []Answer) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("## Answers to what you asked\n")
	for _, a := range list {
		fmt.Fprintf(&b, "\n- %s\n  %s", strings.Join(strings.Fields(a.Prompt), " "), a.Answer)
	}
	return b.String()
}

func houseText(h *Instructions) string {
	if h == nil || strings.TrimSpace(h.Text) == "" {
		return ""
	}
	text := "## Instructions of this repository (" + h.File + ")\n\n" + strings.TrimSpace(h.Text)
	if h.Cut {
		text += "\n\n(cut here; the whole is in the file)"
	}
	return text
}

func payloadText(p json.RawMessage) string {
	s := strings.TrimSpace(string(p))
	if s == "" || s == "{}" {
		return ""
	}
	return "## Payload\n\n```json\n" + s + "\n```"
}

// outputContract says how an agent ends. A script is a program that ends with a result; whatever has a conversation ends a
// turn by saying so, and is answered when it is wrong.
func outputContract(kind string) string {
	if kind == agentruntime.KindScript {
		return scriptResult
	}
	return conversationResult
}

// signalContract says which words lead on in the workflow that the task belongs to. The payload's own account of the workflow
// names them; a task without a workflow is told nothing.
func signalContract(t agentruntime.TaskIntent) string {
	if t.WorkflowRef == nil {
		return ""
	}
	var p struct {
		Workflow struct {
			Signals  []string `json:"accepted_signals"`
			Required bool     `json:"signal_required"`
		} `json:"workflow"`
	}
	if json.Unmarshal(t.Payload, &p) != nil || len(p.Workflow.Signals) == 0 {
		return ""
	}
	text := "This task is a step of a workflow, at its state " + t.WorkflowRef.StateID + ". "
	if p.Workflow.Required {
		text += "What comes next is decided by a word of yours: write the result file, with \"workflow_signal\" in the object. Without one of these words nothing follows from your work: "
	} else {
		text += "You may say what comes next with \"workflow_signal\" in the object. The words are: "
	}
	return text + strings.Join(p.Workflow.Signals, ", ") + "."
}

const conversationResult = `## Result

When the work is done, end with a short message that says what you changed and how you saw that it works. If you cannot do
it, say so instead, and why. Your word is a claim: your directory is looked at and the checks are run on a clean copy of it
with your change. If they do not bear it out, you are told why and go on.

You may also write one JSON object to the file named by $DEED_RESULT_FILE; it then counts instead of the message:

    {"status": "completed", "operator_summary": "what was done", "file_changes": ["every/path/changed"], "artifact_paths": []}

status is completed, retryable_failure, permanent_failure or blocked.`

const scriptResult = `## Result

Write one JSON object to the file named by $DEED_RESULT_FILE, or print it as the last thing on standard output:

    {"status": "completed", "machine_status": "ok", "operator_summary": "what was done",
     "file_changes": ["every/path/changed"], "artifact_paths": []}

status is completed, retryable_failure, permanent_failure or blocked; machine_status is ok, needs_retry, failed or
blocked to match. Your result is a claim: it counts when the changed files and the checks bear it out.`
