package brief

import (
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
)

// frozen is the inputs as the document keeps them: enough to compile the brief again, without any path or time of
// this machine. What differs between two equal tasks, such as ids, is not in it.
type frozen struct {
	RuntimeName  string                       `json:"runtime_name"`
	Identity     *identityPart                `json:"identity,omitempty"`
	Constitution *constitutionPart            `json:"constitution,omitempty"`
	Profile      agentruntime.SubagentProfile `json:"profile"`
	Adapter      adapterPart                  `json:"adapter"`
	Task         taskPart                     `json:"task"`
	Work         workPart                     `json:"workspace"`
	Workflow     *Workflow                    `json:"workflow,omitempty"`
	Artifacts    []Artifact                   `json:"artifacts,omitempty"`
	Answers      []answerPart                 `json:"answers,omitempty"`
	Skills       []skillPart                  `json:"skills,omitempty"`
	Instructions *instructionsPart            `json:"instructions,omitempty"`
	Runtime      []string                     `json:"runtime,omitempty"`
	Memory       []Memory                     `json:"memory,omitempty"`
	Unpinned     []string                     `json:"unpinned,omitempty"`
}

// A frozenText is a text that may be dropped. If it was, the document keeps only its digest and its length: they are
// enough to drop it again, and a thousand unused files do not fill the evidence.
type frozenText struct {
	Digest string `json:"digest"`
	Chars  int    `json:"chars"`
	Text   string `json:"text,omitempty"`
}

func freezeText(s string) frozenText {
	return frozenText{Digest: textHash(s), Chars: runes(s), Text: s}
}

// section is the text between a title and an end. Its length is known even if the text was not kept.
func (t frozenText) section(rule, name, before, after string) section {
	return section{rule: rule, name: name, before: before, text: t.Text, after: after, chars: runes(before) + t.Chars + runes(after)}
}

type adapterPart struct {
	AdapterID string `json:"adapter_id"`
	Kind      string `json:"kind"`
	Model     string `json:"model"`
	Settings  string `json:"settings_hash,omitempty"`
	Program   string `json:"program_digest,omitempty"`
}

// taskPart has no id and no time, so that two equal tasks have the same hash.
type taskPart struct {
	TaskType    string        `json:"task_type"`
	Subject     string        `json:"subject"`
	Description string        `json:"description"`
	Payload     frozenText    `json:"payload"` // its bytes as text: in canonical JSON 1.50 and large numbers would be others
	Required    []string      `json:"required_artifacts,omitempty"`
	Deed        deed.TaskSpec `json:"deed"`
}

type workPart struct {
	BaseDigest string `json:"base_digest"`
	Commit     string `json:"commit"`
}

type answerPart struct {
	Prompt string `json:"prompt"`
	Answer string `json:"answer"` // JSON, as it was given
}

type instructionsPart struct {
	File string     `json:"file"`
	Text frozenText `json:"text"`
	Cut  bool       `json:"cut"` // there is more in the file
}

// freeze copies everything that the brief depends on out of the input.
func freeze(in Input) frozen {
	f := frozen{
		RuntimeName: in.RuntimeName, Identity: in.Agent.identity(), Constitution: in.Agent.constitution(), Profile: in.Profile,
		Adapter: adapterPart{in.AdapterID, in.AdapterKind, in.Model, in.AdapterHash, in.ProgramDigest},
		Task: taskPart{
			TaskType: in.Intent.TaskType, Subject: in.Intent.Subject, Description: in.Intent.Description,
			Payload: freezeText(strings.TrimSpace(string(in.Intent.Payload))), Required: sorted(in.Required), Deed: portable(in.Spec),
		},
		Work: workPart{in.Base, in.Commit}, Artifacts: in.Artifacts, Skills: skillParts(in.Skills), Runtime: in.Runtime, Answers: freezeAnswers(in.Answers),
		Memory: in.Memory, Unpinned: sorted(in.Unpinned),
	}
	if in.Intent.WorkflowRef != nil {
		f.Workflow = ReadWorkflow(in.Intent.Payload)
		if f.Workflow != nil {
			f.Task.Payload = freezeText(withoutWorkflow(in.Intent.Payload))
		}
	}
	if h := in.House; h != nil && strings.TrimSpace(h.Text) != "" {
		f.Instructions = &instructionsPart{h.File, freezeText(strings.TrimSpace(h.Text)), h.Cut}
	}
	return f
}

func freezeAnswers(list []Answer) []answerPart {
	var out []answerPart
	for _, a := range list {
		out = append(out, answerPart{a.Prompt, string(a.Answer)})
	}
	return out
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// portable is a spec without what belongs to the machine or the operator, and without checks that the agent must not
// know.
func portable(spec deed.TaskSpec) deed.TaskSpec {
	spec.Checks = visible(spec.Checks)
	spec.Adapter = nil // its command and environment are the operator's own; its id, kind and hash are here
	if spec.Workspace != nil {
		spec.Workspace = &deed.Workspace{Ref: spec.Workspace.Ref} // where the source lies differs by machine; its digest is pinned
	}
	return spec
}

// keep reduces every text that can be dropped to what the agent got of it.
func (f *frozen) keep(list []section) {
	at := map[[2]string]section{}
	for _, s := range list {
		at[[2]string{s.rule, s.name}] = s
	}
	trim := func(t *frozenText, rule, name string) {
		switch s := at[[2]string{rule, name}]; {
		case s.gone:
			t.Text = ""
		case s.cut > 0:
			t.Text = head(t.Text, s.cut) // slightly more than the agent gets: the section begins with a title
		}
	}
	trim(&f.Task.Payload, "payload", "")
	if f.Instructions != nil {
		in := *f.Instructions
		trim(&in.Text, "instructions", in.File)
		f.Instructions = &in
	}
	f.Skills = slices.Clone(f.Skills)
	for i := range f.Skills {
		trim(&f.Skills[i].Body, "skill instructions", f.Skills[i].ID)
	}
}
