package fanoutrun

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
	"github.com/deedrun/deed/internal/store"
)

// Needs say which tasks use what others made, by the task's id: the member output_dependencies of a plan.
type Needs map[string]Need

// A Need is what one task needs.
type Need struct {
	DependsOn []string           `json:"depends_on,omitempty"`
	Bindings  map[string]Binding `json:"bindings,omitempty"`

	at string // where the plan says it; "": in output_dependencies
}

// A Binding is a value from the outcome of another task, for {{outputs.NAME}}.
type Binding struct {
	TaskID   string           `json:"task_id"`
	Path     string           `json:"path,omitempty"` // a JSON Pointer into the outcome, or into the payload of the artifact
	Artifact *BindingArtifact `json:"artifact,omitempty"`
	Required *bool            `json:"required,omitempty"` // absent is true
	Default  homeboy.Value    `json:"default,omitempty"`
}

// A BindingArtifact selects a typed artifact of the outcome; what it does not name it does not look at.
type BindingArtifact struct {
	Kind        string `json:"kind,omitempty"`
	Schema      string `json:"schema,omitempty"`
	ArtifactID  string `json:"artifact_id,omitempty"`
	PayloadPath string `json:"payload_path,omitempty"` // a JSON Pointer
}

// a need is a Need with places in the plan in place of ids.
type need struct {
	After    []int64            `json:"after"`
	Bindings map[string]Binding `json:"bindings,omitempty"`
	At       map[string]int64   `json:"at,omitempty"` // of the tasks that bindings name
}

// NeedsOf reads what the tasks of a plan need of each other: output_dependencies of the plan, and depends_on of each task.
func NeedsOf(p homeboy.FanoutPlan) (Needs, error) {
	var l fault.List
	n := Needs{}
	if v := p.Extra["output_dependencies"]; !v.Null() {
		if err := json.Unmarshal(v, &n); err != nil {
			l.Add("$.output_dependencies", fault.WrongType, err.Error(), "write an object of task ids")
		}
	}
	if v := p.Extra["depends_on"]; !v.Null() {
		l.Add("$.depends_on", fault.UnknownField, fmt.Sprintf("%.60s is of no task", v), "write depends_on into the tasks, or output_dependencies into the plan")
	}
	for i, t := range p.TaskRequests {
		v := t.Extra["depends_on"]
		if v.Null() {
			continue
		}
		var names []string
		if one, ok := v.Text(); ok {
			names = []string{one}
		} else if err := json.Unmarshal(v, &names); err != nil {
			l.Add(fault.Index("$.task_requests", i)+".depends_on", fault.WrongType, fmt.Sprintf("%.60s is no list of ids", v), "write a list of the ids of tasks")
			continue
		}
		d, ok := n[t.Name()]
		if !ok {
			d.at = fault.Index("$.task_requests", i)
		}
		for _, name := range names {
			if !slices.Contains(d.DependsOn, name) {
				d.DependsOn = append(d.DependsOn, name)
			}
		}
		n[t.Name()] = d
	}
	return n, l.Err()
}

// resolve finds the places of the tasks that are named, and refuses what could never run.
func (n Needs) resolve(requests []fanout.TaskRequest) (map[int]need, error) {
	if len(n) == 0 {
		return nil, nil
	}
	at := make(map[string]int, len(requests))
	for i, r := range requests {
		at[r.ID] = i
	}
	var l fault.List
	out := map[int]need{}
	for _, id := range slices.Sorted(maps.Keys(n)) {
		path := cmp.Or(n[id].at, fault.Field("$.output_dependencies", id))
		i, ok := at[id]
		if !ok {
			l.Add(path, fault.Dangling, fmt.Sprintf("%q is no task of the plan", id), "name a task of the plan")
			continue
		}
		d := need{Bindings: n[id].Bindings, At: map[string]int64{}}
		seen := map[int]bool{}
		look := func(path, name string) {
			j, ok := at[name]
			switch {
			case !ok:
				l.Add(path, fault.Dangling, fmt.Sprintf("%q is no task of the plan", name), "name a task of the plan")
			case j == i:
				l.Add(path, fault.Conflict, "a task cannot need itself", "name another task")
			default:
				d.At[name] = int64(j)
				if !seen[j] {
					seen[j] = true
					d.After = append(d.After, int64(j))
				}
			}
		}
		for k, name := range n[id].DependsOn {
			look(fault.Index(path+".depends_on", k), name)
		}
		for _, name := range slices.Sorted(maps.Keys(n[id].Bindings)) {
			b := n[id].Bindings[name]
			look(fault.Field(path+".bindings", name)+".task_id", b.TaskID)
			if b.Path != "" && !strings.HasPrefix(b.Path, "/") {
				l.Add(fault.Field(path+".bindings", name)+".path", fault.BadFormat, fmt.Sprintf("%q is no JSON Pointer", b.Path), "begin it with /")
			}
		}
		if len(d.After) > 0 {
			slices.Sort(d.After)
			out[i] = d
		}
	}
	if l.Len() == 0 {
		n.cycles(&l, out, requests)
	}
	return out, l.Err()
}

// cycles refuses tasks that wait for each other: none of them would ever start.
func (n Needs) cycles(l *fault.List, needs map[int]need, requests []fanout.TaskRequest) {
	const (
		entered = 1
		left    = 2
	)
	state := map[int]int{}
	var visit func(i int) bool
	visit = func(i int) bool {
		switch state[i] {
		case entered:
			return true
		case left:
			return false
		}
		state[i] = entered
		for _, j := range needs[i].After {
			if visit(int(j)) {
				return true
			}
		}
		state[i] = left
		return false
	}
	for _, i := range slices.Sorted(maps.Keys(needs)) {
		if visit(i) {
			id := requests[i].ID
			l.Add(cmp.Or(n[id].at, fault.Field("$.output_dependencies", id)), fault.Conflict, strconv.Quote(id)+" waits for a task that waits for it", "break the circle")
			return
		}
	}
}

// bind fills the results of other items into the work of an item. An item whose tasks are not all done is set aside; one
// that cannot get what it needs is skipped, with an outcome that says so.
func (s *step) bind(ctx context.Context, it store.FanoutItem, w *work) (skipped *homeboy.Outcome, parked bool, err error) {
	outcomes := map[int64]homeboy.Value{}
	for _, o := range w.Needs.After {
		up, err := s.Store.FanoutItem(ctx, it.FanoutID, o)
		if err != nil {
			return nil, false, err
		}
		if up.State != store.ItemDone {
			if parked, err = s.Store.ParkItem(ctx, it, o); err != nil || parked {
				return nil, parked, err
			}
			if up, err = s.Store.FanoutItem(ctx, it.FanoutID, o); err != nil {
				return nil, false, err
			}
		}
		outcomes[o] = RecordOf(up).Outcome
	}
	values := map[string]homeboy.Value{}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(w.Needs.Bindings)) {
		b := w.Needs.Bindings[name]
		v, ok := b.value(outcomes[w.Needs.At[b.TaskID]])
		if !ok && (b.Required == nil || *b.Required) {
			missing = append(missing, name)
			continue
		}
		if !ok {
			if v = b.Default; len(v) == 0 {
				v = homeboy.Value("null")
			}
		}
		values[name] = v
	}
	if len(missing) > 0 {
		o := unmet(it.Name, missing)
		return &o, false, nil
	}
	w.Request, err = fillOutputs(w.Request, values)
	return nil, false, err
}

// unmet is the outcome of a task that never ran, because what it needs was not made.
func unmet(name string, missing []string) homeboy.Outcome {
	text := "not run: no task made " + strings.Join(missing, ", ")
	return homeboy.Outcome{
		Schema: homeboy.SchemaOutcome, TaskID: name, Status: homeboy.Failed, FailureClassification: homeboy.ClassInvalidInput, Summary: text,
		Diagnostics: []homeboy.Diagnostic{{Class: homeboy.DiagnosticDependencyMissing, Message: text, Data: mustJSON(map[string]any{"missing": missing})}},
	}
}

// value finds what a binding names in an outcome.
func (b Binding) value(outcome homeboy.Value) (homeboy.Value, bool) {
	if outcome.Null() {
		return nil, false
	}
	v := outcome
	if b.Artifact != nil {
		var o homeboy.Outcome
		if json.Unmarshal(outcome, &o) != nil {
			return nil, false
		}
		i := slices.IndexFunc(o.TypedArtifacts, b.Artifact.fits)
		if i < 0 {
			return nil, false
		}
		v = o.TypedArtifacts[i].Payload
		if b.Artifact.PayloadPath != "" {
			return pointer(v, b.Artifact.PayloadPath)
		}
	}
	return pointer(v, b.Path)
}

func (a BindingArtifact) fits(t homeboy.TypedArtifact) bool {
	return (a.Kind == "" || a.Kind == t.Type) && (a.Schema == "" || a.Schema == t.ArtifactSchema) && (a.ArtifactID == "" || a.ArtifactID == t.Name)
}

// pointer follows a JSON Pointer. A null is nothing.
func pointer(v homeboy.Value, path string) (homeboy.Value, bool) {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, part := range strings.Split(path, "/")[1:] {
		part = unescape.Replace(part)
		var object map[string]homeboy.Value
		var array []homeboy.Value
		switch {
		case json.Unmarshal(v, &object) == nil && object != nil:
			v = object[part]
		case json.Unmarshal(v, &array) == nil:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(array) {
				return nil, false
			}
			v = array[i]
		default:
			return nil, false
		}
	}
	return v, !v.Null()
}

// fillOutputs fills {{outputs.NAME}} into the members of a request that may have them. Alone in a text it keeps the type
// of the value; inside other text it is written out.
func fillOutputs(q homeboy.Request, values map[string]homeboy.Value) (homeboy.Request, error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return q, fmt.Errorf("request %s: %w", q.TaskID, err)
	}
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return q, fmt.Errorf("request %s: %w", q.TaskID, err)
	}
	for _, name := range []string{"instructions", "inputs", "metadata", "expected_artifacts"} {
		if v, ok := doc[name]; ok {
			doc[name] = filled(v, values)
		}
	}
	for _, path := range [][2]string{{"executor", "config"}, {"workspace", "materialization"}} {
		if o, ok := doc[path[0]].(map[string]any); ok {
			if v, ok := o[path[1]]; ok {
				o[path[1]] = filled(v, values)
			}
		}
	}
	if text, ok := doc["instructions"].(string); !ok {
		doc["instructions"] = written(mustJSON(doc["instructions"]))
	} else {
		doc["instructions"] = text
	}
	out, _, err := homeboy.ReadRequest(mustJSON(doc))
	if err != nil {
		return q, fmt.Errorf("request %s with what others made: %w", q.TaskID, err)
	}
	return out, nil
}

func filled(v any, values map[string]homeboy.Value) any {
	switch v := v.(type) {
	case string:
		return filledText(v, values)
	case []any:
		for i := range v {
			v[i] = filled(v[i], values)
		}
	case map[string]any:
		for k := range v {
			v[k] = filled(v[k], values)
		}
	}
	return v
}

func filledText(s string, values map[string]homeboy.Value) any {
	var out strings.Builder
	rest := s
	for {
		before, tail, ok := strings.Cut(rest, "{{")
		expr, after, closed := strings.Cut(tail, "}}")
		if !ok || !closed {
			break
		}
		name, isOutput := strings.CutPrefix(strings.TrimSpace(expr), "outputs.")
		value, known := values[name]
		if !isOutput || !known {
			out.WriteString(before + "{{" + expr + "}}")
			rest = after
			continue
		}
		if before == "" && after == "" && out.Len() == 0 {
			return json.RawMessage(value)
		}
		out.WriteString(before + written(value))
		rest = after
	}
	return out.String() + rest
}

// written is a value inside a text.
func written(v homeboy.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	if v.Null() {
		return ""
	}
	return string(v)
}
