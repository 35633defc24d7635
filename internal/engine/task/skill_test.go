package task

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
)

const skilled = `
adapters: {usual: {kind: script, command: /bin/true, timeout_ms: 1000}}
defaults: {adapter_id: usual}
profiles:
  handy: {style: codex-like, role: r, default_adapter_id: usual, prompt_parts: [], skill_ids: [strict, plain], context_policy: {max_prompt_chars: 1000, include_recent_memory: false}, result_policy: {allow_follow_up_tasks: false, allow_external_messages: false}}
  lost: {style: codex-like, role: r, default_adapter_id: usual, prompt_parts: [], skill_ids: [gone], context_policy: {max_prompt_chars: 1000, include_recent_memory: false}, result_policy: {allow_follow_up_tasks: false, allow_external_messages: false}}
task_types:
  narrow: {task_type: narrow, payload_schema_id: deed/payload.any/v1, allowed_skill_ids: [plain]}
`

func withSkills(t *testing.T) (*Admission, *home.Home) {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain/SKILL.md":          "---\nname: plain\ndescription: d\n---\n",
		"strict/SKILL.md":         "---\nname: strict\ndescription: d\nmetadata: {version: \"3\"}\n---\n",
		"strict/skill.yaml":       "input_schema_id: schemas/in.json\noutput_schema_id: schemas/out.json\n",
		"strict/schemas/in.json":  `{"type": "object", "required": ["path", "mode"]}`,
		"strict/schemas/out.json": `{"type": "object"}`,
		"broken/SKILL.md":         "no front matter\n",
	} {
		p := filepath.Join(h.Skills(), name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(config.Options{Explicit: writeConfig(t, t.TempDir(), skilled)})
	if err != nil {
		t.Fatal(err)
	}
	return &Admission{Config: cfg, Clock: time.Now, Drivers: driver.NewSet(script.New()), Skills: skill.For(h, "")}, h
}

// A task carries the versions that it was admitted with; the schemas of a skill that it names bind it, those of one that its profile
// offers do not.
func TestSkillsArePinned(t *testing.T) {
	t.Parallel()
	a, h := withSkills(t)
	in := agentruntime.TaskIntent{
		TaskType: "script", Source: "s", SkillIDs: []string{"strict"}, Payload: json.RawMessage(`{"path": "x", "mode": "y"}`),
		Deed: &deed.TaskSpec{Skills: []deed.SkillPin{{SkillID: "forged", Version: "1", Digest: "sha256:" + strings.Repeat("0", 64)}}},
	}
	row, err := a.Prepare(in, Caller{})
	if err != nil {
		t.Fatal(err)
	}
	spec := row.Intent.Deed
	if len(spec.Skills) != 1 || spec.Skills[0].SkillID != "strict" || spec.Skills[0].Version != "3" || spec.Skills[0].Offered {
		t.Errorf("pinned %+v", spec.Skills)
	}
	if diff := cmp.Diff([]string{"strict.output.json"}, row.Intent.EvidenceRequirements.RequiredArtifacts); diff != "" {
		t.Error(diff)
	}
	if string(spec.ArtifactSchemas["strict.output.json"]) != `{"type": "object"}` {
		t.Errorf("schemas %s", spec.ArtifactSchemas)
	}
	if err := os.RemoveAll(h.Skills()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Skills.Load(spec.Skills[0]); err != nil {
		t.Errorf("what was admitted is gone with the folder: %v", err)
	}

	a, _ = withSkills(t)
	row, err = a.Prepare(agentruntime.TaskIntent{TaskType: "script", Source: "s", RequestedProfileID: "handy", SkillIDs: []string{"plain"}, Payload: json.RawMessage(`{}`)}, Caller{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range row.Intent.Deed.Skills {
		if p.Offered {
			p.SkillID += " offered"
		}
		got = append(got, p.SkillID)
	}
	if diff := cmp.Diff([]string{"plain", "strict offered"}, got); diff != "" {
		t.Error(diff)
	}
	if row.Intent.EvidenceRequirements != nil {
		t.Errorf("an offer asks for %v", row.Intent.EvidenceRequirements)
	}
}

// All reasons why a skill cannot be used are reported at once, each with its field, and nothing is admitted.
func TestSkillsThatCannotBeHad(t *testing.T) {
	t.Parallel()
	a, _ := withSkills(t)
	for name, c := range map[string]struct {
		in   agentruntime.TaskIntent
		want []string
	}{
		"all at once": {
			agentruntime.TaskIntent{TaskType: "script", SkillIDs: []string{"strict", "nope", "broken"}, RequestedProfileID: "lost"},
			[]string{
				"$.payload.path: is missing, by the input schema of skill strict", "$.payload.mode", `$.skill_ids[1]: unknown skill "nope"; there are: broken, plain, strict`,
				"$.skill_ids[2]: broken: SKILL.md: has no front matter", `$.requested_profile_id: profile lost names skill "gone"`,
			},
		},
		"not allowed": {agentruntime.TaskIntent{TaskType: "narrow", SkillIDs: []string{"strict"}}, []string{`$.skill_ids[0]: task type narrow does not allow "strict"; it allows: plain`}},
		"not allowed to the profile": {
			agentruntime.TaskIntent{TaskType: "narrow", RequestedProfileID: "handy"},
			[]string{`$.requested_profile_id: profile handy names skill "strict": task type narrow does not allow "strict"`},
		},
		"hostile": {agentruntime.TaskIntent{TaskType: "script", SkillIDs: []string{"../../etc"}}, []string{"$.skill_ids[0]: unknown skill: the id"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.in.Source, c.in.Payload = "s", json.RawMessage("{}")
			_, err := a.Prepare(c.in, Caller{})
			if fault.Of(err) == nil {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
		})
	}
	none, _ := withSkills(t)
	none.Skills = nil
	if _, err := none.Prepare(agentruntime.TaskIntent{TaskType: "script", Source: "s", SkillIDs: []string{"plain"}}, Caller{}); err == nil {
		t.Error("a skill resolves where there is none")
	}
}
