package placement

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
)

// Stack gathers the components of a request.
func Stack(r codebox.TaskRequest) codebox.RuntimeStack {
	return codebox.RuntimeStack{
		Schema: codebox.SchemaRuntimeStack, ProviderPluginPaths: r.ProviderPluginPaths, ProviderPlugins: r.ProviderPlugins,
		ComponentContracts: r.ComponentContracts, Plugins: r.ExtraPlugins, Overlays: r.RuntimeOverlays, AgentBundles: r.AgentBundles,
		StackMounts: r.RuntimeStackMounts, Origins: r.Origins,
	}
}

// runtime places the components. WordPress is booted when the request names a version, or has something that only
// WordPress can load and an installed one is configured.
func (p *placer) runtime() {
	r, s := p.req, Stack(p.req)
	loads := len(s.ProviderPluginPaths)+len(s.ProviderPlugins)+len(s.ComponentContracts)+len(s.Plugins) > 0 ||
		slices.ContainsFunc(p.spec.Workspaces, func(w deed.Workspace) bool {
			return loaded(w.Target)
		})
	configured := p.opt.Config.WordPress != nil
	switch {
	case r.WP != "" && !configured:
		p.faults.Add("$.wp", fault.Dangling, "no WordPress is configured", "set components.wordpress.archive in deed.yaml, or leave wp out")
	case r.WP != "":
		s.WordPress = r.WP
	case loads && configured:
		s.WordPress = "latest"
	case loads:
		p.unloaded(s)
	}
	for i, b := range s.AgentBundles {
		_, given := r.RuntimeEnv[b.TokenEnv]
		if b.TokenEnv != "" && !given && !slices.Contains(r.SecretEnv, b.TokenEnv) {
			p.faults.Add(s.Origins.At("agent_bundles", i)+".token_env", fault.Dangling, fmt.Sprintf("%q is not in secret_env, so that the agent would not have it", b.TokenEnv), "name it in secret_env too")
		}
	}
	if s.Empty() {
		return
	}
	if p.degraded() {
		p.unplaced(s)
		return
	}
	raw, err := json.Marshal(s)
	if err != nil {
		p.faults.Add("$", fault.BadFormat, err.Error(), "")
		return
	}
	p.box.Runtime = raw
}

// unloaded reports, where no WordPress is, that everything that only WordPress loads is there only as files. A component that has to be active
// cannot be, and is refused. A plugin is active by default, so its request need not ask for that.
func (p *placer) unloaded(s codebox.RuntimeStack) {
	const remedy = "set components.wordpress.archive in deed.yaml"
	report := func(at string) {
		p.diagnose("no_wordpress", at, "no WordPress is configured: this is there as files, and nothing loads or activates it", remedy)
	}
	for i := range s.ProviderPluginPaths {
		report(s.Origins.At("provider_plugin_paths", i))
	}
	for i, c := range s.ComponentContracts {
		at := s.Origins.At("component_contracts", i)
		if c.LoadAs == codebox.LoadPlugin && c.Activate != nil && *c.Activate {
			p.faults.Add(at+".activate", fault.Dangling, "is true, and no WordPress is configured", remedy+", or leave it out")
			continue
		}
		report(at)
	}
	for i := range s.ProviderPlugins {
		report(s.Origins.At("provider_plugins", i))
	}
	for i := range s.Plugins {
		report(s.Origins.At("extra_plugins", i))
	}
	for i, w := range p.req.Workspaces {
		if loaded(w.EffectiveTarget()) {
			report(fault.Index("$.workspaces", i))
		}
	}
	for i, m := range p.req.Mounts {
		if m.Mode != codebox.ModeReadonly && loaded(m.Target) {
			report(fault.Index("$.mounts", i))
		}
	}
}

// loaded reports a target from which WordPress loads what is there.
func loaded(target string) bool {
	return path.Dir(target) == codebox.PluginsRoot || path.Dir(target) == codebox.ThemesRoot
}
