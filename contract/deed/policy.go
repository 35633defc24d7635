package deed

import "github.com/deedrun/deed/contract/fault"

// A TaskPolicy narrows what the agent of one task may do. It never widens: its rules are asked besides those of the
// operator, and the stricter answer counts.
type TaskPolicy struct {
	Use     []string `json:"use,omitempty"`           // names of lists under policies: in the operator's deed.yaml
	Rules   []Rule   `json:"rules,omitempty"`         // the task's own
	Project []Rule   `json:"project_rules,omitempty"` // set by deed: those of the project's deed.yaml
}

// Validate returns every fault of the record.
func (p TaskPolicy) Validate() error {
	var l fault.List
	l.Names("$.use", p.Use)
	Rules(&l, "$.rules", p.Rules)
	Rules(&l, "$.project_rules", p.Project)
	return l.Err()
}
