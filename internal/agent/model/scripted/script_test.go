package scripted

import (
	"strings"
	"testing"
)

func TestDemoIsValid(t *testing.T) {
	t.Parallel()
	s, err := Load(DemoName)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fix", "lazy", "text", "flaky", "limited"} {
		if _, ok := s.Scenarios[name]; !ok {
			t.Errorf("there is no scenario %s", name)
		}
	}
}

func TestScriptsAreStrict(t *testing.T) {
	t.Parallel()
	head := "schema: deed/model-script/v1\nscenarios:\n"
	for _, c := range []struct{ name, script, want string }{
		{"empty", ``, "$.schema"},
		{"schema", "schema: other\nscenarios: {a: {steps: [{text: x}]}}", `$.schema: is "other"`},
		{"no scenarios", "schema: deed/model-script/v1\n", "$.scenarios: has 0 entries"},
		{"name", head + "  A B: {steps: [{text: x}]}", `the name "A B" cannot be in a URL`},
		{"neither", head + "  a: {}", "$.scenarios.a: needs either turns or steps"},
		{"both", head + "  a: {steps: [{text: x}], turns: [[{text: x}]]}", "$.scenarios.a: needs either turns or steps"},
		{"empty turn", head + "  a: {turns: [[]]}", "$.scenarios.a.turns[0]: has no steps"},
		{"unknown member", head + "  a: {steps: [{txt: x}]}", `unknown field "txt"`},
		{"wrong type", head + "  a: {steps: [{text: [1]}]}", "a: {steps: [{text: [1]}]}"},
		{"empty step", head + "  a: {steps: [{}]}", "$.scenarios.a.steps[0]: does nothing"},
		{"two things", head + "  a: {steps: [{text: x, cut: true}]}", "is more than one thing"},
		{"two faults", head + "  a: {steps: [{error: 500, cut: true}]}", "is more than one thing"},
		{"bad status", head + "  a: {steps: [{error: 302}]}", "$.scenarios.a.steps[0].error: is 302"},
		{"bad word", head + "  a: {steps: [{error: sometimes}]}", "is sometimes"},
		{"hang", head + "  a: {steps: [{hang: long}]}", `$.scenarios.a.steps[0].hang: is "long"`},
		{"times of an answer", head + "  a: {steps: [{text: x, times: 2}]}", "$.scenarios.a.steps[0].times"},
		{"retry_after without error", head + "  a: {steps: [{text: x, retry_after: 2}]}", "without error"},
		{"delay", head + "  a: {steps: [{text: x, delay_ms: -1}]}", "$.scenarios.a.steps[0].delay_ms"},
		{"usage", head + "  a: {usage: {input: 1, cached: 2}, steps: [{text: x}]}", "$.scenarios.a.usage.cached"},
		{"shell without command", head + "  a: {steps: [{tool: shell}]}", "$.scenarios.a.steps[0].command: is missing"},
		{"arguments without tool", head + "  a: {steps: [{text: x, path: y}]}", "$.scenarios.a.steps[0].tool: is missing"},
		{"call without tool", head + "  a: {steps: [{calls: [{path: y}]}]}", "$.scenarios.a.steps[0].calls[0].tool: is missing"},
		{"branch", head + "  a: {steps: [{text: x}], on: [{steps: [{text: y}]}]}", "$.scenarios.a.on[0].contains: is empty"},
		{"not yaml", "\t{", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(c.script))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestAllFaultsAtOnce: a person can fix a script in one go.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte("schema: x\nscenarios: {a: {steps: [{tool: read}, {error: 1}]}, b: {}}"))
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(demo)
	f.Add([]byte(`{"schema":"deed/model-script/v1","scenarios":{"a":{"steps":[{"error":"429"}]}}}`))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err == nil && s.Validate() != nil {
			t.Error("what was parsed is not valid")
		}
	})
}
