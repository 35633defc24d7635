package extension

import (
	"fmt"
	"strings"
)

// NotApplicable says that nothing serves a capability of a component: a clean skip, not a failure.
type NotApplicable struct {
	Component  string
	Capability string
	Linked     []string // the component's extensions, none of which has the capability
	Detected   []string // deed's own that the files call for, none of which has it
}

func (e *NotApplicable) Error() string {
	switch {
	case len(e.Linked) > 0:
		return fmt.Sprintf("%s is not applicable to %s: none of its extensions has it (%s)", e.Capability, e.Component, strings.Join(e.Linked, ", "))
	case len(e.Detected) > 0:
		return fmt.Sprintf("%s is not applicable to %s: none of deed's extensions for its files has it (%s)", e.Capability, e.Component, strings.Join(e.Detected, ", "))
	}
	return fmt.Sprintf("%s is not applicable to %s: no extension of its own has it, and its files call for none that deed brings", e.Capability, e.Component)
}

// Ambiguous says that several of a component's extensions have a capability, and none was chosen.
type Ambiguous struct {
	Component  string
	Capability string
	Rivals     []string
}

func (e *Ambiguous) Error() string {
	return fmt.Sprintf("%s of %s: %s have it (choose with --extension %s, or for good with capability_extensions: {%q: %q} in the component's file; an extension whose composition.includes names the others wins by itself)",
		e.Capability, e.Component, strings.Join(e.Rivals, " and "), e.Rivals[0], e.Capability, e.Rivals[0])
}

// NotInstalled says that a requested extension was not found in any place.
type NotInstalled struct {
	ID     string
	Looked []string
	Known  []string
}

// served are extensions that deed brings under another name.
var served = map[string]string{"nodejs": "node", "golang": "go", "wordpress": "php"}

func (e *NotInstalled) Error() string {
	remedy := "put it into one of them, name its directory with --extension PATH, or take it out of the component's file"
	if own := served[e.ID]; own != "" {
		remedy += fmt.Sprintf("; --extension %s uses the one that deed brings", own)
	}
	return fmt.Sprintf("extension %q is not installed: there is no %s/%s.json in %s (%s; there are: %s)",
		e.ID, e.ID, e.ID, strings.Join(e.Looked, ", "), remedy, strings.Join(e.Known, ", "))
}

// Unfit says that an extension is there and cannot be used as it is: its version, or a host that it does not accept.
type Unfit struct {
	ID     string
	Reason string
	Remedy string
}

func (e *Unfit) Error() string {
	return fmt.Sprintf("extension %q cannot be used: %s (%s)", e.ID, e.Reason, e.Remedy)
}

// NoScript says that an extension has a capability and no script that could be run for it.
type NoScript struct {
	ID         string
	Capability string
	Script     string // the file that was looked for; empty: the manifest names none
	Reason     string
	Remedy     string
}

func (e *NoScript) Error() string {
	return fmt.Sprintf("extension %q has no %s that can be run: %s (%s)", e.ID, e.Capability, e.Reason, e.Remedy)
}
