package runner

// A Failure says what kind of failure it was. Mode is the classifier's, and Step the step that the script named. Cause is
// there when the check could not be run at all, whatever the code is like; Remedy says what to do about it.
type Failure struct {
	Phase    string `json:"phase"`
	Category string `json:"category" jsonschema:"enum=findings,enum=infrastructure"`
	Mode     string `json:"mode,omitempty"`
	Step     string `json:"step,omitempty"`
	Summary  string `json:"summary"`
	Cause    string `json:"cause,omitempty" jsonschema:"enum=missing_tool,enum=missing_dependency,enum=nothing_loaded,enum=no_tests,enum=no_report"`
	Remedy   string `json:"remedy,omitempty"`
}

// Why a check could not be run at all.
const (
	CauseTool       = "missing_tool"       // a program is not installed
	CauseDependency = "missing_dependency" // a dependency is not installed, or cannot be downloaded
	CauseUnloaded   = "nothing_loaded"     // there are tests, and not one of their files could be built or loaded
	CauseNoTests    = "no_tests"           // no test was found, or none was executed
	CauseNoReport   = "no_report"          // the runner ended well and left no report
)

// Causes lists every cause.
var Causes = []string{CauseTool, CauseDependency, CauseUnloaded, CauseNoTests, CauseNoReport}

// A Missing is a tool or a dependency that a run needed and that is not here.
type Missing struct {
	Kind   string `json:"kind" jsonschema:"enum=tool,enum=dependency"`
	Name   string `json:"name"`
	Remedy string `json:"remedy,omitempty"`
}

// The kinds of what is missing.
const (
	MissingTool       = "tool"
	MissingDependency = "dependency"
)
