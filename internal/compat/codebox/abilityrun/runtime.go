package abilityrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/attempt/wordpress"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/codebox/ability"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// PrincipalEnv is the variable that says on whose behalf an ability runs, as JSON.
const PrincipalEnv = "DEED_PRINCIPAL"

// runtime makes the disposable runtime: the components, WordPress when the ability is not a plain command, and the
// namespace around them, which has no network. The returned function ends its processes.
func (r *run) runtime(ctx context.Context, limit time.Duration) (rt ability.Runtime, done func(), err error) {
	done = func() {}
	runner := r.Engine.Runner
	r.dir = filepath.Join(r.Engine.Home.Attempts(), r.job.Record.ID())
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return rt, done, fmt.Errorf("make the run's directory: %w", err)
	}
	req := component.RequestOf(r.req.Stack())
	req.Dir, req.Home = filepath.Join(r.dir, "components"), r.Engine.Home.Root()
	resolved, err := component.Resolve(ctx, req)
	r.res.ComponentContracts = resolved.Components
	if err != nil {
		return rt, done, err
	}
	rt = ability.Runtime{
		Components: slices.Concat(resolved.MUPlugins, resolved.Plugins), Env: r.environ(),
		Lookup: func(name string) (string, bool) {
			v := proc.Getenv(runner.Environ, name)
			return v, v != ""
		},
	}
	spec := sandbox.Spec{Kind: sandbox.Namespace, Mounts: component.Bound(resolved.Mounts)}
	if r.wantsWordPress(rt.Components) {
		if rt.Site, err = r.site(ctx, resolved); err != nil {
			return rt, done, err
		}
		spec.Mounts, spec.Watch = component.Bound(rt.Site.Mounts()), rt.Site.Writable()
	}
	box, err := sandbox.New(ctx, spec)
	if err != nil {
		return rt, done, sandbox.Otherwise(err, "")
	}
	sup, err := proc.IdleSupervisor(proc.Options{})
	if err != nil {
		return rt, done, fmt.Errorf("start the supervisor: %w", err)
	}
	done = func() { _ = sup.Close() } // whatever is left of the runtime ends with it
	rt.Run = component.Inside(box, sup, limit)
	return rt, done, r.boot(ctx, rt)
}

// wantsWordPress reports whether WordPress is to be started: when the request names a version, or when one is installed
// and the ability is not a command that needs none.
func (r *run) wantsWordPress(components []component.Plugin) bool {
	if r.req.WP != "" {
		return true
	}
	offers, err := ability.Offered(components)
	if r.Engine.Runner.Config.WordPress == nil || err != nil { // the invocation reports the error
		return false
	}
	return !slices.ContainsFunc(offers, func(o ability.Offer) bool {
		return o.Ability.Name == r.req.Ability && len(o.Ability.Command) > 0
	})
}

func (r *run) site(ctx context.Context, resolved component.Resolved) (*wordpress.Site, error) {
	w := r.Engine.Runner.Config.WordPress
	return wordpress.Prepare(ctx, wordpress.Options{
		Archive: w.Archive, SQLite: w.SQLite, PHP: w.PHP, Version: r.req.WP,
		Cache: filepath.Join(r.Engine.Home.Cache(), "wordpress"), Dir: filepath.Join(r.dir, "site"),
		Mounts: resolved.Mounts, MUPlugins: resolved.MUPlugins, Plugins: resolved.Plugins, Env: r.environ(),
	})
}

// boot starts WordPress once, so that its plugins are active when the ability runs.
func (r *run) boot(ctx context.Context, rt ability.Runtime) error {
	if rt.Site == nil {
		component.Mounted(r.res.ComponentContracts)
		return nil
	}
	b, err := rt.Site.Boot(ctx, rt.Run, r.res.ComponentContracts)
	if len(b.Runs) > 0 {
		r.output = b.Runs[len(b.Runs)-1].Output
	}
	if errors.Is(err, wordpress.ErrBoot) {
		return failure.New(failure.Config, "start WordPress", err, "look at the plugins and components of the request")
	}
	return err
}
