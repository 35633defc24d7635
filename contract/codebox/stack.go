package codebox

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaRuntimeStack is the id of RuntimeStack, which is deed's own record.
const SchemaRuntimeStack = "deed/runtime-stack/v1"

// A RuntimeStack is what a request wants to have in the sandbox besides the workspaces: the placement fields of a request
// that name components, with those of its profile in front.
type RuntimeStack struct {
	Schema              string              `json:"schema"`
	WordPress           string              `json:"wordpress,omitempty" jsonschema:"maxLength=64"` // the version; absent: no WordPress is booted
	ProviderPluginPaths []string            `json:"provider_plugin_paths,omitempty"`
	ProviderPlugins     []PluginSource      `json:"provider_plugins,omitempty"`
	ComponentContracts  []ComponentContract `json:"component_contracts,omitempty"`
	Plugins             []PluginSource      `json:"plugins,omitempty"`
	StackMounts         []RequestMount      `json:"stack_mounts,omitempty"` // stack, config and state mounts, in this order
	Overlays            []RuntimeOverlay    `json:"overlays,omitempty"`
	AgentBundles        []AgentBundle       `json:"agent_bundles,omitempty"`
	Origins             Origins             `json:"origins,omitempty"`
}

// Origins says where the entries of a list stood in a request as its caller wrote it, by the name that the list has in a
// request: after merging, one list holds entries of several. Faults name these places.
type Origins map[string][]string

// Wrapped returns the origins of a task input that stood in a wrapper, of whose members these were the wrapper's own.
func Wrapped(own ...string) Origins {
	o := Origins{fault.Root: {"$.task_input"}}
	for _, name := range own {
		at := fault.Field(fault.Root, name)
		o[at] = []string{at}
	}
	return o
}

// Root returns where the request stood: the document itself, unless it came in a wrapper.
func (o Origins) Root() string {
	if at := o[fault.Root]; len(at) == 1 {
		return at[0]
	}
	return fault.Root
}

// At returns where an entry of a list stood.
func (o Origins) At(list string, i int) string {
	if places := o[list]; i < len(places) {
		return places[i]
	}
	return fault.Index(o.Root()+"."+list, i)
}

// Place returns where that stood which has this path in the request by itself. A path that At returned stays as it is.
func (o Origins) Place(path string) string {
	root := o.Root()
	name, _, ok := fault.Head(path)
	if !ok || root == fault.Root || fault.Field(fault.Root, name) == root || o[fault.Field(fault.Root, name)] != nil {
		return path
	}
	return fault.Join(root, path)
}

// Empty reports whether there is nothing to place.
func (r RuntimeStack) Empty() bool {
	return r.WordPress == "" && len(r.ProviderPluginPaths)+len(r.ProviderPlugins)+len(r.ComponentContracts)+len(r.Plugins)+
		len(r.StackMounts)+len(r.Overlays)+len(r.AgentBundles) == 0
}

// Validate returns every fault of the record.
func (r RuntimeStack) Validate() error {
	var l fault.List
	if r.Schema != SchemaRuntimeStack {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%.64q is not the schema of this record", r.Schema), fmt.Sprintf("write %q", SchemaRuntimeStack))
	}
	for i, p := range r.ProviderPluginPaths {
		absolute(&l, fault.Index("$.provider_plugin_paths", i), p)
	}
	plugins(&l, "$.provider_plugins", r.ProviderPlugins)
	plugins(&l, "$.plugins", r.Plugins)
	components(&l, "$.component_contracts", r.ComponentContracts)
	overlays(&l, "$.overlays", r.Overlays)
	return l.Err()
}
