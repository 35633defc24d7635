package runtimepkg

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
)

// An Ask is what a request wants of a provider. Nothing in it has a default here: which backend is the default is the
// caller's to know.
type Ask struct {
	Backend      string   // executor.backend
	Selector     string   // executor.selector: the id of a provider
	Runtime      string   // the id of a package, where the request names one
	Capabilities []string // all of them must be declared
	Model        string
	AIProvider   string // executor.config.provider; for hints alone
}

// A Selection is the one provider that a request gets, and why.
type Selection struct {
	Package    *Package
	Provider   homeboy.ExecutorProvider
	Deprecated *Deprecated // the request named the package by an alias
	Warnings   []string
	Candidates []Candidate
}

// A Candidate is a provider that was looked at.
type Candidate struct {
	Package  string `json:"package"`
	Provider string `json:"provider"`
	Backend  string `json:"backend"`
	Status   string `json:"status,omitempty"`
	Chosen   bool   `json:"chosen"`
	Why      string `json:"why"`
}

// The codes of a selection that failed. Programs decide on these.
const (
	SelectionRequired     = "agent_task.backend_selection_required"
	ProviderMissing       = "agent_task.provider_missing"
	SelectorMismatch      = "agent_task.provider_selector_mismatch"
	ProviderAmbiguous     = "agent_task.provider_ambiguous"
	ProviderDisabled      = "agent_task.provider_disabled"
	CapabilityUnavailable = "agent_task.provider_capability_unavailable"
	ModelUnsupported      = "agent_task.provider_model_unsupported"
)

// A SelectError says why no provider was chosen. Nothing was started.
type SelectError struct {
	Code       string
	Message    string
	Remedy     string
	Missing    []string // capabilities
	Candidates []Candidate
}

func (e *SelectError) Error() string {
	if e.Remedy == "" {
		return e.Message
	}
	return e.Message + " (" + e.Remedy + ")"
}

// Class is the failure class of an outcome that says so.
func (e *SelectError) Class() homeboy.FailureClass {
	if e.Code == CapabilityUnavailable || e.Code == ModelUnsupported {
		return homeboy.ClassCapabilityMissing
	}
	return homeboy.ClassInvalidInput
}

// An option is a provider while it is chosen from.
type option struct {
	pkg  *Package
	x    homeboy.ExecutorProvider
	seen *Candidate
}

// A chooser narrows the providers of a catalog down, and writes down why each fell out.
type chooser struct {
	c     *Catalog
	ask   Ask
	all   []*option
	alias *Deprecated
}

// Select chooses exactly one provider, or none. The error is a *SelectError.
func (c *Catalog) Select(ask Ask) (*Selection, error) {
	ch := &chooser{c: c, ask: ask, all: c.options()}
	o, err := ch.choose()
	var seen []Candidate
	for _, x := range ch.all {
		seen = append(seen, *x.seen)
	}
	if err != nil {
		err.Candidates = seen
		return nil, err
	}
	return &Selection{Package: o.pkg, Provider: o.x, Deprecated: ch.alias, Warnings: ch.warnings(o), Candidates: seen}, nil
}

// Providers lists every provider that can be used at all, as if it had been selected.
func (c *Catalog) Providers() []*Selection {
	var out []*Selection
	for _, o := range c.options() {
		if o.seen.Why == "" {
			out = append(out, &Selection{Package: o.pkg, Provider: o.x, Warnings: (&chooser{}).warnings(o)})
		}
	}
	return out
}

// options lists every provider, those that cannot be used with the reason.
func (c *Catalog) options() []*option {
	carriers := map[string]int{}
	for _, p := range c.Packages {
		for _, x := range p.Manifest.AgentTaskExecutors {
			carriers[x.ID]++
		}
	}
	var all []*option
	for _, p := range c.Packages {
		for _, x := range p.Manifest.AgentTaskExecutors {
			o := &option{pkg: p, x: x, seen: &Candidate{Package: p.ID, Provider: x.ID, Backend: x.Backend, Status: x.Status}}
			switch err := p.usable(x); {
			case err != nil:
				o.seen.Why = "it cannot be used: " + err.Error()
			case carriers[x.ID] > 1:
				o.seen.Why = fmt.Sprintf("%d providers have the id %q, and none of them is used", carriers[x.ID], x.ID)
			}
			all = append(all, o)
		}
	}
	return all
}

// usable says why a declaration cannot be run, whatever the request.
func (p *Package) usable(x homeboy.ExecutorProvider) error {
	if err := x.Validate(); err != nil {
		return err
	}
	_, err := p.Command(x)
	return err
}

// filter returns the options that pass, and notes for the others why they do not. An option that was dropped stays dropped.
func (ch *chooser) filter(test func(*option) string) []*option {
	var left []*option
	for _, o := range ch.all {
		if o.seen.Why != "" {
			continue
		}
		if o.seen.Why = test(o); o.seen.Why == "" {
			left = append(left, o)
		}
	}
	return left
}

func (ch *chooser) choose() (*option, *SelectError) {
	if strings.TrimSpace(ch.ask.Backend) == "" {
		ch.filter(func(*option) string { return "the request names no backend" })
		return nil, &SelectError{
			Code: SelectionRequired, Message: "executor.backend is missing, and there is no default",
			Remedy: "name one of: " + ch.backends(),
		}
	}
	if err := ch.ofRuntime(); err != nil {
		return nil, err
	}
	left, err := ch.ofBackend()
	if err != nil {
		return nil, err
	}
	if left, err = ch.enabled(left); err != nil {
		return nil, err
	}
	left = ch.dropShipped(left)
	if len(left) > 1 {
		for _, o := range left {
			o.seen.Why = "another provider serves the backend too, and the request has no selector"
		}
		return nil, &SelectError{
			Code: ProviderAmbiguous, Message: fmt.Sprintf("%d providers serve the backend %q: %s", len(left), ch.ask.Backend, providerIDs(left)),
			Remedy: "choose one with executor.selector",
		}
	}
	if err := ch.able(left[0]); err != nil {
		return nil, err
	}
	left[0].seen.Chosen = true
	return left[0], nil
}

// ofRuntime leaves the providers of the package that the request names.
func (ch *chooser) ofRuntime() *SelectError {
	if ch.ask.Runtime == "" {
		return nil
	}
	p, alias, err := ch.c.Get(ch.ask.Runtime)
	if err != nil {
		ch.filter(func(*option) string { return fmt.Sprintf("the request wants the package %q", ch.ask.Runtime) })
		return &SelectError{Code: ProviderMissing, Message: err.Error()}
	}
	ch.alias = alias
	ch.filter(func(o *option) string {
		if o.pkg != p {
			return fmt.Sprintf("the request wants the package %q", p.ID)
		}
		return ""
	})
	return nil
}

// ofBackend leaves the providers of the backend and of the selector. A backend that no provider has may be the id of a
// package, or an alias of one.
func (ch *chooser) ofBackend() ([]*option, *SelectError) {
	want := ch.ask.Backend
	serves := func(o *option) bool { return o.x.Backend == want }
	if !slices.ContainsFunc(ch.all, serves) {
		if p, alias, err := ch.c.Get(want); err == nil {
			ch.alias = alias
			serves = func(o *option) bool { return o.pkg == p }
		}
	}
	var broken []string
	for _, o := range ch.all {
		if o.seen.Why != "" && serves(o) {
			broken = append(broken, fmt.Sprintf("%s: %s", o.x.ID, o.seen.Why))
		}
	}
	left := ch.filter(func(o *option) string {
		if !serves(o) {
			return fmt.Sprintf("it serves the backend %q", o.x.Backend)
		}
		return ""
	})
	if len(left) == 0 {
		return nil, ch.missing(broken)
	}
	if ch.ask.Selector == "" {
		return left, nil
	}
	there := providerIDs(left)
	if left = ch.filter(func(o *option) string {
		if o.x.ID != ch.ask.Selector {
			return fmt.Sprintf("the request selects %q", ch.ask.Selector)
		}
		return ""
	}); len(left) > 0 {
		return left, nil
	}
	return nil, &SelectError{
		Code: SelectorMismatch, Message: fmt.Sprintf("executor.selector %q is no provider of the backend %q, which has: %s", ch.ask.Selector, want, there),
		Remedy: ch.selectorHint(),
	}
}

// selectorHint says what a selector that selects nothing was probably meant as.
func (ch *chooser) selectorHint() string {
	s := ch.ask.Selector
	for _, o := range ch.all {
		_, ai := o.x.ProviderDefaults[s]
		switch {
		case ai || s == ch.ask.AIProvider:
			return fmt.Sprintf("%q is an AI provider: put it into executor.config.provider; the selector is a provider's id", s)
		case s == o.pkg.ID:
			return fmt.Sprintf("%q is a package: the selector is the id of one of its providers", s)
		}
	}
	if s == ch.ask.Model {
		return "that is a model: put it into executor.model; the selector is a provider's id"
	}
	return "name one of them, or leave it out where there is only one"
}

// missing is the error for a backend that no package serves, with all that is known of packages that could have.
func (ch *chooser) missing(broken []string) *SelectError {
	e := &SelectError{
		Code: ProviderMissing, Message: fmt.Sprintf("no provider serves the backend %q", ch.ask.Backend),
		Remedy: fmt.Sprintf("there are: %s; `deed runtime install` or `deed runtime link` adds one", ch.backends()),
	}
	wanted := func(id string) bool {
		return id == ch.ask.Backend || id == ch.ask.Runtime || aliases[ch.ask.Backend] == id
	}
	for _, p := range ch.c.Problems {
		if wanted(p.ID) {
			broken = append(broken, p.Message)
		}
	}
	for _, p := range ch.c.Packages {
		for _, f := range p.Findings {
			// Faults of a declaration that could be read are reported with it, above.
			if wanted(p.ID) && (f.Code == homeboy.WarnDropped || f.Severity == Error && len(p.Manifest.AgentTaskExecutors) == 0) {
				broken = append(broken, fmt.Sprintf("%s.json: %s", p.ID, f))
			}
		}
	}
	if len(broken) > 0 {
		e.Message += ": " + strings.Join(broken, "; ")
	}
	return e
}

func (ch *chooser) enabled(left []*option) ([]*option, *SelectError) {
	on := ch.filter(func(o *option) string {
		if slices.Contains(left, o) && o.x.Status == homeboy.StatusDisabled {
			return "it is disabled"
		}
		return ""
	})
	if len(on) == 0 {
		return nil, &SelectError{Code: ProviderDisabled, Message: fmt.Sprintf("the backend %q is served by %s, which its package disables", ch.ask.Backend, providerIDs(left)), Remedy: "choose another backend"}
	}
	return on, nil
}

// dropShipped removes the packages that deed ships if another one serves the backend too.
func (ch *chooser) dropShipped(left []*option) []*option {
	if !slices.ContainsFunc(left, func(o *option) bool { return o.pkg.From != FromDeed }) {
		return left
	}
	return ch.filter(func(o *option) string {
		if o.pkg.From == FromDeed {
			return "deed ships it, and another package serves the backend"
		}
		return ""
	})
}

// able holds a provider to what the request demands of it.
func (ch *chooser) able(o *option) *SelectError {
	if lacks := lacking(o.x.Capabilities, ch.ask.Capabilities); len(lacks) > 0 {
		o.seen.Why = "it does not declare " + strings.Join(lacks, ", ")
		return &SelectError{
			Code: CapabilityUnavailable, Missing: lacks,
			Message: fmt.Sprintf("provider %q does not declare what the request requires: %s", o.x.ID, strings.Join(lacks, ", ")),
			Remedy:  "choose a provider that does, or require less; it declares: " + joinOrNone(o.x.Capabilities),
		}
	}
	if models := modelsOf(o.x); ch.ask.Model != "" && len(models) > 0 && !slices.Contains(models, ch.ask.Model) {
		o.seen.Why = "it does not have the model " + ch.ask.Model
		return &SelectError{Code: ModelUnsupported, Message: fmt.Sprintf("provider %q does not have the model %q", o.x.ID, ch.ask.Model), Remedy: "it has: " + strings.Join(models, ", ")}
	}
	o.seen.Why = fmt.Sprintf("it serves the backend %q", ch.ask.Backend)
	if ch.ask.Selector != "" {
		o.seen.Why = "the selector names it, and " + o.seen.Why
	}
	if len(ch.ask.Capabilities) > 0 {
		o.seen.Why += " and declares " + strings.Join(ch.ask.Capabilities, ", ")
	}
	return nil
}

// lacking returns what is wanted and not there, each once.
func lacking(there, want []string) []string {
	var out []string
	for _, w := range want {
		if w = strings.TrimSpace(w); w != "" && !slices.Contains(there, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// modelsOf lists the models of a provider that declares them; nil: it does not say.
func modelsOf(x homeboy.ExecutorProvider) []string {
	var list []string
	if json.Unmarshal(x.Extra["models"], &list) != nil {
		return nil
	}
	return list
}

func (ch *chooser) warnings(o *option) []string {
	var out []string
	if ch.alias != nil {
		out = append(out, ch.alias.String())
	}
	switch o.x.Status {
	case homeboy.StatusExperimental:
		out = append(out, fmt.Sprintf("provider %q is experimental", o.x.ID))
	case homeboy.StatusDeprecated:
		text := fmt.Sprintf("provider %q is deprecated", o.x.ID)
		if r := replacementOf(o.x); r != "" {
			text += fmt.Sprintf(" (use %q)", r)
		}
		out = append(out, text)
	case "", homeboy.StatusActive, homeboy.StatusAvailable:
	default:
		out = append(out, fmt.Sprintf("provider %q has the status %q, which deed does not know", o.x.ID, o.x.Status))
	}
	return out
}

func (ch *chooser) backends() string {
	var list []string
	for _, p := range ch.c.Packages {
		for _, x := range p.Manifest.AgentTaskExecutors {
			if x.Backend != "" && !slices.Contains(list, x.Backend) {
				list = append(list, x.Backend)
			}
		}
	}
	slices.Sort(list)
	return joinOrNone(list)
}

func providerIDs(list []*option) string {
	var ids []string
	for _, o := range list {
		ids = append(ids, o.x.ID)
	}
	return joinOrNone(ids)
}

func joinOrNone(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}
