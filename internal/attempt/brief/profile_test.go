package brief

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
)

// Every field of a profile has a row that says where it acts, and every row a field.
func TestEveryProfileFieldActs(t *testing.T) {
	t.Parallel()
	var there []string
	var walk func(t reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Type.Kind() == reflect.Struct {
				walk(f.Type, path+name+".")
				continue
			}
			there = append(there, path+name)
		}
	}
	walk(reflect.TypeFor[agentruntime.SubagentProfile](), "")
	var rows []string
	for _, r := range ProfileFields {
		if r.Acts == "" {
			t.Errorf("%s: the row does not say where it acts", r.Field)
		}
		rows = append(rows, r.Field)
	}
	if !slices.Equal(there, rows) {
		t.Errorf("the profile has %q\nand the table %q", there, rows)
	}
	for _, s := range agentruntime.ProfileStyles {
		if styles[s] == "" {
			t.Errorf("style %s says nothing", s)
		}
	}
}

// The agent gets what a profile says about results.
func TestProfileText(t *testing.T) {
	t.Parallel()
	p := agentruntime.SubagentProfile{
		Role: "teller", Style: agentruntime.StyleHermes, PromptParts: []string{"Mind the time."},
		IntegrationPolicy: map[string]string{"ops": agentruntime.IntegrationNone, "mail": agentruntime.IntegrationSupervised, "board": agentruntime.IntegrationBridge},
	}
	text := profileText(p)
	for _, want := range []string{"You work as: teller. Do the one thing", "Mind the time.", "Further tasks that you ask for are not made.", "Messages to others that you ask for are not sent."} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	p.ResultPolicy = agentruntime.ResultPolicy{AllowFollowUpTasks: true, AllowExternalMessages: true}
	text = profileText(p)
	for _, want := range []string{"follow_up_tasks", "external_messages", "A person looks at each to mail first. Nothing goes to ops."} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
}

// Memory is there when the profile includes it, and only then.
func TestProfileRulesMemory(t *testing.T) {
	t.Parallel()
	in := full()
	for _, include := range []bool{true, false} {
		in.Profile.ContextPolicy.IncludeRecentMemory = include
		b, err := Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.Text, "## Recent work") != include {
			t.Errorf("include_recent_memory %v:\n%s", include, b.Text)
		}
	}
}
