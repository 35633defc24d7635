// Package component owns the resolution of what a run asks to have in its runtime in addition to the workspace:
// components, provider plugins, overlays, stack mounts and agent bundles. It turns them into read-only mounts and
// into records of what each became. It reads the sources and never writes to them: what is mounted as a plugin is a
// copy in a directory that the caller gives, without repositories and node_modules. Resolving runs nothing, neither
// Composer nor PHP. It also defines what a command in such a runtime is (Runner). WordPress belongs to
// internal/attempt/wordpress, and isolation to internal/isolate/sandbox.
package component

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// Paths inside a sandbox.
const (
	WordPressDir = "/wordpress"
	MUPluginsDir = "/wordpress/wp-content/mu-plugins/contained-runtime"
	PluginsDir   = "/wordpress/wp-content/plugins"
	BundlesDir   = "/run/deed/agent-bundles"
	BundlesFile  = "/run/deed/agent-bundles.json" // what there is in BundlesDir: a list of BundleResult
)

// A Request is what a run asks for. The names in the comments are those of the wire request, and of the paths of
// faults. An entry that stands elsewhere in the request, as in a runtime profile, says so in its At.
type Request struct {
	Components    []Contract // component_contracts
	ProviderPaths []string   // provider_plugin_paths
	Providers     []Provider // provider_plugins
	Overlays      []Overlay  // runtime_overlays
	StackMounts   []Stack    // runtime_stack_mounts
	ConfigMounts  []Stack    // runtime_config_mounts
	StateMounts   []Stack    // runtime_state_mounts
	Bundles       []Bundle   // agent_bundles

	Taken []string // paths at which the run has workspaces and mounts: no plugin may be at, above or below them
	Dir   string   // absolute, absent or empty, deed's own: the copies are made in it
	Home  string   // deed's home, which may lie neither in a source nor around it; "": not checked
	Roots []string // when not empty, every source must lie in one of them
}

// A Contract is an entry of component_contracts.
type Contract struct {
	Slug          string // slug, component or name
	Path          string // path or source
	SourceRoot    string // a repository of many components ...
	SourceSubpath string // ... and the place of this one in it
	PluginFile    string
	LoadAs        string // "": mu-plugin
	Activate      bool
	Metadata      map[string]any
	At            string // its path in the wire request; "": by list and index
}

// A Provider is an entry of provider_plugins, or of another list of plugins that has their form.
type Provider struct {
	Path       string // source or path
	Slug       string // "": from composer.json, else the directory's name
	PluginFile string
	LoadAs     string // "": plugin
	Activate   *bool  // nil: true for a plugin
	Metadata   map[string]any
	At         string // its path in the wire request; "": by list and index
}

// A Mount shows a file or directory of the machine inside a sandbox.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly"`
}

// A Plugin is a component that is ready to be mounted.
type Plugin struct {
	Slug       string         `json:"slug"`
	File       string         `json:"pluginFile,omitempty"` // <slug>/<file>; "" for a component of commands alone
	Fallback   string         `json:"pluginFileFrom"`       // explicit, slug, plugin, header or none
	LoadAs     string         `json:"loadAs"`
	Activate   bool           `json:"activate"`
	Target     string         `json:"target"`
	Origin     string         `json:"origin"` // the list of the request that it is in
	Digest     string         `json:"digest"` // of the prepared copy, as workspace.Manifest.Digest
	Metadata   map[string]any `json:"metadata,omitempty"`
	Dir        string         `json:"-"` // the prepared copy on the machine
	Record     int            `json:"-"` // the index of its record in Resolved.Components
	SourcePath string         `json:"-"` // where it was copied from, links resolved
}

// A Diagnostic is something that a reader of the evidence should know; the run continues.
type Diagnostic struct {
	Path    string `json:"path"` // in the request, as in a fault
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of diagnostics.
const (
	DiagVendorMissing      = "composer_vendor_missing"    // composer.json requires packages, and there is no vendor/autoload.php
	DiagComposerUnreadable = "composer_unreadable"        // composer.json is not a JSON object
	DiagLinkOutside        = workspace.NoteLinkOutside    // a link of the source leads out of it, and leads nowhere inside
	DiagSpecialFile        = workspace.NoteSpecialFile    // a FIFO, socket or device was left out
	DiagMerged             = "duplicate_component_merged" // the same component is named twice
)

// Resolved is the result of a request.
type Resolved struct {
	Mounts      []Mount                           `json:"mounts"`
	Components  []codebox.ComponentContractResult `json:"components"` // one for each component and provider plugin
	MUPlugins   []Plugin                          `json:"muPlugins"`  // in the order in which they are loaded
	Plugins     []Plugin                          `json:"plugins"`
	Overlays    []OverlayResult                   `json:"overlays"`
	Bundles     []BundleResult                    `json:"bundles"`
	Diagnostics []Diagnostic                      `json:"diagnostics"`
}

// Resolve checks the whole request, then makes the copies. Faults are reported all at once, as fault.Faults of class
// failure.Config with paths in the wire request; then nothing was copied, Resolved has no mounts, and the records of
// the components say which of them failed. When copying fails, what was copied is removed.
func Resolve(ctx context.Context, req Request) (res Resolved, err error) {
	r := &resolver{req: req}
	entries, overlays, bundles, stack := r.check()
	if err := r.faults.Err(); err != nil {
		return Resolved{Components: r.records(entries)}, failure.New(failure.Config, "resolve components", err, "")
	}

	if !filepath.IsAbs(req.Dir) {
		return Resolved{}, fmt.Errorf("resolve components: the directory for copies %q is not absolute", req.Dir)
	}
	if err := os.Mkdir(req.Dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return Resolved{}, fmt.Errorf("resolve components: %w", err)
	}
	defer func() {
		if err != nil {
			res = Resolved{Components: r.records(entries)}
			err = fmt.Errorf("resolve components: %w", errors.Join(err, emptied(req.Dir)))
		}
	}()
	res.Mounts = append(res.Mounts, stack...)
	if err := r.prepareAll(ctx, entries, &res); err != nil {
		return res, err
	}
	if err := r.prepareOverlays(ctx, overlays, &res); err != nil {
		return res, err
	}
	if err := r.prepareBundles(ctx, bundles, &res); err != nil {
		return res, err
	}
	res.Diagnostics = r.diagnostics
	return res, nil
}

// Check returns the faults that Resolve would report for the request now, as fault.Faults. It creates nothing, so Dir
// may be empty.
func Check(req Request) error {
	r := &resolver{req: req}
	r.check()
	return r.faults.Err()
}

func (r *resolver) check() ([]*entry, []overlay, []bundle, []Mount) {
	entries, overlays, bundles, stack := r.entries(), r.overlays(), r.bundles(), r.stack()
	r.targets()
	return entries, overlays, bundles, stack
}

// Mounted updates the records of prepared components: they are now visible to the processes of a sandbox.
func Mounted(records []codebox.ComponentContractResult) {
	for i := range records {
		if records[i].Status == codebox.ComponentPrepared {
			records[i].Status = codebox.ComponentMounted
		}
	}
}

// emptied removes what a failed Resolve made. The directory itself is the caller's.
func emptied(dir string) error {
	var errs []error
	for _, name := range []string{"components", "overlays", "bundles", bundlesIndex} {
		errs = append(errs, workspace.Remove(filepath.Join(dir, name)))
	}
	return errors.Join(errs...)
}

type resolver struct {
	req         Request
	faults      fault.List
	diagnostics []Diagnostic
	taken       []taken
}

// at is the path of an entry in the request: its own, or by list and index.
func at(own, list string, i int) string {
	if own != "" {
		return own
	}
	return fault.Index("$."+list, i)
}

// taken is a target with the place in the request that asked for it.
type taken struct{ at, target string }

func (r *resolver) diagnose(at, code, message string) {
	r.diagnostics = append(r.diagnostics, Diagnostic{at, code, message})
}

// targets refuses two mounts at one path, and one inside another: a mount is read-only, so no mount point can be
// created in it.
func (r *resolver) targets() {
	for i, t := range r.taken {
		for _, o := range r.taken[:i] {
			switch {
			case t.target == o.target:
				r.faults.Add(t.at, fault.Duplicate, fmt.Sprintf("%q is taken by %s", t.target, o.at), "give each mount a target of its own")
			case strings.HasPrefix(t.target, o.target+"/"), strings.HasPrefix(o.target, t.target+"/"):
				r.faults.Add(t.at, fault.Conflict, fmt.Sprintf("%q and %q of %s lie in one another", t.target, o.target, o.at), "give each mount a place of its own")
			}
		}
	}
}

// source returns the true path of a source, or "" after naming the fault.
func (r *resolver) source(at, p string) string {
	n := r.faults.Len()
	r.faults.Path(at, p)
	if r.faults.Len() > n {
		return ""
	}
	if !filepath.IsAbs(p) {
		r.faults.Add(at, fault.BadFormat, fmt.Sprintf("%q is not absolute", p), "write the whole path")
		return ""
	}
	dir, err := filepath.EvalSymlinks(p)
	if err != nil {
		r.faults.Add(at, fault.Dangling, fmt.Sprintf("%q cannot be used: %v", p, Plain(err)), "name a directory that is there and can be read")
		return ""
	}
	if why := r.forbidden(dir); why != "" {
		r.faults.Add(at, fault.NotAllowed, fmt.Sprintf("%q %s", p, why), "use another source")
		return ""
	}
	return dir
}

// forbidden says why a resolved path may not be a source.
func (r *resolver) forbidden(dir string) string {
	if r.req.Home != "" {
		home := r.req.Home
		if h, err := filepath.EvalSymlinks(home); err == nil {
			home = h
		}
		if workspace.Within(dir, home) {
			return "lies in deed's home"
		}
		if workspace.Within(home, dir) {
			return "holds deed's home"
		}
	}
	if sandbox.HoldsSockets(dir) {
		return "is where services have their sockets, which lead past the network wall"
	}
	if len(r.req.Roots) == 0 {
		return ""
	}
	for _, root := range r.req.Roots {
		if t, err := filepath.EvalSymlinks(root); err == nil && workspace.Within(dir, t) {
			return ""
		}
	}
	return "is outside the directories that sources may come from"
}

// Plain strips the operation and the path from an error that is shown next to them.
func Plain(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// rawObject reports whether raw is a JSON object, decoded.
func rawObject(raw []byte) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	return m, json.Unmarshal(raw, &m) == nil && m != nil
}
