package codebox

import (
	"cmp"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/deedrun/deed/contract/fault"
)

// A spot is a place in the sandbox that something of the request takes.
type spot struct {
	at     string
	target string
	mode   string
	change bool // what is changed in it is captured as its own
}

// An origin is a place on the caller's machine that the request reads.
type origin struct{ at, path string }

// profiles yields the runtime profile with its path, under either spelling.
func (r TaskRequest) profiles() iter.Seq2[string, *RuntimeProfile] {
	return func(yield func(string, *RuntimeProfile) bool) {
		if r.RuntimeProfile != nil && !yield("$.runtime_profile", r.RuntimeProfile) {
			return
		}
		if r.RuntimeProfileAlias != nil {
			yield("$.runtimeProfile", r.RuntimeProfileAlias)
		}
	}
}

// checkRuntime checks what the runtime is made of: plugins, components and overlays.
func (r TaskRequest) checkRuntime(l *fault.List) {
	for i, p := range r.ProviderPluginPaths {
		at := fault.Index("$.provider_plugin_paths", i)
		absolute(l, at, p)
		if slices.Contains(r.ProviderPluginPaths[:i], p) {
			l.Add(at, fault.Duplicate, quote(p)+" is there twice", "name it once")
		}
	}
	plugins(l, "$.provider_plugins", r.ProviderPlugins)
	plugins(l, "$.extra_plugins", r.ExtraPlugins)
	components(l, "$.component_contracts", r.ComponentContracts)
	overlays(l, "$.runtime_overlays", r.RuntimeOverlays)
	if r.RuntimeRequirements != nil {
		plugins(l, "$.runtime_requirements.extra_plugins", r.RuntimeRequirements.ExtraPlugins)
	}
	for at, p := range r.profiles() {
		l.OptionalName(at+".id", p.ID)
		plugins(l, at+".provider_plugins", p.ProviderPlugins)
		plugins(l, at+".extra_plugins", p.ExtraPlugins)
		plugins(l, at+".plugins", p.Plugins)
		plugins(l, at+".mu_plugins", p.MUPlugins)
		components(l, at+".component_contracts", p.ComponentContracts)
		overlays(l, at+".overlays", p.Overlays)
		overlays(l, at+".runtime_overlays", p.RuntimeOverlays)
	}
	for i, p := range r.RuntimeOverlayProfiles {
		l.Add(fault.Index("$.runtime_overlay_profiles", i), fault.NotAllowed, quote(p)+" is not a runtime overlay profile: there are none", "list the overlays in runtime_overlays")
	}
	if r.SourcePackageRoot != "" {
		absolute(l, "$.source_package_root", r.SourcePackageRoot)
	}
}

func plugins(l *fault.List, at string, ps []PluginSource) {
	for i, p := range ps {
		l.Within(fault.Index(at, i), p.Validate())
	}
}

func components(l *fault.List, at string, cs []ComponentContract) {
	for i, c := range cs {
		l.Within(fault.Index(at, i), c.Validate())
	}
}

func overlays(l *fault.List, at string, os []RuntimeOverlay) {
	for i, o := range os {
		l.Within(fault.Index(at, i), o.Validate())
	}
}

// Validate returns every fault of the plugin.
func (p PluginSource) Validate() error {
	var l fault.List
	notBoth(&l, "source", p.Source, "path", p.Path)
	if where := p.Source + p.Path; where == "" {
		l.Add("$.source", fault.MissingField, "is missing", "name the plugin's directory")
	} else if p.Source == "" || p.Path == "" {
		absolute(&l, spelled("source", p.Source, "path"), where)
	}
	slugIs(&l, "$.slug", p.Slug)
	pluginFile(&l, p.PluginFile, p.PluginFileAlias)
	loadAs(&l, p.LoadAs)
	l.OptionalObject("$.metadata", p.Metadata)
	return l.Err()
}

// Validate returns every fault of the component. One without a slug or a source would be dropped by a lenient reader
// and missed by the agent; here it is an error.
func (c ComponentContract) Validate() error {
	var l fault.List
	names := 0
	for _, m := range []struct{ at, v string }{{"$.slug", c.Slug}, {"$.component", c.Component}, {"$.name", c.Name}} {
		if m.v == "" {
			continue
		}
		if names++; names > 1 {
			twoSpellings(&l, m.at, "slug")
		}
		slugIs(&l, m.at, m.v)
	}
	if names == 0 {
		l.Add("$.slug", fault.MissingField, "is missing", "name the component")
	}
	notBoth(&l, "path", c.Path, "source", c.Source)
	notBoth(&l, "source_root", c.SourceRoot, "sourceRoot", c.SourceRootAlias)
	notBoth(&l, "source_subpath", c.SourceSubpath, "sourceSubpath", c.SourceSubpathAlias)
	root, sub := c.SourceRoot+c.SourceRootAlias, c.SourceSubpath+c.SourceSubpathAlias
	switch where := c.Path + c.Source; {
	case where == "" && root == "":
		l.Add("$.path", fault.MissingField, "is missing", "name the component's directory, or source_root and source_subpath")
	case where != "" && (c.Path == "" || c.Source == ""):
		absolute(&l, spelled("path", c.Path, "source"), where)
	}
	if root != "" {
		absolute(&l, spelled("source_root", c.SourceRoot, "sourceRoot"), root)
	}
	if sub != "" {
		at := spelled("source_subpath", c.SourceSubpath, "sourceSubpath")
		l.RelativePath(at, sub)
		if root == "" {
			l.Add(at, fault.Conflict, "is set and source_root is not", "name the root that it is below")
		}
	}
	l.Text("$.original_source", c.OriginalSource)
	pluginFile(&l, c.PluginFile, c.PluginFileAlias)
	loadAs(&l, c.LoadAs)
	l.OptionalObject("$.metadata", c.Metadata)
	return l.Err()
}

// notBoth refuses two spellings of one member.
func notBoth(l *fault.List, name, value, alias, other string) {
	if value != "" && other != "" {
		twoSpellings(l, "$."+alias, name)
	}
}

// spelled returns the path of the spelling that is used.
func spelled(name, value, alias string) string {
	if value != "" {
		return "$." + name
	}
	return "$." + alias
}

func loadAs(l *fault.List, word string) {
	if word != "" {
		fault.OneOf(l, "$.loadAs", word, LoadMUPlugin, LoadPlugin)
	}
}

func pluginFile(l *fault.List, file, alias string) {
	notBoth(l, "pluginFile", file, "plugin_file", alias)
	value := file + alias
	if value == "" || file != "" && alias != "" {
		return
	}
	at := spelled("pluginFile", file, "plugin_file")
	if strings.Contains(value, `\`) {
		l.Add(at, fault.BadFormat, quote(value)+" has a backslash", "separate directories with /")
		return
	}
	l.RelativePath(at, value)
}

// slugIs demands a name of which something is left when other characters than letters, digits, _ and - are replaced.
func slugIs(l *fault.List, at, slug string) {
	if slug == "" {
		return
	}
	l.Name(at, slug)
	if last := path.Base(slug); last == "." || last == ".." || last == "/" || !strings.ContainsFunc(last, func(c rune) bool {
		return c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c))
	}) {
		l.Add(at, fault.BadFormat, quote(slug)+" is not a slug", "use letters, digits, - and _")
	}
}

// Validate returns every fault of the overlay.
func (o RuntimeOverlay) Validate() error {
	var l fault.List
	fault.OneOf(&l, "$.kind", o.Kind, OverlayBundledLibrary)
	fault.OneOf(&l, "$.library", o.Library, OverlayPHPAIClient)
	fault.OneOf(&l, "$.strategy", o.Strategy, OverlayScopedBundle)
	absolute(&l, "$.source", o.Source)
	if o.Target != "" {
		targetIs(&l, "$.target", o.Target)
	}
	if o.Bundle != "" {
		absolute(&l, "$.bundle", o.Bundle)
	}
	l.OptionalObject("$.metadata", o.Metadata)
	return l.Err()
}

// Validate returns every fault of the workspace.
func (w RequestWorkspace) Validate() error {
	var l fault.List
	if w.Target != "" {
		targetIs(&l, "$.target", w.Target)
	}
	if w.Mode != "" {
		fault.OneOf(&l, "$.mode", w.Mode, ModeReadonly, ModeReadwrite)
	}
	if w.SourceMode != "" {
		fault.OneOf(&l, "$.sourceMode", w.SourceMode, RepoBacked, SiteBacked)
	}
	l.Within("$.seed", w.Seed.Validate())
	if l.Len() > 0 || w.Target != "" {
		return l.Err()
	}
	if target := w.EffectiveTarget(); target == "" {
		l.Add("$.target", fault.Blank, "is missing, and the seed gives it no name", "say where the agent is to find the workspace")
	} else {
		targetIs(&l, "$.target", target)
	}
	return l.Err()
}

var slugPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`) })

// SeedMembers says which members a seed of each type must have and which it may have.
var SeedMembers = map[string]struct{ Must, May []string }{
	SeedDirectory:      {[]string{"source"}, []string{"slug", "history", "excludePaths"}},
	SeedGit:            {[]string{"source", "ref"}, []string{"slug", "history", "excludePaths"}},
	SeedBundle:         {[]string{"source", "bundle"}, []string{"slug", "history", "excludePaths"}},
	SeedEmpty:          {nil, []string{"slug"}},
	SeedPluginScaffold: {[]string{"slug"}, []string{"name"}},
	SeedThemeScaffold:  {[]string{"slug"}, []string{"name"}},
}

// Validate returns every fault of the seed.
func (s WorkspaceSeed) Validate() error {
	var l fault.List
	rule, ok := SeedMembers[s.Type]
	if !ok {
		fault.OneOf(&l, "$.type", s.Type, SeedDirectory, SeedGit, SeedBundle, SeedEmpty, SeedPluginScaffold, SeedThemeScaffold)
	}
	for _, m := range []struct {
		name string
		set  bool
	}{
		{"source", s.Source != ""},
		{"ref", s.Ref != ""},
		{"bundle", s.Bundle != ""},
		{"slug", s.Slug != ""},
		{"name", s.Name != ""},
		{"history", s.History != ""},
		{"excludePaths", len(s.ExcludePaths) > 0},
	} {
		must := slices.Contains(rule.Must, m.name)
		switch {
		case must && !m.set:
			l.Add("$."+m.name, fault.MissingField, "is missing", "a seed of type "+s.Type+" needs it")
		case ok && m.set && !must && !slices.Contains(rule.May, m.name):
			l.Add("$."+m.name, fault.Conflict, "means nothing to a seed of type "+s.Type, "remove it, or use another type")
		}
	}
	if s.Source != "" {
		absolute(&l, "$.source", s.Source)
	}
	if s.History != "" {
		fault.OneOf(&l, "$.history", s.History, "full", "none")
	}
	if s.Bundle != "" {
		absolute(&l, "$.bundle", s.Bundle)
	}
	if s.Ref != "" {
		l.Name("$.ref", s.Ref)
		if strings.HasPrefix(s.Ref, "-") {
			l.Add("$.ref", fault.BadFormat, quote(s.Ref)+" begins with a dash", "name a commit, a tag or a branch")
		}
	}
	if s.Slug != "" && !slugPattern().MatchString(s.Slug) {
		l.Add("$.slug", fault.BadFormat, quote(s.Slug)+" is not a slug", "use letters, digits, - and _, with a letter or a digit first")
	}
	l.OptionalName("$.name", s.Name)
	for i, p := range s.ExcludePaths {
		at := fault.Index("$.excludePaths", i)
		prefix := strings.TrimSuffix(strings.TrimRight(p, "*"), "/")
		if strings.Contains(prefix, "*") {
			l.Add(at, fault.BadFormat, quote(p)+" has a * that is not at its end", "write a path, or a prefix that ends in *")
			continue
		}
		l.RelativePath(at, prefix)
	}
	return l.Err()
}

func (m RequestMount) check(l *fault.List, at string) {
	absolute(l, at+".source", m.Source)
	targetIs(l, at+".target", m.Target)
	if m.Type != "" {
		fault.OneOf(l, at+".type", m.Type, "directory", "file")
	}
	if m.Mode != "" {
		fault.OneOf(l, at+".mode", m.Mode, ModeReadonly, ModeReadwrite)
	}
	if m.Phase != "" {
		fault.OneOf(l, at+".phase", m.Phase, "pre-install", "post-install")
	}
	l.OptionalObject(at+".metadata", m.Metadata)
}

// checkPlaces checks every place that the request takes, in the sandbox and outside, one by one and against each other.
func (r TaskRequest) checkPlaces(l *fault.List) {
	var taken []spot
	for i, w := range r.Workspaces {
		at := fault.Index("$.workspaces", i)
		l.Within(at, w.Validate())
		taken = append(taken, spot{at + ".target", w.EffectiveTarget(), cmp.Or(w.Mode, ModeReadwrite), true})
	}
	mounts := func(at string, ms []RequestMount, mode string) {
		for i, m := range ms {
			at := fault.Index(at, i)
			m.check(l, at)
			if mode == ModeReadonly && m.Mode == ModeReadwrite {
				l.Add(at+".mode", fault.Conflict, "is readwrite, and the runtime's own files are readonly", "leave it out, or use mounts")
			}
			taken = append(taken, spot{at + ".target", m.Target, cmp.Or(m.Mode, mode), cmp.Or(m.Mode, mode) == ModeReadwrite})
		}
	}
	mounts("$.mounts", r.Mounts, ModeReadwrite)
	for at, p := range r.profiles() {
		mounts(at+".runtime_stack_mounts", p.RuntimeStackMounts, ModeReadonly)
		mounts(at+".runtime_config_mounts", p.RuntimeConfigMounts, ModeReadonly)
		mounts(at+".runtime_state_mounts", p.RuntimeStateMounts, ModeReadonly)
	}
	mounts("$.runtime_stack_mounts", r.RuntimeStackMounts, ModeReadonly)
	mounts("$.runtime_config_mounts", r.RuntimeConfigMounts, ModeReadonly)
	mounts("$.runtimeConfigMounts", r.RuntimeConfigMountsAlias, ModeReadonly)
	mounts("$.runtime_state_mounts", r.RuntimeStateMounts, ModeReadonly)
	mounts("$.runtimeStateMounts", r.RuntimeStateMountsAlias, ModeReadonly)
	for _, list := range []struct {
		at    string
		files []StagedFile
	}{{"$.staged_files", r.StagedFiles}, {"$.stagedFiles", r.StagedFilesAlias}} {
		for i, f := range list.files {
			at := fault.Index(list.at, i)
			absolute(l, at+".source", f.Source)
			targetIs(l, at+".target", f.Target)
			if f.Type != "" {
				fault.OneOf(l, at+".type", f.Type, "directory", "file")
			}
			l.OptionalObject(at+".metadata", f.Metadata)
			taken = append(taken, spot{at + ".target", f.Target, ModeReadonly, false})
		}
	}
	apart(l, taken)
	r.checkArtifactsPath(l, "$.artifacts_path", "$")
}

// apart demands that every place in the sandbox belongs to one thing.
func apart(l *fault.List, taken []spot) {
	taken = slices.DeleteFunc(taken, func(s spot) bool { // what is wrong by itself is said already
		return s.target == "/" || !path.IsAbs(s.target) || path.Clean(s.target) != s.target
	})
	for i, a := range taken {
		for _, b := range taken[:i] {
			inner, outer := a, b
			if below(outer.target, inner.target) && outer.target != inner.target {
				inner, outer = b, a
			}
			switch {
			case a.target == b.target:
				l.Add(a.at, fault.Duplicate, quote(a.target)+" is the target of "+strings.TrimPrefix(b.at, "$.")+" too", "give each its own target")
			case !below(inner.target, outer.target):
			case inner.mode == ModeReadwrite && outer.mode == ModeReadonly:
				l.Add(inner.at, fault.Conflict, quote(inner.target)+" is readwrite inside "+quote(outer.target)+", which is readonly", "put it elsewhere, or make both the same")
			case inner.change && outer.change:
				l.Add(inner.at, fault.Conflict, quote(inner.target)+" lies inside "+quote(outer.target)+", and a change would belong to both", "put them beside each other")
			}
		}
	}
}

// checkArtifactsPath demands that what the run writes lies apart from everything it reads. base is the path of the
// request itself.
func (r TaskRequest) checkArtifactsPath(l *fault.List, at, base string) {
	if r.ArtifactsPath == "" || !absolute(l, at, r.ArtifactsPath) {
		return
	}
	if r.ArtifactsPath == "/" {
		l.Add(at, fault.BadFormat, "is the root directory", "name a directory of its own")
		return
	}
	for _, o := range r.origins() {
		name := strings.TrimPrefix(fault.Join(base, o.at), "$.")
		switch {
		case below(r.ArtifactsPath, o.path):
			l.Add(at, fault.Conflict, quote(r.ArtifactsPath)+" lies inside "+name+", which the run reads", "keep artifacts apart from every source")
		case below(o.path, r.ArtifactsPath):
			l.Add(at, fault.Conflict, quote(r.ArtifactsPath)+" holds "+name+", which the run reads", "keep artifacts apart from every source")
		}
	}
}

// origins returns every place on the caller's machine that the request reads.
func (r TaskRequest) origins() []origin {
	var out []origin
	add := func(at string, paths ...string) {
		for _, p := range paths {
			if path.IsAbs(p) {
				out = append(out, origin{at, p})
			}
		}
	}
	for i, w := range r.Workspaces {
		add(fault.Index("$.workspaces", i)+".seed", w.Seed.Source, w.Seed.Bundle)
	}
	mounts := func(at string, lists ...[]RequestMount) {
		for _, list := range lists {
			for i, m := range list {
				add(fault.Index(at, i), m.Source)
			}
		}
	}
	mounts("$.mounts", r.Mounts)
	mounts("$.runtime_stack_mounts", r.RuntimeStackMounts)
	mounts("$.runtime_config_mounts", r.RuntimeConfigMounts, r.RuntimeConfigMountsAlias)
	mounts("$.runtime_state_mounts", r.RuntimeStateMounts, r.RuntimeStateMountsAlias)
	for i, p := range r.ProviderPluginPaths {
		add(fault.Index("$.provider_plugin_paths", i), p)
	}
	code := func(at string, ps []PluginSource, cs []ComponentContract, os []RuntimeOverlay) {
		for i, p := range ps {
			add(fault.Index(at+"plugins", i), p.Source, p.Path)
		}
		for i, c := range cs {
			add(fault.Index(at+"component_contracts", i), c.Path, c.Source, c.SourceRoot, c.SourceRootAlias)
		}
		for i, o := range os {
			add(fault.Index(at+"runtime_overlays", i), o.Source, o.Bundle)
		}
	}
	code("$.", slices.Concat(r.ProviderPlugins, r.ExtraPlugins), r.ComponentContracts, r.RuntimeOverlays)
	for at, p := range r.profiles() {
		code(at+".", slices.Concat(p.ProviderPlugins, p.ExtraPlugins, p.Plugins, p.MUPlugins), p.ComponentContracts, slices.Concat(p.Overlays, p.RuntimeOverlays))
		mounts(at+".runtime_mounts", p.RuntimeStackMounts, p.RuntimeConfigMounts, p.RuntimeStateMounts)
	}
	for i, f := range slices.Concat(r.StagedFiles, r.StagedFilesAlias) {
		add(fault.Index("$.staged_files", i), f.Source)
	}
	for i, b := range r.AgentBundles {
		add(fault.Index("$.agent_bundles", i), b.Source)
	}
	if r.AgentBundle != nil {
		add("$.agent_bundle", r.AgentBundle.Source)
	}
	return out
}

// below reports whether a clean absolute path is another or lies below it.
func below(p, root string) bool {
	return p == root || root == "/" || strings.HasPrefix(p, root+"/")
}

// absolute demands an absolute, clean path on one line.
func absolute(l *fault.List, at, value string) bool {
	before := l.Len()
	l.Path(at, value)
	switch {
	case l.Len() > before:
	case strings.ContainsFunc(value, unicode.IsControl):
		l.Add(at, fault.BadFormat, quote(value)+" holds a control character", "remove it")
	case !path.IsAbs(value):
		l.Add(at, fault.BadFormat, quote(value)+" is not absolute", "write the whole path")
	case path.Clean(value) != value:
		l.Add(at, fault.BadFormat, quote(value)+" is not clean", "write "+quote(path.Clean(value)))
	}
	return l.Len() == before
}

// system lists the directories of the sandbox that nothing may cover: with them a request could replace the programs
// that contain it.
var system = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys", "/usr"}

// targetIs demands a place in the sandbox that a request may take.
func targetIs(l *fault.List, at, value string) {
	if !absolute(l, at, value) {
		return
	}
	if strings.Contains(value, `\`) {
		l.Add(at, fault.BadFormat, quote(value)+" has a backslash", "separate directories with /")
		return
	}
	if value == "/" {
		l.Add(at, fault.BadFormat, "is the root of the sandbox", "name a directory below it, such as "+WorkspaceRoot+"/name")
		return
	}
	for _, dir := range system {
		if below(value, dir) {
			l.Add(at, fault.BadFormat, quote(value)+" lies in "+dir+", which belongs to the system of the sandbox", "use a place such as "+WorkspaceRoot+"/name or /runtime/name")
		}
	}
}
