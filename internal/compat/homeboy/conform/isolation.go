package conform

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/isolate/toolchain"
)

// isolation is the isolation that commands get. One that was asked for and is not available is an error: an untrusted
// command never gets less.
func isolation(ctx context.Context, asked sandbox.Kind) (sandbox.Kind, error) {
	kind := asked
	if asked == "" {
		kind = sandbox.Namespace
	}
	_, err := sandbox.New(ctx, sandbox.Spec{Kind: kind})
	if err != nil && asked == "" {
		return sandbox.Process, nil
	}
	return kind, err
}

// contained runs a command in a sandbox: of this machine it sees the package, what readiness found for it and its
// toolchain, all read-only, and its own stage. There is no network.
func (p *subject) contained(ctx context.Context, st stage, pkg *runtimepkg.Package, cmd runtimepkg.Command, spec proc.Spec) (proc.Exit, error) {
	mounts, names := pkg.Shown(cmd, slices.Collect(maps.Values(p.exports)), p.opt.Environ, true)
	tools := toolchain.Find(p.opt.Environ, names, st.tmp)
	for _, m := range tools.Mounts {
		m.Target = cmp.Or(m.Target, m.Source)
		if !slices.ContainsFunc(mounts, func(o sandbox.Mount) bool { return o.Target == m.Target }) {
			mounts = append(mounts, sandbox.Mount{Source: m.Source, Target: m.Target})
		}
	}
	mounts = append(mounts, sandbox.Mount{Source: st.top, Target: st.top, Writable: true})
	box, err := sandbox.New(ctx, sandbox.Spec{Kind: p.opt.Isolation, Mounts: mounts, Watch: []string{st.top}})
	if err != nil {
		return proc.Exit{}, err
	}
	env := tools.Env
	maps.Copy(env, box.Env())
	for _, name := range []string{"HOME", "TMPDIR", "LANG", "XDG_CACHE_HOME"} {
		delete(env, name) // those of the stage
	}
	for name, value := range env {
		spec.Env = append(spec.Env, name+"="+value)
	}
	exit, err := box.Run(ctx, p.sup, spec)
	if exit.Signal == "" && exit.Code > 128 {
		exit.Signal = unix.SignalName(syscall.Signal(exit.Code - 128)) // in a sandbox a signal is seen only as an exit code
	}
	return exit.Exit, err
}
