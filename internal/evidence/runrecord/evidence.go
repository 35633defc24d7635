package runrecord

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/store"
)

// evidence gathers what the run really took.
func (r *Run) evidence(o Outcome) evidence.RunResourceEvidence {
	r.mu.Lock()
	defer r.mu.Unlock()
	ev := evidence.RunResourceEvidence{
		Schema: evidence.SchemaRunResourceEvidence, Status: o.Status,
		Timing: evidence.RunTiming{
			Startup:  evidence.Unmeasured("the agent's process never started"),
			Duration: evidence.Measured(evidence.UnitMilliseconds, millis(clock.Since(r.start))),
			Cleanup:  evidence.Unmeasured("no clean-up was measured"),
		},
		Resources: resources(o),
		Artifacts: artifacts(o),
		Phases:    append([]evidence.RunPhaseEvidence{}, r.phases...),
		Reliability: evidence.RunReliability{
			FailureClassification: r.classify(o),
			RetryCount:            evidence.Unmeasured("the caller does not count retries"),
		},
	}
	if r.startup != nil {
		ev.Timing.Startup = evidence.Measured(evidence.UnitMilliseconds, millis(*r.startup))
	}
	if o.Cleaned != nil {
		ev.Timing.Cleanup = evidence.Measured(evidence.UnitMilliseconds, millis(*o.Cleaned))
	}
	if o.Retries != nil {
		ev.Reliability.RetryCount = evidence.Measured(evidence.UnitCount, float64(*o.Retries))
	}
	return ev
}

// deadRunEvidence is the evidence of a run whose owner died: what was not counted is marked so.
func deadRunEvidence(row store.Run, o Outcome) evidence.RunResourceEvidence {
	const died = "the process that counted it died"
	ev := evidence.RunResourceEvidence{
		Schema: evidence.SchemaRunResourceEvidence, Status: o.Status, Phases: []evidence.RunPhaseEvidence{}, Artifacts: artifacts(o),
		Timing: evidence.RunTiming{
			Startup:  evidence.Unmeasured(died),
			Duration: evidence.Measured(evidence.UnitMilliseconds, max(millis(row.HeartbeatAt.Sub(row.CreatedAt)), 0)), // as far as it was seen alive
			Cleanup:  evidence.Unmeasured("no clean-up was measured"),
		},
		Reliability: evidence.RunReliability{
			RetryCount:            evidence.Unmeasured(died),
			FailureClassification: evidence.RunFailureClass{Available: true, Value: o.Class, Code: o.Code},
		},
	}
	if o.Error != nil {
		ev.Reliability.FailureClassification.Message = o.Error.Message
	}
	if o.Class == "" {
		ev.Reliability.FailureClassification.Value = byStatus(o.Status, "")
	}
	res := &ev.Resources
	for _, m := range []*evidence.RunMetric{&res.RuntimeMemory, &res.RuntimeProcessCount, &res.RuntimeUserTime, &res.RuntimeSystemTime, &res.LeftoverProcesses} {
		*m = evidence.Unmeasured(died)
	}
	return ev
}

// resources adds up what the kernel counted.
func resources(o Outcome) evidence.RunResources {
	const none = "no process of the run was measured"
	out := evidence.RunResources{
		HostProcess: hostProcess(), RuntimeMemory: evidence.Unmeasured(none), RuntimeUserTime: evidence.Unmeasured(none),
		RuntimeSystemTime: evidence.Unmeasured(none), LeftoverProcesses: evidence.Unmeasured(none),
		RuntimeProcessCount: evidence.Unmeasured("the kernel does not count the processes of a run"),
	}
	if len(o.Exits) == 0 {
		return out
	}
	var rss int64
	var user, system time.Duration
	left := 0
	for _, e := range o.Exits {
		rss = max(rss, e.MaxRSS)
		user += e.UserTime
		system += e.SystemTime
		left += e.Killed
	}
	if rss > 0 {
		out.RuntimeMemory = evidence.Measured(evidence.UnitBytes, float64(rss))
	} else {
		out.RuntimeMemory = evidence.Unmeasured("no process was larger than deed itself, whose peak the kernel counts along")
	}
	out.RuntimeUserTime = evidence.Measured(evidence.UnitMilliseconds, millis(user))
	out.RuntimeSystemTime = evidence.Measured(evidence.UnitMilliseconds, millis(system))
	out.LeftoverProcesses = evidence.Measured(evidence.UnitCount, float64(left))
	return out
}

// hostProcess reads what deed itself uses, or nil where the system does not say.
func hostProcess() *evidence.RunHostProcess {
	const source = "/proc/self/status"
	text, err := os.ReadFile(source)
	if err != nil {
		return nil
	}
	h := &evidence.RunHostProcess{PID: os.Getpid(), Source: source}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		dst := map[string]*int64{"VmRSS": &h.RSSBytes, "VmHWM": &h.MaxRSSBytes}[name]
		if dst == nil {
			continue
		}
		if kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64); err == nil {
			*dst = kb << 10
		}
	}
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	if heap[0].Value.Kind() == metrics.KindUint64 {
		h.HeapUsedBytes = int64(heap[0].Value.Uint64())
	}
	return h
}

func artifacts(o Outcome) evidence.RunArtifactSize {
	if o.Bundle == "" {
		return evidence.RunArtifactSize{Reason: "the run left no artifacts"}
	}
	n, err := Size(o.Bundle)
	if err != nil {
		return evidence.RunArtifactSize{Directory: o.Bundle, BundleID: o.BundleID, Reason: err.Error()}
	}
	return evidence.RunArtifactSize{Available: true, Directory: o.Bundle, Bytes: &n, BundleID: o.BundleID}
}

// maxEntries bounds how much of a tree is counted: a hostile one must not be able to keep deed busy.
const maxEntries = 1_000_000

// Size adds up the files below a path, or returns the size of the file there. No symbolic link is followed.
func Size(path string) (int64, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return 0, fmt.Errorf("measure: %w", err)
	}
	if !fi.IsDir() {
		return fi.Size(), nil
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return 0, fmt.Errorf("measure: %w", err)
	}
	defer func() { _ = root.Close() }()
	var sum int64
	n := 0
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if n++; n > maxEntries || len(p) > 4096 {
			return fs.SkipAll
		}
		if err != nil {
			return fs.SkipDir // unreadable or gone meanwhile: counted as far as it can be seen
		}
		if fi, err := d.Info(); err == nil && fi.Mode().IsRegular() {
			sum += fi.Size()
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sum, fmt.Errorf("measure: %w", err)
	}
	return sum, nil
}

// classify says what kind of failure it was. The caller holds mu.
func (r *Run) classify(o Outcome) evidence.RunFailureClass {
	c := evidence.RunFailureClass{Available: true, Value: o.Class, Code: o.Code, Phase: r.failed}
	if o.Error != nil {
		c.Message = o.Error.Message
		if c.Code == "" {
			c.Code = o.Error.Code
		}
	}
	if c.Value == "" {
		c.Value = byStatus(o.Status, r.failed)
		if c.Value == evidence.RunFailureExecution && r.startup == nil {
			c.Value = evidence.RunFailureStartup
		}
	}
	if c.Value == evidence.RunFailureNone {
		return evidence.RunFailureClass{Available: true, Value: c.Value}
	}
	return c
}

// byPhase is the class of a failure in a phase that other tools know.
var byPhase = map[string]string{
	evidence.PhaseNameServices: evidence.RunFailureStartup, evidence.PhaseNameStartup: evidence.RunFailureStartup,
	evidence.PhaseNameMount: evidence.RunFailurePluginMount, evidence.PhaseNameActivate: evidence.RunFailurePluginActivation,
	evidence.PhaseNameWorkloads: evidence.RunFailureWorkload, evidence.PhaseNameProbes: evidence.RunFailureProbe,
	evidence.PhaseNameCollect: evidence.RunFailureArtifactCollection,
}

func byStatus(s evidence.RunStatus, phase string) string {
	switch s {
	case evidence.RunSucceeded:
		return evidence.RunFailureNone
	case evidence.RunTimedOut:
		return evidence.RunFailureTimeout
	case evidence.RunCancelled:
		return evidence.RunFailureCancelled
	}
	if c, ok := byPhase[phase]; ok {
		return c
	}
	return evidence.RunFailureExecution
}
