package runtimepkg

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// several is a catalog with all that a selection can meet.
func several(t *testing.T) *Catalog {
	t.Helper()
	dir := t.TempDir()
	pack(t, dir, "alpha", provider("alpha.run", "alpha", object{"capabilities": []string{"structured_outcome", "patch_artifacts"}, "default_backend": true, "models": []string{"m1", "m2"}}))
	pack(t, dir, "both", provider("both.one", "shared", object{"provider_defaults": object{"openai": object{"model": "gpt"}}}), provider("both.two", "shared", object{"capabilities": []string{"x"}}))
	pack(t, dir, "status", provider("status.old", "old", object{"status": "deprecated", "replacement": "alpha.run"}), provider("status.new", "new", object{"status": "experimental"}),
		provider("status.off", "off", object{"status": "disabled"}), provider("status.odd", "odd", object{"status": "asleep"}))
	pack(t, dir, "named", provider("named.run", "unlike", nil))
	pack(t, dir, "shared", provider("shared.run", "else", nil))
	pack(t, dir, "bad", provider("bad.run", "bad", object{"request_schema": "homeboy/agent-task-request/v9"}))
	write(t, "{", dir, "broken", "broken.json")
	return catalog(t, dir)
}

func TestSelect(t *testing.T) {
	t.Parallel()
	c := several(t)
	for name, tc := range map[string]struct {
		ask  Ask
		want string // the provider
		code string // or the error
		text string // in the error, or in a warning
	}{
		"by backend":                                   {Ask{Backend: "alpha"}, "alpha.run", "", ""},
		"case 25: no backend":                          {Ask{}, "", SelectionRequired, "alpha, bad, else, new, odd, off, old, shared, unlike"},
		"case 25: a blank backend":                     {Ask{Backend: "  ", Selector: "alpha.run"}, "", SelectionRequired, "no default"},
		"case 23: two and no selector":                 {Ask{Backend: "shared"}, "", ProviderAmbiguous, "both.one, both.two"},
		"capabilities do not choose":                   {Ask{Backend: "shared", Capabilities: []string{"x"}}, "", ProviderAmbiguous, "both.two"},
		"case 21: the selector":                        {Ask{Backend: "shared", Selector: "both.two"}, "both.two", "", ""},
		"case 21: no such selector":                    {Ask{Backend: "shared", Selector: "both.three"}, "", SelectorMismatch, "both.one, both.two"},
		"case 21: the selector is an AI provider":      {Ask{Backend: "shared", Selector: "openai"}, "", SelectorMismatch, "executor.config.provider"},
		"the selector is a package":                    {Ask{Backend: "shared", Selector: "both"}, "", SelectorMismatch, "is a package"},
		"the selector is a model":                      {Ask{Backend: "shared", Selector: "gpt", Model: "gpt"}, "", SelectorMismatch, "executor.model"},
		"case 21: the backend is a package's id":       {Ask{Backend: "named"}, "named.run", "", ""},
		"case 21: a backend beats a package's id":      {Ask{Backend: "shared", Selector: "shared.run"}, "", SelectorMismatch, "both.one"},
		"case 22: a package's id with two":             {Ask{Backend: "both"}, "", ProviderAmbiguous, "both.one, both.two"},
		"case 24: a capability that is not declared":   {Ask{Backend: "alpha", Capabilities: []string{"patch_artifacts", "browser_runtime"}}, "", CapabilityUnavailable, "browser_runtime"},
		"all capabilities":                             {Ask{Backend: "alpha", Capabilities: []string{"patch_artifacts", "structured_outcome", " "}}, "alpha.run", "", ""},
		"case 27: nobody, and why":                     {Ask{Backend: "broken"}, "", ProviderMissing, "broken.json"},
		"nobody":                                       {Ask{Backend: "moon"}, "", ProviderMissing, "alpha"},
		"an unusable provider":                         {Ask{Backend: "bad"}, "", ProviderMissing, "request_schema"},
		"case 29: disabled":                            {Ask{Backend: "off"}, "", ProviderDisabled, "status.off"},
		"case 29: deprecated":                          {Ask{Backend: "old"}, "status.old", "", `use "alpha.run"`},
		"experimental":                                 {Ask{Backend: "new"}, "status.new", "", "experimental"},
		"a status that nobody knows":                   {Ask{Backend: "odd"}, "status.odd", "", "asleep"},
		"a package":                                    {Ask{Backend: "alpha", Runtime: "alpha"}, "alpha.run", "", ""},
		"another package":                              {Ask{Backend: "alpha", Runtime: "both"}, "", ProviderMissing, `"alpha"`},
		"no such package":                              {Ask{Backend: "alpha", Runtime: "moon"}, "", ProviderMissing, "moon"},
		"a model that it has":                          {Ask{Backend: "alpha", Model: "m2"}, "alpha.run", "", ""},
		"a model that it has not":                      {Ask{Backend: "alpha", Model: "m3"}, "", ModelUnsupported, "m1, m2"},
		"any model where the provider does not list":   {Ask{Backend: "unlike", Model: "m3"}, "named.run", "", ""},
		"a backend is compared as it stands, not near": {Ask{Backend: "Alpha"}, "", ProviderMissing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := c.Select(tc.ask)
			var no *SelectError
			switch {
			case tc.code != "":
				if !errors.As(err, &no) || no.Code != tc.code || !strings.Contains(err.Error(), tc.text) {
					t.Fatalf("%v, want %s with %q", err, tc.code, tc.text)
				}
				for _, x := range no.Candidates {
					if x.Chosen || x.Why == "" {
						t.Errorf("it is not explained: %+v", x)
					}
				}
			case err != nil:
				t.Fatal(err)
			default:
				if s.Provider.ID != tc.want || !strings.Contains(strings.Join(s.Warnings, "\n"), tc.text) || (tc.text == "") != (len(s.Warnings) == 0) {
					t.Errorf("%s, warnings %v", s.Provider.ID, s.Warnings)
				}
				chosen := 0
				for _, x := range s.Candidates {
					if x.Why == "" {
						t.Errorf("it is not explained: %+v", x)
					}
					if x.Chosen {
						chosen++
					}
				}
				if chosen != 1 {
					t.Errorf("%d are chosen", chosen)
				}
			}
		})
	}
}

func TestSelectErrorClass(t *testing.T) {
	t.Parallel()
	if c := (&SelectError{Code: CapabilityUnavailable}).Class(); c != homeboy.ClassCapabilityMissing {
		t.Error(c)
	}
	if c := (&SelectError{Code: ProviderAmbiguous}).Class(); c != homeboy.ClassInvalidInput {
		t.Error(c)
	}
}

func TestAskSpellings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Ask{
		`{"executor":{"backend":"b","selector":"s","model":"m","required_capabilities":["x"],"config":{"provider":"p","model":"no"}},"metadata":{"capability_requirements":{"provider":["y"]}}}`: {
			Backend: "b", Selector: "s", Model: "m", Capabilities: []string{"x", "y"}, AIProvider: "p",
		},
		`{"executor":{"backend":"b","runtime":"r"}}`:                                                                          {Backend: "b", Runtime: "r"},
		`{"executor":{"backend":"b","runtime":{"runtime_id":"r","selector":"s"}}}`:                                            {Backend: "b", Runtime: "r", Selector: "s"},
		`{"executor":{"backend":"b","runtime_selection":{"runtime_id":"r","executor_provider_id":"s","ai_provider_id":"p"}}}`: {Backend: "b", Runtime: "r", Selector: "s", AIProvider: "p"},
		`{"executor":"text"}`: {}, `{}`: {},
	} {
		if d := cmp.Diff(want, document(t, text).Ask()); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	for _, bad := range []string{"", "[]", "null", `{} {}`, `{"a":`} {
		if _, err := ReadDocument([]byte(bad)); err == nil {
			t.Errorf("%q is a request", bad)
		}
	}
}

func TestCompleteAppliesAndRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pack(t, dir, "x", provider("x.run", "x", object{
		"request_required_fields": []string{"task_id", "executor.runtime", "executor.config.model"},
		"provider_defaults":       object{"openai": object{"model": "gpt", "command": "codex", "command_args": []string{"exec"}}},
	}))
	s, err := catalog(t, dir).Select(Ask{Backend: "x"})
	if err != nil {
		t.Fatal(err)
	}
	asked := document(t, `{"task_id":"t","big":12345678901234567890,"executor":{"backend":"x","config":{"provider":"openai"}}}`)
	before := clone(map[string]any(asked))
	full, applied := s.Complete(asked)
	if d := cmp.Diff(before, any(map[string]any(asked))); d != "" {
		t.Errorf("the request was changed: %s", d)
	}
	var paths []string
	for _, a := range applied {
		paths = append(paths, a.Path+" "+a.From)
	}
	want := []string{"schema host", "executor.runtime host", "executor.config.model provider_defaults.openai", "executor.config.command provider_defaults.openai", "executor.config.command_args provider_defaults.openai"}
	if d := cmp.Diff(want, paths); d != "" {
		t.Error(d)
	}
	if err := CheckRequest(s.Provider, full); err != nil {
		t.Error(err)
	}
	// What the request says stays.
	full, applied = s.Complete(document(t, `{"schema":"s","executor":{"backend":"x","runtime":"mine","model":"own","config":{"provider":"openai","command":"other"}}}`))
	if m, there := full.At("executor.config.model"); there || len(applied) != 0 {
		t.Errorf("%v %v", m, applied)
	}
	// No provider is no default.
	if full, _ := s.Complete(document(t, `{"executor":{"backend":"x"}}`)); full.text("executor.config.model") != "" {
		t.Error("a default of nobody was applied")
	}
	if full, _ := s.Complete(document(t, `{"executor":"text"}`)); full["executor"] != "text" {
		t.Error("what the request says was replaced")
	}
}

func TestCheckRequestNamesEveryFault(t *testing.T) {
	t.Parallel()
	x := homeboy.ExecutorProvider{ID: "x", RequestRequiredFields: []string{"task_id", "instructions", "executor.config.model", "$.inputs.list[1]", "inputs.zero", "inputs.null", "executor.backend.deep"}}
	err := CheckRequest(x, document(t, `{"task_id":"t","instructions":"  ","executor":{"backend":"b"},"inputs":{"list":[1,2],"zero":0,"null":null}}`))
	var got []string
	for _, f := range fault.Of(err) {
		got = append(got, f.Path+" "+f.Code)
	}
	want := []string{"$.instructions blank", "$.executor.config.model missing_field", "$.inputs.null missing_field", "$.executor.backend.deep missing_field"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Case 119.
func TestResolveExecution(t *testing.T) {
	t.Parallel()
	x := homeboy.ExecutorProvider{
		ID: "x", Capabilities: []string{"workflow_execution", "ability_execution"},
		RuntimeExecutionContracts: map[string]homeboy.RuntimeExecutionContract{
			"bundle":   {AbilityField: "runtime_bundle_ability", RequiredCapabilities: []string{"agent_bundle_execution"}},
			"workflow": {AbilityField: "runtime_workflow_ability", RequiredCapabilities: []string{"workflow_execution"}},
			"ability":  {AbilityField: "runtime_task_ability", RequiredCapabilities: []string{"ability_execution"}},
		},
	}
	profile := document(t, `{"runtime_workflow_ability":"site/run-workflow","runtime_task_ability":"site/task"}`)
	for text, want := range map[string]struct{ ability, err string }{
		`{"kind":"workflow"}`:                       {"site/run-workflow", ""},
		`{"workflow":{"id":"w"}}`:                   {"site/run-workflow", ""},
		`{"kind":"workflow","ability":"site/mine"}`: {"site/mine", ""},
		`{"ability":"site/direct"}`:                 {"site/direct", ""},
		`{"kind":"ability"}`:                        {"", "ability is missing"},
		`{"kind":"bundle"}`:                         {"", `"bundle" needs agent_bundle_execution`},
		`{"kind":"bundle","ability":"site/mine"}`:   {"", "agent_bundle_execution"},
		`{"kind":"dance"}`:                          {"", `"dance" (it carries out: ability, bundle, workflow)`},
		`{}`:                                        {"", "kind is missing"},
	} {
		got, err := ResolveExecution(x, ExecutionOf(document(t, text)), profile)
		if got != want.ability || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
	if _, err := ResolveExecution(x, Execution{Kind: "workflow"}, Document{}); err == nil || !strings.Contains(err.Error(), "runtime_workflow_ability") {
		t.Errorf("a profile without the field: %v", err)
	}
}

func needNames(list []SecretNeed) (required, optional []string) {
	for _, n := range list {
		if n.Required {
			required = append(required, n.Name)
		} else {
			optional = append(optional, n.Name)
		}
	}
	return required, optional
}

// Cases 37, 41, 42 and 46.
func TestSecretNeeds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pack(t, dir, "x", provider("x.run", "x", object{
		"secret_requirements": []any{object{"name": "PLAIN"}, object{"name": "MAYBE", "required": false}, "BARE"},
		"secret_env_requirements": []any{
			object{"env": []string{"CODEX_A", "CODEX_B"}, "when": object{"any": []object{{"path": "provider", "equals": "codex"}, {"path": "executor.provider", "equals": "codex"}}}},
			object{"env": "ALL", "when": object{"all": []object{{"path": "executor.config.provider"}, {"any": []object{{"path": "inputs.n", "equals": 1}}}}}},
			object{"env": "NEVER", "when": object{"equals": "x"}},
		},
		"provider_defaults": object{"codex": object{"secret_env": []string{"D1", "D2"}, "optional_secret_env": []string{"D2", "D3"}, "required_secret_env": "D4"}},
		"runner_readiness":  []object{{"secret_env": []string{"READY"}}},
	}))
	x := catalog(t, dir).Packages[0].Manifest.AgentTaskExecutors[0]
	for text, want := range map[string]struct{ required, optional []string }{
		`{}`: {[]string{"BARE", "PLAIN", "READY"}, []string{"MAYBE"}},
		`{"executor":{"secret_env":[" MAYBE ","MINE",""],"config":{"provider":"other"}}}`: {[]string{"BARE", "MAYBE", "MINE", "PLAIN", "READY"}, nil},
		`{"executor":{"config":{"provider":"codex"}},"inputs":{"n":1}}`:                   {[]string{"ALL", "BARE", "CODEX_A", "CODEX_B", "D1", "D4", "PLAIN", "READY"}, []string{"D2", "D3", "MAYBE"}},
		`{"executor":{"provider":"codex"}}`:                                               {[]string{"BARE", "CODEX_A", "CODEX_B", "PLAIN", "READY"}, []string{"MAYBE"}},
	} {
		r, o := needNames(SecretNeeds(x, document(t, text)))
		if !slices.Equal(r, want.required) || !slices.Equal(o, want.optional) {
			t.Errorf("%s: required %v, optional %v", text, r, o)
		}
	}
}

// Case 42: of two providers in one package each has its own names, and a request gets those of the one that it selects.
func TestSecretsOfTheSelectedProvider(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pack(t, dir, "x", provider("x.a", "x", object{"secret_requirements": []object{{"name": "OF_A"}}}),
		provider("x.b", "x", object{"secret_env_requirements": []object{{"env": "OF_B"}}, "provider_defaults": object{"ai": object{"secret_env": "OF_AI"}}}))
	pack(t, dir, "y", provider("y.a", "y", nil))
	c := catalog(t, dir)
	for want, q := range map[string]string{
		"OF_A": `{"executor":{"backend":"x","selector":"x.a","config":{"provider":"ai"}}}`, "OF_AI OF_B": `{"executor":{"backend":"x","selector":"x.b","config":{"provider":"ai"}}}`,
		"OF_B": `{"executor":{"backend":"x","selector":"x.b"}}`, "": `{"executor":{"backend":"y"}}`,
	} {
		doc := document(t, q)
		s, err := c.Select(doc.Ask())
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := needNames(SecretNeeds(s.Provider, doc)); strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", q, got, want)
		}
	}
}

// TestHoldsExistence: without equals the path must be there, whatever it holds.
func TestHoldsExistence(t *testing.T) {
	t.Parallel()
	doc := document(t, `{"a":null,"b":""}`)
	for path, want := range map[string]bool{"a": true, "b": true, "c": false, "a.b": false, "": false} {
		if got := Holds(&homeboy.SecretCondition{Path: path}, doc); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	if !Holds(nil, doc) {
		t.Error("no condition does not hold")
	}
}
