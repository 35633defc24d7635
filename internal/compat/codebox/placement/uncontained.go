package placement

import (
	"fmt"
	"path/filepath"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// degraded reports that the request runs without the sandbox that it would like to have.
func (p *placer) degraded() bool { return p.spec.Isolation == string(sandbox.Process) }

// uncontained says of each part of the tree where it is, since no target is anything without a sandbox.
func (p *placer) uncontained() {
	all := p.spec.Workspaces
	if !p.degraded() || len(all) == 0 {
		return
	}
	start := all[attempt.Start(len(all), func(i int) (string, bool) { return all[i].Target, all[i].Type == deed.SeedFile })].Target
	report := func(at, target string) {
		place := "$DEED_WORKSPACE"
		if rel, err := filepath.Rel(start, target); err == nil && rel != "." {
			place += "/" + rel
		}
		p.diagnose("target_not_honoured", at+".target", fmt.Sprintf("nothing is at %q without a sandbox: the agent has this in a directory of deed's own, at %s", target, place),
			"use the variable, or ask for sandbox required")
	}
	for i, w := range p.req.Workspaces {
		report(fault.Index("$.workspaces", i), w.EffectiveTarget())
	}
	for i, m := range p.req.Mounts {
		if m.Mode != codebox.ModeReadonly {
			report(fault.Index("$.mounts", i), m.Target)
		}
	}
}

// show makes something of the caller's visible where it is asked for. Only a sandbox can do that: an agent that does not find it would work
// without it, and no one would notice.
func (p *placer) show(at, source, target string) {
	if p.degraded() {
		p.unshown.Add(at, fault.NotAllowed, fmt.Sprintf("%q cannot be seen at %q without a sandbox, and there is none here", source, target), "leave it out, put it into a workspace, or see `deed doctor` for what the sandbox needs")
		return
	}
	p.box.Mounts = append(p.box.Mounts, deed.Mount{Source: source, Target: target})
}

// unplaced refuses the components of a request that has no sandbox to have them in.
func (p *placer) unplaced(s codebox.RuntimeStack) {
	add := func(at string) {
		p.unshown.Add(at, fault.NotAllowed, "cannot be placed without a sandbox, and there is none here", "leave it out, or see `deed doctor` for what the sandbox needs")
	}
	if s.WordPress != "" && p.req.WP != "" {
		add("$.wp")
	}
	for _, list := range []struct {
		name string
		n    int
	}{
		{"provider_plugin_paths", len(s.ProviderPluginPaths)},
		{"component_contracts", len(s.ComponentContracts)},
		{"provider_plugins", len(s.ProviderPlugins)},
		{"extra_plugins", len(s.Plugins)},
		{"runtime_stack_mounts", len(s.StackMounts)},
		{"runtime_overlays", len(s.Overlays)},
		{"agent_bundles", len(s.AgentBundles)},
	} {
		for i := range list.n {
			add(s.Origins.At(list.name, i))
		}
	}
	for i, w := range p.req.Workspaces { // for which WordPress would have been started
		if s.WordPress != "" && loaded(w.EffectiveTarget()) {
			add(fault.Index("$.workspaces", i))
		}
	}
	for i, m := range p.req.Mounts {
		if s.WordPress != "" && m.Mode != codebox.ModeReadonly && loaded(m.Target) {
			add(fault.Index("$.mounts", i))
		}
	}
}
