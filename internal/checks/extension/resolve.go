package extension

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/project"
)

// Options change what Resolve chooses.
type Options struct {
	Use       []string // --extension: ids that serve in place of the component's own, all of them together
	NoScripts bool     // self-hosted scripts do not serve: they can neither fix nor tell of drift
	Version   string   // deed's own, for requires.deed; empty or no version: it is not asked
}

// A Plan is who serves a capability of a component: commands of its own, or extensions. Several extensions run one after
// the other, and their results are one.
type Plan struct {
	Capability string
	Scripts    []string // of the component itself, for sh -c in its directory; then there are no extensions
	Extensions []Extension
	Detected   bool     // by the files of the component, since it links no extension
	Why        string   // for people
	Notes      []string // what a person might not expect
}

// Resolve chooses. The errors are *NotApplicable, *Ambiguous, *NotInstalled, *Unfit and *NoScript, or what is wrong with a
// manifest.
func (s *Set) Resolve(c project.Component, capability string, o Options) (Plan, error) {
	p := Plan{Capability: capability}
	if !slices.Contains([]string{runner.Lint, runner.Test, runner.Build}, capability) {
		return p, fmt.Errorf("capability %q has no script (use %s, %s or %s)", capability, runner.Lint, runner.Test, runner.Build)
	}
	if list := c.Scripts[capability]; len(list) > 0 && len(o.Use) == 0 && !o.NoScripts {
		p.Scripts = list
		p.Why = "the component's own scripts"
		return p, nil
	}
	chosen, err := s.choose(c, capability, o, &p)
	if err != nil {
		return p, err
	}
	for _, e := range chosen {
		if err := fits(e, c, o); err != nil {
			return p, err
		}
		if _, err := e.Command(c, capability, nil); err != nil {
			return p, err
		}
		for _, hidden := range e.Hides {
			p.Notes = append(p.Notes, fmt.Sprintf("extension %s is the one of %s; %s is not used", e.ID, e.Path, hidden))
		}
	}
	p.Extensions = chosen
	return p, nil
}

// choose finds the extensions, and says why in the plan.
func (s *Set) choose(c project.Component, capability string, o Options, p *Plan) ([]Extension, error) {
	if len(o.Use) > 0 {
		p.Why = "--extension names it"
		return s.named(c, capability, o.Use)
	}
	linked := slices.Sorted(maps.Keys(c.Extensions))
	p.Why = "the component links it"
	if len(linked) == 0 {
		linked = s.ofProject(capability)
		p.Why = "it is an extension of the project's own, and the component links none"
	}
	if len(linked) == 0 {
		return s.detected(c, capability, p)
	}
	rivals, err := s.having(linked, capability)
	if err != nil {
		return nil, err
	}
	switch len(rivals) {
	case 0:
		return nil, &NotApplicable{Component: c.ID, Capability: capability, Linked: linked}
	case 1:
		return rivals, nil
	}
	one, why, err := primary(c, capability, rivals)
	if err != nil {
		return nil, err
	}
	p.Why = why
	return []Extension{one}, nil
}

// named are those that a person chose. A choice that cannot serve is an error.
func (s *Set) named(c project.Component, capability string, ids []string) ([]Extension, error) {
	var out []Extension
	var faults []error
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		e, err := s.Get(id)
		switch {
		case err != nil:
			faults = append(faults, err)
		case e.Manifest.Has(capability):
			out = append(out, e)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, &NotApplicable{Component: c.ID, Capability: capability, Linked: ids}
	}
	return out, nil
}

// having loads extensions and keeps those with a capability. One that cannot be loaded is an error: it might be the one.
func (s *Set) having(ids []string, capability string) ([]Extension, error) {
	var out []Extension
	var faults []error
	for _, id := range ids {
		e, err := s.Get(id)
		switch {
		case err != nil:
			faults = append(faults, err)
		case e.Manifest.Has(capability):
			out = append(out, e)
		}
	}
	return out, errors.Join(faults...)
}

// ofProject lists the extensions that the project keeps in its own tree and that have a capability. One that cannot be read is
// listed too: a request for it reports what is wrong.
func (s *Set) ofProject(capability string) []string {
	var ids []string
	for _, id := range s.IDs() {
		if s.found[id][0].from != FromProject {
			continue
		}
		if e, err := s.Get(id); err != nil || e.Manifest.Has(capability) {
			ids = append(ids, id)
		}
	}
	return ids
}

// primary chooses among several: as the component says, else the one that includes all others.
func primary(c project.Component, capability string, rivals []Extension) (Extension, string, error) {
	ids := make([]string, len(rivals))
	for i, r := range rivals {
		ids[i] = r.ID
	}
	if want := c.CapabilityExtensions[capability]; want != "" {
		if i := slices.Index(ids, want); i >= 0 {
			return rivals[i], "capability_extensions names it", nil
		}
		return Extension{}, "", fmt.Errorf("capability_extensions.%s of %s is %q, which is not one of its extensions with that capability (name one of %s)", capability, c.ID, want, strings.Join(ids, ", "))
	}
	for _, r := range rivals {
		if !slices.ContainsFunc(ids, func(id string) bool {
			return id != r.ID && !slices.Contains(r.Manifest.Composition.Includes, id)
		}) {
			return r, "it includes the others", nil
		}
	}
	return Extension{}, "", &Ambiguous{Component: c.ID, Capability: capability, Rivals: ids}
}

// fits holds an extension against the version that the component asks for, and the host against what the extension asks
// for.
func fits(e Extension, c project.Component, o Options) error {
	if want := c.Extensions[e.ID].Version; strings.TrimSpace(want) != "" {
		ok, err := Matches(want, e.Manifest.Version)
		if err != nil {
			return &Unfit{ID: e.ID, Reason: fmt.Sprintf("its version cannot be compared with %q: %v", want, err), Remedy: "correct the version in the manifest or the constraint in the component's file"}
		}
		if !ok {
			return &Unfit{ID: e.ID, Reason: fmt.Sprintf("it is version %s, and the component asks for %s", e.Manifest.Version, want), Remedy: "install another version, or change the constraint in the component's file"}
		}
	}
	hosts := []struct{ name, want, have string }{
		{"homeboy", e.Manifest.Requires.Homeboy, ContractVersion},
		{"deed", e.Manifest.Requires.Deed, o.Version},
	}
	for _, h := range hosts {
		if _, err := parseVersion(h.have); strings.TrimSpace(h.want) == "" || err != nil {
			continue // nothing is asked, or this is a build without a version
		}
		ok, err := Matches(h.want, h.have)
		if err != nil {
			return &Unfit{ID: e.ID, Reason: fmt.Sprintf("requires.%s: %v", h.name, err), Remedy: "correct it in the manifest"}
		}
		if !ok {
			return &Unfit{ID: e.ID, Reason: fmt.Sprintf("it requires %s %s, and this is %s", h.name, h.want, h.have), Remedy: "install a version of the extension for this host"}
		}
	}
	return nil
}
