package fanout

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
)

// Options say how records are read and what a run or a result carries. The zero value is the contract's defaults.
type Options struct {
	ResultSchema         string // of a result, in place of the contract's
	ReconciliationSchema string
	SuccessStatuses      []string // in place of homeboy.FanoutSuccessStatuses
	OutcomePath          string   // of the outcome in a record, in place of homeboy.DefaultOutcomePath
	BaseRun              map[string]homeboy.Value
	OmitSummary          bool
}

// OptionsOf returns the options that a configuration names.
func OptionsOf(c homeboy.FanoutConfig) Options {
	return Options{
		ResultSchema: c.ResultSchema, ReconciliationSchema: c.ReconciliationSchema, SuccessStatuses: c.SuccessStatuses,
		OutcomePath: c.OutcomePath, BaseRun: c.BaseRun, OmitSummary: c.IncludeSummary != nil && !*c.IncludeSummary,
	}
}

// Status is the aggregate rule of runs and results, and the only place that has it: a fanout is incomplete while a
// planned task has no record, completed when every planned task has one that is a success, and failed otherwise. A
// fanout without tasks is completed. Records without a planned task do not count.
func Status(planned, recorded, successes int) homeboy.FanoutStatus {
	switch {
	case recorded < planned:
		return homeboy.FanoutIncomplete
	case successes < planned:
		return homeboy.FanoutFailed
	}
	return homeboy.FanoutCompleted
}

// Reconcile makes the result of a plan from the records that were collected, in whatever order they came. Each planned
// task has one record in it, in the order of the plan: missing_record where none came. Of several records of one task a
// failed one counts, then a completed one, then one that only says that there is none; the others are reported, and so
// are records without a planned task.
func Reconcile(p homeboy.FanoutPlan, records []homeboy.FanoutRecord, o Options) homeboy.FanoutResult {
	t := collect(p, records, o, true)
	out := homeboy.FanoutResult{
		Schema: o.ResultSchema, PlanSchema: p.Schema, Orchestrator: p.Orchestrator, Status: t.status(p),
		Records: t.records, UnknownRecords: t.unknown, DuplicateRecords: t.duplicate, Outcomes: t.outcomes,
		Reconciliation: count(p, t, o),
	}
	if out.Schema == "" {
		out.Schema = homeboy.SchemaFanoutResult
	}
	if !o.OmitSummary {
		out.Summary = p.Summary
	}
	out.Orchestrator, out.Summary, out.Extra = o.base(out.Orchestrator, out.Summary)
	return out
}

// Run is Reconcile for a fanout that deed runs: while it is not over, tasks without a record are left out and the status
// is incomplete. Running are the group keys of the tasks that run now. Records of no task are in the member
// unknown_records, further ones of a task in duplicate_records.
func Run(p homeboy.FanoutPlan, records []homeboy.FanoutRecord, o Options, running []string, over bool) homeboy.FanoutRun {
	t := collect(p, records, o, over)
	out := homeboy.FanoutRun{
		Schema: homeboy.SchemaFanoutRun, PlanSchema: p.Schema, Orchestrator: p.Orchestrator, Status: t.status(p),
		Records: t.records, Outcomes: t.outcomes, Reconciliation: count(p, t, o),
	}
	if out.Status == homeboy.FanoutIncomplete {
		out.CurrentGroup = homeboy.Value("null")
		for _, key := range running {
			out.CurrentGroups = append(out.CurrentGroups, quote(key))
		}
		if len(running) > 0 {
			out.CurrentGroup = out.CurrentGroups[0]
		}
	}
	if !o.OmitSummary {
		out.Summary = p.Summary
	}
	out.Orchestrator, out.Summary, out.Extra = o.base(out.Orchestrator, out.Summary)
	for name, all := range map[string][]homeboy.Value{"unknown_records": t.unknown, "duplicate_records": t.duplicate} {
		if raw, err := json.Marshal(all); err == nil && len(all) > 0 {
			if out.Extra == nil {
				out.Extra = homeboy.Extra{}
			}
			out.Extra[name] = raw
		}
	}
	return out
}

// base merges base_run into the head of a run. What the reconciliation makes itself stays.
func (o Options) base(orchestrator, summary map[string]homeboy.Value) (_, _ map[string]homeboy.Value, extra homeboy.Extra) {
	for name, v := range o.BaseRun {
		switch {
		case name == "orchestrator":
			orchestrator = merged(orchestrator, v)
		case name == "summary":
			summary = merged(summary, v)
		case !slices.Contains(ownMembers, name):
			if extra == nil {
				extra = homeboy.Extra{}
			}
			extra[name] = v
		}
	}
	return orchestrator, summary, extra
}

func merged(into map[string]homeboy.Value, v homeboy.Value) map[string]homeboy.Value {
	var more map[string]homeboy.Value
	if json.Unmarshal(v, &more) != nil || len(more) == 0 {
		return into
	}
	out := map[string]homeboy.Value{}
	maps.Copy(out, into)
	maps.Copy(out, more)
	return out
}

// Record returns the record of a task whose provider gave an outcome.
func Record(task homeboy.FanoutTask, outcome homeboy.Outcome) homeboy.FanoutRecord {
	r := homeboy.FanoutRecord{ID: task.Name(), GroupKey: task.GroupKey, Status: homeboy.RecordFailed}
	raw, err := json.Marshal(outcome)
	if err != nil {
		r.ErrorMessage = "the outcome cannot be written: " + err.Error()
		return r
	}
	r.Outcome = raw
	m, ok := outcome.Status.Meaning()
	if !ok {
		r.ErrorMessage = fmt.Sprintf("%q is not a status of an outcome", outcome.Status)
		return r
	}
	if r.Status = m.Record; r.Status != homeboy.RecordCompleted {
		r.ErrorMessage = why(outcome)
	}
	return r
}

// why describes a failure: in its provider's words, else by what it is.
func why(o homeboy.Outcome) string {
	switch {
	case o.Summary != "":
		return o.Summary
	case len(o.Diagnostics) > 0 && o.Diagnostics[0].Message != "":
		return o.Diagnostics[0].Message
	case o.FailureClassification != "":
		return fmt.Sprintf("it ended as %s: %s", o.Status, o.FailureClassification)
	}
	return fmt.Sprintf("it ended as %s", o.Status)
}

// A tally is what became of records.
type tally struct {
	records            []homeboy.FanoutRecord // in the order of the plan
	outcomes           []homeboy.Value
	unknown, duplicate []homeboy.Value
	failed             []string
	missing            int
}

func (t tally) status(p homeboy.FanoutPlan) homeboy.FanoutStatus {
	return Status(len(p.TaskRequests), len(t.records), len(t.records)-len(t.failed))
}

func collect(p homeboy.FanoutPlan, records []homeboy.FanoutRecord, o Options, over bool) tally {
	t := tally{records: []homeboy.FanoutRecord{}, outcomes: []homeboy.Value{}}
	tasks := taskIndex(p)
	of := make([][]candidate, len(p.TaskRequests))
	var lost []candidate
	for _, r := range records {
		c := o.judge(r)
		if i, ok := tasks[r.Name()]; ok {
			of[i] = append(of[i], c)
		} else {
			lost = append(lost, c)
		}
	}
	slices.SortFunc(lost, candidate.compare)
	for _, c := range lost {
		t.unknown = append(t.unknown, c.raw)
	}
	for i, task := range p.TaskRequests {
		slices.SortFunc(of[i], candidate.compare)
		if len(of[i]) == 0 {
			if !over {
				continue
			}
			of[i] = []candidate{o.judge(homeboy.FanoutRecord{Status: homeboy.RecordMissing})}
		}
		t.add(task, of[i][0])
		for _, c := range of[i][1:] {
			t.duplicate = append(t.duplicate, c.raw)
		}
	}
	return t
}

// taskIndex finds a task by its name, and by its other names where they are those of one task only.
func taskIndex(p homeboy.FanoutPlan) map[string]int {
	at := map[string]int{}
	for i, t := range p.TaskRequests {
		if _, twice := at[t.Name()]; !twice && t.Name() != "" {
			at[t.Name()] = i
		}
	}
	const several = -1
	other := map[string]int{}
	for i, t := range p.TaskRequests {
		for _, name := range []string{strings.TrimSpace(t.ID), strings.TrimSpace(t.GroupKey)} {
			if j, there := other[name]; there && j != i {
				other[name] = several
			} else {
				other[name] = i
			}
		}
	}
	for name, i := range other {
		if _, there := at[name]; !there && i != several && name != "" {
			at[name] = i
		}
	}
	return at
}

// A candidate is a record with what it comes to.
type candidate struct {
	record  homeboy.FanoutRecord
	status  homeboy.RecordStatus
	outcome homeboy.Value // nil: none
	raw     homeboy.Value
}

// weight says which of several records of one task counts: the lower one. A missing record counts least.
var weight = map[homeboy.RecordStatus]int{homeboy.RecordFailed: 0, homeboy.RecordCompleted: 1, homeboy.RecordMissing: 2}

// compare makes one order of records, whatever order they came in.
func (c candidate) compare(d candidate) int {
	return cmp.Or(cmp.Compare(weight[c.status], weight[d.status]), bytes.Compare(c.raw, d.raw))
}

// judge returns what a record counts as under the options.
func (o Options) judge(r homeboy.FanoutRecord) candidate {
	c := candidate{record: r}
	if raw, err := json.Marshal(r); err == nil { // of values that were read as JSON: there is no other case
		c.raw = raw
	}
	c.outcome = o.outcome(r, c.raw)
	said := r
	said.Status = homeboy.RecordStatus(strings.TrimSpace(string(r.Status)))
	said.Outcome = c.outcome
	switch {
	case said.Status == homeboy.RecordMissing || said.Status == homeboy.RecordFailed:
		c.status = said.Status // whatever a configuration calls a success
	case o.contradicted(said) != "":
		c.status = homeboy.RecordFailed
		if c.record.ErrorMessage == "" {
			c.record.ErrorMessage = "its outcome says " + o.contradicted(said)
		}
	case o.succeeded(said):
		c.status = homeboy.RecordCompleted
	default:
		c.status = homeboy.RecordFailed
	}
	return c
}

// succeeded compares a record that is neither failed nor missing with the words of success. In addition to completed
// the outcome's own status counts, since that is what the bridge made of it.
func (o Options) succeeded(r homeboy.FanoutRecord) bool {
	if r.Status == "" && r.Success != nil && *r.Success || r.Succeeded(o.SuccessStatuses) {
		return true
	}
	return r.Status == homeboy.RecordCompleted && slices.Contains(o.SuccessStatuses, text(at(r.Outcome, []string{"status"})))
}

// contradicted returns the status of a failure that the record's provider reported, whatever the record itself says; "" when
// there is none. A status that deed does not know is a failure where the outcome says that it is one of the contract.
func (o Options) contradicted(r homeboy.FanoutRecord) string {
	word := text(at(r.Outcome, []string{"status"}))
	if text(at(r.Outcome, []string{"schema"})) == homeboy.SchemaOutcome && !homeboy.IsSuccess(homeboy.OutcomeStatus(word)) && !slices.Contains(o.SuccessStatuses, word) {
		return cmp.Or(word, "no status")
	}
	for _, said := range []string{word, text(r.Extra["outcome_status"]), text(r.Extra["provider_status"])} {
		status := homeboy.OutcomeStatus(strings.ToLower(said))
		if slices.Contains(homeboy.OutcomeStatuses, status) && !homeboy.IsSuccess(status) && !slices.Contains(o.SuccessStatuses, said) {
			return said
		}
	}
	return ""
}

// outcome returns what a record has at the path of outcomes, or nil.
func (o Options) outcome(r homeboy.FanoutRecord, raw homeboy.Value) homeboy.Value {
	v := r.Outcome
	if o.OutcomePath != "" && o.OutcomePath != homeboy.DefaultOutcomePath {
		v = at(raw, strings.Split(o.OutcomePath, "."))
	}
	if s, ok := v.Text(); v.Null() || ok && strings.TrimSpace(s) == "" {
		return nil
	}
	return v
}

func (t *tally) add(task homeboy.FanoutTask, c candidate) {
	r := written(task, c)
	t.records = append(t.records, r)
	if c.outcome != nil {
		t.outcomes = append(t.outcomes, c.outcome)
	}
	if r.Status != homeboy.RecordCompleted {
		t.failed = append(t.failed, task.Name())
	}
	if r.Status == homeboy.RecordMissing {
		t.missing++
	}
}

// written returns a record as the contract has it: named by its task, with a status of the vocabulary. Its own words
// are kept.
func written(task homeboy.FanoutTask, c candidate) homeboy.FanoutRecord {
	r := c.record
	r.ID, r.TaskID = task.Name(), ""
	if r.GroupKey == "" {
		r.GroupKey = task.GroupKey
	}
	kept := homeboy.Extra{}
	if said := strings.TrimSpace(string(r.Status)); said != "" && said != string(c.status) && r.Extra["provider_status"] == nil {
		kept["provider_status"] = quote(said)
	}
	if done := c.status == homeboy.RecordCompleted; r.Success != nil && *r.Success != done {
		kept["claimed_success"] = homeboy.Value("true")
		if done {
			kept["claimed_success"] = homeboy.Value("false")
		}
		r.Success = &done // a reader that looks at the flag first must see the same
	}
	if len(kept) > 0 {
		maps.Copy(kept, r.Extra)
		r.Extra = kept
	}
	r.Status = c.status
	return r
}

func count(p homeboy.FanoutPlan, t tally, o Options) *homeboy.FanoutReconciliation {
	out := &homeboy.FanoutReconciliation{
		Schema: o.ReconciliationSchema, GroupCount: int64(len(p.Groups)), TaskCount: int64(len(p.TaskRequests)),
		RecordCount: int64(len(t.records)), SuccessCount: int64(len(t.records) - len(t.failed)), FailureCount: int64(len(t.failed)),
		OutcomeCount: int64(len(t.outcomes)), FailedTaskIDs: t.failed,
		MissingCount: int64(t.missing), UnknownCount: int64(len(t.unknown)), DuplicateCount: int64(len(t.duplicate)),
	}
	if out.Schema == "" {
		out.Schema = homeboy.SchemaFanoutReconciliation
	}
	if out.FailedTaskIDs == nil {
		out.FailedTaskIDs = []string{}
	}
	return out
}
