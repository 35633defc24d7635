package placement

import (
	"encoding/json"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
)

// allowSecrets takes over which files of the change may hold what looks like a secret: policy.allow_secrets, in the words of a task's own.
func (p *placer) allowSecrets() {
	var policy struct {
		AllowSecrets json.RawMessage `json:"allow_secrets"`
	}
	_ = json.Unmarshal(p.req.Policy, &policy) // it was checked to be an object
	if len(policy.AllowSecrets) == 0 {
		return
	}
	var globs []string
	if json.Unmarshal(policy.AllowSecrets, &globs) != nil {
		p.faults.Add("$.policy.allow_secrets", fault.WrongType, "is not a list of texts", "list patterns of files, as testdata/**")
		return
	}
	p.faults.Within("$.policy", deed.TaskSpec{AllowSecrets: globs}.Validate())
	p.spec.AllowSecrets = globs
}
