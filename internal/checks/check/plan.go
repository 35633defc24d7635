package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/checks/project"
	"github.com/deedrun/deed/internal/checks/sidecar"
	"github.com/deedrun/deed/internal/checks/testreport"
)

// ScriptExtension is the id under which a component's own scripts run.
const ScriptExtension = "component-script"

// A Job is a capability of a component, and where to look for who serves it.
type Job struct {
	Component  project.Component
	Extensions *extension.Set
	Capability string
	Choice     extension.Options
	Settings   []extension.Setting
	Options    Options
}

// Requests resolves the job: one request for every extension that serves it, in order. The caller gives each a place, a
// run directory and somebody to run it. The errors are those of extension.Set.Resolve, *extension.NotApplicable among them.
func (j Job) Requests() ([]Request, extension.Plan, error) {
	plan, err := j.Extensions.Resolve(j.Component, j.Capability, j.Choice)
	if err != nil {
		return nil, plan, err
	}
	base := Request{
		Capability: j.Capability, ComponentID: j.Component.ID, Component: Here(j.Component.Path), Options: j.Options,
		Env: j.Component.Env,
	}
	if len(plan.Scripts) > 0 {
		r := base
		r.ExtensionID, r.Extension, r.Commands = ScriptExtension, j.Component.Path, slices.Clone(plan.Scripts)
		r.Hooks = j.hooks(plan)
		return []Request{r}, plan, nil
	}
	var out []Request
	for _, e := range plan.Extensions {
		r := base
		if err := j.served(&r, e); err != nil {
			return nil, plan, err
		}
		out = append(out, r)
	}
	// What comes before the capability comes before its first script, and what comes after, after its last.
	if h := j.hooks(plan); len(out) > 0 {
		out[0].Hooks.Pre, out[len(out)-1].Hooks.Post = h.Pre, h.Post
	}
	return out, plan, nil
}

// served fills a request with what one extension says.
func (j Job) served(r *Request, e extension.Extension) (err error) {
	r.ExtensionID, r.Extension, r.Digest = e.ID, e.Path, e.Digest
	if r.Settings, err = e.Settings(j.Component, j.Settings); err != nil {
		return err
	}
	cmd, err := e.Command(j.Component, j.Capability, nil)
	if err != nil {
		return err
	}
	r.Commands = []string{cmd.Line}
	if r.Declared, err = declared(e); err != nil {
		return err
	}
	switch j.Capability {
	case runner.Build:
		pre, err := e.PreBuild()
		if err != nil {
			return err
		}
		if pre.Line != "" {
			r.Commands = []string{pre.Line, cmd.Line}
		}
		r.Artifact = artifactPattern(j.Component, e)
		r.Versions = j.Component.VersionTargets
	case runner.Test:
		if raw := e.Manifest.Test.ResultParse; len(raw) > 0 {
			r.Parse = new(testreport.Spec)
			if err := json.Unmarshal(raw, r.Parse); err != nil {
				return fmt.Errorf("extension %q: test.result_parse: %w", e.ID, err)
			}
		}
	}
	return nil
}

// declared reads where an extension says that it writes its sidecars: structured_sidecars has for each a yes or no, or an
// object that may name a path below the run directory.
func declared(e extension.Extension) (map[string]string, error) {
	var list map[string]json.RawMessage
	if raw := e.Manifest.StructuredSidecars; len(raw) > 0 {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("extension %q: structured_sidecars: %w", e.ID, err)
		}
	}
	paths := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		var entry struct {
			Path *string `json:"path"`
		}
		if err := json.Unmarshal(list[name], &entry); err != nil || entry.Path == nil {
			continue // true or false: the usual place
		}
		files := sidecar.Paths("/")
		if err := files.Declare(name, *entry.Path); err != nil {
			return nil, fmt.Errorf("extension %q: structured_sidecars: %w", e.ID, err)
		}
		paths[name] = *entry.Path
	}
	return paths, nil
}

func (j Job) hooks(plan extension.Plan) Hooks {
	lines := func(event string) (out []string) {
		for _, h := range plan.Hooks(j.Component, event+":"+j.Capability) {
			out = append(out, h.Command)
		}
		return out
	}
	return Hooks{Pre: lines("pre"), Post: lines("post")}
}
