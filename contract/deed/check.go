package deed

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/runner"
)

// What becomes of a change that edits what a check judges by: tests, fixtures, configuration, runner scripts.
const (
	InputsRefuse      = "refuse"       // the change is refused
	InputsRerunPinned = "rerun_pinned" // the check must pass with them as they were, and with them as the agent left them; nobody is asked
	InputsAsk         = "ask"          // a person decides
)

// InputPolicies lists every policy on changed inputs.
var InputPolicies = []string{InputsRefuse, InputsRerunPinned, InputsAsk}

// A Check is something that deed itself runs in a clean room made of the base and the agent's patch: a command, or a
// capability of the project (its tests, its linters). It is run on the base as well, so that the two can be compared.
type Check struct {
	Name           string            `json:"name,omitempty" jsonschema:"maxLength=512"`
	Command        []string          `json:"command,omitempty" jsonschema:"minItems=1"` // an argument vector
	Shell          string            `json:"shell,omitempty" jsonschema:"minLength=1"`  // or a line for /bin/sh -c
	Capability     string            `json:"capability,omitempty" jsonschema:"enum=lint,enum=test,enum=build,enum=audit"`
	Dir            string            `json:"dir,omitempty" jsonschema:"maxLength=4096"` // below the workspace
	Env            map[string]string `json:"env,omitempty"`
	TimeoutSeconds int64             `json:"timeout_seconds,omitempty" jsonschema:"minimum=0,maximum=604800"`
	Advisory       bool              `json:"advisory,omitempty"` // a failure is told and does not count

	Extension string          `json:"extension,omitempty" jsonschema:"maxLength=512"` // with capability: this one, where several have it
	Steps     []string        `json:"steps,omitempty"`                                // with capability: only these steps of its script
	Skip      []string        `json:"skip,omitempty"`                                 // with capability: not these
	Settings  json.RawMessage `json:"settings,omitempty"`                             // with capability: an object, on top of the project's settings

	Inputs          []string `json:"inputs,omitempty"`                                                                // globs of what it judges by; absent: the usual ones of its capability
	OnChangedInputs string   `json:"on_changed_inputs,omitempty" jsonschema:"enum=refuse,enum=rerun_pinned,enum=ask"` // absent: rerun_pinned, and a person is asked where only that run fails
	RequirePass     *bool    `json:"require_pass,omitempty"`                                                          // true: old failures count too; false: they never do; absent: something that failed must have been fixed, and with files everything
	Hidden          bool     `json:"hidden,omitempty"`                                                                // the agent is not told of it
	Files           string   `json:"files,omitempty" jsonschema:"maxLength=4096"`                                     // with hidden: an absolute directory that is laid over the tree before the check
	FilesDigest     string   `json:"files_digest,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$"`                      // set by deed: what was in that directory when the task was admitted
}

// Policy is what becomes of changed inputs, also where the check does not say.
func (c Check) Policy() string {
	if c.OnChangedInputs == "" {
		return InputsRerunPinned
	}
	return c.OnChangedInputs
}

var digestPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// Validate returns every fault of the check.
func (c Check) Validate() error {
	var l fault.List
	l.OptionalName("$.name", c.Name)
	c.validateWhat(&l)
	for i, arg := range c.Command {
		l.Text(fault.Index("$.command", i), arg)
	}
	if c.Shell != "" {
		l.Say("$.shell", c.Shell)
	}
	if c.Dir != "." {
		l.OptionalRelativePath("$.dir", c.Dir)
	}
	l.Env("$.env", c.Env)
	l.Between("$.timeout_seconds", c.TimeoutSeconds, 0, MaxTimeoutSeconds)
	c.validateCapability(&l)
	c.validateInputs(&l)
	c.validateHidden(&l)
	return l.Err()
}

// validateWhat holds the check to one thing to run.
func (c Check) validateWhat(l *fault.List) {
	argv, shell, capability := len(c.Command) > 0, c.Shell != "", c.Capability != ""
	switch {
	case argv && shell:
		l.Add("$.shell", fault.Conflict, "is set beside command", "use an argument vector or a shell line, not both")
	case capability && (argv || shell):
		l.Add("$.capability", fault.Conflict, "is set beside a command", "name a capability or a command, not both")
	case !argv && !shell && !capability:
		l.Add("$", fault.MissingField, "has neither command nor shell nor capability", `name what to run, as in "capability": "test" or "command": ["go", "test", "./..."]`)
	case argv && strings.TrimSpace(c.Command[0]) == "":
		l.Add("$.command[0]", fault.Blank, "is blank", "name the program to run")
	}
}

// validateCapability refuses what only a capability has a use for.
func (c Check) validateCapability(l *fault.List) {
	if c.Capability != "" {
		fault.OneOf(l, "$.capability", c.Capability, runner.Capabilities...)
	}
	l.OptionalName("$.extension", c.Extension)
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"extension", c.Extension != ""}, {"steps", len(c.Steps) > 0}, {"skip", len(c.Skip) > 0}, {"settings", len(c.Settings) > 0},
	} {
		if f.set && c.Capability == "" {
			l.Add("$."+f.name, fault.Conflict, "has no meaning without a capability", "leave it out, or name a capability")
		}
	}
	for name, list := range map[string][]string{"$.steps": c.Steps, "$.skip": c.Skip} {
		for i, s := range list {
			l.Name(fault.Index(name, i), s)
		}
	}
	l.OptionalObject("$.settings", c.Settings)
}

func (c Check) validateInputs(l *fault.List) {
	globs(l, "$.inputs", c.Inputs)
	if c.OnChangedInputs != "" {
		fault.OneOf(l, "$.on_changed_inputs", c.OnChangedInputs, InputPolicies...)
	}
}

func (c Check) validateHidden(l *fault.List) {
	if c.Files != "" {
		l.Path("$.files", c.Files)
		if !path.IsAbs(c.Files) {
			l.Add("$.files", fault.BadFormat, fmt.Sprintf("%q is not absolute", clip(c.Files)), "write the whole path of the directory")
		}
		if !c.Hidden {
			l.Add("$.files", fault.Conflict, "is set and the check is not hidden", `write "hidden": true, or put the files into the project`)
		}
	}
	switch {
	case c.FilesDigest == "":
	case !digestPattern().MatchString(c.FilesDigest):
		l.Add("$.files_digest", fault.BadFormat, fmt.Sprintf("%q is not a SHA-256 in lower-case hexadecimal", clip(c.FilesDigest)), "leave it out: deed sets it")
	}
}

func checks(l *fault.List, at string, cs []Check) {
	for i, c := range cs {
		if err := c.Validate(); err != nil {
			l.Within(fault.Index(at, i), err)
		}
		if c.Name == "" {
			continue
		}
		if slices.ContainsFunc(cs[:i], func(o Check) bool { return o.Name == c.Name }) {
			l.Add(fault.Index(at, i)+".name", fault.Duplicate, fmt.Sprintf("%q is there twice", clip(c.Name)), "give every check its own name")
		}
	}
}

// A CheckResult is what deed saw when it ran one check. Of a capability that was run several times, status, exit code and
// log are those of the run that decided, and the comparison is that of the base with it.
type CheckResult struct {
	Name       string   `json:"name"`
	Command    []string `json:"command"`
	Status     string   `json:"status" jsonschema:"enum=passed,enum=failed,enum=timeout,enum=error"` // passed, failed, timeout, error
	ExitCode   int      `json:"exit_code"`
	DurationMS int64    `json:"duration_ms" jsonschema:"minimum=0"`
	Log        string   `json:"log,omitempty"`      // the bundle's path of its output
	Tail       string   `json:"tail,omitempty"`     // the last lines, redacted
	Advisory   bool     `json:"advisory,omitempty"` // its failure is no ground for refusal

	Capability      string           `json:"capability,omitempty"`
	Extension       string           `json:"extension,omitempty"` // that ran it
	ExtensionDigest string           `json:"extension_digest,omitempty"`
	Hidden          bool             `json:"hidden,omitempty"`                                                        // the agent was not told of it
	Report          string           `json:"report,omitempty"`                                                        // the bundle's path of what was seen on the tree as the agent left it
	BaseReport      string           `json:"base_report,omitempty"`                                                   // of the same on the base
	PinnedReport    string           `json:"pinned_report,omitempty"`                                                 // of the same with the changed inputs put back
	BaseStatus      string           `json:"base_status,omitempty"`                                                   // of the base's report
	BaseCached      bool             `json:"base_cached,omitempty"`                                                   // the base's report is from an earlier run
	Witnesses       int              `json:"witnesses,omitempty"`                                                     // tests of deed's own that had to be seen to pass, and then to fail
	Grade           string           `json:"grade,omitempty" jsonschema:"enum=passing,enum=fixed"`                    // of one that passed
	Observed        string           `json:"observed,omitempty" jsonschema:"enum=tests,enum=findings,enum=exit_code"` // what the result rests on
	Runners         []string         `json:"runners,omitempty"`                                                       // the test runners that were seen to run
	Programs        []string         `json:"programs,omitempty"`                                                      // files of the base that were seen to drive the check: they are inputs
	ChangedInputs   []ChangedInput   `json:"changed_inputs,omitempty"`                                                // what it judges by and the agent changed
	Comparison      *CheckComparison `json:"comparison,omitempty"`
}

// A ChangedInput is one file that a check judges by and that the agent did not leave as it was.
type ChangedInput struct {
	Path   string `json:"path"`
	Status string `json:"status"` // added, modified, deleted, type_changed
}

// A CheckComparison holds a capability on the base against the same after the change. Each list has its first hundred, in
// order; the counts are of all.
type CheckComparison struct {
	Base   *runner.TestResults `json:"base,omitempty"`
	After  *runner.TestResults `json:"after,omitempty"`
	Counts map[string]int      `json:"counts"` // of each list by its name

	NewlyFailing []string `json:"newly_failing,omitempty"`
	StillFailing []string `json:"still_failing,omitempty"`
	Fixed        []string `json:"fixed,omitempty"`
	Vanished     []string `json:"vanished,omitempty"`
	NewlySkipped []string `json:"newly_skipped,omitempty"`
	New          []string `json:"new,omitempty"`
	Unstable     []string `json:"unstable,omitempty"` // that two runs on the base do not agree on

	Introduced []string `json:"introduced,omitempty"` // findings: where, what
	Resolved   []string `json:"resolved,omitempty"`   // by fingerprint
}
