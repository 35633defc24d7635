package generate

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
)

// request adds the rules of what a request consists of.
func request(t reflect.Type, d *jsonschema.Schema) {
	switch t {
	case reflect.TypeFor[codebox.TaskRequest]():
		describe(d, "target", codebox.TargetMembers)
		describe(d, "policy", codebox.PolicyMembers)
		ownPolicy(get(d, "policy"))
		none := uint64(0)
		get(d, "runtime_overlay_profiles").MaxItems = &none
		for _, name := range []string{"code", "code_file"} {
			get(d, name).AnyOf = []*jsonschema.Schema{{Type: "null"}, {Type: "string", Pattern: `^\s*$`}}
		}
	case reflect.TypeFor[codebox.SandboxToolPolicy]():
		none := uint64(0)
		d.AnyOf = []*jsonschema.Schema{{MaxProperties: &none}, {Required: []string{"schema", "version", "tools"}}}
	case reflect.TypeFor[codebox.AgentBundle]():
		d.OneOf = []*jsonschema.Schema{{Required: []string{"source"}}, {Required: []string{"bundle"}}}
	case reflect.TypeFor[codebox.VerifyStep]():
		d.OneOf = []*jsonschema.Schema{{Required: []string{"command"}}, {Required: []string{"shell"}}, {Required: []string{"capability"}}}
	case reflect.TypeFor[codebox.PluginSource]():
		d.AnyOf = []*jsonschema.Schema{{Required: []string{"source"}}, {Required: []string{"path"}}}
	case reflect.TypeFor[codebox.ComponentContract]():
		d.AllOf = []*jsonschema.Schema{
			{AnyOf: []*jsonschema.Schema{{Required: []string{"slug"}}, {Required: []string{"component"}}, {Required: []string{"name"}}}},
			{AnyOf: []*jsonschema.Schema{{Required: []string{"path"}}, {Required: []string{"source"}}, {Required: []string{"source_root"}}, {Required: []string{"sourceRoot"}}}},
		}
	case reflect.TypeFor[codebox.WorkspaceSeed]():
		for _, typ := range slices.Sorted(maps.Keys(codebox.SeedMembers)) {
			if must := codebox.SeedMembers[typ].Must; must != nil {
				d.AllOf = append(d.AllOf, when("type", typ, &jsonschema.Schema{Required: must}))
			}
		}
	}
}

// What texts of a request look like. Each admits all that the Go types accept, and some that they do not: the types look at the whole value.
const (
	patternSays     = `[^ \t\n\v\f\r]` // more than blanks
	patternAbsolute = `^/`
	patternEnvName  = `^[A-Z_][A-Z0-9_]*$`
)

// texts gives the texts of a request their patterns. Records of programs that have the same parts give them back as they were told.
func texts(t reflect.Type, d *jsonschema.Schema) {
	switch t {
	case reflect.TypeFor[codebox.TaskRequest]():
		match(d, patternSays, "goal", "allowed_tools", "expected_artifacts")
		match(d, patternAbsolute, "artifacts_path", "source_package_root", "provider_plugin_paths")
		match(d, patternEnvName, "secret_env", "runtime_env", "runtimeEnv")
	case reflect.TypeFor[codebox.WrappedRequest]():
		match(d, patternAbsolute, "artifacts_path")
	case reflect.TypeFor[codebox.AbilityRunRequest]():
		match(d, patternAbsolute, "provider_plugin_paths")
		match(d, patternEnvName, "runtime_env")
		match(d, "^$|"+patternAbsolute, "artifacts_path") // these two may be empty
		match(d, "^$|"+patternEnvName, "capability_token_env")
	case reflect.TypeFor[codebox.RuntimeProfile]():
		match(d, patternEnvName, "env")
	case reflect.TypeFor[codebox.RequestWorkspace]():
		match(d, patternAbsolute, "target")
	case reflect.TypeFor[codebox.RequestMount](), reflect.TypeFor[codebox.StagedFile]():
		match(d, patternAbsolute, "source", "target")
	case reflect.TypeFor[codebox.RuntimeOverlay]():
		match(d, patternAbsolute, "source", "target", "bundle")
	case reflect.TypeFor[codebox.ImportPrincipal]():
		one := json.Number("1")
		for _, name := range []string{"agent_id", "owner_id", "token_id"} {
			// Below allOf: a type of TypeScript has one form, and results have this one with any value.
			get(d, name).AllOf = []*jsonschema.Schema{{AnyOf: []*jsonschema.Schema{{Type: "null"}, {Type: "integer", Minimum: one}, {Type: "string", Pattern: `^0*[1-9][0-9]*$`}}}}
		}
		match(d, patternSays, "capabilities")
	case reflect.TypeFor[codebox.AgentBundle]():
		match(d, patternAbsolute, "source")
		match(d, patternEnvName, "token_env")
	case reflect.TypeFor[codebox.VerifyStep]():
		match(d, patternSays, "command", "shell")
		match(d, patternEnvName, "env")
		match(d, patternAbsolute, "files")
	case reflect.TypeFor[codebox.PluginSource]():
		match(d, patternAbsolute, "source", "path")
	case reflect.TypeFor[codebox.ComponentContract]():
		match(d, patternAbsolute, "path", "source", "source_root", "sourceRoot")
	case reflect.TypeFor[codebox.WorkspaceSeed]():
		match(d, patternAbsolute, "source", "bundle")
	}
}

// match gives texts their pattern: the members of these names, the entries of lists, the names in tables.
func match(d *jsonschema.Schema, pattern string, names ...string) {
	for _, name := range names {
		p := *get(d, name)
		switch p.Type {
		case "array":
			items := *p.Items
			items.Pattern, p.Items = pattern, &items
		case "object":
			p.PropertyNames = &jsonschema.Schema{Pattern: pattern}
		default:
			p.Pattern = pattern
		}
		d.Properties.Set(name, &p)
	}
}

// describe gives the known members of an open object their words.
func describe(d *jsonschema.Schema, name string, members map[string][]string) {
	p := get(d, name)
	p.Properties = jsonschema.NewProperties()
	for _, m := range slices.Sorted(maps.Keys(members)) {
		s := &jsonschema.Schema{Type: "string"}
		words(s, members[m])
		p.Properties.Set(m, s)
	}
}

// ownPolicy adds the members of a policy that are deed's own, and closes it.
func ownPolicy(p *jsonschema.Schema) {
	for _, name := range codebox.OwnPolicyMembers {
		s := &jsonschema.Schema{} // a network may also be a word
		switch name {
		case "limits":
			s.Type = "object"
		case "allow_secrets", "protect", "scope":
			one := uint64(1)
			s.Type, s.Items = "array", &jsonschema.Schema{Type: "string", MinLength: &one}
		}
		p.Properties.Set(name, s)
	}
	p.AdditionalProperties = jsonschema.FalseSchema
}

func get(d *jsonschema.Schema, name string) *jsonschema.Schema {
	p, ok := d.Properties.Get(name)
	if !ok {
		panic("generate: no member " + name)
	}
	return p
}

// between adds the rules between members that JSON Schema can say well. The Go types enforce these and more; here
// they help readers who have the schema alone.
func between(t reflect.Type, d *jsonschema.Schema) {
	request(t, d)
	switch t {
	case reflect.TypeFor[agentruntime.TaskIntent]():
		d.Not = &jsonschema.Schema{Required: []string{"schedule", "available_at"}}
	case reflect.TypeFor[agentruntime.TaskOutcome]():
		for _, s := range agentruntime.OutcomeStatuses {
			d.AllOf = append(d.AllOf, when("status", string(s), is("machine_status", string(s.Machine()))))
		}
	case reflect.TypeFor[deed.Check]():
		d.OneOf = []*jsonschema.Schema{{Required: []string{"command"}}, {Required: []string{"shell"}}, {Required: []string{"capability"}}}
	case reflect.TypeFor[agentruntime.WorkflowRecord]():
		c := when("status", string(agentruntime.WorkflowCompleted), typed("completed_at", "string"))
		c.Else = typed("completed_at", "null")
		d.AllOf = []*jsonschema.Schema{c}
	case reflect.TypeFor[agentruntime.TaskRecord]():
		for _, s := range agentruntime.TaskStatuses {
			if s.Terminal() {
				then := typed("finished_at", "string")
				then.Properties.Set("outcome", &jsonschema.Schema{Type: "object"})
				d.AllOf = append(d.AllOf, when("status", string(s), then))
			}
		}
	}
}

func when(name, word string, then *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{If: is(name, word), Then: then}
}

func is(name, word string) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	s.Properties.Set(name, &jsonschema.Schema{Const: word})
	return s
}

func typed(name, typ string) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	s.Properties.Set(name, &jsonschema.Schema{Type: typ})
	return s
}
