package component

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
)

// RequestOf reads the wire record of a runtime. Dir, Home and Roots are the caller's to set. Every entry knows where its
// caller wrote it.
func RequestOf(s codebox.RuntimeStack) Request {
	r := Request{ProviderPaths: s.ProviderPluginPaths}
	for i, c := range s.ComponentContracts {
		r.Components = append(r.Components, Contract{
			Slug: cmp.Or(c.Slug, c.Component, c.Name), Path: cmp.Or(c.Path, c.Source),
			SourceRoot: cmp.Or(c.SourceRoot, c.SourceRootAlias), SourceSubpath: cmp.Or(c.SourceSubpath, c.SourceSubpathAlias),
			PluginFile: cmp.Or(c.PluginFile, c.PluginFileAlias), LoadAs: c.LoadAs, Activate: c.Activate != nil && *c.Activate, Metadata: object(c.Metadata),
			At: s.Origins.At(originComponents, i),
		})
	}
	for i, p := range s.ProviderPlugins {
		r.Providers = append(r.Providers, provider(p, s.Origins.At(originProviders, i)))
	}
	for i, p := range s.Plugins {
		r.Providers = append(r.Providers, provider(p, s.Origins.At("extra_plugins", i)))
	}
	for i, m := range s.StackMounts {
		r.StackMounts = append(r.StackMounts, Stack{Source: m.Source, Target: m.Target, Mode: m.Mode, At: s.Origins.At("runtime_stack_mounts", i)})
	}
	for i, o := range s.Overlays {
		r.Overlays = append(r.Overlays, Overlay{
			Kind: o.Kind, Library: o.Library, Strategy: o.Strategy, Source: o.Source, Target: o.Target, Bundle: o.Bundle, Metadata: object(o.Metadata),
			At: s.Origins.At("runtime_overlays", i),
		})
	}
	for i, b := range s.AgentBundles {
		r.Bundles = append(r.Bundles, Bundle{
			Source: b.Source, Bundle: b.Bundle, Slug: b.Slug, OnConflict: b.OnConflict, OwnerID: b.OwnerID, TokenEnv: b.TokenEnv,
			ImportPrincipal: principal(b.ImportPrincipal), At: s.Origins.At("agent_bundles", i),
		})
	}
	return r
}

// provider reads a plugin. An MU plugin is loaded and never activated, whatever its entry says by default.
func provider(p codebox.PluginSource, at string) Provider {
	out := Provider{
		Path: cmp.Or(p.Source, p.Path), Slug: p.Slug, PluginFile: cmp.Or(p.PluginFile, p.PluginFileAlias), LoadAs: p.LoadAs,
		Activate: p.Activate, Metadata: object(p.Metadata), At: at,
	}
	if p.LoadAs == codebox.LoadMUPlugin {
		out.Activate = nil
	}
	return out
}

func principal(p *codebox.ImportPrincipal) *Principal {
	if p == nil {
		return nil
	}
	return &Principal{
		AgentID: number(p.AgentID), OwnerID: number(p.OwnerID), TokenID: number(p.TokenID), Capabilities: p.Capabilities, Scope: p.Scope,
	}
}

// number reads an id that is a number, or a number as text; the record was checked before.
func number(v evidence.Value) int64 {
	text := string(v)
	if s, err := strconv.Unquote(text); err == nil {
		text = s
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func object(raw json.RawMessage) map[string]any {
	var m map[string]any
	_ = json.Unmarshal(raw, &m) // an object, as the record was checked; absent is none
	return m
}
