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
		ProviderPluginPaths: []string{"/p"},
		ComponentContracts: []codebox.ComponentContract{
			{Component: "a", Source: "/a", PluginFileAlias: "a/x.php", Activate: &yes, Metadata: []byte(`{"k": "v"}`)},
			{Slug: "b", SourceRootAlias: "/mono", SourceSubpath: "b"},
		},
		ProviderPlugins: []codebox.PluginSource{{Path: "/q", Activate: &no}},
		Plugins:         []codebox.PluginSource{{Source: "/srv/My Plugin", LoadAs: codebox.LoadMUPlugin}, {Slug: "s", Source: "/s"}},
		StackMounts:     []codebox.RequestMount{{Source: "/m", Target: "/t", Mode: "readonly"}},
		AgentBundles: []codebox.AgentBundle{{
			Slug: "x", Source: "/x", ImportPrincipal: &codebox.ImportPrincipal{AgentID: []byte(`"12"`), OwnerID: []byte(`7`), Capabilities: []string{"c"}},
		}},
	})
	want := Request{
		ProviderPaths: []string{"/p"},
		Components: []Contract{
			{Slug: "a", Path: "/a", PluginFile: "a/x.php", Activate: true, Metadata: map[string]any{"k": "v"}},
			{Slug: "b", SourceRoot: "/mono", SourceSubpath: "b"},
			{Slug: "My-Plugin", Path: "/srv/My Plugin", LoadAs: codebox.LoadMUPlugin},
		},
		Providers:   []Provider{{Path: "/q", Activate: &no}, {Path: "/s", Slug: "s"}},
		StackMounts: []Stack{{Source: "/m", Target: "/t", Mode: "readonly"}},
		Bundles:     []Bundle{{Slug: "x", Source: "/x", ImportPrincipal: &Principal{AgentID: 12, OwnerID: 7, Capabilities: []string{"c"}}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
