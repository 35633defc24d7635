package fanoutrun

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// SchemaTaskPlan is the schema of a plan that is a list of requests.
const SchemaTaskPlan = "homeboy/agent-task-plan/v1"

// ReadTaskPlan reads a plan of requests as the plan of a fanout, so that it runs, resumes and is reconciled as any other.
// options and output_dependencies stay members of the plan.
func ReadTaskPlan(data []byte) (homeboy.FanoutPlan, error) {
	var in struct {
		PlanID       string                     `json:"plan_id"`
		GroupKey     string                     `json:"group_key"`
		Tasks        []map[string]homeboy.Value `json:"tasks"`
		Options      homeboy.Value              `json:"options"`
		Dependencies homeboy.Value              `json:"output_dependencies"`
		Components   homeboy.Value              `json:"component_contracts"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return homeboy.FanoutPlan{}, fmt.Errorf("read task plan: %w", err)
	}
	var l fault.List
	l.Name("$.plan_id", in.PlanID)
	p := homeboy.FanoutPlan{
		Schema: homeboy.SchemaFanoutPlan, Orchestrator: map[string]homeboy.Value{"plan_id": mustJSON(in.PlanID)}, Extra: homeboy.Extra{},
		Summary: map[string]homeboy.Value{"config_schema": mustJSON(SchemaTaskPlan), "task_count": mustJSON(len(in.Tasks))},
	}
	for name, v := range map[string]homeboy.Value{"options": in.Options, "output_dependencies": in.Dependencies} {
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
	return p, l.Err()
}
