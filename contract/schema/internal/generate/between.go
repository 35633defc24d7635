package generate

import (
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
)

// between adds the rules between members that JSON Schema can say well. The Go types enforce these and more; here
// they help readers who have the schema alone.
func between(t reflect.Type, d *jsonschema.Schema) {
	switch t {
	case reflect.TypeFor[agentruntime.TaskIntent]():
		d.Not = &jsonschema.Schema{Required: []string{"schedule", "available_at"}}
	case reflect.TypeFor[agentruntime.TaskOutcome]():
		for _, s := range agentruntime.OutcomeStatuses {
			d.AllOf = append(d.AllOf, when("status", string(s), is("machine_status", string(s.Machine()))))
		}
	case reflect.TypeFor[deed.Check]():
		d.OneOf = []*jsonschema.Schema{{Required: []string{"command"}}, {Required: []string{"shell"}}}
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
