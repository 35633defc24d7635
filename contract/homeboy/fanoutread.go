package homeboy

import (
	"fmt"
	"strconv"

	"github.com/deedrun/deed/contract/fault"
)

// ReadFanoutConfig reads a configuration as tolerantly as it can. A concurrency that is no number from 1 to 16 is
// made one.
func ReadFanoutConfig(data []byte) (FanoutConfig, []Warning, error) {
	var c FanoutConfig
	r, err := document(data, &c)
	if err != nil {
		return FanoutConfig{}, nil, fmt.Errorf("read fanout configuration: %w", err)
	}
	defaultSchema(r, &c.Schema, SchemaFanoutConfig)
	bound(r, &c.Concurrency)
	for i := range c.Groups {
		fill(r, "$.groups["+strconv.Itoa(i)+"].key", &c.Groups[i].Key, "group-"+strconv.Itoa(i+1), "")
	}
	return c, r.all(), nil
}

// ReadFindingFanoutConfig reads a configuration for findings, as ReadFanoutConfig does.
func ReadFindingFanoutConfig(data []byte) (FindingFanoutConfig, []Warning, error) {
	var c FindingFanoutConfig
	r, err := document(data, &c)
	if err != nil {
		return FindingFanoutConfig{}, nil, fmt.Errorf("read finding fanout configuration: %w", err)
	}
	defaultSchema(r, &c.Schema, SchemaFindingFanoutConfig)
	bound(r, &c.Concurrency)
	return c, r.all(), nil
}

// ReadFanoutPlan reads a plan that deed or another program made.
func ReadFanoutPlan(data []byte) (FanoutPlan, []Warning, error) {
	var p FanoutPlan
	r, err := document(data, &p)
	if err != nil {
		return FanoutPlan{}, nil, fmt.Errorf("read fanout plan: %w", err)
	}
	defaultSchema(r, &p.Schema, SchemaFanoutPlan)
	return p, r.all(), nil
}

// ReadFanoutRecord reads one record. Its status may be any word; Normalised gives the one that counts.
func ReadFanoutRecord(data []byte) (FanoutRecord, []Warning, error) {
	var rec FanoutRecord
	r, err := document(data, &rec)
	if err != nil {
		return FanoutRecord{}, nil, fmt.Errorf("read fanout record: %w", err)
	}
	return rec, r.all(), nil
}

func defaultSchema(r *reading, got *string, want string) {
	if *got == "" {
		*got = want
		r.warn("$.schema", WarnMissing, "is missing; it is taken as "+want, nil)
	}
}

func bound(r *reading, n *int64) {
	was := *n
	switch {
	case was < 0:
		*n = 0
	case was > MaxConcurrency:
		*n = MaxConcurrency
	default:
		return
	}
	r.warn("$.concurrency", WarnForm, fmt.Sprintf("%d is out of range; it is taken as %d", was, FanoutConfig{Concurrency: *n}.Workers()), nil)
}

// Validate returns every fault of the configuration.
func (c FanoutConfig) Validate() error {
	var l fault.List
	ownSchema(&l, c.Schema, SchemaFanoutConfig)
	l.Between("$.concurrency", c.Concurrency, 0, MaxConcurrency)
	l.Names("$.success_statuses", c.SuccessStatuses)
	for i, g := range c.Groups {
		l.Say(fault.Index("$.groups", i)+".key", g.Key)
	}
	if len(c.Groups) > 0 && len(c.Items) > 0 {
		l.Add("$.items", fault.Conflict, "stands beside groups, which are used in place of it", "keep one of the two")
	}
	return l.Err()
}

// Validate returns every fault of the configuration.
func (c FindingFanoutConfig) Validate() error {
	var l fault.List
	ownSchema(&l, c.Schema, SchemaFindingFanoutConfig)
	l.Between("$.concurrency", c.Concurrency, 0, MaxConcurrency)
	l.Names("$.success_statuses", c.SuccessStatuses)
	if c.FindingPolicy != nil {
		for i, p := range c.FindingPolicy.GroupBy {
			l.Say(fault.Index("$.finding_policy.group_by", i), p)
		}
	}
	return l.Err()
}

// Validate returns every fault of the plan. A task without a name, or two with one, would be lost in the
// reconciliation, so neither may start.
func (p FanoutPlan) Validate() error {
	var l fault.List
	ownSchema(&l, p.Schema, SchemaFanoutPlan)
	seen := map[string]int{}
	for i, t := range p.TaskRequests {
		at := fault.Index("$.task_requests", i) + ".id"
		name := t.Name()
		if name == "" { // case 108
			l.Add(at, fault.Blank, fmt.Sprintf("is blank: task %d has no id, task_id or group_key", i), "give every task an id")
			continue
		}
		if first, twice := seen[name]; twice {
			l.Add(at, fault.Duplicate, fmt.Sprintf("%q is the id of task %d too", clip(name), first), "give every task its own id")
			continue
		}
		seen[name] = i
	}
	if p.Reconciliation != nil {
		l.Within("$.reconciliation", p.Reconciliation.Validate())
	}
	return l.Err()
}

// Validate returns every fault of the run.
func (r FanoutRun) Validate() error {
	var l fault.List
	ownSchema(&l, r.Schema, SchemaFanoutRun)
	fault.OneOf(&l, "$.status", r.Status, FanoutStatuses...)
	fanoutRecords(&l, r.Status, r.Records)
	if r.Reconciliation != nil {
		l.Within("$.reconciliation", r.Reconciliation.Validate())
	}
	return l.Err()
}

// Validate returns every fault of the result.
func (r FanoutResult) Validate() error {
	var l fault.List
	ownSchema(&l, r.Schema, SchemaFanoutResult)
	fault.OneOf(&l, "$.status", r.Status, FanoutStatuses...)
	fanoutRecords(&l, r.Status, r.Records)
	if r.Reconciliation != nil {
		l.Within("$.reconciliation", r.Reconciliation.Validate())
	}
	return l.Err()
}

// fanoutRecords demands that records are named once, and that a fanout with one that is not done is not completed.
func fanoutRecords(l *fault.List, status FanoutStatus, records []FanoutRecord) {
	seen := map[string]bool{}
	for i, r := range records {
		at := fault.Index("$.records", i)
		name := r.Name()
		switch {
		case name == "":
			l.Add(at+".id", fault.Blank, "is blank", "name the task")
		case seen[name]:
			l.Add(at+".id", fault.Duplicate, fmt.Sprintf("%q is there twice", clip(name)), "keep one record for each task")
		}
		seen[name] = true
		fault.OneOf(l, at+".status", r.Status, RecordStatuses...)
		if status == FanoutCompleted && r.Status != RecordCompleted {
			l.Add("$.status", fault.Conflict, "is completed and not every record is", "say failed")
		}
	}
}

// Validate returns every fault of the counts.
func (r FanoutReconciliation) Validate() error {
	var l fault.List
	ownSchema(&l, r.Schema, SchemaFanoutReconciliation)
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"group_count", r.GroupCount},
		{"task_count", r.TaskCount},
		{"record_count", r.RecordCount},
		{"success_count", r.SuccessCount},
		{"failure_count", r.FailureCount},
		{"outcome_count", r.OutcomeCount},
		{"missing_count", r.MissingCount},
		{"unknown_record_count", r.UnknownCount},
		{"duplicate_record_count", r.DuplicateCount},
	} {
		l.Between("$."+n.name, n.value, 0, 1<<53)
	}
	l.Names("$.failed_task_ids", r.FailedTaskIDs)
	return l.Err()
}

// Validate returns every fault of the event.
func (p FanoutProgress) Validate() error {
	var l fault.List
	ownSchema(&l, p.Schema, SchemaFanoutProgress)
	fault.OneOf(&l, "$.status", p.Status, ProgressStarted, string(RecordCompleted), string(RecordFailed), string(RecordMissing))
	l.Say("$.id", p.ID)
	l.Between("$.group_index", p.GroupIndex, 1, 1<<53)
	l.Between("$.group_count", p.GroupCount, 1, 1<<53)
	if p.GroupIndex > p.GroupCount {
		l.Add("$.group_index", fault.Conflict, fmt.Sprintf("%d is more than the %d groups", p.GroupIndex, p.GroupCount), "the first group is 1")
	}
	return l.Err()
}
