package component

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/deedrun/deed/contract/codebox"
)

// RequestOf reads the wire record of a runtime. Dir, Home and Roots are the caller's to set.
func RequestOf(s codebox.RuntimeStack) Request {
	r := Request{ProviderPaths: s.ProviderPluginPaths}
	for _, c := range s.ComponentContracts {
		r.Components = append(r.Components, Contract{
			Slug: cmp.Or(c.Slug, c.Component, c.Name), Path: cmp.Or(c.Path, c.Source),
			SourceRoot: cmp.Or(c.SourceRoot, c.SourceRootAlias), SourceSubpath: cmp.Or(c.SourceSubpath, c.SourceSubpathAlias),
			PluginFile: cmp.Or(c.PluginFile, c.PluginFileAlias), LoadAs: c.LoadAs, Activate: c.Activate != nil && *c.Activate, Metadata: object(c.Metadata),
		})
	}
	for _, p := range slices.Concat(s.ProviderPlugins, s.Plugins) {
		source, file := cmp.Or(p.Source, p.Path), cmp.Or(p.PluginFile, p.PluginFileAlias)
		if p.LoadAs == codebox.LoadMUPlugin {
			slug, _ := Slug(source)
			r.Components = append(r.Components, Contract{Slug: cmp.Or(p.Slug, slug), Path: source, PluginFile: file, LoadAs: p.LoadAs, Metadata: object(p.Metadata)})
			continue
		}
		r.Providers = append(r.Providers, Provider{Path: source, Slug: p.Slug, PluginFile: file, Activate: p.Activate})
	}
	for _, m := range s.StackMounts {
		r.StackMounts = append(r.StackMounts, Stack{Source: m.Source, Target: m.Target, Mode: m.Mode})
	}
	for _, o := range s.Overlays {
		r.Overlays = append(r.Overlays, Overlay{
			Kind: o.Kind, Library: o.Library, Strategy: o.Strategy, Source: o.Source, Target: o.Target, Bundle: o.Bundle, Metadata: object(o.Metadata),
		})
	}
	for _, b := range s.AgentBundles {
		r.Bundles = append(r.Bundles, Bundle{
			Source: b.Source, Bundle: b.Bundle, Slug: b.Slug, OnConflict: b.OnConflict, OwnerID: b.OwnerID, TokenEnv: b.TokenEnv,
			ImportPrincipal: principal(b.ImportPrincipal),
		})
	}
	return r
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
func number(v codebox.Value) int64 {
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
