package schema

import (
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
)

// What deed refuses of a request's texts, whoever has the JSON Schema alone is told, too.
func TestSchemaOfARequestRefusesTexts(t *testing.T) {
	t.Parallel()
	s, err := compiled(codebox.SchemaRequest)
	if err != nil {
		t.Fatal(err)
	}
	for member, valid := range map[string]bool{
		`"secret_env": ["EXAMPLE_KEY"]`:                                              true,
		`"secret_env": ["x"]`:                                                        false,
		`"secret_env": ["sk-live-0123"]`:                                             false,
		`"secret_env": [""]`:                                                         false,
		`"runtime_env": {"STAGE": "x"}`:                                              true,
		`"runtime_env": {"my stage": "x"}`:                                           false,
		`"allowed_tools": ["workspace.read"]`:                                        true,
		`"allowed_tools": [" "]`:                                                     false,
		`"expected_artifacts": [""]`:                                                 false,
		`"artifacts_path": "out"`:                                                    false,
		`"artifacts_path": "/out"`:                                                   true,
		`"provider_plugin_paths": ["plugin"]`:                                        false,
		`"mounts": [{"source": "a", "target": "/runtime/a"}]`:                        false,
		`"mounts": [{"source": "/a", "target": "a"}]`:                                false,
		`"mounts": [{"source": "/a", "target": "/runtime/a"}]`:                       true,
		`"workspaces": [{"seed": {"type": "directory", "source": "app"}}]`:           false,
		`"workspaces": [{"seed": {"type": "directory", "source": "/app"}}]`:          true,
		`"component_contracts": [{"slug": "a", "path": "a"}]`:                        false,
		`"verify_steps": [{"shell": " "}]`:                                           false,
		`"agent_bundles": [{"source": "/b", "import_principal": {"agent_id": {}}}]`:  false,
		`"agent_bundles": [{"source": "/b", "import_principal": {"agent_id": 0}}]`:   false,
		`"agent_bundles": [{"source": "/b", "import_principal": {"agent_id": "x"}}]`: false,
		`"agent_bundles": [{"source": "/b", "import_principal": {"agent_id": "7"}}]`: true,
		`"agent_bundles": [{"source": "/b", "import_principal": {"agent_id": 7.0}}]`: true,
		`"version": 1.0`:      true,
		`"version": 1.5`:      false,
		`"max_turns": 3.00`:   true,
		`"max_turns": 1000e9`: false,
	} {
		doc := []byte(`{"schema": "` + codebox.SchemaTaskInput + `", "goal": "x", ` + member + `}`)
		if err := fits(s, doc); (err == nil) != valid {
			t.Errorf("the schema says of %s: %v", member, err)
		}
		if _, err := Decode[codebox.Request](codebox.SchemaRequest, doc); (err == nil) != valid {
			t.Errorf("deed says of %s: %v", member, err)
		}
		if err := Validate(codebox.SchemaRequest, doc); (err == nil) != valid || err != nil && strings.Contains(err.Error(), "sk-live") {
			t.Errorf("both say of %s: %v", member, err)
		}
	}
}

// What may be empty stays so by the schema.
func TestSchemaOfAnAbilityRequest(t *testing.T) {
	t.Parallel()
	for member, valid := range map[string]bool{
		`"artifacts_path": ""`: true, `"artifacts_path": "/out"`: true, `"artifacts_path": "out"`: false,
		`"capability_token_env": ""`: true, `"capability_token_env": "CAP_TOKEN"`: true, `"capability_token_env": "x"`: false,
		`"component_contracts": [{"slug": "a", "path": "a"}]`: false, `"task_timeout_seconds": 5.0`: true,
	} {
		doc := []byte(`{"schema": "` + codebox.SchemaAbilityRunRequest + `", "ability": "a/b", ` + member + `}`)
		s, err := compiled(codebox.SchemaAbilityRunRequest)
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(s, doc); (err == nil) != valid {
			t.Errorf("the schema says of %s: %v", member, err)
		}
		if _, err := Decode[codebox.AbilityRunRequest](codebox.SchemaAbilityRunRequest, doc); (err == nil) != valid {
			t.Errorf("deed says of %s: %v", member, err)
		}
	}
}

// A whole number may be written with a point, also in what is kept as it was written: encoding/json is told 1.
func TestWholeDecimals(t *testing.T) {
	t.Parallel()
	r, err := Decode[codebox.Request](codebox.SchemaRequest, []byte(`{"schema": "`+codebox.SchemaTaskInput+`", "goal": "x", "version": 1.0, "max_turns": 30.000}`))
	if err != nil || r.Plain.Version != 1 || r.Plain.MaxTurns != 30 {
		t.Errorf("%+v, %v", r.Plain, err)
	}
	intent, err := Decode[agentruntime.TaskIntent](agentruntime.SchemaTaskIntent, []byte(`{"task_type": "e", "source": "s", "payload": {}, "priority": -2.0}`))
	if err != nil || intent.Priority == nil || *intent.Priority != -2 {
		t.Errorf("%+v, %v", intent, err)
	}
	for _, wrong := range []string{"1.5", "1.01", "1e3", "1.0e3", "92233720368547758080.0"} {
		_, err := Decode[agentruntime.TaskIntent](agentruntime.SchemaTaskIntent, []byte(`{"task_type": "e", "source": "s", "payload": {}, "priority": `+wrong+`}`))
		if len(fault.Of(err)) != 1 || fault.Of(err)[0].Path != "$.priority" {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
