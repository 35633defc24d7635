package brief

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
)

func compiled(t *testing.T, in Input) (Brief, Document) {
	t.Helper()
	b, err := Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Read(b.Document)
	if err != nil {
		t.Fatal(err)
	}
	return b, d
}

// The grade is what the inputs allow, never better. An input that is not pinned weighs more than a model.
func TestGrade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind string
		edit       func(*Input)
		want       string
	}{
		{"a script", agentruntime.KindScript, func(*Input) {}, GradeInputsFrozen},
		{"an agent", agentruntime.KindCodex, func(*Input) {}, GradeModelInvolved},
		{"a package", agentruntime.KindPackaged, func(*Input) {}, GradeModelInvolved},
		{"an unpinned script", agentruntime.KindScript, func(in *Input) { in.Unpinned = []string{"the workspace"} }, GradeBestEffort},
		{"an unpinned agent", agentruntime.KindCodex, func(in *Input) { in.Unpinned = []string{"the workspace"} }, GradeBestEffort},
		{"a lost artifact", agentruntime.KindScript, func(in *Input) { in.Artifacts[0].Digest = "" }, GradeBestEffort},
	} {
		in := full()
		in.AdapterKind = c.kind
		c.edit(&in)
		b, d := compiled(t, in)
		if b.Grade != c.want || d.Replay.Grade != c.want || len(d.Replay.Reasons) == 0 {
			t.Errorf("%s: %s, %v", c.name, b.Grade, d.Replay)
		}
	}
}

// The lineage follows skills and the agent's definition, and nothing of the task.
func TestVariant(t *testing.T) {
	t.Parallel()
	base, _ := compiled(t, full())
	if v := base.Variant; len(v.Skills) != 2 || v.Skills[0] != (VariantSkill{"weave", "1.2.0", "sha256:aa"}) || v.Skills[1].Version != "sha256:bb" || v.ID == "" || v.AgentDefVersion == "" {
		t.Errorf("%+v", v)
	}
	for name, c := range map[string]struct {
		edit func(*Input)
		same bool
	}{
		"task":          {func(in *Input) { in.Intent.Description = "other" }, true},
		"base":          {func(in *Input) { in.Base = "other" }, true},
		"skill version": {func(in *Input) { in.Skills[0].Version = "1.3.0" }, false},
		"skill content": {func(in *Input) { in.Skills[1].Digest = "sha256:cc" }, false},
		"soul":          {func(in *Input) { in.Agent.Soul = "Other." }, false},
		"profile":       {func(in *Input) { in.Profile.Role = "other" }, false},
		"name":          {func(in *Input) { in.Agent.Identity.InternalName = "other" }, false},
	} {
		in := full()
		c.edit(&in)
		if b, _ := compiled(t, in); (b.Variant.ID == base.Variant.ID) != c.same {
			t.Errorf("another %s: variant %s", name, b.Variant.ID)
		}
	}
}

// Frozen inputs compile to the same bytes, also where most of them were dropped; a document that was changed does not.
func TestAgain(t *testing.T) {
	t.Parallel()
	in := full()
	in.Intent.Payload = json.RawMessage(`{"n": 1.50, "huge": 12345678901234567890}`)
	in.Intent.WorkflowRef = nil
	for _, limit := range []int64{100_000, 4000, 2600} {
		in.Profile.ContextPolicy.MaxPromptChars = limit
		b, d := compiled(t, in)
		again, err := Again(d)
		if err != nil || again.Hash != b.Hash || again.Text != b.Text {
			t.Errorf("limit %d: %v\n%s\n%s", limit, err, b.Document, again.Document)
		}
		if limit == 100_000 && !strings.Contains(again.Text, `{"n": 1.50, "huge": 12345678901234567890}`) {
			t.Errorf("numbers were changed:\n%s", again.Text)
		}
		d.Inputs.Task.Description += "!"
		if again, err := Again(d); err != nil || again.Hash == b.Hash {
			t.Errorf("limit %d: a changed document compiles to the same: %v", limit, err)
		}
	}
	// Raising the limit of a frozen brief asks for texts that were not kept.
	in.Profile.ContextPolicy.MaxPromptChars = 2600
	_, d := compiled(t, in)
	d.Inputs.Profile.ContextPolicy.MaxPromptChars = 100_000
	if _, err := Again(d); err == nil || !strings.Contains(err.Error(), "was not kept") {
		t.Errorf("got %v", err)
	}
	if _, err := Read([]byte(`{"version":"deed/brief/v1"}`)); !errors.Is(err, ErrVersion) {
		t.Errorf("an older layout: %v", err)
	}
}

// A difference is listed by section, and input by input.
func TestCompare(t *testing.T) {
	t.Parallel()
	in := full()
	_, a := compiled(t, in)
	if d, err := Compare(a, a); err != nil || !d.Same() {
		t.Errorf("%+v, %v", d, err)
	}
	in.Intent.Description = "It is broken still."
	in.Memory = nil
	in.Model = "m"
	in.Spec.Checks = append(in.Spec.Checks, deed.Check{Shell: "make lint"})
	_, b := compiled(t, in)
	d, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range d.Sections {
		got = append(got, s.Section+" "+s.Change)
	}
	if s := strings.Join(got, ", "); s != "task changed, rules changed, memory removed" {
		t.Errorf("sections: %s", s)
	}
	if s := d.Sections[0].Diff; !strings.Contains(s, "-It is broken.\n") || !strings.Contains(s, "+It is broken still.\n") {
		t.Errorf("diff:\n%s", s)
	}
	paths := map[string]string{}
	for _, i := range d.Inputs {
		paths[i.Path] = string(i.A) + " → " + string(i.B)
	}
	if paths["$.inputs.adapter.model"] != `"" → "m"` || paths["$.inputs.task.deed.checks[1].shell"] != `null → "make lint"` {
		t.Errorf("inputs: %v", paths)
	}
}

func FuzzRead(f *testing.F) {
	b, err := Compile(full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b.Document)
	f.Add([]byte(`{"version":"deed/brief/v2","prompt":"x","sections":[{"at":-1,"chars":99}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		d, err := Read(doc)
		if err != nil {
			return
		}
		for _, p := range d.Sections {
			_ = d.Text(p)
		}
		_, _ = Again(d)
		if _, err := Compare(d, d); err != nil {
			t.Fatal(err)
		}
	})
}
