package generate

import (
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
		d.OneOf = []*jsonschema.Schema{{Required: []string{"command"}}, {Required: []string{"shell"}}}
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
