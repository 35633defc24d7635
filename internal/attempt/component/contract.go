package component

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// The lists of a request that name plugins.
const (
	originComponents    = "component_contracts"
	originProviderPaths = "provider_plugin_paths"
	originProviders     = "provider_plugins"
)

// maxComposer bounds how much of a composer.json is read.
const maxComposer = 1 << 20

// dependencies are left out of a copy: they are large, built for another machine, and useless to PHP.
const dependencies = "node_modules"

// An entry is one component or provider plugin that is being resolved.
type entry struct {
	at       string // in the request
	sourceAt string
	origin   string
	index    int
	asked    string // the path as it was asked for
	source   string // the true path; "" when it is not usable
	explicit string // the plugin file that was asked for
	p        Plugin
	failures []codebox.ComponentFailure
}

// entries reads the three lists that name plugins, in the order in which they are loaded.
func (r *resolver) entries() []*entry {
	var all []*entry
	for i, c := range r.req.Components {
		all = append(all, r.checked(at(c.At, originComponents, i), func(e *entry) { r.contract(e, i, c) }))
	}
	for i, p := range r.req.ProviderPaths {
		all = append(all, r.checked(fault.Index("$."+originProviderPaths, i), func(e *entry) {
			e.sourceAt = e.at
			r.provider(e, originProviderPaths, i, Provider{Path: p})
		}))
	}
	for i, p := range r.req.Providers {
		all = append(all, r.checked(at(p.At, originProviders, i), func(e *entry) {
			e.sourceAt = e.at + ".source"
			r.provider(e, originProviders, i, p)
		}))
	}
	all = r.merge(all)
	for _, e := range all {
		if e.p.Target != "" {
			r.taken = append(r.taken, taken{e.at, e.p.Target})
			r.apart(e)
		}
	}
	return all
}

// apart refuses a plugin at a path where the run has something else: one of the two would hide the other.
func (r *resolver) apart(e *entry) {
	for _, t := range r.req.Taken {
		if workspace.Within(e.p.Target, t) || workspace.Within(t, e.p.Target) {
			f := fault.Fault{
				Path: e.at, Code: fault.Conflict, Message: fmt.Sprintf("its place %q is taken by the workspace or mount at %q", e.p.Target, t),
				Remedy: "give the component another slug, leave it out, or move the workspace",
			}
			r.faults.Add(f.Path, f.Code, f.Message, f.Remedy)
			e.fail(fault.Faults{f})
		}
	}
}

// checked runs the rules of one entry and gives it, for its record, the faults that they found.
func (r *resolver) checked(at string, rules func(*entry)) *entry {
	kept, found := len(r.faults.Faults()), r.faults.Len()
	e := &entry{at: at, sourceAt: at + ".path"}
	rules(e)
	if r.faults.Len() == found {
		return e
	}
	e.fail(r.faults.Faults()[kept:])
	if len(e.failures) == 0 { // beyond what a list keeps
		e.fail(fault.Faults{{Path: at, Code: fault.More, Message: "is not usable", Remedy: "fix the first faults of the request first"}})
	}
	return e
}

func (e *entry) fail(fs fault.Faults) {
	for _, f := range fs {
		e.failures = append(e.failures, codebox.ComponentFailure{Phase: codebox.ComponentPhasePrepare, Code: f.Code, Message: f.Path + ": " + f.Message, Remedy: f.Remedy})
	}
}

func (r *resolver) contract(e *entry, i int, c Contract) {
	e.origin, e.index, e.asked, e.explicit = originComponents, i, c.Path, c.PluginFile
	e.p = Plugin{LoadAs: r.loadAs(e, c.LoadAs, codebox.LoadMUPlugin), Activate: c.Activate, Metadata: c.Metadata}
	switch slug, ok := Slug(c.Slug); {
	case strings.TrimSpace(c.Slug) == "":
		r.faults.Add(e.at+".slug", fault.Blank, "is missing", "name the component")
	case !ok:
		r.faults.Add(e.at+".slug", fault.BadFormat, fmt.Sprintf("%.80q gives no slug", c.Slug), "use letters, digits, - and _, at most 128")
	default:
		e.p.Slug = slug
	}
	r.locate(e, c)
	r.entryFile(e)
}

// loadAs returns the given word, or the default. For an unknown word the record has the default.
func (r *resolver) loadAs(e *entry, word, otherwise string) string {
	switch word {
	case codebox.LoadMUPlugin, codebox.LoadPlugin:
		return word
	case "":
	default:
		fault.OneOf(&r.faults, e.at+".loadAs", word, codebox.LoadMUPlugin, codebox.LoadPlugin)
	}
	return otherwise
}

// locate finds the directory of a component: its path, or its place in a repository of many.
func (r *resolver) locate(e *entry, c Contract) {
	if c.SourceRoot == "" && c.SourceSubpath == "" {
		e.source = r.directory(e.at+".path", c.Path)
		return
	}
	base, baseAt := c.SourceRoot, e.at+".source_root"
	if base == "" {
		base, baseAt = c.Path, e.at+".path"
	}
	root := r.directory(baseAt, base)
	if root == "" {
		return
	}
	e.sourceAt = e.at + ".source_subpath"
	dir := root
	if c.SourceSubpath != "" {
		n := r.faults.Len()
		r.faults.RelativePath(e.sourceAt, strings.TrimSuffix(c.SourceSubpath, "/"))
		if r.faults.Len() > n {
			return
		}
		if dir = r.directory(e.sourceAt, filepath.Join(root, c.SourceSubpath)); dir == "" {
			return
		}
	}
	if !workspace.Within(dir, root) {
		r.faults.Add(e.sourceAt, fault.NotAllowed, fmt.Sprintf("%q leads out of %q", c.SourceSubpath, base), "name a directory below the root that is no link out of it")
		return
	}
	if e.asked == "" {
		e.asked = filepath.Join(base, c.SourceSubpath)
	} else if c.SourceRoot != "" {
		if named := r.directory(e.at+".path", c.Path); named != "" && named != dir {
			r.faults.Add(e.at+".path", fault.Conflict, fmt.Sprintf("%q is another directory than source_root and source_subpath name", c.Path), "give one of the two")
			return
		}
	}
	e.source = dir
}

// directory is source for one that must be a directory.
func (r *resolver) directory(at, p string) string {
	dir := r.source(at, p)
	if dir == "" {
		return ""
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		r.faults.Add(at, fault.WrongType, fmt.Sprintf("%q is not a directory", p), "name a directory")
		return ""
	}
	return dir
}

func (r *resolver) provider(e *entry, origin string, i int, p Provider) {
	e.origin, e.index, e.asked, e.explicit = origin, i, p.Path, p.PluginFile
	e.p = Plugin{LoadAs: r.loadAs(e, p.LoadAs, codebox.LoadPlugin), Metadata: p.Metadata}
	e.p.Activate = p.Activate == nil && e.p.LoadAs == codebox.LoadPlugin || p.Activate != nil && *p.Activate
	if e.source = r.directory(e.sourceAt, p.Path); e.source == "" {
		e.p.Slug, _ = Slug(p.Slug)
		return
	}
	slug, ok := "", false
	if strings.TrimSpace(p.Slug) != "" {
		if slug, ok = Slug(p.Slug); !ok {
			r.faults.Add(e.at+".slug", fault.BadFormat, fmt.Sprintf("%.80q gives no slug", p.Slug), "use letters, digits, - and _, at most 128")
			return
		}
	} else if c, err := readComposer(e.source); err == nil && c != nil {
		slug, ok = Slug(c.Name)
	}
	if !ok {
		// The name as requested, not the target of a link: a caller names a checkout by its link.
		if slug, ok = Slug(filepath.Base(filepath.Clean(p.Path))); !ok {
			r.faults.Add(e.sourceAt, fault.BadFormat, fmt.Sprintf("%q gives no slug", p.Path), "name the plugin with provider_plugins and a slug")
			return
		}
	}
	e.p.Slug = slug
	r.entryFile(e)
}

// entryFile sets what follows from slug and source: plugin file, target, and what is wrong with them.
func (r *resolver) entryFile(e *entry) {
	if e.p.Slug == "" {
		return
	}
	e.p.Target = path.Join(MUPluginsDir, e.p.Slug)
	if e.p.LoadAs == codebox.LoadPlugin {
		e.p.Target = path.Join(PluginsDir, e.p.Slug)
	}
	e.p.Origin, e.p.SourcePath = e.origin, e.source
	if e.source == "" {
		return
	}
	file, from, err := entryOf(e.source, e.p.Slug, e.explicit)
	if err != nil {
		remedy := "name the file that loads the component"
		if e.explicit != "" {
			remedy = "name an existing file as <slug>/<file>"
		}
		r.faults.Add(e.at+".pluginFile", fault.BadFormat, err.Error(), remedy)
		return
	}
	e.p.File, e.p.Fallback = file, from
	if file == "" && e.p.Activate {
		r.faults.Add(e.at+".activate", fault.Conflict, "is true, and the component has no plugin file", "leave it out: its abilities need no activation")
	}
}

func entryOf(dir, slug, explicit string) (file, from string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", "", Plain(err)
	}
	defer root.Close()
	return findEntry(root, slug, explicit)
}

// merge joins entries of the same slug and load mode: the first one counts, activate holds if any of them asks for
// it, and metadata is joined. Two that contradict each other are refused.
func (r *resolver) merge(all []*entry) []*entry {
	var out []*entry
	for _, e := range all {
		i := slices.IndexFunc(out, func(o *entry) bool {
			return e.p.Slug != "" && o.p.Slug == e.p.Slug && o.p.LoadAs == e.p.LoadAs
		})
		if i < 0 {
			out = append(out, e)
			continue
		}
		first := out[i]
		var what string
		switch {
		case len(first.failures) > 0 || len(e.failures) > 0:
			out = append(out, e) // reported already
			continue
		case first.source != e.source:
			what = fmt.Sprintf("comes from %q, and the %s %s of %s from %q", e.asked, first.p.LoadAs, first.p.Slug, first.at, first.asked)
		case e.explicit != "" && e.p.File != first.p.File:
			what = fmt.Sprintf("is loaded by %s, and the same component of %s by %s", e.p.File, first.at, first.p.File)
		}
		if what != "" {
			f := fault.Fault{Path: e.at, Code: fault.Conflict, Message: what, Remedy: "name each component once"}
			r.faults.Add(f.Path, f.Code, f.Message, f.Remedy)
			e.fail(fault.Faults{f})
			e.p.Target = ""
			out = append(out, e)
			continue
		}
		first.p.Activate = first.p.Activate || e.p.Activate
		joined := maps.Clone(e.p.Metadata)
		if joined == nil {
			joined = map[string]any{}
		}
		maps.Copy(joined, first.p.Metadata)
		if len(joined) > 0 {
			first.p.Metadata = joined
		}
		r.diagnose(e.at, DiagMerged, fmt.Sprintf("the same component as %s", first.at))
	}
	return out
}

// records reports what became of every entry.
func (r *resolver) records(all []*entry) []codebox.ComponentContractResult {
	out := make([]codebox.ComponentContractResult, 0, len(all))
	for _, e := range all {
		out = append(out, e.record())
	}
	return out
}

func (e *entry) record() codebox.ComponentContractResult {
	c := codebox.ComponentContractResult{
		Schema: codebox.SchemaComponentContractResult, Index: e.index, Slug: e.p.Slug, RequestedPath: e.asked,
		PluginFile: e.p.File, LoadAs: e.p.LoadAs, Activate: e.p.Activate, Target: e.p.Target,
		Status: codebox.ComponentPrepared, Failures: []codebox.ComponentFailure{},
	}
	switch {
	case len(e.failures) > 0:
		c.Status, c.ActivationStatus, c.Failures = codebox.ComponentFailed, codebox.ActivationPending, e.failures
		return c
	case e.p.LoadAs == codebox.LoadMUPlugin:
		c.ActivationStatus = codebox.ActivationNotApplicable
	case e.p.Activate:
		c.ActivationStatus = codebox.ActivationPending
	default:
		c.ActivationStatus = codebox.ActivationNotRequested
	}
	c.PreparedPath = e.prepared()
	return c
}

// prepared is the place of an entry's copy below Request.Dir.
func (e *entry) prepared() string { return path.Join("components", e.p.LoadAs, e.p.Slug) }

// prepareAll copies the components and adds their mounts, plugins and records.
func (r *resolver) prepareAll(ctx context.Context, all []*entry, res *Resolved) error {
	for i, e := range all {
		if err := r.prepare(ctx, e); err != nil {
			err = fmt.Errorf("%s: component %s: %w", e.at, e.p.Slug, err)
			e.failures = append(e.failures, codebox.ComponentFailure{Phase: codebox.ComponentPhasePrepare, Message: err.Error()})
			return err
		}
		e.p.Record = i
		res.Mounts = append(res.Mounts, Mount{Source: e.p.Dir, Target: e.p.Target, ReadOnly: true})
		if e.p.LoadAs == codebox.LoadMUPlugin {
			res.MUPlugins = append(res.MUPlugins, e.p)
		} else {
			res.Plugins = append(res.Plugins, e.p)
		}
	}
	res.Components = r.records(all)
	return nil
}

func (r *resolver) prepare(ctx context.Context, e *entry) error {
	e.p.Dir = filepath.Join(r.req.Dir, filepath.FromSlash(e.prepared()))
	digest, err := r.copyDir(ctx, e.at, e.source, e.p.Dir)
	if err != nil {
		return err
	}
	e.p.Digest = digest
	// The source may have changed since it was examined: the copy counts.
	file, from, err := entryOf(e.p.Dir, e.p.Slug, e.explicit)
	if err != nil {
		return err
	}
	e.p.File, e.p.Fallback = file, from
	r.composer(e)
	return nil
}

// copyDir copies a source without repositories and dependencies and returns the digest of the copy.
func (r *resolver) copyDir(ctx context.Context, at, from, to string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return "", err
	}
	notes, err := workspace.CopyFiles(ctx, from, to, dependencies)
	if err != nil {
		return "", err
	}
	for _, n := range notes {
		if n.Code != workspace.NoteNestedRepository {
			r.diagnose(at, n.Code, n.Path+": "+n.Detail)
		}
	}
	m, err := workspace.Snapshot(ctx, to, nil)
	if err != nil {
		return "", err
	}
	return m.Digest(), nil
}

type composer struct {
	Name    string            `json:"name"`
	Require map[string]string `json:"require"`
}

// readComposer reads a composer.json, nil when there is none.
func readComposer(dir string) (*composer, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, Plain(err)
	}
	defer root.Close()
	if !isFile(root, "composer.json") {
		return nil, nil
	}
	data, err := readHead(root, "composer.json", maxComposer+1)
	if err != nil {
		return nil, Plain(err)
	}
	if len(data) > maxComposer {
		return nil, fmt.Errorf("it has more than %d bytes", maxComposer)
	}
	var c composer
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, errors.New("it is not a composer.json")
	}
	return &c, nil
}

// composer notes packages that the component needs and does not include: deed installs none.
func (r *resolver) composer(e *entry) {
	c, err := readComposer(e.p.Dir)
	if err != nil {
		r.diagnose(e.at, DiagComposerUnreadable, "composer.json: "+err.Error())
		return
	}
	if c == nil {
		return
	}
	var needs []string
	for name := range c.Require {
		if strings.Contains(name, "/") { // php, ext-json and the like are no packages
			needs = append(needs, name)
		}
	}
	if len(needs) == 0 {
		return
	}
	if _, err := os.Stat(filepath.Join(e.p.Dir, "vendor", "autoload.php")); err == nil {
		return
	}
	slices.Sort(needs)
	r.diagnose(e.at, DiagVendorMissing, fmt.Sprintf("%s requires %s and has no vendor/autoload.php: run composer install in the source before the run", e.p.Slug, strings.Join(needs, ", ")))
}
