package evidence

// A Metadata is metadata.json: what ran, for which task, under which policy, and where in the bundle things are.
type Metadata struct {
	ID            string            `json:"id"`
	ContentDigest ContentDigest     `json:"contentDigest"`
	CreatedAt     string            `json:"createdAt"`
	Runtime       Runtime           `json:"runtime"`
	Provenance    Provenance        `json:"provenance"`
	Mounts        []Mount           `json:"mounts"`
	Policy        Policy            `json:"policy"`
	Context       map[string]any    `json:"context,omitempty"`
	Spec          any               `json:"spec,omitempty"`
	Artifacts     map[string]string `json:"artifacts"` // name to bundle path; every path is listed in the manifest
	Redaction     RedactionSummary  `json:"redaction"`
	Evidence      map[string]any    `json:"evidence,omitempty"`
}

// A Provenance says what a bundle's content comes from. Values are those of the caller; none is a host path.
type Provenance struct {
	Task      map[string]any `json:"task,omitempty"`
	Workspace map[string]any `json:"workspace,omitempty"`
	Packages  []any          `json:"packages,omitempty"`
	Runtime   *Runtime       `json:"runtime,omitempty"`
	Agent     map[string]any `json:"agent,omitempty"`
	Mounts    []Mount        `json:"mounts,omitempty"`
}

// A Mount is a directory that the runtime saw, by its name inside the runtime.
type Mount struct {
	Index  int    `json:"index"`
	Target string `json:"target"`
	Mode   string `json:"mode"` // readonly or readwrite
}

// Enforcement words. Enforced: deed made the rule hold. Declared: it was asked for and nothing checks it.
const (
	PolicyEnforced      = "enforced"
	PolicyMonitored     = "monitored" // watched, and the run is ended within seconds
	PolicyDeclared      = "declared"
	PolicyNotConfigured = "not_configured"
)

// A Policy is what the run was allowed to do, with how far each part of it was made to hold.
type Policy struct {
	Network     string            `json:"network"`
	Filesystem  string            `json:"filesystem"`
	Commands    []string          `json:"commands"`
	Secrets     string            `json:"secrets"`
	Approvals   string            `json:"approvals"`
	Enforcement PolicyEnforcement `json:"enforcement"`
}

// PolicyEnforcement marks each part of a policy.
type PolicyEnforcement struct {
	Network    PolicyBlock `json:"network"`
	Filesystem PolicyBlock `json:"filesystem"`
	Commands   PolicyBlock `json:"commands"`
	Secrets    PolicyBlock `json:"secrets"`
	Approvals  PolicyBlock `json:"approvals"`
	Isolation  PolicyBlock `json:"isolation"`
	Limits     PolicyBlock `json:"limits"`
}

// A PolicyBlock is one mark with a sentence on how the part was held, or why it was not.
type PolicyBlock struct {
	Status string `json:"status"` // enforced, monitored, declared or not_configured
	Detail string `json:"detail,omitempty"`
}
