package brief

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/agentruntime"
)

var update = flag.Bool("update", false, "write the tables into docs/BRIEF.md")

// full is an input with something in every section.
func full() Input {
	in := input()
	in.Agent = agent()
	in.Profile.ContextPolicy.IncludeRecentMemory = true
	in.Intent.WorkflowRef = &agentruntime.WorkflowRef{WorkflowID: "w", StateID: "execute", InstanceKey: "k"}
	in.Intent.Payload = json.RawMessage(`{"goal": "` + strings.Repeat("g", 900) + `", "workflow": {"workflow_id": "w", "workflow_type": "goal-loop",
		"state_id": "execute", "visit": 3, "iteration": 1, "accepted_signals": ["done", "again"], "signal_required": true, "earlier": [
		{"visit": 1, "state_id": "plan", "iteration": 1, "status": "completed", "workflow_signal": "planned", "operator_summary": "accepted, nothing changed"},
		{"visit": 2, "state_id": "execute", "iteration": 1, "status": "completed", "operator_summary": "accepted, 1 file changed"}]}}`)
	in.Answers = []Answer{{Prompt: "Which one?", Answer: json.RawMessage(`1.50`)}}
	in.Artifacts = []Artifact{
		{Visit: 1, StateID: "plan", Path: "$DEED_BUNDLES/a/files/artifacts/plan.md", Digest: "sha256:11", Bytes: 7},
		{Visit: 2, StateID: "execute", Path: "$DEED_BUNDLES/b/files/artifacts/report.md", Digest: "sha256:22", Bytes: 9},
	}
	in.Runtime = []string{"WordPress is at /site."}
	in.House = &Instructions{File: "AGENTS.md", Text: strings.Repeat("Be tidy. ", 100)}
	in.Skills = []Skill{
		{ID: "weave", Version: "1.2.0", Digest: "sha256:aa", Description: "Weaves.", Body: strings.Repeat("loom ", 60)},
		{ID: "knit", Digest: "sha256:bb", Description: "Knits.", Body: strings.Repeat("yarn ", 60)},
	}
	for i := range 3 {
		in.Memory = append(in.Memory, Memory{TaskType: "fix", Subject: fmt.Sprint("task ", i), Status: "completed", FinishedAt: "2026-01-31T08:00:00Z", Facts: []string{"accepted"}})
	}
	return in
}

// Every section is in the table, and the sections of the text are in its order.
func TestSectionsAreTheTable(t *testing.T) {
	t.Parallel()
	b, err := Compile(full())
	if err != nil {
		t.Fatal(err)
	}
	d, err := Read(b.Document)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, p := range d.Sections {
		if len(got) == 0 || got[len(got)-1] != p.Section {
			got = append(got, p.Section)
		}
		if d.Text(p) == "" || !strings.Contains(b.Text, d.Text(p)) {
			t.Errorf("%s %s is not where the document says: %q", p.Section, p.Name, d.Text(p))
		}
	}
	for _, r := range Order {
		want = append(want, r.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-table +told:\n%s", diff)
	}
	for _, text := range []string{
		"goal-loop): state execute, visit 3, iteration 1", "visit 1, plan, iteration 1: completed, signal planned. deed found: accepted, nothing changed",
		"$DEED_BUNDLES/a/files/artifacts/plan.md (plan, visit 1, 7 bytes, sha256:11)", "“task 0”: completed; accepted", "  1.50",
		"Without one of these words nothing follows from your work: done, again.", "You work as: mender. Go through to the end",
	} {
		if !strings.Contains(b.Text, text) {
			t.Errorf("the brief lacks %q:\n%s", text, b.Text)
		}
	}
	if strings.Contains(b.Text, `"accepted_signals"`) {
		t.Error("the workflow is told twice")
	}
}

// As the limit shrinks, sections go in the stated order; each step says what went, and the rest is whole.
func TestDroppedInTheStatedOrder(t *testing.T) {
	t.Parallel()
	in := full()
	whole, err := Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	seen := []string{}
	for limit := runes(whole.Text); ; limit -= 7 {
		in.Profile.ContextPolicy.MaxPromptChars = int64(limit)
		b, err := Compile(in)
		if err != nil {
			if e := (*TooLong)(nil); !errors.As(err, &e) {
				t.Fatal(err)
			}
			break
		}
		if n := runes(b.Text); n > limit {
			t.Fatalf("%d characters, %d are allowed", n, limit)
		}
		for _, d := range b.Dropped {
			if !strings.Contains(strings.Join(seen, "\n")+"\n", d.Section+" "+d.Name+"\n") {
				seen = append(seen, d.Section+" "+d.Name)
			}
			if d.Chars <= d.Kept || d.Why == "" {
				t.Fatalf("at %d: %+v", limit, d)
			}
		}
	}
	want := []string{
		"memory 3", "memory 2", "memory 1",
		"artifacts $DEED_BUNDLES/b/files/artifacts/report.md", "artifacts $DEED_BUNDLES/a/files/artifacts/plan.md",
		"history visit 1", "history visit 2",
		"skill instructions knit", "skill instructions weave",
		"instructions AGENTS.md", "runtime ", "skills ", "payload ",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What is never dropped and does not fit is refused, with all sizes and what to do.
func TestNeverDropped(t *testing.T) {
	t.Parallel()
	in := full()
	in.Profile.ContextPolicy.MaxPromptChars = 1000
	in.Agent.Soul = strings.Repeat("s", 900)
	in.Intent.Description = strings.Repeat("d", 700)
	_, err := Compile(in)
	var e *TooLong
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"constitution 9", "task 7", "output contract ", "rules ", "profile ", "workflow ", "signals ", `max_prompt_chars of profile "p" is 1000`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it lacks %q: %v", want, err)
		}
	}
	if !strings.Contains(e.Remedy(), fmt.Sprintf("at least %d, or make constitution shorter", e.Needs)) {
		t.Errorf("remedy: %s", e.Remedy())
	}
	in.Profile.ContextPolicy.MaxPromptChars = int64(e.Needs)
	b, err := Compile(in)
	if err != nil {
		t.Fatalf("with what the remedy says: %v", err)
	}
	for _, want := range []string{"ssss", "dddd", "Be careful.", "DEED_RESULT_FILE", "make test"} {
		if !strings.Contains(b.Text, want) {
			t.Errorf("the brief lacks %q:\n%s", want, b.Text)
		}
	}
	// An agent without a file of the payload gets all of it in the text.
	in.AdapterKind = agentruntime.KindNative
	if _, err := Compile(in); err == nil || !strings.Contains(err.Error(), "payload 9") {
		t.Errorf("got %v", err)
	}
}

// A text that is cut says so, at the end of a character.
func TestCut(t *testing.T) {
	t.Parallel()
	in := input()
	in.Intent.Payload = json.RawMessage(`{"big": "` + strings.Repeat("日本", 3000) + `"}`)
	in.Profile.ContextPolicy.MaxPromptChars = 4000
	b, err := Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	if n := runes(b.Text); n != 4000 || !strings.Contains(b.Text, "本\n```\n\n(cut here; the whole is in the file named by $DEED_PAYLOAD_FILE)") && !strings.Contains(b.Text, "日\n```\n\n(cut here") {
		t.Errorf("%d characters:\n%s", n, b.Text)
	}
	if len(b.Dropped) != 1 || b.Dropped[0].Section != "payload" || b.Dropped[0].Kept < minKept {
		t.Errorf("dropped %+v", b.Dropped)
	}
}

// Whatever the inputs and the limit: the text is within it, the contract is whole, and the document is enough to compile the same.
func TestCompileProperty(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[a-zé日 \n"{}]{0,400}`)
	rapid.Check(t, func(t *rapid.T) {
		in := full()
		in.Profile.ContextPolicy.MaxPromptChars = rapid.Int64Range(1500, 6000).Draw(t, "limit")
		in.Profile.ContextPolicy.IncludeRecentMemory = rapid.Bool().Draw(t, "memory")
		in.AdapterKind = rapid.SampledFrom([]string{agentruntime.KindScript, agentruntime.KindCodex, agentruntime.KindNative}).Draw(t, "kind")
		in.Intent.Description = text.Draw(t, "description")
		in.House.Text, in.House.Cut = text.Draw(t, "house"), rapid.Bool().Draw(t, "cut")
		for i := range in.Skills {
			in.Skills[i].Body = text.Draw(t, "body")
		}
		raw, _ := json.Marshal(map[string]string{"x": text.Draw(t, "payload")})
		if rapid.Bool().Draw(t, "alone") {
			in.Intent.WorkflowRef, in.Artifacts, in.Intent.Payload = nil, nil, raw
		}
		b, err := Compile(in)
		if e := (*TooLong)(nil); errors.As(err, &e) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := runes(b.Text); int64(n) > in.Profile.ContextPolicy.MaxPromptChars || !strings.Contains(b.Text, outputContract(in.AdapterKind)) {
			t.Fatalf("%d characters:\n%s", n, b.Text)
		}
		d, err := Read(b.Document)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Again(d)
		if err != nil || again.Hash != b.Hash {
			t.Fatalf("compiled again: %v\n%s\n%s", err, b.Document, again.Document)
		}
	})
}

// The tables in the docs are the code's.
func TestTablesAreInTheDocs(t *testing.T) {
	t.Parallel()
	var order, fields strings.Builder
	order.WriteString("| section | what is in it | dropped | how |\n|---|---|---|---|\n")
	for _, r := range Order {
		when := "never"
		if r.Drop > 0 {
			when = fmt.Sprint(r.Drop)
		}
		fmt.Fprintf(&order, "| %s | %s | %s | %s |\n", r.Name, r.Holds, when, r.How)
	}
	fields.WriteString("| field | where it acts | refused |\n|---|---|---|\n")
	for _, f := range ProfileFields {
		fmt.Fprintf(&fields, "| `%s` | %s | %s |\n", f.Field, f.Acts, f.Bad)
	}
	const file = "../../../docs/BRIEF.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for _, table := range []string{order.String(), fields.String()} {
		first, _, _ := strings.Cut(table, "\n")
		before, rest, ok := strings.Cut(want, first+"\n")
		if !ok {
			t.Fatalf("%s has no table that begins with %s", file, first)
		}
		_, after, _ := strings.Cut(rest, "\n\n")
		want = before + table + "\n" + after
	}
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("the tables in %s are not the code's; run: go test ./internal/attempt/brief -update", file)
	}
}
