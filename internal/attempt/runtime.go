package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/component"
	"github.com/deedrun/deed/internal/failure"
	"github.com/deedrun/deed/internal/wordpress"
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
	a.runtime.stack = stack
	a.runtime.resolved, err = component.Resolve(ctx, req)
	if err != nil {
		return classify(ctx, failure.Infra, "place components", err)
	}
	a.note("components", a.runtime.resolved)
	return nil
}

// site lays out a WordPress of its own for one cell, and returns the mounts that make it. Without WordPress these are
// the components alone.
func (a *run) site(ctx context.Context, p place) (*wordpress.Site, []component.Mount, error) {
	if a.runtime.stack.WordPress == "" {
		return nil, a.runtime.resolved.Mounts, nil
	}
	opt := wordpress.Options{
		Version: a.runtime.stack.WordPress, Cache: filepath.Join(a.Home.Cache(), "wordpress"), Dir: p.site,
		Mounts: append(a.treeMounts(p), a.runtime.resolved.Mounts...), MUPlugins: a.runtime.resolved.MUPlugins, Plugins: a.runtime.resolved.Plugins,
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

// boot starts the WordPress of a cell once and activates its plugins.
func (a *run) boot(ctx context.Context, c cell) (*wordpress.Boot, error) {
	if c.site == nil {
		return nil, nil
	}
	b, err := c.site.Boot(ctx, component.Inside(c.box, a.sup, phpTimeout), a.runtime.resolved.Components)
	if errors.Is(err, wordpress.ErrBoot) {
		return nil, failure.New(failure.Config, "start WordPress", err, "look at the plugins and components of the request")
	}
	if err != nil {
		return nil, classify(ctx, failure.Infra, "start WordPress", err)
	}
	return &b, nil
}

// phpTimeout bounds one start of PHP that deed itself asks for.
const phpTimeout = time.Minute

// componentRecords is what became of the components, for whoever asked for them.
func (a *run) componentRecords() []json.RawMessage {
	var out []json.RawMessage
	for _, c := range a.runtime.resolved.Components {
		out = append(out, mustJSON(c))
	}
	return out
}
