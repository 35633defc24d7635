package providertask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/compat/homeboy/outcome"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

// ErrUnsettled says that an attempt still runs, or has ended without being swept yet.
var ErrUnsettled = errors.New("the attempt is not settled")

// What the driver leaves in the bundle of an attempt.
const (
	recordDir    = "files/attempt"
	pathOutcome  = bundle.PathResult
	pathRequest  = recordDir + "/" + packaged.RequestFile
	artifactsDir = recordDir + "/" + packaged.ArtifactsDir
	maxRecord    = 64 << 20
)

// OutcomeOf rebuilds the outcome of a settled attempt of such a task from its bundle and the store alone: everybody
// gets the same answer at any time.
func OutcomeOf(ctx context.Context, st *store.Store, h *home.Home, attemptID string) (homeboy.Outcome, error) {
	o, _, err := rebuild(ctx, st, h, attemptID)
	return o, err
}

// rebuild also reports whether the provider left an answer.
func rebuild(ctx context.Context, st *store.Store, h *home.Home, attemptID string) (none homeboy.Outcome, answered bool, err error) {
	att, err := st.Attempt(ctx, attemptID)
	if err != nil {
		return none, false, fmt.Errorf("read attempt %s: %w", attemptID, err)
	}
	if att.Live {
		return none, false, fmt.Errorf("attempt %s: %w", attemptID, ErrUnsettled)
	}
	t, err := st.Task(ctx, att.Record.TaskID)
	if err != nil {
		return none, false, fmt.Errorf("read task %s: %w", att.Record.TaskID, err)
	}
	req, _, err := homeboy.ReadRequest(t.Record.Payload)
	if err != nil {
		return none, false, fmt.Errorf("task %s: %w", att.Record.TaskID, err)
	}
	r := &rebuilt{task: t, attempt: att, req: req}
	if att.BundleDir != "" {
		r.dir = filepath.Join(h.Root(), filepath.FromSlash(att.BundleDir))
		if err := r.open(); err != nil {
			return none, false, fmt.Errorf("attempt %s: %w", attemptID, err)
		}
	}
	return r.outcome()
}

// rebuilt is what is known of a settled attempt.
type rebuilt struct {
	task    store.Task
	attempt store.Attempt
	req     homeboy.Request
	dir     string // the bundle's directory; empty: there is none
	listed  evidence.Manifest
}

func (r *rebuilt) open() error {
	data, err := plainfile.Read(filepath.Join(r.dir, evidence.PathManifest), maxRecord)
	if err != nil {
		return fmt.Errorf("read the bundle: %w", err)
	}
	if err := json.Unmarshal(data, &r.listed); err != nil {
		return fmt.Errorf("read the bundle: %w", err)
	}
	return nil
}

// read reads a file of the bundle if its manifest lists it; ok is false if not.
func (r *rebuilt) read(name string, into any) (ok bool, err error) {
	if r.dir == "" || bundle.ListedFile(&r.listed, name) == nil {
		return false, nil
	}
	var text bytes.Buffer
	if err := bundle.CopyContent(r.dir, &r.listed, name, maxRecord, &text); err != nil {
		return false, err
	}
	if err := json.Unmarshal(text.Bytes(), into); err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	return true, nil
}

func (r *rebuilt) outcome() (o homeboy.Outcome, answered bool, err error) {
	if answered, err = r.read(pathOutcome, &o); err != nil {
		return o, false, err
	}
	if !answered {
		o = r.noAnswer()
	}
	r.placeArtifacts(&o)
	v, err := r.verdict(answered, homeboy.IsSuccess(o.Status))
	if err != nil {
		return o, answered, err
	}
	o = outcome.Overlay(o, v)
	o.Diagnostics = append(o.Diagnostics, remarks(r.req, r.isolation())...)
	r.refer(&o)
	var md map[string]homeboy.Value
	if len(o.Metadata) > 0 && json.Unmarshal(o.Metadata, &md) != nil {
		return o, answered, errors.New("the outcome's metadata is no object") // Overlay turns it into an outcome
	}
	o.Metadata = with(o.Metadata, map[string]any{metadataDeed: with(md[metadataDeed], map[string]any{
		"task_id": r.attempt.Record.TaskID, "bundle_id": r.attempt.BundleID, "isolation": r.isolation(), "class": r.attempt.Class,
	})})
	return o, answered, nil
}

// placeArtifacts sets the paths of the kept files: the driver names them relative to its record's directory, which is
// in the bundle.
func (r *rebuilt) placeArtifacts(o *homeboy.Outcome) {
	for i, a := range o.Artifacts {
		if a.Path == "" || path.IsAbs(a.Path) || r.dir == "" {
			continue
		}
		if name := path.Join(artifactsDir, a.Path); bundle.ListedFile(&r.listed, name) != nil {
			o.Artifacts[i].Path = filepath.Join(r.dir, filepath.FromSlash(name))
		}
	}
}

// noAnswer is the outcome of an attempt whose provider left no answer, because it never ran or because deed ended
// before.
func (r *rebuilt) noAnswer() homeboy.Outcome {
	why := strings.TrimSpace(r.lastError())
	if why == "" {
		why = "the provider left no outcome: " + r.attempt.Class
	}
	var d struct {
		Refusal *struct{ Code, Class, Message, Remedy string } `json:"refusal"`
	}
	if json.Unmarshal(r.attempt.Record.Diagnostics, &d) == nil && d.Refusal != nil {
		return (&Refusal{Code: d.Refusal.Code, Class: homeboy.FailureClass(d.Refusal.Class), Message: d.Refusal.Message, Remedy: d.Refusal.Remedy}).Outcome(r.req.TaskID)
	}
	w := wordOf(r.attempt.Class)
	o := outcome.Refused("agent_task."+r.attempt.Class, why, "", w.class, r.req.TaskID)
	if w.status != "" {
		o.Status = w.status
	}
	if o.Status == homeboy.Cancelled {
		o.FailureClassification = ""
	}
	return o
}

func (r *rebuilt) lastError() string {
	var d struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(r.attempt.Record.Diagnostics, &d) == nil && d.Error != "" {
		return d.Error
	}
	if e := r.task.Record.LastError; e != nil {
		return *e
	}
	return ""
}

// A word is the name of a failure class in an outcome, whatever the provider said.
type word struct {
	status homeboy.OutcomeStatus
	class  homeboy.FailureClass
	own    bool // deed or its operator ended the attempt: this takes precedence over the provider's answer
}

// words has every class. A class that is not a failure has no word: there the provider's answer and the gate's
// verdict count.
var words = map[failure.Class]word{
	failure.None:        {},
	failure.Canceled:    {homeboy.Cancelled, "", true},
	failure.Interrupted: {homeboy.Cancelled, "", true},
	failure.Timeout:     {homeboy.Timeout, homeboy.ClassTimeout, false},
	failure.Config:      {homeboy.ProviderError, homeboy.ClassInvalidInput, false},
	failure.Isolation:   {homeboy.ProviderError, homeboy.ClassProvider, true},
	failure.Lost:        {homeboy.ProviderError, homeboy.ClassTransient, true},
	failure.Infra:       {homeboy.ProviderError, homeboy.ClassTransient, true},
	failure.Panic:       {homeboy.ProviderError, homeboy.ClassUnknown, true},
	failure.Budget:      {homeboy.Failed, homeboy.ClassPolicyDenied, true},
	failure.Blocked:     {homeboy.UnableToRemediate, homeboy.ClassExecutionFailed, false},
	failure.RateLimited: {homeboy.ProviderError, homeboy.ClassRateLimited, false},
	failure.Rejected:    {homeboy.Failed, homeboy.ClassExecutionFailed, false},
	failure.AgentFailed: {homeboy.Failed, homeboy.ClassExecutionFailed, false},
	failure.AskedFail:   {homeboy.Failed, homeboy.ClassExecutionFailed, false},
	failure.AskedRetry:  {homeboy.Failed, homeboy.ClassExecutionFailed, false},
	failure.Limit:       {homeboy.Failed, homeboy.ClassExecutionFailed, false},
	failure.InvalidWord: providersFault,
	failure.Provider:    providersFault,
	failure.Turns:       providersFault,
	failure.Loop:        providersFault,
	failure.Stuck:       providersFault,
	failure.Spawn:       providersFault,
}

var providersFault = word{homeboy.ProviderError, homeboy.ClassProvider, false}

func wordOf(class string) word {
	if w, ok := words[failure.Class(class)]; ok {
		return w
	}
	return providersFault // a class of a newer version
}

// verdict collects what deed found: how the attempt ended, what the gate said, and the change.
func (r *rebuilt) verdict(answered, success bool) (outcome.Verdict, error) {
	v := outcome.Verdict{Request: r.req, Attempt: r.attempt.Record.AttemptID, Bundle: r.dir, NoAnswer: !answered}
	if w := wordOf(r.attempt.Class); w.own && answered {
		v.Ended, v.Class = w.status, w.class
		v.Reasons = []outcome.Reason{{Code: r.attempt.Class, Message: r.lastError()}}
	}
	if why := r.lastError(); why != "" && answered && success && len(v.Reasons) == 0 && len(r.attempt.Verdict) == 0 {
		v.Reasons = []outcome.Reason{{Code: r.attempt.Class, Message: why}} // what the provider left could not even be judged
	}
	if len(r.attempt.Verdict) > 0 {
		var d deed.Verdict
		if err := json.Unmarshal(r.attempt.Verdict, &d); err != nil {
			return v, fmt.Errorf("read the verdict: %w", err)
		}
		v.Judged, v.Accepted = true, d.Accepted && len(d.Reasons) == 0
		for _, x := range d.Reasons {
			v.Reasons = append(v.Reasons, outcome.Reason{Code: x.Code, Message: x.Message})
		}
	}
	return v, r.change(&v)
}

// change finds the patch that deed captured.
func (r *rebuilt) change(v *outcome.Verdict) error {
	var files evidence.ChangedFiles
	if _, err := r.read(evidence.PathChangedFiles, &files); err != nil {
		return err
	}
	v.Changed = len(files.Files)
	var md evidence.Metadata
	if _, err := r.read(evidence.PathMetadata, &md); err != nil {
		return err
	}
	v.Base, _ = md.Provenance.Workspace["commit"].(string)
	if v.Base == "" {
		v.Base, _ = md.Provenance.Workspace["base_digest"].(string)
	}
	f := bundle.ListedFile(&r.listed, evidence.PathPatch)
	if f == nil || f.SHA256 == nil || v.Changed == 0 {
		return nil
	}
	file := filepath.Join(r.dir, filepath.FromSlash(evidence.PathPatch))
	opened, err := plainfile.Open(file)
	if err != nil {
		return fmt.Errorf("read the patch: %w", err)
	}
	defer func() { _ = opened.Close() }() // only read
	info, err := opened.Stat()
	if err != nil {
		return fmt.Errorf("read the patch: %w", err)
	}
	if info.Size() == 0 {
		return nil
	}
	v.Patch = &outcome.Patch{Path: file, SHA256: f.SHA256.Value, Size: info.Size()}
	if f.Redaction != nil && f.Redaction.Policy == evidence.RedactionApplied {
		v.Patch.ReviewOnly = "a secret's value was redacted from it"
	}
	return nil
}

// refer adds references to the evidence.
func (r *rebuilt) refer(o *homeboy.Outcome) {
	if r.dir == "" {
		return
	}
	add := func(kind, name, label string) {
		if name != "" && bundle.ListedFile(&r.listed, name) == nil {
			return
		}
		ref := homeboy.EvidenceRef{Kind: kind, URI: "file://" + filepath.Join(r.dir, filepath.FromSlash(name)), Label: label}
		if !slices.ContainsFunc(o.EvidenceRefs, func(e homeboy.EvidenceRef) bool { return e.Kind == ref.Kind && e.URI == ref.URI }) {
			o.EvidenceRefs = append(o.EvidenceRefs, ref)
		}
	}
	add("deed-bundle", "", "the signed evidence of the attempt")
	add("deed-journal", evidence.PathEvents, "what happened, event by event")
	add("agent-task-request", pathRequest, "the request as the provider got it")
	add("provider-stderr", bundle.PathStderr, "what the provider wrote to standard error")
}

func (r *rebuilt) isolation() string {
	if s := r.task.Intent.Deed; s != nil && s.Isolation != "" {
		return s.Isolation
	}
	return string(sandbox.Process)
}
