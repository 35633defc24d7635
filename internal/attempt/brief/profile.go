package brief

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
)

// A ProfileField says where a field of a profile has an effect. A field without a row fails a test: it would be an
// empty promise.
type ProfileField struct {
	Field string // as JSON has it
	Acts  string
	Bad   string // what is refused when the settings are read
}

// ProfileFields has every field of a profile; docs/BRIEF.md prints it.
var ProfileFields = []ProfileField{
	{"schema", "names the record", "another record's id"},
	{"profile_id", "the name that tasks, task types and workflows ask for; in the brief, in events and in bundles", "another name than its entry's"},
	{"style", "one sentence on how to work, in the section `profile` of the brief", "any other word than `claude-like`, `codex-like`, `hermes-like`"},
	{"role", "what the agent works as, in the section `profile`", "an empty one"},
	{"default_adapter_id", "who works when neither the task nor its type names an adapter", "an adapter that is not there"},
	{"default_model", "the model when neither the task nor its type names one", "a name that is too long"},
	{"prompt_parts", "told in the section `profile`, which is never dropped", "an empty part"},
	{"skill_ids", "the skills of every task of the profile: sections `skills` and `skill instructions`, and the variant", "a skill that cannot be resolved"},
	{"context_policy.max_prompt_chars", "how many characters (Unicode code points) the brief has at most", "0, or more than 100000000"},
	{"context_policy.include_recent_memory", "whether the section `memory` is there", ""},
	{"result_policy.allow_follow_up_tasks", "whether the follow-up tasks of an accepted result are made; said in the section `profile`", ""},
	{"result_policy.allow_external_messages", "whether the messages of an accepted result leave; said in the section `profile`", ""},
	{"integration_policy", "by target of the outbox: `none` refuses its messages, `supervised` holds each for a person, `bridge-only` lets them leave through the outbox; said in the section `profile`", "any other word, and `supervised` or `bridge-only` for a target that is not there"},
}

// styles are how best to address each family of agents.
var styles = map[agentruntime.ProfileStyle]string{
	agentruntime.StyleClaude: "Look before you change something, go in small steps, and check each before the next.",
	agentruntime.StyleCodex:  "Go through to the end without asking back: read, change, run it, mend what fails. Few words.",
	agentruntime.StyleHermes: "Do the one thing that is asked, with the tools that you have, and end with one plain result.",
}

// profileText is the part that comes from the profile: what the agent works as, how, and what its result may request.
func profileText(p agentruntime.SubagentProfile) string {
	var parts []string
	if p.Role != "" {
		parts = append(parts, strings.TrimSpace("You work as: "+oneLine(p.Role)+". "+styles[p.Style]))
	}
	parts = append(parts, p.PromptParts...)
	parts = append(parts, resultRules(p))
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" }), "\n\n")
}

func resultRules(p agentruntime.SubagentProfile) string {
	var lines []string
	if p.ResultPolicy.AllowFollowUpTasks {
		lines = append(lines, `- You may ask for further tasks with "follow_up_tasks" in the result file. They are made after your work is accepted.`)
	} else {
		lines = append(lines, "- Further tasks that you ask for are not made.")
	}
	if !p.ResultPolicy.AllowExternalMessages {
		return strings.Join(append(lines, "- Messages to others that you ask for are not sent."), "\n")
	}
	line := `- You may ask for messages with "external_messages" in the result file, objects with a "target". They leave after your work is accepted.`
	for _, name := range slices.Sorted(maps.Keys(p.IntegrationPolicy)) {
		switch p.IntegrationPolicy[name] {
		case agentruntime.IntegrationNone:
			line += fmt.Sprintf(" Nothing goes to %s.", name)
		case agentruntime.IntegrationSupervised:
			line += fmt.Sprintf(" A person looks at each to %s first.", name)
		}
	}
	return strings.Join(append(lines, line), "\n")
}
