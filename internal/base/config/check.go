package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/contract/settings"
)

// check holds the joined settings against each other: names that refer to something must find it, whatever file
// it is in.
func (c *Config) check() error {
	var faults []fault.Fault
	say := func(path, format string, a ...any) {
		faults = append(faults, fault.Fault{Path: path, Code: fault.Dangling, Message: fmt.Sprintf(format, a...)})
	}
	if c.AdapterID != "" {
		if _, err := c.Adapter(c.AdapterID); err != nil {
			say("$.defaults.adapter_id", "%v", err)
		}
	}
	if _, err := c.Profile(c.ProfileID); err != nil {
		say("$.defaults.profile_id", "%v", err)
	}
	for _, id := range c.ProfileIDs() {
		p := c.profiles[id]
		if p.ProfileID != id {
			say(at("profiles", id, "profile_id"), "it is %q; it must be the entry's name", p.ProfileID)
		}
		if p.DefaultAdapterID != "" {
			if _, err := c.Adapter(p.DefaultAdapterID); err != nil {
				say(at("profiles", id, "default_adapter_id"), "%v", err)
			}
		}
		for _, service := range slices.Sorted(maps.Keys(p.IntegrationPolicy)) {
			path, word := fault.Field(at("profiles", id, "integration_policy"), service), p.IntegrationPolicy[service]
			_, there := c.Targets[service]
			switch {
			case !slices.Contains(agentruntime.IntegrationPolicies, word):
				say(path, "%q has no effect (say one of: %s)", word, strings.Join(agentruntime.IntegrationPolicies, ", "))
			case word != agentruntime.IntegrationNone && !there:
				say(path, "there is no target %q, so %s has no effect (add it under `outbox.targets:` in the home's deed.yaml, or say %s)", service, word, agentruntime.IntegrationNone)
			}
		}
	}
	for i, r := range c.Notify {
		t, there := c.Targets[r.To]
		switch path := fmt.Sprintf("$.notify[%d].to", i); {
		case r.To == settings.Bell:
		case !there:
			say(path, "there is no target %q (add it under `outbox.targets:`, or say %s)", r.To, settings.Bell)
		case t.Kind == settings.TargetTask:
			say(path, "%s makes tasks; a notification is for people (name a file, a command or a webhook)", r.To)
		}
	}
	for _, id := range c.AdapterIDs() {
		if got := c.adapters[id].ID(); got != id {
			say(at("adapters", id, "adapter_id"), "it is %q; it must be the entry's name", got)
		}
	}
	for _, name := range c.TypeNames() {
		t := c.types[name]
		if t.TaskType != name {
			say(at("task_types", name, "task_type"), "it is %q; it must be the entry's name", t.TaskType)
		}
		if t.DefaultAdapterID != "" {
			if _, err := c.Adapter(t.DefaultAdapterID); err != nil {
				say(at("task_types", name, "default_adapter_id"), "%v", err)
			}
		}
		if t.DefaultProfileID != "" {
			if _, err := c.Profile(t.DefaultProfileID); err != nil {
				say(at("task_types", name, "default_profile_id"), "%v", err)
			}
		}
		inPlace := t.Deed != nil && len(t.Deed.PayloadSchema) > 0
		if _, published := schema.Get(t.PayloadSchemaID); !inPlace && !published && t.PayloadSchemaID != AnyPayload {
			say(at("task_types", name, "payload_schema_id"), "%q is not published and there is no deed.payload_schema (use %s for any object)", t.PayloadSchemaID, AnyPayload)
		}
		if inPlace {
			if _, err := schema.CompilePayload(t.Deed.PayloadSchema); err != nil {
				say(at("task_types", name, "deed.payload_schema"), "%v", err)
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return c.locate(faults)
}

// at is the path of a member of a named entry.
func at(section, name, member string) string {
	path := fault.Field(fault.Field(fault.Root, section), name)
	for m := range strings.SplitSeq(member, ".") {
		path = fault.Field(path, m)
	}
	return path
}

// locate finds the file and the line of each fault: the file of the highest precedence that has the place.
func (c *Config) locate(faults []fault.Fault) error {
	out := &Error{File: "the settings"}
	if len(c.sources) > 0 {
		out.File = c.sources[len(c.sources)-1].name
	}
	for _, f := range faults {
		lf := LineFault{Fault: f}
		for _, s := range slices.Backward(c.sources) {
			if s.tree == nil {
				continue
			}
			if t := tokenAt(s.tree, f.Path); t != nil {
				lf.Line, lf.Column, lf.File = t.Position.Line, t.Position.Column, s.name
				break
			}
		}
		out.Faults = append(out.Faults, lf)
	}
	return out
}
