package fanout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/truncate"
)

// Plan makes the tasks of a fanout: one for each group of items. Items that are given count before those of the
// configuration; nil gives none. The plan passes Check. Every fault of the configuration and of the tasks is returned at
// once, as fault.Faults.
func Plan(c homeboy.FanoutConfig, items []homeboy.Value) (homeboy.FanoutPlan, error) {
	if items != nil {
		c.Items = items
	}
	if err := CheckConfig(c); err != nil {
		return homeboy.FanoutPlan{}, err
	}
	return planner{config: c, groups: groupsOf(c), schema: c.Schema}.plan()
}

// Check returns every task of a plan that has no id, or the id of another, by its index: the reconciliation could not
// distinguish such tasks, so nothing of the plan may start. A plan may name a schema of its own.
func Check(p homeboy.FanoutPlan) error {
	p.Schema, p.Reconciliation = homeboy.SchemaFanoutPlan, nil
	return p.Validate()
}

// The members of a run and of a result that are made here; a configuration cannot set them.
var ownMembers = []string{
	"schema", "plan_schema", "status", "records", "outcomes", "reconciliation", "current_group", "current_groups",
	"unknown_records", "duplicate_records",
}

// CheckConfig returns every fault of a configuration. It may name a schema of its own.
func CheckConfig(c homeboy.FanoutConfig) error {
	c.Schema = homeboy.SchemaFanoutConfig // it may name another
	var l fault.List
	l.Within(fault.Root, c.Validate())
	for _, name := range ownMembers {
		if _, there := c.BaseRun[name]; there {
			l.Add(fault.Field("$.base_run", name), fault.Conflict, "is made by the reconciliation", "take it out; result_schema names the schema of the result")
		}
	}
	for i, s := range c.SuccessStatuses {
		if s = strings.TrimSpace(s); s == string(homeboy.RecordFailed) || s == string(homeboy.RecordMissing) {
			l.Add(fault.Index("$.success_statuses", i), fault.NotAllowed, fmt.Sprintf("%q is no success", s), "take it out")
		}
	}
	return l.Err()
}

// A planner makes one plan.
type planner struct {
	config  homeboy.FanoutConfig
	groups  []*group
	schema  string                   // of the configuration, for the summary
	prefix  string                   // of the ids that are computed; "" takes it from the orchestrator
	summary map[string]homeboy.Value // what the kind of fanout adds
}

func (p planner) plan() (homeboy.FanoutPlan, error) {
	c := p.config
	out := homeboy.FanoutPlan{
		Schema: c.PlanSchema, Orchestrator: c.Orchestrator,
		Groups: make([]homeboy.PlannedGroup, len(p.groups)), TaskRequests: make([]homeboy.FanoutTask, len(p.groups)),
	}
	if out.Schema == "" {
		out.Schema = homeboy.SchemaFanoutPlan
	}
	if out.Orchestrator == nil {
		out.Orchestrator = map[string]homeboy.Value{}
	}
	var l fault.List
	task := compiled(&l, "$.task_request_template", c.TaskRequestTemplate)
	execution := compiled(&l, "$.runtime_execution", c.RuntimeExecution)
	seen := scope{"orchestrator": values(out.Orchestrator), "config": later(sync.OnceValue(p.members))}
	left := maxPlan
	for i, g := range p.groups {
		seen["group"] = g
		r := newRenderer(seen)
		out.Groups[i] = homeboy.PlannedGroup{Key: g.key, Index: int64(i), ItemCount: int64(len(g.items))}
		out.TaskRequests[i] = p.task(rendering{l: &l, r: r, group: g}, task, execution)
		if left -= maxTask - r.left; left < 0 {
			l.Add("$.task_request_template", fault.OutOfRange, fmt.Sprintf("makes a plan of more than %d MiB", maxPlan>>20), "let each task name its own items only")
			return homeboy.FanoutPlan{}, l.Err()
		}
	}
	computeIDs(out.TaskRequests, p.groups, p.idPrefix())
	if l.Len() == 0 {
		l.Within(fault.Root, Check(out))
	}
	if err := l.Err(); err != nil {
		return homeboy.FanoutPlan{}, err
	}
	out.Summary = p.summarise(out)
	out.Reconciliation = count(out, tally{}, OptionsOf(c))
	return out, nil
}

// members returns the configuration as templates see it. It is written out when the first template asks: most do not,
// and it can hold every item.
func (p planner) members() values {
	raw, err := json.Marshal(p.config)
	if err != nil {
		return nil
	}
	var v values
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return v
}

// later is a node that is made when it is asked for.
type later func() values

func (l later) at(parts []string) homeboy.Value { return l().at(parts) }

func (p planner) idPrefix() string {
	if p.prefix != "" {
		return p.prefix
	}
	if s := firstText(p.config.Orchestrator["run_id"], p.config.Orchestrator["plan_id"]); s != "" {
		return s
	}
	return "fanout"
}

// summarise counts the plan. Counts are facts, so nothing that a configuration adds replaces them.
func (p planner) summarise(plan homeboy.FanoutPlan) map[string]homeboy.Value {
	items := 0
	for _, g := range p.groups {
		items += len(g.items)
	}
	schema := p.schema
	if schema == "" {
		schema = homeboy.SchemaFanoutConfig
	}
	s := map[string]homeboy.Value{"config_schema": quote(schema)}
	maps.Copy(s, p.config.Summary)
	maps.Copy(s, p.summary)
	s["item_count"], s["group_count"], s["task_count"] = number(items), number(len(p.groups)), number(len(plan.TaskRequests))
	return s
}

// templates are the members of a template.
type templates struct {
	at      string
	members []namedTemplate
}

// compiled takes the members of a template apart, once for all groups.
func compiled(l *fault.List, at string, members map[string]homeboy.Value) templates {
	out := templates{at: at}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		t, err := compile(members[name], 1)
		if err != nil {
			l.Add(fault.Field(at, name), fault.BadFormat, err.Error(), "write plain JSON")
			continue
		}
		out.members = append(out.members, namedTemplate{name, t})
	}
	return out
}

// task renders the task of one group. Its id stays blank where deed is to compute it.
func (p planner) task(m rendering, task, execution templates) homeboy.FanoutTask {
	m.render(task)
	t := homeboy.FanoutTask{ID: m.word("id"), TaskID: m.word("task_id"), GroupKey: m.word("group_key")}
	if t.ID == "" {
		t.ID = t.TaskID
	}
	if t.GroupKey == "" {
		t.GroupKey = m.group.key
	}
	t.Orchestrator = map[string]homeboy.Value{}
	maps.Copy(t.Orchestrator, p.config.Orchestrator)
	t.Orchestrator["group_index"] = number(m.group.index)
	maps.Copy(t.Orchestrator, m.object("orchestrator"))
	t.RuntimeExecution = m.object("runtime_execution")
	if len(m.out) > 0 {
		t.Extra = m.out
	}
	if len(execution.members) > 0 {
		m.render(execution)
		t.RuntimeExecution = m.out
	}
	return t
}

// A rendering is the members of one template for one group, until they are taken out of it.
type rendering struct {
	l     *fault.List
	r     *renderer
	group *group
	at    string
	out   map[string]homeboy.Value
}

// render fills in the members; those that render to nothing are not there.
func (m *rendering) render(t templates) {
	m.at, m.out = t.at, make(map[string]homeboy.Value, len(t.members))
	for _, member := range t.members {
		v, err := m.r.render(member.template)
		if err != nil {
			m.fault(member.name, fault.BadFormat, err.Error(), "look at what its expressions name")
			continue
		}
		if v != nil {
			m.out[member.name] = v
		}
	}
}

// word takes out a member that is a text or a number. An empty one gives way to what is computed.
func (m *rendering) word(name string) string {
	v := m.out[name]
	delete(m.out, name)
	if c := kind(v); c == '{' || c == '[' || c == 't' || c == 'f' {
		m.fault(name, fault.WrongType, fmt.Sprintf("renders to %s", clip(string(v))), "name a text or a number")
	}
	return text(v)
}

// object takes out a member that is an object.
func (m *rendering) object(name string) map[string]homeboy.Value {
	v := m.out[name]
	delete(m.out, name)
	if v.Null() {
		return nil
	}
	var out map[string]homeboy.Value
	if json.Unmarshal(v, &out) != nil {
		m.fault(name, fault.WrongType, fmt.Sprintf("renders to %s", clip(string(v))), "write an object")
	}
	return out
}

func (m *rendering) fault(name, code, message, remedy string) {
	m.l.Add(fault.Field(m.at, name), code, fmt.Sprintf("for group %d (%q): %s", m.group.index, clip(m.group.key), message), remedy)
}

// clip shortens a value for a message.
func clip(s string) string { return truncate.Head(s, 80) }

// maxID is where a computed id is cut: an id names directories too.
const maxID = 120

// computeIDs names the tasks that their template gave no id: the prefix and the key of the group, with every run of
// characters outside A-Z a-z 0-9 . _ - as one -. Keys that look alike then, or are very long, get a hash of the key.
func computeIDs(tasks []homeboy.FanoutTask, groups []*group, prefix string) {
	taken := map[string]bool{}
	for _, t := range tasks {
		if t.ID != "" {
			taken[t.Name()] = true
		}
	}
	for i := range tasks {
		if tasks[i].ID != "" {
			continue
		}
		tasks[i].ID = distinct(prefix+"-"+groups[i].key, taken)
	}
}

// distinct returns a text as an id that is not taken yet, and takes it.
func distinct(name string, taken map[string]bool) string {
	id := sanitised(name)
	for n := 0; taken[id] || len(id) > maxID; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", n, name))
		id = id[:min(len(id), maxID-9)] + "-" + hex.EncodeToString(sum[:4])
	}
	taken[id] = true
	return id
}

func sanitised(s string) string {
	var out strings.Builder
	dash := false
	for _, r := range s {
		ok := r < 128 && (r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
		switch {
		case ok:
			out.WriteRune(r)
		case !dash:
			out.WriteByte('-')
		}
		dash = !ok
	}
	return out.String()
}
