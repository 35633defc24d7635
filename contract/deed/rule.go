package deed

// A Rule says what an agent may do. The first one that matches counts. Members that are absent match everything; those
// that are there must all match.
type Rule struct {
	Name    string   `json:"name,omitempty" jsonschema:"maxLength=512"` // for the evidence; absent: its number
	Tool    []string `json:"tool,omitempty"`                            // globs over the tool's name, and over deed's names for known tools
	Path    []string `json:"path,omitempty"`                            // globs over a path below the workspace, or an absolute one
	Host    []string `json:"host,omitempty"`                            // globs over a host name or host:port
	Command []string `json:"command,omitempty"`                         // globs over a command line
	Effect  string   `json:"effect" jsonschema:"enum=allow,enum=deny,enum=ask"`
	Reason  string   `json:"reason,omitempty"`
}
