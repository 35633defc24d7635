package config

import (
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/schema"
)

// check holds the joined settings against each other: names that refer to something must find it, whatever file
// it is in.
func (c *Config) check() error {
	var faults []string
	say := func(f string, a ...any) { faults = append(faults, fmt.Sprintf(f, a...)) }
	if c.AdapterID != "" {
		if _, err := c.Adapter(c.AdapterID); err != nil {
			say("defaults.adapter_id: %v", err)
		}
	}
	if _, err := c.Profile(c.ProfileID); err != nil {
		say("defaults.profile_id: %v", err)
	}
	for _, id := range c.ProfileIDs() {
		p := c.profiles[id]
		if p.ProfileID != id {
			say("profiles.%s.profile_id is %q; it must be the entry's name", id, p.ProfileID)
		}
		if p.DefaultAdapterID != "" {
			if _, err := c.Adapter(p.DefaultAdapterID); err != nil {
				say("profiles.%s.default_adapter_id: %v", id, err)
			}
		}
		if len(p.SkillIDs) > 0 {
			say("profiles.%s.skill_ids: no skill is installed, so %q cannot be resolved (leave the list empty)", id, p.SkillIDs)
		}
	}
	for _, id := range c.AdapterIDs() {
		if got := c.adapters[id].ID(); got != id {
			say("adapters.%s.adapter_id is %q; it must be the entry's name", id, got)
		}
	}
	for _, name := range c.TypeNames() {
		t := c.types[name]
		if t.TaskType != name {
			say("task_types.%s.task_type is %q; it must be the entry's name", name, t.TaskType)
		}
		if t.DefaultAdapterID != "" {
			if _, err := c.Adapter(t.DefaultAdapterID); err != nil {
				say("task_types.%s.default_adapter_id: %v", name, err)
			}
		}
		if t.DefaultProfileID != "" {
			if _, err := c.Profile(t.DefaultProfileID); err != nil {
				say("task_types.%s.default_profile_id: %v", name, err)
			}
		}
		if t.Deed != nil && len(t.Deed.PayloadSchema) > 0 {
			if _, err := schema.CompilePayload(t.Deed.PayloadSchema); err != nil {
				say("task_types.%s.deed.payload_schema: %v", name, err)
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	where := "the settings"
	if len(c.Files) > 0 {
		where = strings.Join(c.Files, " and ")
	}
	return fmt.Errorf("%s:\n%s", where, strings.Join(faults, "\n"))
}
