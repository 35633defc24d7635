package fanoutrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// SchemaTaskPlan is the schema of a plan that is a list of requests.
const SchemaTaskPlan = "homeboy/agent-task-plan/v1"

// ReadTaskPlan reads a plan of requests as the plan of a fanout, so that it runs, resumes and is reconciled as any other.
// options, output_dependencies and metadata stay members of the plan. Services are refused, because its tasks would run without what
// they need; ignored names other members that deed does not act on.
func ReadTaskPlan(data []byte) (_ homeboy.FanoutPlan, ignored []string, _ error) {
	var in struct {
		PlanID       string                     `json:"plan_id"`
		GroupKey     string                     `json:"group_key"`
		Tasks        []map[string]homeboy.Value `json:"tasks"`
		Options      homeboy.Value              `json:"options"`
		Dependencies homeboy.Value              `json:"output_dependencies"`
		Components   homeboy.Value              `json:"component_contracts"`
		Metadata     homeboy.Value              `json:"metadata"`
		Services     homeboy.Value              `json:"services"`
		Steps        homeboy.Value              `json:"postprocess_steps"`
		Outputs      homeboy.Value              `json:"artifact_outputs"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return homeboy.FanoutPlan{}, nil, fmt.Errorf("read task plan: %w", err)
	}
	var l fault.List
	if !nothing(in.Services) {
		l.Add("$.services", fault.NotAllowed, "is not empty, and deed starts no services of a plan", "start them before, tell the tasks where they are, and take it out")
	}
	if !nothing(in.Steps) {
		ignored = append(ignored, "postprocess_steps")
	}
	if !nothing(in.Outputs) {
		ignored = append(ignored, "artifact_outputs")
	}
	l.Name("$.plan_id", in.PlanID)
	p := homeboy.FanoutPlan{
		Schema: homeboy.SchemaFanoutPlan, Orchestrator: map[string]homeboy.Value{"plan_id": mustJSON(in.PlanID)}, Extra: homeboy.Extra{},
		Summary: map[string]homeboy.Value{"config_schema": mustJSON(SchemaTaskPlan), "task_count": mustJSON(len(in.Tasks))},
	}
	for name, v := range map[string]homeboy.Value{"options": in.Options, "output_dependencies": in.Dependencies, "metadata": in.Metadata} {
		if !v.Null() {
			p.Extra[name] = v
		}
	}
	for i, t := range in.Tasks {
		id, _ := t["task_id"].Text()
		if strings.TrimSpace(id) == "" {
			l.Add(fault.Index("$.tasks", i)+".task_id", fault.Blank, "is blank", "give every task an id")
			continue
		}
		key, _ := t["group_key"].Text()
		if key == "" {
			key = in.GroupKey
		}
		if t["component_contracts"].Null() && !in.Components.Null() {
			t["component_contracts"] = in.Components
		}
		delete(t, "task_id")
		delete(t, "group_key")
		p.TaskRequests = append(p.TaskRequests, homeboy.FanoutTask{TaskID: id, GroupKey: key, Orchestrator: p.Orchestrator, Extra: t})
	}
	return p, ignored, l.Err()
}

// nothing reports whether a member holds nothing.
func nothing(v homeboy.Value) bool {
	return v.Null() || slices.Contains([]string{"[]", "{}", `""`}, string(compact(v)))
}

func compact(v homeboy.Value) []byte {
	var out bytes.Buffer
	if json.Compact(&out, v) != nil {
		return v
	}
	return out.Bytes()
}
