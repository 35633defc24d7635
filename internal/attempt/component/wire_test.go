package component

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/codebox"
)

func TestRequestOf(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	got := RequestOf(codebox.RuntimeStack{
		Origins:             codebox.Origins{"component_contracts": {"$.runtime_profile.component_contracts[0]", "$.component_contracts[0]"}},
		ProviderPluginPaths: []string{"/p"},
		ComponentContracts: []codebox.ComponentContract{
			{Component: "a", Source: "/a", PluginFileAlias: "a/x.php", Activate: &yes, Metadata: []byte(`{"k": "v"}`)},
			{Slug: "b", SourceRootAlias: "/mono", SourceSubpath: "b"},
		},
		ProviderPlugins: []codebox.PluginSource{{Path: "/q", Activate: &no}},
		Plugins:         []codebox.PluginSource{{Source: "/srv/My Plugin", LoadAs: codebox.LoadMUPlugin, Activate: &yes}, {Slug: "s", Source: "/s"}},
		StackMounts:     []codebox.RequestMount{{Source: "/m", Target: "/t", Mode: "readonly"}},
		AgentBundles: []codebox.AgentBundle{{
			Slug: "x", Source: "/x", ImportPrincipal: &codebox.ImportPrincipal{AgentID: []byte(`"12"`), OwnerID: []byte(`7`), Capabilities: []string{"c"}},
		}},
	})
	want := Request{
		ProviderPaths: []string{"/p"},
		Components: []Contract{
			{Slug: "a", Path: "/a", PluginFile: "a/x.php", Activate: true, Metadata: map[string]any{"k": "v"}, At: "$.runtime_profile.component_contracts[0]"},
			{Slug: "b", SourceRoot: "/mono", SourceSubpath: "b", At: "$.component_contracts[0]"},
		},
		Providers: []Provider{
			{Path: "/q", Activate: &no, At: "$.provider_plugins[0]"},
			{Path: "/srv/My Plugin", LoadAs: codebox.LoadMUPlugin, At: "$.extra_plugins[0]"},
			{Path: "/s", Slug: "s", At: "$.extra_plugins[1]"},
		},
		StackMounts: []Stack{{Source: "/m", Target: "/t", Mode: "readonly", At: "$.runtime_stack_mounts[0]"}},
		Bundles:     []Bundle{{Slug: "x", Source: "/x", ImportPrincipal: &Principal{AgentID: 12, OwnerID: 7, Capabilities: []string{"c"}}, At: "$.agent_bundles[0]"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
