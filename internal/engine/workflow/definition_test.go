package workflow

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/config"
)

// nothing knows no name but those of the test.
var nothing = Known{
	Type:    func(n string) error { return unknownUnless(n, "script") },
	Profile: func(n string) error { return unknownUnless(n, "default") },
	Skill:   func(n string) error { return unknownUnless(n, "review") },
}

func unknownUnless(name, known string) error {
	if name == known {
		return nil
	}
	return fmt.Errorf("unknown %q", name)
}

const working = `
workflow_type: w
initial_state: work
states:
  - state_id: work
    task_type: script
    emits_task_intent: true
    transitions: [{signal: done, next_state: end}]
  - state_id: end
`

// All faults of a definition are reported at once, each with its line.
func TestLint(t *testing.T) {
	t.Parallel()
	state := func(text string) string {
		return "workflow_type: w\ninitial_state: work\nstates:\n  - state_id: work\n    task_type: script\n    emits_task_intent: true\n" + text
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"good":             {working, nil},
		"no state":         {"workflow_type: w\ninitial_state: a\nstates: []\n", []string{"$.states"}},
		"not a mapping":    {"- 1\n", []string{"$"}},
		"empty":            {"", []string{"workflow_type"}},
		"unknown member":   {working + "more: 1\n", []string{"more"}},
		"initial state":    {strings.Replace(working, "initial_state: work", "initial_state: worc", 1), []string{`f.yaml:3`, `did you mean "work"?`}},
		"next state":       {strings.Replace(working, "next_state: end", "next_state: ned", 1), []string{`"ned" is not a state`}},
		"twice":            {working + "  - state_id: work\n", []string{`"work" is there twice`}},
		"unreachable":      {working + "  - state_id: island\n", []string{`no transition leads to state "island"`}},
		"no way out":       {state("    deed: {max_visits: 2}\n    transitions: [{signal: again, next_state: work}]\n"), []string{`no way from state "work" to an end`}},
		"task, no signal":  {state(""), []string{"no signal leads on from it"}},
		"begins at an end": {"workflow_type: w\ninitial_state: end\nstates: [{state_id: end}]\n", []string{"nothing would ever be done"}},
		"loop": {
			state("    transitions: [{signal: done, next_state: end}, {signal: again, next_state: work}]\n  - state_id: end\n"),
			[]string{"$.deed.max_iterations", "work → work for ever"},
		},
		"loop with visits":     {state("    deed: {max_visits: 2}\n    transitions: [{signal: done, next_state: end}, {signal: again, next_state: work}]\n  - state_id: end\n"), nil},
		"loop with iterations": {state("    transitions: [{signal: done, next_state: end}, {signal: again, next_state: work}]\n  - state_id: end\ndeed: {max_iterations: 2}\n"), nil},
		"names": {
			strings.Replace(working, "task_type: script", "task_type: scrpt\n    default_profile_id: p\n    default_skill_ids: [review, s]", 1),
			[]string{`unknown "scrpt"`, `unknown "p"`, `unknown "s"`},
		},
		"signals": {
			state("    deed: {on_completed: donne, on_failure: failed}\n    transitions: [{signal: done, next_state: end}]\n  - state_id: end\n"),
			[]string{`did you mean "done"?`, `"failed" is not a signal of this state`},
		},
		"no effect": {
			"workflow_type: w\ninitial_state: work\nstates:\n  - state_id: work\n    task_type: script\n    default_profile_id: default\n    deed: {on_completed: done, payload: {}}\n    transitions: [{signal: done, next_state: end}]\n  - state_id: end\n",
			[]string{"$.states[0].task_type: has no effect", "$.states[0].default_profile_id: has no effect", "$.states[0].deed.on_completed", "$.states[0].deed.payload"},
		},
		"waits":         {"workflow_type: w\ninitial_state: work\nstates:\n  - state_id: work\n    transitions: [{signal: done, next_state: end}]\n  - state_id: end\n", nil},
		"ends in place": {state("    completion_signals: [done]\n"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("f.yaml", []byte(c.text), nothing)
			if (err == nil) != (len(c.want) == 0) {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
}

// A definition is the same whatever way it is written, and another one when anything of it changes.
func TestHash(t *testing.T) {
	t.Parallel()
	a, err := Parse("a.yaml", []byte(working), nothing)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse("b.json", []byte(`{"states": [{"state_id": "work", "emits_task_intent": true, "task_type": "script", "transitions": [{"next_state": "end", "signal": "done"}]}, {"state_id": "end"}],
		"initial_state": "work", "workflow_type": "w"}`), nothing)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse("c.yaml", []byte(strings.ReplaceAll(working, "done", "ready")), nothing)
	if err != nil {
		t.Fatal(err)
	}
	if a.Hash != b.Hash || a.Hash == c.Hash {
		t.Errorf("hashes %s %s %s", a.Hash, b.Hash, c.Hash)
	}
	back, err := stored(a.Hash, a.Body)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := newDefinition(back.WorkflowDefinition, ""); err != nil || again.Hash != a.Hash {
		t.Errorf("read back: %s, %v", again.Hash, err)
	}
}

// One bad file takes nothing else with it, the home may replace what deed ships, and a project replaces nothing.
func TestCatalog(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	put := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(home, "a.yaml", working)
	put(home, "bad.yml", "workflow_type: [")
	put(home, "note.txt", "not one")
	put(home, "twice.yaml", working)
	put(home, "goal.yaml", strings.Replace(working, "workflow_type: w", "workflow_type: goal-loop", 1))
	put(project, "p.yaml", strings.Replace(working, "workflow_type: w", "workflow_type: theirs", 1))
	put(project, "steal.yaml", working)
	if err := os.Symlink("/etc/hostname", filepath.Join(project, "out.yaml")); err != nil {
		t.Fatal(err)
	}
	c := Load(Options{Home: home, Project: project})
	var types []string
	for _, d := range c.List() {
		types = append(types, d.WorkflowType+" "+filepath.Base(d.Source))
	}
	if got := strings.Join(types, ", "); got != "goal-loop goal.yaml, theirs p.yaml, w a.yaml" {
		t.Errorf("types: %s", got)
	}
	if n := len(c.Faults()); n != 4 {
		t.Errorf("%d faults: %v", n, errors.Join(c.Faults()...))
	}
	if _, err := c.Get("goal-lop"); err == nil || !strings.Contains(err.Error(), `did you mean "goal-loop"?`) || !strings.Contains(err.Error(), "bad.yml") {
		t.Errorf("unknown type: %v", err)
	}
	if d := ProjectDir(filepath.Join(project, "x", "y")); d != "" {
		t.Errorf("found %s", d)
	}
}

// What deed ships is right by its own rules, with the task types that it ships.
func TestShipped(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	c := Load(Options{Known: Known{
		Type:    func(n string) error { _, err := cfg.Type(n); return err },
		Profile: func(n string) error { _, err := cfg.Profile(n); return err },
	}})
	if err := errors.Join(c.Faults()...); err != nil {
		t.Fatal(err)
	}
	d, err := c.Get("goal-loop")
	if err != nil {
		t.Fatal(err)
	}
	if d.maxIterations() == 0 {
		t.Error("goal-loop has no bound")
	}
	for _, name := range []string{"goal-plan", "goal-execute", "goal-verify", "script", "operator", "agent-task"} {
		typ, err := cfg.Type(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := typ.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestDrawings(t *testing.T) {
	t.Parallel()
	d, err := Load(Options{}).Get("goal-loop")
	if err != nil {
		t.Fatal(err)
	}
	m := Mermaid(d, "verify")
	for _, want := range []string{"stateDiagram-v2", "[*] --> s0", "s2 --> s1: continue", "s3 --> [*]", "class s2 current"} {
		if !strings.Contains(m, want) {
			t.Errorf("lacks %q:\n%s", want, m)
		}
	}
	svg := SVG(d, "verify")
	for _, want := range []string{"<svg ", `class="state now"`, `class="state end"`, ">revise_plan<", "prefers-color-scheme: dark", "</svg>"} {
		if !strings.Contains(svg, want) {
			t.Errorf("lacks %q:\n%s", want, svg)
		}
	}
	// Nothing in a name gets out of its place.
	hostile := d
	hostile.States = append([]agentruntime.WorkflowState{}, d.States...)
	hostile.States[3].StateID = `</text><script>"x"`
	if svg := SVG(hostile, ""); strings.Contains(svg, "<script>") {
		t.Error("a name became markup")
	}
	if m := Mermaid(hostile, ""); strings.Contains(m, "<script>") {
		t.Error("a name became Mermaid")
	}
	// Layers: the longest way, ways back left out.
	if got := fmt.Sprint(newGraph(d.WorkflowDefinition).layers()); got != "[0 1 2 3]" {
		t.Errorf("layers %s", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(working)
	f.Add("workflow_type: w\ninitial_state: a\nstates: [{state_id: a, transitions: [{signal: x, next_state: a}], completion_signals: [y]}]\ndeed: {max_iterations: 1}\n")
	f.Fuzz(func(_ *testing.T, text string) {
		d, err := Parse("f", []byte(text), Known{})
		if err != nil {
			return
		}
		_, _ = Mermaid(d, d.InitialState), SVG(d, d.InitialState)
	})
}
