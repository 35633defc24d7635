package component_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/attempt/component/componenttest"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

func resolve(t *testing.T, req component.Request) (component.Resolved, error) {
	t.Helper()
	if req.Dir == "" {
		req.Dir = filepath.Join(t.TempDir(), "prepared")
	}
	res, err := component.Resolve(t.Context(), req)
	for _, c := range res.Components {
		if verr := c.Validate(); verr != nil {
			t.Errorf("record of %s: %v", c.Slug, verr)
		}
	}
	if err != nil {
		if len(res.Mounts) > 0 {
			t.Errorf("a refused request has mounts: %v", res.Mounts)
		}
		left, _ := filepath.Glob(filepath.Join(req.Dir, "*"))
		if len(left) > 0 {
			t.Errorf("a refused request left %v", left)
		}
	}
	return res, err
}

func digest(t *testing.T, dir string) string {
	t.Helper()
	m, err := workspace.Snapshot(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	git := ""
	for _, g := range m.Git {
		git += g.SHA256.String()
	}
	return m.Digest() + git
}

const header = "<?php\n/**\n * Plugin Name: Example\n */\n"

func TestComponents(t *testing.T) {
	t.Parallel()
	src := componenttest.Tree(t, `
-- agents-api/agents-api.php --
<?php
-- agents-api/.git/config --
[core]
-- agents-api/lib/node_modules/x/index.js --
x
-- agents-api/vendor/autoload.php --
<?php
-- tools/plugin.php --
<?php
-- mono/packages/one/main.php --
`+header+`
-- mono/packages/one/helper.php --
<?php // the words Plugin Name: in a sentence are no header
-- renamed@fix-branch/composer.json --
{"name": "acme/ai-provider", "require": {"php": ">=8.1", "ext-json": "*", "acme/http": "^1"}}
-- renamed@fix-branch/plugin.php --
<?php
`)
	before := digest(t, src)
	off := false
	res, err := resolve(t, component.Request{
		Components: []component.Contract{
			{Slug: "Automattic/agents-api", Path: src + "/agents-api", PluginFile: "/agents-api.php", Metadata: map[string]any{"a": 1}},
			{Slug: "tools", Path: src + "/tools", LoadAs: "plugin"},
			{Slug: "one", SourceRoot: src + "/mono", SourceSubpath: "packages/one"},
			{Slug: "tools", Path: src + "/tools/", LoadAs: "plugin", Activate: true},
		},
		ProviderPaths: []string{src + "/renamed@fix-branch"},
		Providers: []component.Provider{
			{Path: src + "/tools", Slug: "second.tools", Activate: &off},
			{Path: src + "/tools", Slug: "substrate", LoadAs: "mu-plugin", At: "$.extra_plugins[0]"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range append(res.MUPlugins, res.Plugins...) {
		got = append(got, fmt.Sprint(p.File, " ", p.Fallback, " ", p.LoadAs, " ", p.Activate, " ", p.Target))
	}
	want := []string{
		"agents-api/agents-api.php explicit mu-plugin false /wordpress/wp-content/mu-plugins/contained-runtime/agents-api",
		"one/main.php header mu-plugin false /wordpress/wp-content/mu-plugins/contained-runtime/one",
		"substrate/plugin.php plugin mu-plugin false /wordpress/wp-content/mu-plugins/contained-runtime/substrate",
		"tools/plugin.php plugin plugin true /wordpress/wp-content/plugins/tools",
		"ai-provider/plugin.php plugin plugin true /wordpress/wp-content/plugins/ai-provider",
		"second-tools/plugin.php plugin plugin false /wordpress/wp-content/plugins/second-tools",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
	for i, m := range res.Mounts {
		if !m.ReadOnly || strings.HasPrefix(m.Source, src) {
			t.Errorf("mount %d: %+v", i, m)
		}
	}
	dir := res.MUPlugins[0].Dir
	for name, there := range map[string]bool{".git": false, "lib/node_modules": false, "vendor/autoload.php": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	var codes []string
	for _, d := range res.Diagnostics {
		codes = append(codes, d.Path+" "+d.Code)
	}
	if diff := cmp.Diff([]string{"$.component_contracts[3] duplicate_component_merged", "$.provider_plugin_paths[0] composer_vendor_missing"}, codes); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
	if len(res.Components) != 6 || res.Components[1].ActivationStatus != codebox.ActivationPending || res.Components[0].PreparedPath != "components/mu-plugin/agents-api" {
		t.Errorf("records: %+v", res.Components)
	}
	if after := digest(t, src); after != before {
		t.Error("the sources changed")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	src := componenttest.Tree(t, `
-- ok/ok.php --
<?php
-- other/ok.php --
<?php
-- two/a.php --
`+header+`
-- two/b.php --
`+header+`
-- none/readme.txt --
nothing
-- commands/deed-abilities.json --
{}
-- client/composer.json --
{}
-- file --
x
`)
	if err := os.Symlink("/etc", filepath.Join(src, "ok", "etc")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(src, "none", "passwd.php")); err != nil {
		t.Fatal(err)
	}
	one := func(c component.Contract) component.Request {
		return component.Request{Components: []component.Contract{c}}
	}
	stack := func(s component.Stack) component.Request {
		return component.Request{StackMounts: []component.Stack{s}}
	}
	bundle := func(b component.Bundle) component.Request {
		return component.Request{Bundles: []component.Bundle{b}}
	}
	for name, c := range map[string]struct {
		req  component.Request
		want []string // beginnings of faults, "path code"
	}{
		"nothing":         {one(component.Contract{}), []string{"$.component_contracts[0].slug blank", "$.component_contracts[0].path blank"}},
		"no slug in it":   {one(component.Contract{Slug: "../..", Path: src + "/ok"}), []string{"$.component_contracts[0].slug bad_format"}},
		"relative":        {one(component.Contract{Slug: "ok", Path: "ok"}), []string{"$.component_contracts[0].path bad_format"}},
		"absent":          {one(component.Contract{Slug: "ok", Path: src + "/no"}), []string{"$.component_contracts[0].path dangling"}},
		"a file":          {one(component.Contract{Slug: "ok", Path: src + "/file"}), []string{"$.component_contracts[0].path wrong_type"}},
		"load as":         {one(component.Contract{Slug: "ok", Path: src + "/ok", LoadAs: "muplugin"}), []string{"$.component_contracts[0].loadAs not_allowed"}},
		"climbing file":   {one(component.Contract{Slug: "ok", Path: src + "/ok", PluginFile: "ok/../other/ok.php"}), []string{"$.component_contracts[0].pluginFile bad_format"}},
		"absent file":     {one(component.Contract{Slug: "ok", Path: src + "/ok", PluginFile: "ok/main.php"}), []string{"$.component_contracts[0].pluginFile bad_format"}},
		"file by a link":  {one(component.Contract{Slug: "ok", Path: src + "/ok", PluginFile: "ok/etc/passwd"}), []string{"$.component_contracts[0].pluginFile bad_format"}},
		"two headers":     {one(component.Contract{Slug: "x", Path: src + "/two"}), []string{"$.component_contracts[0].pluginFile bad_format several files have a plugin header: a.php, b.php"}},
		"no entry":        {one(component.Contract{Slug: "x", Path: src + "/none"}), []string{"$.component_contracts[0].pluginFile bad_format"}},
		"active command":  {one(component.Contract{Slug: "x", Path: src + "/commands", Activate: true}), []string{"$.component_contracts[0].activate conflict"}},
		"subpath climbs":  {one(component.Contract{Slug: "ok", SourceRoot: src + "/two", SourceSubpath: "../ok"}), []string{"$.component_contracts[0].source_subpath bad_format"}},
		"subpath by link": {one(component.Contract{Slug: "ok", SourceRoot: src + "/ok", SourceSubpath: "etc"}), []string{"$.component_contracts[0].source_subpath not_allowed"}},
		"two places":      {one(component.Contract{Slug: "ok", Path: src + "/other", SourceRoot: src, SourceSubpath: "ok"}), []string{"$.component_contracts[0].path conflict"}},
		"two sources": {
			component.Request{Components: []component.Contract{{Slug: "ok", Path: src + "/ok"}, {Slug: "ok", Path: src + "/other"}}},
			[]string{"$.component_contracts[1] conflict"},
		},
		"outside the roots": {
			component.Request{Roots: []string{src + "/ok"}, Components: []component.Contract{{Slug: "ok", Path: src + "/ok"}, {Slug: "x", Path: src + "/other"}}},
			[]string{"$.component_contracts[1].path not_allowed"},
		},
		"elsewhere in the request": {
			component.Request{Providers: []component.Provider{{Path: src + "/no", LoadAs: "must", At: "$.runtime_profile.plugins[2]"}}},
			[]string{"$.runtime_profile.plugins[2].loadAs not_allowed", "$.runtime_profile.plugins[2].source dangling"},
		},
		"in the home":   {component.Request{Home: src, ProviderPaths: []string{src + "/ok"}}, []string{"$.provider_plugin_paths[0] not_allowed"}},
		"taken":         {component.Request{ProviderPaths: []string{src + "/ok"}, Taken: []string{"/runtime", "/wordpress/wp-content/plugins/ok/inner"}}, []string{"$.provider_plugin_paths[0] conflict"}},
		"home in it":    {component.Request{Home: src + "/ok", StackMounts: []component.Stack{{Source: src, Target: "/x"}}}, []string{"$.runtime_stack_mounts[0].source not_allowed"}},
		"root target":   {stack(component.Stack{Source: src, Target: "//"}), []string{"$.runtime_stack_mounts[0].target not_allowed"}},
		"system target": {stack(component.Stack{Source: src, Target: "/usr/bin"}), []string{"$.runtime_stack_mounts[0].target not_allowed"}},
		"run target":    {stack(component.Stack{Source: src, Target: "/run"}), []string{"$.runtime_stack_mounts[0].target not_allowed"}},
		"climbing":      {stack(component.Stack{Source: src, Target: `/a\..\etc`}), []string{"$.runtime_stack_mounts[0].target bad_format"}},
		"writable":      {stack(component.Stack{Source: src, Target: "/a", Mode: "readwrite"}), []string{"$.runtime_stack_mounts[0].mode not_allowed"}},
		"one target": {
			component.Request{StackMounts: []component.Stack{{Source: src, Target: "/a"}}, ConfigMounts: []component.Stack{{Source: src, Target: "/a//"}}},
			[]string{"$.runtime_config_mounts[0].target duplicate"},
		},
		"nested targets": {
			component.Request{StackMounts: []component.Stack{{Source: src, Target: "/wordpress/wp-content/plugins"}}, ProviderPaths: []string{src + "/ok"}},
			[]string{"$.runtime_stack_mounts[0].target conflict"},
		},
		"unknown overlay": {component.Request{Overlays: []component.Overlay{{Kind: "bundled-library", Library: "guzzle", Strategy: "x", Source: src}}}, []string{"$.runtime_overlays[0] not_allowed"}},
		"not built": {
			component.Request{Overlays: []component.Overlay{{Kind: "bundled-library", Library: "php-ai-client", Strategy: "wordpress-scoped-bundle", Source: src + "/client"}}},
			[]string{"$.runtime_overlays[0].source dangling"},
		},
		"empty bundle":  {bundle(component.Bundle{Slug: "a"}), []string{"$.agent_bundles[0] missing_field"}},
		"both bundles":  {bundle(component.Bundle{Source: src, Bundle: json.RawMessage(`{}`)}), []string{"$.agent_bundles[0] conflict"}},
		"bundle array":  {bundle(component.Bundle{Bundle: json.RawMessage(`[]`)}), []string{"$.agent_bundles[0].bundle wrong_type"}},
		"bundle words":  {bundle(component.Bundle{Bundle: json.RawMessage(`{}`), OnConflict: "replace", OwnerID: -1, TokenEnv: "A-B"}), []string{"$.agent_bundles[0].on_conflict not_allowed", "$.agent_bundles[0].owner_id out_of_range", "$.agent_bundles[0].token_env bad_format"}},
		"same bundle":   {component.Request{Bundles: []component.Bundle{{Bundle: json.RawMessage(`{"slug":"a"}`)}, {Slug: "a", Source: src + "/ok"}}}, []string{"$.agent_bundles[1] duplicate"}},
		"bad principal": {bundle(component.Bundle{Bundle: json.RawMessage(`{}`), ImportPrincipal: &component.Principal{AgentID: -2, Scope: json.RawMessage(`1`)}}), []string{"$.agent_bundles[0].import_principal.agent_id out_of_range", "$.agent_bundles[0].import_principal.scope wrong_type"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := resolve(t, c.req)
			if failure.ClassOf(err) != failure.Config {
				t.Fatalf("got %v", err)
			}
			fs := fault.Of(err)
			if len(fs) != len(c.want) {
				t.Fatalf("got %d faults:\n%v", len(fs), err)
			}
			for i, f := range fs {
				if got := f.Path + " " + f.Code + " " + f.Message; !strings.HasPrefix(got+" ", c.want[i]+" ") {
					t.Errorf("got %q, want %q", got, c.want[i])
				}
				if f.Remedy == "" {
					t.Errorf("%s has no remedy", f)
				}
			}
			if strings.HasPrefix(c.want[0], "$.component_contracts") {
				last := res.Components[len(res.Components)-1]
				if last.Status != codebox.ComponentFailed || last.ActivationStatus != codebox.ActivationPending {
					t.Errorf("record: %+v", last)
				}
			}
		})
	}
}

func TestOverlaysStackAndBundles(t *testing.T) {
	t.Parallel()
	src := componenttest.Tree(t, `
-- client/build/autoload.php --
<?php
-- stack/a --
a
-- agent/manifest.json --
{}
-- single.json --
{"a":1}
`)
	res, err := resolve(t, component.Request{
		Overlays:    []component.Overlay{{Kind: "bundled-library", Library: "php-ai-client", Strategy: "wordpress-scoped-bundle", Source: src + "/client", Bundle: "build"}},
		StackMounts: []component.Stack{{Source: src + "/stack", Target: `\runtime\\stack`, Mode: "readonly"}},
		StateMounts: []component.Stack{{Source: src + "/single.json", Target: "/runtime/state.json"}},
		Bundles: []component.Bundle{
			{Source: src + "/agent", ImportPrincipal: &component.Principal{Capabilities: []string{" "}, Scope: json.RawMessage(`{}`)}},
			{Source: src + "/single.json", OnConflict: "skip", OwnerID: 3, TokenEnv: "TOKEN"},
			{Bundle: json.RawMessage(`{"slug":"inline"}`), ImportPrincipal: &component.Principal{AgentID: 12, Capabilities: []string{"read", ""}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, m := range res.Mounts {
		if !m.ReadOnly {
			t.Errorf("%s is writable", m.Target)
		}
		targets = append(targets, m.Target)
	}
	want := []string{"/runtime/stack", "/runtime/state.json", "/wordpress/wp-includes/php-ai-client", "/run/deed/agent-bundles/agent", "/run/deed/agent-bundles/single", "/run/deed/agent-bundles/inline", component.BundlesFile}
	if diff := cmp.Diff(want, targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	for i := range res.Bundles {
		if res.Bundles[i].Digest == "" {
			t.Errorf("bundle %d has no digest", i)
		}
		res.Bundles[i].Digest = ""
	}
	wantBundles := []component.BundleResult{
		{Slug: "agent", Source: "/run/deed/agent-bundles/agent", RequestedSource: src + "/agent", OnConflict: "upgrade"},
		{Slug: "single", Source: "/run/deed/agent-bundles/single/single.json", RequestedSource: src + "/single.json", OnConflict: "skip", OwnerID: 3, TokenEnv: "TOKEN"},
		{Slug: "inline", Source: "/run/deed/agent-bundles/inline/bundle.json", OnConflict: "upgrade", ImportPrincipal: &component.Principal{AgentID: 12, Capabilities: []string{"read"}}},
	}
	if diff := cmp.Diff(wantBundles, res.Bundles); diff != "" {
		t.Errorf("bundles (-want +got):\n%s", diff)
	}
	if len(res.Overlays) != 1 || res.Overlays[0].Digest == "" {
		t.Errorf("overlays: %+v", res.Overlays)
	}
}

// FuzzSlug demands that a slug is one safe path segment and that making a slug of it again changes nothing.
func FuzzSlug(f *testing.F) {
	for _, s := range []string{"agents-api", "Automattic/agents-api", "../..", "a/b/", `a\b`, "é", "-", "a b", "a\x00b", ".git"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		slug, ok := component.Slug(name)
		if !ok {
			return
		}
		if slug == "" || strings.Trim(slug, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			t.Errorf("%q gives %q", name, slug)
		}
		if again, ok := component.Slug(slug); !ok || again != slug {
			t.Errorf("%q gives %q, which gives %q", name, slug, again)
		}
	})
}

// FuzzPluginPath demands that a plugin file stays below its slug and that the rule is stable.
func FuzzPluginPath(f *testing.F) {
	for _, s := range []string{"a.php", "x/a.php", "/x/a.php", "../a.php", `x\..\a.php`, "x//a.php", "x/./a.php", "", "x/", "x/a.php/.."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file string) {
		p, err := component.PluginPath("x", file)
		if err != nil {
			return
		}
		if !strings.HasPrefix(p, "x/") || filepath.Clean(p) != p || !filepath.IsLocal(p) {
			t.Errorf("%q gives %q", file, p)
		}
		if again, err := component.PluginPath("x", p); err != nil || again != p {
			t.Errorf("%q gives %q, which gives %q, %v", file, p, again, err)
		}
	})
}
