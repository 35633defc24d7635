package evidence

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// RunResourceEvidence is what a run really took, as the kernel and the clock counted it. A number that nobody counted
// is absent and says why: it is never zero by default.
type RunResourceEvidence struct {
	Schema      string             `json:"schema"`
	Status      RunStatus          `json:"status"`
	Timing      RunTiming          `json:"timing"`
	Resources   RunResources       `json:"resources"`
	Artifacts   RunArtifactSize    `json:"artifacts"`
	Phases      []RunPhaseEvidence `json:"phases"`
	Reliability RunReliability     `json:"reliability"`
}

// A RunMetric is a number with its unit, or the reason why there is none.
type RunMetric struct {
	Available bool     `json:"available"`
	Unit      string   `json:"unit,omitempty"`
	Value     *float64 `json:"value,omitempty"`
	Reason    string   `json:"reason,omitempty"`
}

// Units of a metric.
const (
	UnitMilliseconds = "ms"
	UnitBytes        = "bytes"
	UnitCount        = "count"
)

// Measured returns a number that was counted.
func Measured(unit string, v float64) RunMetric {
	return RunMetric{Available: true, Unit: unit, Value: &v}
}

// Unmeasured says why there is no number.
func Unmeasured(reason string) RunMetric { return RunMetric{Reason: reason} }

// A RunTiming is how long the run took. Startup ends when the agent's process runs, not when deed begins to make it.
type RunTiming struct {
	Startup  RunMetric `json:"startup"`
	Duration RunMetric `json:"duration"`
	Cleanup  RunMetric `json:"cleanup"`
}

// RunResources is what deed's own process and the processes of the run used.
type RunResources struct {
	HostProcess         *RunHostProcess `json:"hostProcess,omitempty"`
	RuntimeMemory       RunMetric       `json:"runtimeMemory"` // the largest process
	RuntimeProcessCount RunMetric       `json:"runtimeProcessCount"`
	RuntimeUserTime     RunMetric       `json:"runtimeUserTime"`
	RuntimeSystemTime   RunMetric       `json:"runtimeSystemTime"`
	LeftoverProcesses   RunMetric       `json:"leftoverProcesses"` // had to be ended after the main process
}

// A RunHostProcess is deed's own process at the end of the run.
type RunHostProcess struct {
	PID           int    `json:"pid" jsonschema:"minimum=1"`
	RSSBytes      int64  `json:"rssBytes,omitempty" jsonschema:"minimum=0"`
	HeapUsedBytes int64  `json:"heapUsedBytes,omitempty" jsonschema:"minimum=0"`
	MaxRSSBytes   int64  `json:"maxRssBytes,omitempty" jsonschema:"minimum=0"`
	Source        string `json:"source"`
}

// A RunArtifactSize is the size of what the run left behind.
type RunArtifactSize struct {
	Available bool   `json:"available"`
	Directory string `json:"directory,omitempty"`
	Bytes     *int64 `json:"bytes,omitempty" jsonschema:"minimum=0"`
	BundleID  string `json:"bundleId,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// Statuses of a phase.
const (
	PhaseCompleted = "completed"
	PhaseFailed    = "failed"
)

// A RunPhaseEvidence is one phase of a run, measured.
type RunPhaseEvidence struct {
	Schema     string         `json:"schema"`
	Name       string         `json:"name" jsonschema:"minLength=1,maxLength=512"`
	Status     string         `json:"status" jsonschema:"enum=completed,enum=failed"`
	StartedAt  string         `json:"startedAt" jsonschema:"minLength=1"`
	EndedAt    string         `json:"endedAt" jsonschema:"minLength=1"`
	DurationMS float64        `json:"durationMs" jsonschema:"minimum=0"`
	Data       map[string]any `json:"data,omitempty"`
	Error      *RunError      `json:"error,omitempty"`
}

// Names of phases that other tools know. The vocabulary is open.
const (
	PhaseNameServices  = "provision_runtime_services"
	PhaseNameStartup   = "runtime_startup"
	PhaseNameMount     = "mount_plugins"
	PhaseNameActivate  = "activate_plugins"
	PhaseNameWorkloads = "run_workloads"
	PhaseNameProbes    = "run_probes"
	PhaseNameCollect   = "collect_artifacts"
)

// A RunReliability says what kind of failure it was, and how often the run had been tried before.
type RunReliability struct {
	FailureClassification RunFailureClass `json:"failureClassification"`
	RetryCount            RunMetric       `json:"retryCount"`
}

// A RunFailureClass is the kind of a failure.
type RunFailureClass struct {
	Available bool   `json:"available"`
	Value     string `json:"value" jsonschema:"enum=none,enum=unknown,enum=timeout,enum=cancelled,enum=cleanup,enum=startup,enum=plugin_mount,enum=plugin_activation,enum=fixture_database,enum=workload,enum=probe,enum=artifact_collection,enum=execution"`
	Code      string `json:"code,omitempty"`
	Phase     string `json:"phase,omitempty"`
	Message   string `json:"message,omitempty"`
}

// Values of a failure classification.
const (
	RunFailureNone               = "none"
	RunFailureUnknown            = "unknown"
	RunFailureTimeout            = "timeout"
	RunFailureCancelled          = "cancelled"
	RunFailureCleanup            = "cleanup"
	RunFailureStartup            = "startup"
	RunFailurePluginMount        = "plugin_mount"
	RunFailurePluginActivation   = "plugin_activation"
	RunFailureFixtureDatabase    = "fixture_database"
	RunFailureWorkload           = "workload"
	RunFailureProbe              = "probe"
	RunFailureArtifactCollection = "artifact_collection"
	RunFailureExecution          = "execution"
)

// RunFailureValues lists every value of a failure classification.
var RunFailureValues = []string{
	RunFailureNone, RunFailureUnknown, RunFailureTimeout, RunFailureCancelled, RunFailureCleanup, RunFailureStartup, RunFailurePluginMount,
	RunFailurePluginActivation, RunFailureFixtureDatabase, RunFailureWorkload, RunFailureProbe, RunFailureArtifactCollection, RunFailureExecution,
}

// Validate returns every fault of the record.
func (e RunResourceEvidence) Validate() error {
	var l fault.List
	wantSchema(&l, e.Schema, SchemaRunResourceEvidence)
	fault.OneOf(&l, "$.status", e.Status, RunStatuses...)
	r := e.Resources
	for _, f := range []struct {
		at string
		m  RunMetric
	}{
		{"$.timing.startup", e.Timing.Startup},
		{"$.timing.duration", e.Timing.Duration},
		{"$.timing.cleanup", e.Timing.Cleanup},
		{"$.resources.runtimeMemory", r.RuntimeMemory},
		{"$.resources.runtimeProcessCount", r.RuntimeProcessCount},
		{"$.resources.runtimeUserTime", r.RuntimeUserTime},
		{"$.resources.runtimeSystemTime", r.RuntimeSystemTime},
		{"$.resources.leftoverProcesses", r.LeftoverProcesses},
		{"$.reliability.retryCount", e.Reliability.RetryCount},
	} {
		f.m.check(&l, f.at)
	}
	if a := e.Artifacts; a.Available != (a.Bytes != nil) {
		l.Add("$.artifacts.available", fault.Conflict, "contradicts bytes", "what is available has a size")
	}
	for i, p := range e.Phases {
		l.Within(fault.Index("$.phases", i), p.Validate())
	}
	c := e.Reliability.FailureClassification
	fault.OneOf(&l, "$.reliability.failureClassification.value", c.Value, RunFailureValues...)
	if e.Status == RunSucceeded && c.Value != RunFailureNone && c.Value != RunFailureCleanup {
		l.Add("$.reliability.failureClassification.value", fault.Conflict, fmt.Sprintf("is %q and the run succeeded", cut(c.Value)), "use none")
	}
	return l.Err()
}

// check demands that a metric is a number with a unit, or a reason.
func (m RunMetric) check(l *fault.List, at string) {
	switch {
	case m.Available && (m.Value == nil || m.Unit == ""):
		l.Add(at, fault.Conflict, "is available without value and unit", "give both")
	case m.Available && *m.Value < 0:
		l.Add(at+".value", fault.OutOfRange, fmt.Sprintf("%v is negative", *m.Value), "count from zero")
	case !m.Available && (m.Reason == "" || m.Value != nil):
		l.Add(at, fault.Conflict, "is not available and does not say why", "give a reason and no value")
	}
}

// Validate returns every fault of the record.
func (p RunPhaseEvidence) Validate() error {
	var l fault.List
	wantSchema(&l, p.Schema, SchemaRecipePhaseEvidence)
	l.Name("$.name", p.Name)
	fault.OneOf(&l, "$.status", p.Status, PhaseCompleted, PhaseFailed)
	start, ok := instant(&l, "$.startedAt", p.StartedAt)
	if end, valid := instant(&l, "$.endedAt", p.EndedAt); valid && ok && end.Before(start) {
		l.Add("$.endedAt", fault.Conflict, "is before startedAt", "time does not run backwards")
	}
	if p.Status == PhaseCompleted && p.Error != nil {
		l.Add("$.error", fault.Conflict, "is there and the phase completed", "a phase with an error failed")
	}
	return l.Err()
}
