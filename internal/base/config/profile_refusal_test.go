package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every field of a profile, and what else shapes a brief, with a value that cannot act: the file is refused, and the error has the
// field, the value and what to do.
func TestBriefSettingsAreRefused(t *testing.T) {
	t.Parallel()
	const whole = `adapters: {a: {kind: script, command: /bin/true, timeout_ms: 1000}}
profiles:
  p:
    style: codex-like
    role: scribe
    default_adapter_id: a
    prompt_parts: [Write plainly.]
    skill_ids: [tidy]
    context_policy: {max_prompt_chars: 1000, include_recent_memory: true}
    result_policy: {allow_follow_up_tasks: false, allow_external_messages: false}
`
	load := func(text string) error {
		file := filepath.Join(t.TempDir(), "deed.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(Options{Explicit: file})
		return err
	}
	if err := load(whole); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		old, bad string
		wantErr  []string
	}{
		{"style: codex-like", "style: gentle", []string{"$.profiles.p.style", `"gentle"`, "claude-like"}},
		{"style: codex-like", "style: 3", []string{"$.profiles.p.style", "string"}},
		{"role: scribe", `role: ""`, []string{"$.profiles.p.role", "blank"}},
		{"default_adapter_id: a", "default_adapter_id: b", []string{"$.profiles.p.default_adapter_id", `"b"`, "a"}},
		{"    default_adapter_id: a\n", "", []string{"$.profiles.p.default_adapter_id", "missing"}},
		{"default_adapter_id: a", "default_adapter_id: a\n    default_model: [x]", []string{"$.profiles.p.default_model", "string"}},
		{"[Write plainly.]", `["Write plainly.", ""]`, []string{"$.profiles.p.prompt_parts[1]", "blank"}},
		{"[Write plainly.]", "Write plainly.", []string{"$.profiles.p.prompt_parts", "is a string (use a list)"}},
		{"skill_ids: [tidy]", "skill_ids: tidy", []string{"$.profiles.p.skill_ids", "is a string (use a list)"}},
		{"skill_ids: [tidy]", `skill_ids: [tidy, ""]`, []string{"$.profiles.p.skill_ids[1]", "blank"}},
		{"max_prompt_chars: 1000", "max_prompt_chars: 0", []string{"$.profiles.p.context_policy.max_prompt_chars", "0", "1"}},
		{"max_prompt_chars: 1000", "max_prompt_chars: -5", []string{"$.profiles.p.context_policy.max_prompt_chars", "-5"}},
		{"max_prompt_chars: 1000", "max_prompt_chars: 100000001", []string{"$.profiles.p.context_policy.max_prompt_chars", "100000001", "100000000"}},
		{"max_prompt_chars: 1000", "max_prompt_chars: 1.5", []string{"$.profiles.p.context_policy.max_prompt_chars", "1.5"}},
		{"max_prompt_chars: 1000", "max_prompt_chars: many", []string{"$.profiles.p.context_policy.max_prompt_chars", "number"}},
		{"include_recent_memory: true", `include_recent_memory: "yes"`, []string{"$.profiles.p.context_policy.include_recent_memory", "use true or false"}},
		{"include_recent_memory: true", "include_recent_memry: true", []string{"include_recent_memry", "include_recent_memory"}},
		{"allow_follow_up_tasks: false", "allow_follow_up_tasks: 1", []string{"$.profiles.p.result_policy.allow_follow_up_tasks", "use true or false"}},
		{"allow_external_messages: false", "allow_external_messages: maybe", []string{"$.profiles.p.result_policy.allow_external_messages", "use true or false"}},
		{"role: scribe", "role: scribe\n    integration_policy: {mail: sometimes}", []string{"$.profiles.p.integration_policy.mail", `"sometimes"`, "bridge-only"}},
		{"role: scribe", "role: scribe\n    integration_policy: {mail: supervised}", []string{"$.profiles.p.integration_policy.mail", "mail"}},
		{"role: scribe", "role: scribe\n    profile_id: q", []string{"$.profiles.p.profile_id", `"q"`}},
		{"role: scribe", "role: scribe\n    schema: agent-runtime/task.intent/v1", []string{"$.profiles.p.schema", "agent-runtime/task.intent/v1"}},
		{"role: scribe", "role: scribe\n    temperature: 1", []string{"temperature"}},
		{"adapters:", "agent: 3\nadapters:", []string{"$.agent", "string"}},
	} {
		if !strings.Contains(whole, tt.old) {
			t.Fatalf("%q is not in the file", tt.old)
		}
		err := load(strings.Replace(whole, tt.old, tt.bad, 1))
		if err == nil {
			t.Errorf("%q is taken", tt.bad)
			continue
		}
		for _, want := range tt.wantErr {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: the error lacks %q:\n%v", tt.bad, want, err)
			}
		}
	}
}
