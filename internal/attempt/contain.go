package attempt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/attempt/wordpress"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/isolate/toolchain"
)

// Where a contained process sees its directories. It never sees a path of the machine itself.
const (
	insideWorkspace = "/workspace"
	insideHome      = "/home/agent"
	insideTmp       = "/tmp"
	insideDeedDir   = "/run/deed"
	insideArtifacts = "/run/deed/artifacts"
	insideExchange  = "/run/deed/exchange"
	insideAgent     = "/run/deed/agent" // an adapter's own program
	cacheDir        = ".cache"          // below the home of a contained process
)

// A cell is the containment of one process tree, the agent's or a check's, with the environment that fits it.
type cell struct {
	box  *sandbox.Sandbox
	site *wordpress.Site // nil without WordPress
	env  map[string]string
	home string // as seen inside
	tmp  string

	targets []string // the mounts, by their path inside
}

// A place says which directories of the machine a cell may write to.
type place struct {
	tree, home, tmp, cache string
	site                   string // for a WordPress of its own; absent yet
	more                   []sandbox.Mount
	egress                 string // the proxy's socket; empty: no network
	readOnly               bool   // the tree may be read only
}

// contained reports whether processes see a file system of their own.
func (p plan) contained() bool { return p.kind == sandbox.Namespace || p.kind == sandbox.Container }

// CheckTarget refuses a target of a caller that would cover, or be covered by, what deed has in every sandbox.
func CheckTarget(target string) error {
	if workspace.Within(target, insideDeedDir) || workspace.Within(insideDeedDir, target) {
		return errors.New("is where deed has its own files")
	}
	for own, what := range ownTargets {
		if workspace.Within(own, target) {
			return errors.New("is or holds " + what)
		}
	}
	return sandbox.CheckTarget(target)
}

// ownTargets are the directories that every contained agent has.
var ownTargets = map[string]string{insideHome: "the agent's home", insideTmp: "its directory for temporary files"}

// checkPlaces refuses mounts that a contained agent must not see, and targets that deed itself needs: such a mount
// would silently hide what is there.
func (a *run) checkPlaces(p plan) error {
	if !p.contained() {
		return nil
	}
	var l fault.List
	taken := maps.Clone(ownTargets)
	claim := func(at, target string) {
		if by := taken[target]; by != "" {
			l.Add(at, fault.Conflict, fmt.Sprintf("%q is %s", target, by), "choose another target")
			return
		}
		taken[target] = "the target of " + at
	}
	for i, part := range p.parts {
		claim(fault.Index("$.deed.workspaces", i)+".target", part.Target)
	}
	if p.spec.Sandbox != nil {
		for i, m := range p.spec.Sandbox.Mounts {
			at := fault.Index("$.deed.sandbox.mounts", i)
			claim(at+".target", m.Inside())
			if a.Home.Overlaps(m.Source) && !a.Home.Published(m.Source) {
				l.Add(at+".source", fault.NotAllowed, fmt.Sprintf("%q shows deed's home, with its queue and its signing key", m.Source), "mount a directory apart from it")
			}
			if sandbox.HoldsSockets(m.Source) {
				l.Add(at+".source", fault.NotAllowed, fmt.Sprintf("%q is where services have their sockets, which lead past the network wall", m.Source), "mount a directory apart from it")
			}
		}
	}
	return l.Err()
}

// checkUnsandboxed refuses mounts with another path inside if the agent has no sandbox: without one, a file is only seen at
// its own path.
func checkUnsandboxed(p plan) error {
	if p.contained() || p.spec.Sandbox == nil {
		return nil
	}
	var l fault.List
	for i, m := range p.spec.Sandbox.Mounts {
		if workspace.TruePath(m.Inside()) != workspace.TruePath(m.Source) {
			l.Add(fault.Index("$.deed.sandbox.mounts", i), fault.NotAllowed, fmt.Sprintf("isolation %s cannot show %q at %q", p.kind, m.Source, m.Inside()), "")
		}
	}
	return l.Err()
}

// contain builds the agent's cell and, if hosts are allowed, starts the proxy that is the only way to them.
func (a *run) contain(ctx context.Context) error {
	p := place{
		tree: a.path("workspace"), home: a.path("home"), tmp: a.path("tmp"), cache: filepath.Join(a.Home.Cache(), "agents"), site: a.path("site"),
		more: []sandbox.Mount{
			{Source: a.path("artifacts"), Target: insideArtifacts, Writable: true},
			{Source: a.path("exchange"), Target: insideExchange, Writable: true},
		},
	}
	program, err := a.program(ctx)
	if err != nil {
		return err
	}
	p.more = append(p.more, program...)
	p.more = append(p.more, a.skillMounts()...)
	fit := a.plan.fit
	p.readOnly = fit.ReadOnly != ""
	p.more = append(p.more, a.writable(fit.Writable, p.readOnly)...)
	allow := a.plan.hosts
	if s := a.plan.spec.Sandbox; s != nil {
		p.readOnly = p.readOnly || s.ReadOnlyWorkspace
		allow = slices.Concat(allow, s.Network)
	}
	if len(allow) > 0 && a.plan.contained() {
		if err := a.openEgress(ctx); err != nil {
			return err
		}
		p.egress = a.path(egressSocket)
	}
	c, err := a.cell(ctx, p)
	if err != nil {
		return err
	}
	a.agent = c
	if s := a.plan.spec.Sandbox; s != nil && len(s.Tools) > 0 {
		a.note("tool_policy", s.Tools)
	}
	a.note("contained", map[string]any{"kind": a.plan.kind, "walls": c.box.Restrictions(), "toolchains": a.toolchains(), "mounts": c.targets})
	return a.bootAgent(ctx)
}

// cell builds the containment of one process tree.
func (a *run) cell(ctx context.Context, p place) (cell, error) {
	c := cell{home: p.home, tmp: p.tmp}
	tools := toolchain.Find(a.Environ, a.toolchains(), filepath.Join(insideHome, cacheDir))
	spec := sandbox.Spec{Kind: a.plan.kind, Limits: limits(a.plan.spec.Sandbox), Watch: []string{p.tree, p.home, p.tmp}, Egress: p.egress}
	if p.egress != "" {
		spec.Loopback = a.egress.loopback()
	}
	for _, m := range p.more {
		if m.Writable {
			spec.Watch = append(spec.Watch, m.Source)
		}
	}
	if a.plan.contained() {
		site, mounts, err := a.site(ctx, p)
		if err != nil {
			return c, err
		}
		c.site, spec.Mounts = site, a.mounts(p, mounts, tools.Mounts)
		if site != nil {
			spec.Watch = append(spec.Watch, site.Writable()...)
		}
		for _, m := range spec.Mounts {
			c.targets = append(c.targets, m.Target)
		}
		c.home, c.tmp = insideHome, insideTmp
	}
	var err error
	if c.box, err = sandbox.New(ctx, spec); err != nil {
		return c, classify(ctx, failure.Infra, "build the sandbox", err)
	}
	if a.plan.contained() {
		c.env = tools.Env
		c.env["USER"], c.env["LOGNAME"] = "agent", "agent" // as the files inside say
	} else {
		c.env = inherited(a.Environ, p.cache)
	}
	maps.Copy(c.env, c.box.Env())
	if c.site != nil {
		c.env["PATH"] = wordpress.BinDir + ":" + c.env["PATH"]
	}
	if p.egress != "" {
		proxied(c.env, a.egress.rules)
	}
	if s := a.plan.spec.Sandbox; s != nil {
		maps.Copy(c.env, s.Env)
	}
	return c, nil
}

// mounts lists what a contained process sees besides the system, each target once; the first entry for a target wins.
func (a *run) mounts(p place, runtime []component.Mount, tools []deed.Mount) []sandbox.Mount {
	out := []sandbox.Mount{
		{Source: p.home, Target: insideHome, Writable: true},
		{Source: p.tmp, Target: insideTmp, Writable: true},
	}
	tree := a.treeMounts(p)
	for i, m := range component.Bound(append(tree, runtime...)) {
		m.Own = i < len(tree) // a copy
		if !slices.ContainsFunc(out, func(o sandbox.Mount) bool { return o.Target == m.Target }) {
			out = append(out, m)
		}
	}
	out = append(out, p.more...)
	add := func(m deed.Mount) {
		if !slices.ContainsFunc(out, func(o sandbox.Mount) bool { return o.Target == m.Inside() }) {
			out = append(out, sandbox.Mount{Source: m.Source, Target: m.Inside()})
		}
	}
	if s := a.plan.spec.Sandbox; s != nil {
		for _, m := range s.Mounts {
			add(m)
		}
	}
	for _, m := range tools {
		add(m)
	}
	return out
}

// treeMounts mounts each part of the workspace at its target.
func (a *run) treeMounts(p place) []component.Mount {
	var out []component.Mount
	for _, m := range a.seeded.Layout.Mounts {
		out = append(out, component.Mount{
			Source: filepath.Join(p.tree, filepath.FromSlash(m.Tree)), Target: m.Target, ReadOnly: p.readOnly || a.plan.readOnly(m.Index),
		})
	}
	return out
}

// toolchains returns those that the task names, else those that the files of the base ask for. The agent has no
// influence on it.
func (a *run) toolchains() []string {
	if s := a.plan.spec.Sandbox; s != nil && s.Toolchains != nil {
		return slices.Concat(*s.Toolchains, a.plan.fit.Toolchains)
	}
	found := slices.Concat([]string{}, a.plan.fit.Toolchains)
	for _, m := range a.seeded.Layout.Mounts {
		if !m.File {
			found = append(found, toolchain.Detect(filepath.Join(a.untouched(), filepath.FromSlash(m.Tree)))...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// program returns the files that make up the agent's program, as its driver knows them, else the adapter's executable
// alone.
func (a *run) program(ctx context.Context) ([]sandbox.Mount, error) {
	if _, ok := a.plan.driver.(driver.Fitted); ok {
		return a.plan.fit.Mounts, nil
	}
	if d, ok := a.plan.driver.(driver.Mounted); ok && a.plan.contained() {
		list, err := d.Mounts(a.plan.adapter)
		if err != nil {
			return nil, classify(ctx, failure.Spawn, "find the agent's program", err)
		}
		return list, nil
	}
	file, err := program(a.plan.adapter)
	if err != nil || file == "" {
		return nil, err
	}
	return []sandbox.Mount{{Source: file, Target: filepath.Join(insideAgent, filepath.Base(file))}}, nil
}

// program returns an adapter's own executable if it is outside of what every sandbox has. The agent sees it at a path
// that reveals nothing about the machine; further files that it needs are mounts of the task.
func program(c agentruntime.AdapterConfig) (string, error) {
	command := c.Common().Command
	if !filepath.IsAbs(command) || toolchain.InSystem(command) {
		return "", nil
	}
	file, err := filepath.EvalSymlinks(command)
	if err != nil {
		return "", failure.New(failure.Spawn, "find the command", err, "give the adapter a command that exists")
	}
	if toolchain.InSystem(file) {
		return "", nil
	}
	return file, nil
}

func limits(s *deed.Sandbox) sandbox.Limits {
	if s == nil || s.Limits == nil {
		return sandbox.Limits{}
	}
	l := s.Limits
	return sandbox.Limits{MemoryBytes: l.MemoryBytes, Processes: l.Processes, FileBytes: l.FileBytes, OpenFiles: l.OpenFiles, DiskBytes: l.DiskBytes}
}
