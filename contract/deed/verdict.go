package deed

// A Verdict is the gate's decision on one completion attempt, with every reason.
type Verdict struct {
	Schema   string        `json:"schema"`
	Accepted bool          `json:"accepted"`
	NoOp     bool          `json:"no_op"` // accepted, and nothing was changed
	Reasons  []Reason      `json:"reasons"`
	Notes    []Reason      `json:"notes,omitempty"` // seen, and not a ground for refusal
	Checks   []CheckResult `json:"checks"`
}

// A Reason is one ground for refusal: a code that programs read and a sentence that people read.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
	Check   string `json:"check,omitempty"`
}

// A CheckResult is what deed saw when it ran one check.
type CheckResult struct {
	Name       string   `json:"name"`
	Command    []string `json:"command"`
	Status     string   `json:"status"` // passed, failed, timeout, error
	ExitCode   int      `json:"exit_code"`
	DurationMS int64    `json:"duration_ms"`
	Log        string   `json:"log,omitempty"`  // the bundle's path of its output
	Tail       string   `json:"tail,omitempty"` // the last lines, redacted
}
