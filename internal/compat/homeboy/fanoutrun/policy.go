package fanoutrun

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/compat/homeboy/outcome"
	"github.com/deedrun/deed/internal/store"
)

// A Policy says how many tasks of a plan run at a time, and what is tried again. It is the member options of a plan or of
// its configuration. The zero value runs three at a time and tries nothing twice.
type Policy struct {
	MaxConcurrency int64            `json:"max_concurrency,omitempty"`
	PerExecutor    map[string]int64 `json:"per_executor_concurrency,omitempty"` // by backend, or backend:selector
	PerModel       map[string]int64 `json:"per_model_concurrency,omitempty"`    // by model, backend:model or backend:selector:model
	MaxTasks       int64            `json:"max_tasks,omitempty"`                // of the plan that are taken; 0: all
	MaxQueueDepth  int64            `json:"max_queue_depth,omitempty"`          // that may be queued when the plan is taken; 0: all
	TimeoutMS      int64            `json:"timeout_ms,omitempty"`               // of a try whose request has no limit of its own; 0: the contract's
	Resources      *Resources       `json:"resource_budget,omitempty"`
	Retry          *Retry           `json:"retry,omitempty"`
	Rotation       *Rotation        `json:"rotation,omitempty"`
	Budget         *Budget          `json:"execution_budget,omitempty"`
	Completion     string           `json:"candidate_completion,omitempty"` // when the fanout is over; "": WaitAll
}

// When a fanout is over. With FirstGreen its tasks are candidates for one result: as soon as one is completed nothing more
// is started, and what runs is asked to end.
const (
	WaitAll    = "wait_all"
	FirstGreen = "first_green"
)

// Resources bounds what the tasks that run may take together, in units that the plan chooses.
type Resources struct {
	MaxActiveUnits   int64            `json:"max_active_units,omitempty"` // 0: no bound
	DefaultTaskUnits int64            `json:"default_task_units,omitempty"`
	PerExecutor      map[string]int64 `json:"per_executor_task_units,omitempty"`
	PerModel         map[string]int64 `json:"per_model_task_units,omitempty"`
}

// Retry says which failures are tried again with the same provider.
type Retry struct {
	MaxAttempts     int64                  `json:"max_attempts,omitempty"`                      // of one task with one provider; 0: one
	MaxRetriesTotal *int64                 `json:"max_retries_total,omitempty"`                 // of the whole fanout; nil: no bound
	Classes         []homeboy.FailureClass `json:"retryable_failure_classifications,omitempty"` // empty: whatever may be tried again
}

// Rotation names the providers that a task goes to when the one before failed, in their order.
type Rotation struct {
	Entries     []Entry `json:"entries,omitempty"`
	MaxAttempts int64   `json:"max_attempts,omitempty"` // providers of one task, the request's own included; 0: all
	// LivenessTimeoutMS is the time without output after which a provider counts as stalled, where its request sets none; 0:
	// never.
	LivenessTimeoutMS int64 `json:"liveness_timeout_ms,omitempty"`
}

// An Entry is one provider of a rotation. What it does not name stays as the request has it.
type Entry struct {
	Backend        string                   `json:"backend,omitempty"`
	Selector       string                   `json:"selector,omitempty"`
	Model          string                   `json:"model,omitempty"`
	ProviderConfig map[string]homeboy.Value `json:"provider_config,omitempty"`
}

// A Budget bounds what one task may use, whatever retry and rotation say; the lower bound wins. The deadline is one for all.
type Budget struct {
	DeadlineUnixMS         int64  `json:"deadline_unix_ms,omitempty"`
	MaxProviderExecutions  int64  `json:"max_provider_executions,omitempty"`
	MaxSameProviderRetries *int64 `json:"max_same_provider_retries,omitempty"`
	MaxProviderRotations   *int64 `json:"max_provider_rotations,omitempty"`
}

// maxTries bounds what any policy can ask for.
const maxTries = 100

// ReadPolicy reads options. Those that deed does not act on come back by name; what is wrong comes back all at once, with
// paths below at.
func ReadPolicy(at string, options homeboy.Value) (p Policy, ignored []string, err error) {
	if options.Null() {
		return p, nil, nil
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(options, &raw) != nil {
		var l fault.List
		l.Add(at, fault.WrongType, "is no object", "write an object")
		return p, nil, l.Err()
	}
	var l fault.List
	known := map[string]any{
		"max_concurrency": &p.MaxConcurrency, "per_executor_concurrency": &p.PerExecutor, "per_model_concurrency": &p.PerModel,
		"max_tasks": &p.MaxTasks, "max_queue_depth": &p.MaxQueueDepth, "timeout_ms": &p.TimeoutMS, "resource_budget": &p.Resources,
		"retry": &p.Retry, "rotation": &p.Rotation, "execution_budget": &p.Budget, "candidate_completion": &p.Completion,
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		into, ok := known[name]
		if !ok {
			if !asksNothing(raw[name]) {
				ignored = append(ignored, name)
			}
			continue
		}
		if err := json.Unmarshal(raw[name], into); err != nil {
			l.Add(fault.Field(at, name), fault.WrongType, err.Error(), "write it as docs/FANOUT.md has it")
		}
	}
	if l.Len() == 0 {
		p.check(&l, at)
	}
	return p, ignored, l.Err()
}

// asksNothing reports whether an option is there only to say that it is off.
func asksNothing(v json.RawMessage) bool {
	return slices.Contains([]string{"null", "false"}, string(v))
}

func (p Policy) check(l *fault.List, at string) {
	if p.Completion != "" {
		fault.OneOf(l, fault.Field(at, "candidate_completion"), p.Completion, WaitAll, FirstGreen)
	}
	positive := func(path string, n, least int64) {
		if n < least {
			l.Add(path, fault.OutOfRange, fmt.Sprintf("%d is less than %d", n, least), "leave it out for the default")
		}
	}
	bounded := func(path string, n int64) { l.Between(path, n, 0, maxTries) }
	bounds := func(name string, m map[string]int64) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			path := fault.Field(at+"."+name, k)
			positive(path, m[k], 1)
			l.Say(path, k)
		}
	}
	bounds("per_executor_concurrency", p.PerExecutor)
	bounds("per_model_concurrency", p.PerModel)
	positive(fault.Field(at, "max_tasks"), p.MaxTasks, 0)
	positive(fault.Field(at, "max_queue_depth"), p.MaxQueueDepth, 0)
	positive(fault.Field(at, "timeout_ms"), p.TimeoutMS, 0)
	if r := p.Resources; r != nil {
		path := fault.Field(at, "resource_budget")
		positive(path+".max_active_units", r.MaxActiveUnits, 0)
		positive(path+".default_task_units", r.DefaultTaskUnits, 0)
		bounds("resource_budget.per_executor_task_units", r.PerExecutor)
		bounds("resource_budget.per_model_task_units", r.PerModel)
	}
	if r := p.Retry; r != nil {
		path := fault.Field(at, "retry")
		bounded(path+".max_attempts", r.MaxAttempts)
		if r.MaxRetriesTotal != nil {
			positive(path+".max_retries_total", *r.MaxRetriesTotal, 0)
		}
		for i, c := range r.Classes {
			fault.OneOf(l, fault.Index(path+".retryable_failure_classifications", i), c, homeboy.FailureClasses...)
		}
	}
	if r := p.Rotation; r != nil {
		path := fault.Field(at, "rotation")
		bounded(path+".max_attempts", r.MaxAttempts)
		positive(path+".liveness_timeout_ms", r.LivenessTimeoutMS, 0)
		if len(r.Entries) > maxTries {
			l.Add(path+".entries", fault.OutOfRange, fmt.Sprintf("%d are more than %d", len(r.Entries), maxTries), "name fewer")
		}
		for i, e := range r.Entries {
			if strings.TrimSpace(e.Backend+e.Selector+e.Model) == "" && len(e.ProviderConfig) == 0 {
				l.Add(fault.Index(path+".entries", i), fault.MissingField, "names nothing that differs from the request", "name a backend, selector, model or provider_config")
			}
		}
	}
	if b := p.Budget; b != nil {
		path := fault.Field(at, "execution_budget")
		positive(path+".deadline_unix_ms", b.DeadlineUnixMS, 0)
		bounded(path+".max_provider_executions", b.MaxProviderExecutions)
		for name, n := range map[string]*int64{"max_same_provider_retries": b.MaxSameProviderRetries, "max_provider_rotations": b.MaxProviderRotations} {
			if n != nil {
				bounded(path+"."+name, *n)
			}
		}
	}
}

// A Try is one execution of a task, or a try that was refused before it began.
type Try struct {
	Try       int                   `json:"try"`
	Entry     int                   `json:"rotation_entry,omitempty"` // of the rotation, from 1; 0: the request's own provider
	Backend   string                `json:"backend,omitempty"`
	Selector  string                `json:"selector,omitempty"`
	Model     string                `json:"model,omitempty"`
	TaskID    string                `json:"deed_task_id,omitempty"`
	AttemptID string                `json:"deed_attempt_id,omitempty"`
	Status    homeboy.OutcomeStatus `json:"status,omitempty"` // "" for one that was lost
	Class     homeboy.FailureClass  `json:"failure_classification,omitempty"`
	Summary   string                `json:"summary,omitempty"`
	Known     string                `json:"immediate_failure,omitempty"` // what the provider's package calls a failure that came at once
	Refused   bool                  `json:"refused,omitempty"`           // before anything began
	Then      string                `json:"then,omitempty"`              // what followed: see the constants
	EndedAt   string                `json:"ended_at,omitempty"`
}

// What followed a try.
const (
	ThenRetry  = "retry"      // the same provider again
	ThenRotate = "rotate"     // the next provider
	ThenLost   = "lost_again" // deed died with it; it is no retry of the policy
)

// A decision is what follows from how a try ended.
type decision struct {
	then  string // "": it is the record
	entry int    // of the next try
	spent string // the bound without which there would have been another try
	open  string // the failure that came twice at once, without which the same provider would have been tried again
}

// Classes on which a task goes to another provider.
var rotates = []homeboy.FailureClass{homeboy.ClassProvider, homeboy.ClassTransient, homeboy.ClassTimeout, homeboy.ClassStalled, homeboy.ClassRateLimited}

// decide says what follows the last of the tries, which led to the outcome. The rule is in this place only: what is
// done, cancelled, denied or waits for a review is never tried again; a timeout never with the same provider; the
// lowest of all bounds wins.
func (p Policy) decide(tries []Try, o homeboy.Outcome, now time.Time) decision {
	if final(o) {
		return decision{}
	}
	last := tries[len(tries)-1]
	var executions, same int64 // without those that were lost
	for _, t := range tries {
		if t.Then == ThenLost {
			continue
		}
		executions++
		if t.Entry == last.Entry {
			same++
		}
	}
	b := Budget{}
	if p.Budget != nil {
		b = *p.Budget
	}
	var out decision
	again := func(then string, entry int, inner string) decision {
		switch {
		case inner != "":
			out.spent = inner
		case b.DeadlineUnixMS > 0 && now.UnixMilli() >= b.DeadlineUnixMS:
			out.spent = "deadline_unix_ms"
		case b.MaxProviderExecutions > 0 && executions >= b.MaxProviderExecutions:
			out.spent = "max_provider_executions"
		default:
			return decision{then: then, entry: entry, open: out.open}
		}
		return out
	}
	if p.retries(o) && !last.Refused && same < p.Retry.MaxAttempts { // what was refused would be refused again
		out.open = circuit(tries)
	}
	if p.retries(o) && !last.Refused && same < p.Retry.MaxAttempts && out.open == "" {
		inner := ""
		if b.MaxSameProviderRetries != nil && same > *b.MaxSameProviderRetries {
			inner = "max_same_provider_retries"
		}
		if d := again(ThenRetry, last.Entry, inner); d.then != "" {
			return d
		}
	}
	if p.rotates(o, last.Entry) {
		inner := ""
		if b.MaxProviderRotations != nil && int64(last.Entry) >= *b.MaxProviderRotations {
			inner = "max_provider_rotations"
		}
		return again(ThenRotate, last.Entry+1, inner)
	}
	return out
}

// circuit names the failure with which the last two executions of a task with one provider ended at once; "": they did
// not. It is of no use to try that provider again.
func circuit(tries []Try) string {
	last := tries[len(tries)-1]
	for _, t := range slices.Backward(tries[:len(tries)-1]) {
		if t.Then == ThenLost {
			continue
		}
		if t.Entry == last.Entry && t.Known == last.Known && t.Status == last.Status && t.Class == last.Class {
			return last.Known
		}
		break
	}
	return ""
}

// final reports whether an outcome is final, whatever the policy says.
func final(o homeboy.Outcome) bool {
	switch o.Status {
	case homeboy.Succeeded, homeboy.NoOp, homeboy.Cancelled, homeboy.CandidateRecoverable:
		return true
	}
	return o.FailureClassification == homeboy.ClassPolicyDenied
}

func (p Policy) retries(o homeboy.Outcome) bool {
	if p.Retry == nil || o.Status == homeboy.Timeout {
		return false
	}
	return len(p.Retry.Classes) == 0 || slices.Contains(p.Retry.Classes, o.FailureClassification)
}

// rotates reports whether a task goes to another provider. A task that timed out and left a patch has something to
// review.
func (p Policy) rotates(o homeboy.Outcome, entry int) bool {
	if p.Rotation == nil || entry >= len(p.Rotation.Entries) {
		return false
	}
	if p.Rotation.MaxAttempts > 0 && int64(entry)+1 >= p.Rotation.MaxAttempts {
		return false
	}
	if o.Status == homeboy.Timeout {
		return o.Decide() != homeboy.DecideApply
	}
	return slices.Contains(rotates, o.FailureClassification)
}

// apply makes the request of a try with an entry of the rotation; 0 is the request itself.
func (p Policy) apply(q homeboy.Request, entry int) homeboy.Request {
	if entry == 0 || p.Rotation == nil || entry > len(p.Rotation.Entries) {
		return q
	}
	e := p.Rotation.Entries[entry-1]
	x := q.Executor
	if e.Backend != "" && e.Backend != x.Backend {
		x.Backend, x.Selector, x.Runtime, x.RuntimeSelection = e.Backend, "", "", nil // they are of the other backend
	}
	if e.Selector != "" {
		x.Selector = e.Selector
	}
	if e.Model != "" {
		x.Model = e.Model
		if x.RuntimeSelection != nil {
			s := *x.RuntimeSelection
			s.Model = e.Model
			x.RuntimeSelection = &s
		}
	}
	if len(e.ProviderConfig) > 0 {
		x.Config = maps.Clone(x.Config)
		if x.Config == nil {
			x.Config = map[string]homeboy.Value{}
		}
		maps.Copy(x.Config, e.ProviderConfig)
	}
	q.Executor = x
	return q
}

// Kinds of resources. Exclusive keys are shared by all fanouts; the others are a fanout's own.
const (
	useKey      = store.SharedResource
	useExecutor = "executor:"
	useModel    = "model:"
	useUnits    = "units:"
)

// Suggest bounds how many tasks run at a time with backends that the plan itself does not bound.
func (p *Policy) Suggest(backends map[string]int64) {
	said := map[string]bool{}
	for name := range p.PerExecutor {
		backend, _, _ := strings.Cut(name, ":")
		said[backend] = true
	}
	for backend, n := range backends {
		if said[backend] || n < 1 {
			continue
		}
		if p.PerExecutor == nil {
			p.PerExecutor = map[string]int64{}
		}
		p.PerExecutor[backend] = n
	}
}

// limits are those of a try: the request's own, and the policy's where the request is silent. The deadline is the earlier one.
func (p Policy) limits(own *homeboy.Limits) *homeboy.Limits {
	l := homeboy.Limits{}
	if own != nil {
		l = *own
	}
	changed := false
	set := func(field *int64, to int64, when bool) {
		if when && to > 0 {
			*field, changed = to, true
		}
	}
	set(&l.TimeoutMS, p.TimeoutMS, l.TimeoutMS == 0 && l.MaxRuntimeMS == 0 && l.TaskTimeoutSeconds == 0)
	if r := p.Rotation; r != nil {
		set(&l.LivenessTimeoutMS, r.LivenessTimeoutMS, l.LivenessTimeoutMS == 0)
	}
	if b := p.Budget; b != nil {
		set(&l.ExecutionDeadlineUnixMS, b.DeadlineUnixMS, l.ExecutionDeadlineUnixMS == 0 || l.ExecutionDeadlineUnixMS > b.DeadlineUnixMS)
	}
	if !changed {
		return own
	}
	return &l
}

// uses lists what a try of a request holds: its exclusive keys, and the places that the policy bounds.
func (p Policy) uses(q homeboy.Request) []string {
	var out []string
	if q.Limits != nil {
		for _, k := range q.Limits.ExclusiveResourceKeys {
			if k = strings.TrimSpace(k); k != "" {
				out = append(out, useKey+k)
			}
		}
	}
	for _, name := range executorNames(q.Executor) {
		if _, ok := p.PerExecutor[name]; ok {
			out = append(out, useExecutor+name)
		}
	}
	for _, name := range modelNames(q.Executor) {
		if _, ok := p.PerModel[name]; ok {
			out = append(out, useModel+name)
		}
	}
	if r := p.Resources; r != nil && r.MaxActiveUnits > 0 {
		// What fits by itself alone, after a rotation, runs alone; what never fitted was not taken. See overflow.
		out = append(out, store.Weighted(useUnits, min(r.units(q.Executor), r.MaxActiveUnits)))
	}
	return out
}

// executorNames are the names under which a plan may bound an executor, the most general first.
func executorNames(x homeboy.Executor) []string {
	return []string{x.Backend, x.Backend + ":" + x.Selector}
}

// modelNames are those of a model.
func modelNames(x homeboy.Executor) []string {
	if x.Model == "" {
		return nil
	}
	return []string{x.Model, x.Backend + ":" + x.Model, x.Backend + ":" + x.Selector + ":" + x.Model}
}

// units is what a task takes: what is declared for its model, else for its executor, else for every task.
func (r Resources) units(x homeboy.Executor) int64 {
	for _, of := range []struct {
		names []string
		units map[string]int64
	}{{modelNames(x), r.PerModel}, {executorNames(x), r.PerExecutor}} {
		for _, name := range slices.Backward(of.names) {
			if n, ok := of.units[name]; ok {
				return n
			}
		}
	}
	return max(r.DefaultTaskUnits, 1)
}

// overflow says why a task of the plan is not taken at all; "": it is.
func (p Policy) overflow(i int, q homeboy.Request) string {
	most, by := p.MaxQueueDepth, "max_queue_depth"
	if p.MaxTasks > 0 && (most == 0 || p.MaxTasks < most) {
		most, by = p.MaxTasks, "max_tasks"
	}
	if most > 0 && int64(i) >= most {
		return fmt.Sprintf("the plan has more tasks than %s %d takes: run the rest as a plan of its own, or raise it", by, most)
	}
	if r := p.Resources; r != nil && r.MaxActiveUnits > 0 {
		if n := r.units(q.Executor); n > r.MaxActiveUnits {
			return fmt.Sprintf("the task takes %d units, and resource_budget.max_active_units is %d: raise it", n, r.MaxActiveUnits)
		}
	}
	return ""
}

// capacity says how many tries may hold each bounded resource at a time.
func (p Policy) capacity() map[string]int {
	out := map[string]int{}
	for name, n := range p.PerExecutor {
		out[useExecutor+name] = int(n)
	}
	for name, n := range p.PerModel {
		out[useModel+name] = int(n)
	}
	if r := p.Resources; r != nil && r.MaxActiveUnits > 0 {
		out[useUnits] = int(r.MaxActiveUnits)
	}
	return out
}

// How long an item waits before it is tried again with the same provider: twice as long each time.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
	longestHint  = 10 * time.Minute // of a provider that says itself how long
)

// Pause is how long an item waits before its next try after so many with the same provider, the last of which led to
// the outcome.
func Pause(same int, o homeboy.Outcome) time.Duration {
	wait := min(firstPause<<min(max(same-1, 0), 16), longestPause)
	return max(wait, min(outcome.RetryAfter(o), longestHint))
}
