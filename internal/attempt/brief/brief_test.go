package brief

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
)

func input() Input {
	return Input{
		RuntimeName: "box",
		Intent: agentruntime.TaskIntent{
			TaskType: "fix", Source: "t", Subject: "Fix it", Description: "It is broken.", Payload: json.RawMessage(`{"n": 1.50, "a": "x"}`),
		},
		Profile:   agentruntime.SubagentProfile{ProfileID: "p", Role: "mender", Style: agentruntime.StyleCodex, PromptParts: []string{"Be careful."}, ContextPolicy: agentruntime.ContextPolicy{MaxPromptChars: 10_000}},
		AdapterID: "a", AdapterKind: agentruntime.KindScript,
		Spec: deed.TaskSpec{
			WriteScope: []string{"src/**"}, ProtectedPaths: []string{"**/*_test.go"}, Checks: []deed.Check{{Shell: "make test"}},
			Workspace: &deed.Workspace{Source: "/somewhere/on/this/machine"},
		},
		Required: []string{"report.md"}, Base: "abc",
	}
}

func TestBriefSaysWhatCounts(t *testing.T) {
	t.Parallel()
	b, err := Compile(input())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Fix it", "It is broken.", "src/**", "**/*_test.go", "make test", "report.md", `"n": 1.50`, "Be careful.", "DEED_RESULT_FILE"} {
		if !strings.Contains(b.Text, want) {
			t.Errorf("the brief lacks %q:\n%s", want, b.Text)
		}
	}
	if b.Grade != GradeInputsFrozen || len(b.Dropped) != 0 {
		t.Errorf("grade %s, dropped %v", b.Grade, b.Dropped)
	}
}

// Equal tasks have one hash, wherever their source lies; another input has another.
func TestHash(t *testing.T) {
	t.Parallel()
	hash := func(edit func(*Input)) string {
		in := input()
		edit(&in)
		b, err := Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		return b.Hash
	}
	base := hash(func(*Input) {})
	same := map[string]func(*Input){
		"source path": func(in *Input) { in.Spec.Workspace = &deed.Workspace{Source: "/another/place"} },
		"key order":   func(in *Input) { in.Intent.Payload = json.RawMessage(`{"n": 1.50, "a": "x"}`) },
	}
	for name, edit := range same {
		if hash(edit) != base {
			t.Errorf("%s changes the hash", name)
		}
	}
	other := map[string]func(*Input){
		"description": func(in *Input) { in.Intent.Description += "!" },
		"payload":     func(in *Input) { in.Intent.Payload = json.RawMessage(`{"n": 2}`) },
		"model":       func(in *Input) { in.Model = "m" },
		"base":        func(in *Input) { in.Base = "def" },
		"check":       func(in *Input) { in.Spec.Checks[0].Shell = "true" },
		"profile":     func(in *Input) { in.Profile.PromptParts = []string{"Hurry."} },
		"settings":    func(in *Input) { in.AdapterHash = "x" },
		"program":     func(in *Input) { in.ProgramDigest = "x" },
		"memory":      func(in *Input) { in.Memory = []Memory{{Subject: "x"}} },
		"artifacts":   func(in *Input) { in.Artifacts = []Artifact{{Path: "x"}} },
		"unpinned":    func(in *Input) { in.Unpinned = []string{"x"} },
	}
	for name, edit := range other {
		if hash(edit) == base {
			t.Errorf("another %s has the same hash", name)
		}
	}
}
