package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/attempt/wordpress"
	"github.com/deedrun/deed/internal/base/failure"
)

// runtimeParts is what a task has in its sandbox besides the workspace.
type runtimeParts struct {
	stack    codebox.RuntimeStack
	resolved component.Resolved
	boot     *wordpress.Boot // of the agent's site; nil without WordPress
}

// resolveRuntime copies the components of the task into the attempt's directory. They are read-only for the agent and
// for every check, so one copy serves them all.
func (a *run) resolveRuntime(ctx context.Context) error {
	s := a.plan.spec.Sandbox
	if s == nil || len(s.Runtime) == 0 {
		return nil
	}
	if !a.plan.contained() {
		return failure.New(failure.Isolation, "place components", fmt.Errorf("isolation %s cannot mount anything", a.plan.kind), "ask for namespace")
	}
	stack, err := schema.Decode[codebox.RuntimeStack](codebox.SchemaRuntimeStack, s.Runtime)
	if err != nil {
		return failure.New(failure.Config, "read deed.sandbox.runtime", err, "")
	}
	req := component.RequestOf(stack)
	req.Dir, req.Home = a.path("components"), a.Home.Root()
	for _, m := range a.seeded.Layout.Mounts {
		req.Taken = append(req.Taken, m.Target)
	}
	for _, m := range s.Mounts {
		req.Taken = append(req.Taken, m.Inside())
	}
	a.runtime.stack = stack
	a.runtime.resolved, err = component.Resolve(ctx, req)
	a.note("components", a.runtimeRecord())
	if err != nil {
		return classify(ctx, failure.Infra, "place components", err)
	}
	return nil
}

// site lays out a separate WordPress for one cell, and returns the mounts for it. Without WordPress these are only
// the components.
func (a *run) site(ctx context.Context, p place) (*wordpress.Site, []component.Mount, error) {
	if a.runtime.stack.WordPress == "" {
		return nil, a.runtime.resolved.Mounts, nil
	}
	opt := wordpress.Options{
		Version: a.runtime.stack.WordPress, Cache: filepath.Join(a.Home.Cache(), "wordpress"), Dir: p.site,
		Mounts: append(a.treeMounts(p), a.runtime.resolved.Mounts...), MUPlugins: a.runtime.resolved.MUPlugins, Plugins: a.runtime.resolved.Plugins,
		Env: environ(a.plan.spec.Sandbox.Env),
	}
	if w := a.Config.WordPress; w != nil {
		opt.Archive, opt.SQLite, opt.PHP = w.Archive, w.SQLite, w.PHP
	}
	s, err := wordpress.Prepare(ctx, opt)
	if err != nil {
		return nil, nil, classify(ctx, failure.Infra, "prepare WordPress", err)
	}
	return s, s.Mounts(), nil
}

// boot starts the WordPress of a cell once, activates its plugins, and updates the records of the components.
func (a *run) boot(ctx context.Context, c cell, records []codebox.ComponentContractResult) (*wordpress.Boot, error) {
	if c.site == nil {
		component.Mounted(records)
		for i := range records {
			if r := &records[i]; r.ActivationStatus == codebox.ActivationPending && r.Status != codebox.ComponentFailed {
				r.ActivationStatus = codebox.ActivationNotApplicable // there is no WordPress to activate it in
			}
		}
		return nil, nil
	}
	b, err := c.site.Boot(ctx, component.Inside(c.box, a.sup, phpTimeout), records)
	if errors.Is(err, wordpress.ErrBoot) {
		return &b, failure.New(failure.Config, "start WordPress", err, "look at the plugins and components of the request")
	}
	if err != nil {
		return &b, classify(ctx, failure.Infra, "start WordPress", err)
	}
	return &b, nil
}

// bootAgent starts the agent's WordPress. Its output is evidence, above all when it did not start.
func (a *run) bootAgent(ctx context.Context) error {
	b, err := a.boot(ctx, a.agent, a.runtime.resolved.Components)
	if b == nil {
		return err
	}
	a.runtime.boot = b
	type start struct {
		Status string             `json:"status"`
		Error  *wordpress.Problem `json:"error,omitempty"`
		Stdout string             `json:"stdout,omitempty"`
		Stderr string             `json:"stderr,omitempty"`
	}
	var starts []start
	for _, r := range b.Runs {
		starts = append(starts, start{r.Status, r.Error, printed(r.Output.Stdout), printed(r.Output.Stderr)})
	}
	a.note("wordpress", map[string]any{"boot": b, "starts": starts, "components": a.runtimeRecord().Components})
	return err
}

// printed is the end of the output of PHP.
func printed(out []byte) string {
	if len(out) > tailSize {
		out = out[len(out)-tailSize:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(out), "\uFFFD"))
}

// phpTimeout bounds one start of PHP by deed itself.
const phpTimeout = time.Minute

// componentRecords says what became of each component, for the caller.
func (a *run) componentRecords() []json.RawMessage {
	var out []json.RawMessage
	for _, c := range a.runtime.resolved.Components {
		out = append(out, mustJSON(c))
	}
	return out
}

// runtimeNotes tells the agent what it can use.
func (a *run) runtimeNotes() []string {
	var out []string
	if b := a.runtime.boot; b != nil {
		out = append(out, fmt.Sprintf("WordPress %s is at %s, with a database of its own. `wp-php FILE` and `wp-php -r CODE` run PHP with it loaded.", b.WordPress, component.WordPressDir))
	}
	if n := len(a.runtime.resolved.Bundles); n > 0 {
		out = append(out, fmt.Sprintf("Agent bundles: %d, listed in %s.", n, component.BundlesFile))
	}
	return out
}

// A runtimeRecord is what a reader of the evidence learns about the runtime. It names no path of the machine.
type runtimeRecord struct {
	WordPress   *wordpress.Boot                   `json:"wordpress,omitempty"`
	Components  []codebox.ComponentContractResult `json:"components,omitempty"`
	MUPlugins   []component.Plugin                `json:"muPlugins,omitempty"` // in the order in which they are loaded
	Plugins     []component.Plugin                `json:"plugins,omitempty"`
	Overlays    []component.OverlayResult         `json:"overlays,omitempty"`
	Bundles     []component.BundleResult          `json:"agentBundles,omitempty"`
	Diagnostics []component.Diagnostic            `json:"diagnostics,omitempty"`
}

func (a *run) runtimeRecord() runtimeRecord {
	res := a.runtime.resolved
	out := runtimeRecord{
		WordPress: a.runtime.boot, Components: slices.Clone(res.Components), MUPlugins: res.MUPlugins, Plugins: res.Plugins,
		Overlays: slices.Clone(res.Overlays), Bundles: slices.Clone(res.Bundles), Diagnostics: res.Diagnostics,
	}
	for i := range out.Components {
		out.Components[i].RequestedPath = filepath.Base(out.Components[i].RequestedPath)
	}
	for i := range out.Overlays {
		out.Overlays[i].Source = filepath.Base(out.Overlays[i].Source)
	}
	for i := range out.Bundles {
		out.Bundles[i].RequestedSource = ""
	}
	return out
}

// runtimeDiagnostics lists what the caller should know about components that are usable all the same.
func (a *run) runtimeDiagnostics() []evidence.Diagnostic {
	var out []evidence.Diagnostic
	for _, d := range a.runtime.resolved.Diagnostics {
		out = append(out, evidence.Diagnostic{Class: "deed.component." + d.Code, Message: d.Message, Path: d.Path})
	}
	for _, c := range a.runtime.resolved.Components {
		for _, f := range c.Failures {
			class := map[string]string{codebox.ComponentPhaseLoad: "load_failed", codebox.ComponentPhaseActivate: "activation_failed"}[f.Phase]
			if class != "" {
				out = append(out, evidence.Diagnostic{Class: "deed.component." + class, Message: c.Slug + ": " + f.Message, Remedy: f.Remedy})
			}
		}
	}
	return out
}

// withoutSources is a runtime stack as others may read it: the record of the runtime lists what is mounted.
func withoutSources(raw json.RawMessage) json.RawMessage {
	var s codebox.RuntimeStack
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return mustJSON(codebox.RuntimeStack{Schema: s.Schema, WordPress: s.WordPress})
}
