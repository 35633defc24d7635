// Package brief compiles what an agent gets to read about its task, and hashes it. It owns the text, its canonical
// document and the replay grade; it does not decide who runs the task or what counts as done.
package brief

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/canonjson"
)

// Version names the document's layout. A change of layout changes every hash, so it gets a new version.
const Version = "deed/brief/v2"

// Input is everything that goes into a brief.
type Input struct {
	RuntimeName   string
	Agent         *Agent // the agent of this runtime; nil: it has none, and the brief has nothing of one
	Intent        agentruntime.TaskIntent
	Profile       agentruntime.SubagentProfile
	AdapterID     string
	AdapterKind   string
	AdapterHash   string // of the adapter's settings, without paths and without the values of its environment
	ProgramDigest string // of a script's own file; empty: it is not pinned
	Model         string
	Spec          deed.TaskSpec // effective, with the task type's part merged in
	Required      []string      // artifacts that must exist at the end
	Base          string        // the digest of the workspace's first state
	Commit        string        // the commit behind it, when it came from git
	Answers       []Answer      // people's answers to questions of earlier attempts
	House         *Instructions // the repository's own instructions to agents; nil: none
	Runtime       []string      // what can be used besides the workspace, one sentence each
	Skills        []Skill       // what the agent can do for this task, in the order of the text
	Artifacts     []Artifact    // of earlier steps of the workflow
	Memory        []Memory      // recent tasks of the same agent, newest first; included if the profile says so
	Unpinned      []string      // inputs that cannot be restored, one sentence each; see Replay
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
	Text     string // what the agent reads
	Document []byte // canonical JSON (RFC 8785) of all inputs and the text
	Hash     string // SHA-256 of the document, lower-case hex
	Grade    string // one of the grades
	Variant  Variant
	Dropped  []Drop // what was left out, in the order in which it was dropped
}

// A Document is what is hashed: the inputs and what was made from them.
type Document struct {
	Version  string  `json:"version"`
	Inputs   frozen  `json:"inputs"`
	Variant  Variant `json:"variant"`
	Replay   Replay  `json:"replay"`
	Prompt   string  `json:"prompt"`
	Sections []Part  `json:"sections"` // where each is in the prompt
	Dropped  []Drop  `json:"dropped"`
}

// Compile renders the text within the profile's max_prompt_chars, by Order, then hashes everything. The error is a *TooLong when what
// is never dropped does not fit.
func Compile(in Input) (Brief, error) { return compile(freeze(in)) }

// compile is a function of the frozen inputs alone, so that the document is enough to repeat it.
func compile(f frozen) (Brief, error) {
	list := f.sections()
	dropped, err := fit(list, int(f.Profile.ContextPolicy.MaxPromptChars), f.Profile.ProfileID)
	if err != nil {
		return Brief{}, err
	}
	text, parts, err := join(list)
	if err != nil {
		return Brief{}, err
	}
	variant, err := f.variant()
	if err != nil {
		return Brief{}, err
	}
	f.keep(list)
	d := Document{Version: Version, Inputs: f, Variant: variant, Replay: f.replay(), Prompt: text, Sections: parts, Dropped: dropped}
	if d.Dropped == nil {
		d.Dropped = []Drop{}
	}
	doc, err := canonjson.Append(make([]byte, 0, d.likelySize()), d)
	if err != nil {
		return Brief{}, fmt.Errorf("canonical brief: %w", err)
	}
	return Brief{Text: text, Document: doc, Hash: Hash(doc), Grade: d.Replay.Grade, Variant: variant, Dropped: d.Dropped}, nil
}

// likelySize estimates the bytes of a document, so that its buffer need not grow: the prompt, the texts that it is
// made from, and the structure around each part.
func (d *Document) likelySize() int {
	const aroundPart, escapes = 320, 16
	n := len(d.Prompt)
	for _, t := range d.Inputs.texts() {
		n += len(t.Text)
	}
	if c := d.Inputs.Constitution; c != nil {
		n += len(c.Soul) + len(c.Purpose)
	}
	return n + n/escapes + aroundPart*(len(d.Sections)+len(d.Dropped)+len(d.Inputs.Skills)+32)
}

// Hash is the hash of a document.
func Hash(doc []byte) string {
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:])
}

// sections are the parts of the text, in the order in which the agent reads them.
func (f *frozen) sections() []section {
	one := func(rule, text string) []section { return []section{{rule: rule, text: text}} }
	var memory []section
	if f.Profile.ContextPolicy.IncludeRecentMemory {
		memory = memorySections(f.Memory)
	}
	out := slices.Concat(
		one("identity", identityText(f.Identity, f.Constitution)),
		one("constitution", constitutionText(f.Constitution)),
		one("task", goal(f.Task)),
		one("answers", answersText(f.Answers)),
		one("rules", rules(f.Task)),
		one("profile", profileText(f.Profile)),
		one("workflow", f.Workflow.place()),
		f.Workflow.history(),
		artifactSections(f.Artifacts),
		payloadSection(f.Task.Payload, f.Adapter.Kind),
		one("runtime", strings.Join(f.Runtime, "\n")),
		houseSection(f.Instructions),
		one("skills", skillIndex(f.Skills)),
		skillSections(f.Skills),
		memory,
		one("output contract", outputContract(f.Adapter.Kind)),
		one("signals", f.Workflow.signals()),
	)
	for i := range out {
		if out[i].chars == 0 {
			out[i].chars = runes(out[i].text)
		}
	}
	return out
}

func goal(t taskPart) string {
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

func rules(t taskPart) string {
	var b strings.Builder
	line := func(f string, a ...any) { fmt.Fprintf(&b, f+"\n", a...) }
	if len(t.Deed.WriteScope) > 0 {
		line("- Change files only under: %s", strings.Join(t.Deed.WriteScope, ", "))
	}
	if len(t.Deed.ProtectedPaths) > 0 {
		line("- Do not change: %s", strings.Join(t.Deed.ProtectedPaths, ", "))
	}
	for _, c := range t.Deed.Checks {
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
	for _, a := range t.Required {
		line("- Leave this file in $DEED_ARTIFACTS: %s", a)
	}
	if b.Len() == 0 {
		return ""
	}
	return "## Rules\n\n" + strings.TrimRight(b.String(), "\n")
}

// visible are the checks that the agent may know of.
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

func answersText(list []answerPart) string {
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

func houseSection(h *instructionsPart) []section {
	if h == nil {
		return nil
	}
	const note = "\n\n(cut here; the whole is in the file)"
	after := ""
	if h.Cut {
		after = note
	}
	s := h.Text.section("instructions", h.File, "## Instructions of this repository ("+h.File+")\n\n", after)
	s.note = note
	return []section{s}
}

// payloadSection may only be cut for agents that also have the payload as a file.
func payloadSection(p frozenText, kind string) []section {
	if p.Chars == 0 || p.Text == "{}" || p.Text == "null" {
		return nil
	}
	s := p.section("payload", "", "## Payload\n\n```json\n", "\n```")
	s.note = "\n```\n\n(cut here; the whole is in the file named by $DEED_PAYLOAD_FILE)"
	s.never = kind == agentruntime.KindNative || kind == agentruntime.KindOllamaGenerate
	return []section{s}
}

// outputContract says how an agent ends. A script is a program that ends with a result. An agent with a conversation
// ends a turn by saying that it is done, and gets an answer if that is wrong.
func outputContract(kind string) string {
	if kind == agentruntime.KindScript {
		return scriptResult
	}
	return conversationResult
}

const conversationResult = `## Result

When the work is done, end with a short message that says what you changed and how you saw that it works. If you cannot do
it, say so instead, and why. Your word is a claim: your directory is looked at and the checks are run on a clean copy of it
with your change. If they do not bear it out, you are told why and go on.

You may also write one JSON object to the file named by $DEED_RESULT_FILE; it then counts instead of the message:

    {"status": "completed", "operator_summary": "what was done", "file_changes": ["every/path/changed"], "artifact_paths": []}

status is completed, retryable_failure, permanent_failure or blocked. Paths in file_changes are absolute, or relative to the
directory that you start in.`

const scriptResult = `## Result

Write one JSON object to the file named by $DEED_RESULT_FILE, or print it as the last thing on standard output:

    {"status": "completed", "machine_status": "ok", "operator_summary": "what was done",
     "file_changes": ["every/path/changed"], "artifact_paths": []}

status is completed, retryable_failure, permanent_failure or blocked; machine_status is ok, needs_retry, failed or
blocked to match. Paths in file_changes are absolute, or relative to the directory that you start in. Your result is a claim: it counts when the changed files and the checks bear it out.`
