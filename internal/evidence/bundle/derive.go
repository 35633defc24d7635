package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// isoMillis is how instants are written in bundles: as JavaScript does.
const isoMillis = "2006-01-02T15:04:05.000Z"

type derivedDocs struct {
	review    evidence.Review
	metadata  evidence.Metadata
	statement Statement
}

// derive makes the files that sum up the others. What comes from the caller is redacted here, once, before it is spread over
// several files; what comes from the bundle's own files is redacted already.
func (w *Writer) derive(id, digest string, in SealInput) (derivedDocs, error) {
	counts := redact.Counts{}
	in, err := redactInput(w.o.Redactor, in, counts)
	if err != nil {
		return derivedDocs{}, err
	}
	if err := complete(&in); err != nil {
		return derivedDocs{}, err
	}
	created := in.CreatedAt.UTC().Format(isoMillis)
	provenance := evidence.Provenance{Task: in.Task, Workspace: in.Workspace, Runtime: &in.Runtime, Agent: in.Agent, Mounts: in.Mounts}
	content := evidence.ContentDigest{Algorithm: evidence.AlgorithmSHA256, Inputs: contentInputs, Value: digest}
	patch, _, _ := w.File(evidence.PathPatch)

	review := evidence.Review{
		Schema: evidence.SchemaReview, ArtifactID: id, CreatedAt: created, Provenance: &provenance, Summary: in.Summary,
		ChangedFiles: []evidence.ReviewFile{}, Progress: orEmpty(in.Progress), Actions: in.Actions, RiskFlags: orEmpty(in.RiskFlags),
		Evidence: evidence.ReviewEvidence{
			Patch: evidence.PathPatch, PatchSHA256: patch.SHA256.Value, ArtifactContentDigest: digest,
			ChangedFiles: evidence.PathChangedFiles, TestResults: evidence.PathTestResults,
			RuntimeReferenceManifest: evidence.PathRuntimeReference,
		},
	}
	if err := w.reviewChanges(&review); err != nil {
		return derivedDocs{}, err
	}
	if review.Actions == nil {
		review.Actions = []evidence.ReviewAction{{Kind: "discard", Label: "Discard the change"}}
		if review.Stats.Total > 0 {
			review.Actions = append([]evidence.ReviewAction{{Kind: "approve", Label: "Apply the change"}}, review.Actions...)
		}
	}

	metadata := evidence.Metadata{
		ID: id, ContentDigest: content, CreatedAt: created, Runtime: in.Runtime, Provenance: provenance, Mounts: orEmpty(in.Mounts),
		Policy: in.Policy, Context: in.Context, Spec: in.Spec, Artifacts: w.artifactMap(),
	}
	redaction, err := w.redactions(review, metadata, counts)
	if err != nil {
		return derivedDocs{}, err
	}
	review.Redaction, metadata.Redaction = &redaction, redaction
	if redaction.Total > 0 && !slices.Contains(review.RiskFlags, evidence.RiskSecretsRedacted) {
		review.RiskFlags = append(review.RiskFlags, evidence.RiskSecretsRedacted)
	}
	return derivedDocs{review: review, metadata: metadata, statement: in.Statement}, nil
}

// redactions sums up what was replaced in all files, the derived documents among them. They are counted before the summary
// is written, since a name in a summary is no label.
func (w *Writer) redactions(review evidence.Review, metadata evidence.Metadata, replaced redact.Counts) (evidence.RedactionSummary, error) {
	sum := w.Redactions()
	if !w.o.Redactor.Active() {
		return sum, nil
	}
	for _, d := range []struct {
		path     string
		v        any
		replaced redact.Counts
	}{
		{evidence.PathReview, review, nil},
		{evidence.PathMetadata, metadata, replaced},
	} {
		text, err := encode(d.v, "")
		if err != nil {
			return sum, fmt.Errorf("%s: %w", d.path, err)
		}
		addRedacted(&sum, d.path, w.o.Redactor.Settle(d.replaced, w.o.Redactor.MarksIn(text)))
	}
	slices.SortFunc(sum.Artifacts, func(a, b evidence.RedactedArtifact) int { return cmp.Compare(a.Path, b.Path) })
	return sum, nil
}

// addRedacted adds one file to a summary, unless nothing was replaced in it.
func addRedacted(sum *evidence.RedactionSummary, path string, counts redact.Counts) {
	n := counts.Total()
	if n == 0 {
		return
	}
	sum.Status = evidence.RedactionRedacted
	sum.Total += n
	sum.Artifacts = append(sum.Artifacts, evidence.RedactedArtifact{Path: path, Count: n, Kinds: counts.Names()})
	for name, c := range counts {
		sum.ByKind[name] += c
	}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// redactInput passes all strings of the caller's input through the redactor.
func redactInput(r *redact.Redactor, in SealInput, counts redact.Counts) (SealInput, error) {
	if !r.Active() {
		return in, nil
	}
	data, err := encode(in, "")
	if err != nil {
		return in, err
	}
	w := r.Writer(io.Discard)
	if _, err := w.Write(data); err != nil {
		return in, err
	}
	if err := w.Close(); err != nil {
		return in, err
	}
	if w.Counts().Total() == 0 {
		return in, nil
	}
	for name, n := range w.Counts() {
		counts[name] += n
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		return in, err
	}
	clean := map[string]any{}
	for k, e := range v {
		switch k {
		case "CreatedAt":
			clean[k] = e
		case "Task", "Agent", "Workspace", "Context", "Spec":
			clean[k] = redactValue(r, e)
		default:
			clean[k] = redactStrings(r, e)
		}
	}
	if data, err = encode(clean, ""); err != nil {
		return in, err
	}
	var out SealInput
	dec = json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		return in, fmt.Errorf("redact the attempt's description: %w", err)
	}
	return out, nil
}

// redactStrings is redactValue for a record whose field names and numbers are deed's own: only string values change.
func redactStrings(r *redact.Redactor, v any) any {
	switch v := v.(type) {
	case string:
		return r.String(v)
	case []any:
		for i := range v {
			v[i] = redactStrings(r, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = redactStrings(r, v[k])
		}
	}
	return v
}

// complete fills the defaults and checks what has to be stated.
func complete(in *SealInput) error {
	if in.CreatedAt.IsZero() {
		return fmt.Errorf("createdAt is not set")
	}
	rt := &in.Runtime
	if rt.ID == "" {
		return fmt.Errorf("runtime id is not set: give the attempt id")
	}
	rt.Backend = cmp.Or(rt.Backend, Backend)
	rt.Status = cmp.Or(rt.Status, evidence.RuntimeDestroyed)
	rt.CreatedAt = cmp.Or(rt.CreatedAt, in.CreatedAt.UTC().Format(isoMillis))
	rt.Environment.Kind = cmp.Or(rt.Environment.Kind, "process")
	rt.Environment.OS = cmp.Or(rt.Environment.OS, runtime.GOOS)
	rt.Environment.Arch = cmp.Or(rt.Environment.Arch, runtime.GOARCH)
	if in.Statement.Containment == "" {
		in.Statement.Containment = rt.Environment.Kind
	}
	p := &in.Policy
	p.Commands = orEmpty(p.Commands)
	e := &p.Enforcement
	for name, b := range map[string]*evidence.PolicyBlock{
		"network": &e.Network, "filesystem": &e.Filesystem, "commands": &e.Commands, "secrets": &e.Secrets,
		"approvals": &e.Approvals, "isolation": &e.Isolation, "limits": &e.Limits,
	} {
		b.Status = cmp.Or(b.Status, evidence.PolicyNotConfigured)
		switch b.Status {
		case evidence.PolicyEnforced, evidence.PolicyMonitored, evidence.PolicyDeclared, evidence.PolicyNotConfigured:
		default:
			return fmt.Errorf("policy %s has status %q, not enforced, monitored, declared or not_configured", name, b.Status)
		}
	}
	for _, s := range []*string{&p.Network, &p.Filesystem, &p.Secrets, &p.Approvals} {
		*s = cmp.Or(*s, evidence.PolicyNotConfigured)
	}
	return nil
}

// artifactMap names the files a reader looks for.
func (w *Writer) artifactMap() map[string]string {
	names := map[string]string{
		"events": evidence.PathEvents, "commands": evidence.PathCommands, "observations": evidence.PathObservations,
		"runtimeLog": evidence.PathRuntimeLog, "commandsLog": evidence.PathCommandsLog, "changedFiles": evidence.PathChangedFiles,
		"patch": evidence.PathPatch, "testResults": evidence.PathTestResults, "completionOutcome": evidence.PathCompletionOutcome,
		"agentResult": evidence.PathAgentResult, "agentTaskResult": evidence.PathAgentTaskResult, "transcript": evidence.PathTranscript,
		"toolCallTranscript": evidence.PathToolCallTranscript, "verdict": PathVerdict, "prompt": PathPrompt, "stdout": PathStdout,
		"stderr": PathStderr, "result": PathResult, "lastMessage": PathLastMessage,
	}
	out := map[string]string{
		"manifest": evidence.PathManifest, "review": evidence.PathReview, "runtimeReferenceManifest": evidence.PathRuntimeReference,
	}
	if w.o.Key != nil {
		out["attestation"] = PathAttestation
	}
	for name, p := range names {
		if _, _, ok := w.File(p); ok {
			out[name] = p
		}
	}
	return out
}

// reference makes the runtime reference manifest over every file that does not depend on it.
func (w *Writer) reference(md evidence.Metadata) (evidence.RuntimeReferenceManifest, error) {
	ref := evidence.RuntimeReferenceManifest{
		Schema: evidence.SchemaRuntimeReferenceManifest, Version: evidence.ReferenceVersion, CreatedAt: md.CreatedAt, Runtime: md.Runtime,
		ArtifactBundle: evidence.ArtifactBundleRef{Kind: evidence.KindArtifactBundle, ID: md.ID, Digest: sha(md.ContentDigest.Value)},
		Files:          []evidence.ReferenceFile{}, Snapshots: []evidence.ReferenceSnapshot{},
	}
	for _, f := range w.listed() {
		r := evidence.ReferenceFile{Path: f.Path, Kind: f.Kind, ContentType: f.ContentType, SHA256: *f.SHA256}
		ref.Files = append(ref.Files, r)
		if f.Path == evidence.PathEvents {
			ref.Events = &r
		}
	}
	slices.SortFunc(ref.Files, func(a, b evidence.ReferenceFile) int { return cmp.Compare(a.Path, b.Path) })
	t, err := tree(ref)
	if err != nil {
		return ref, err
	}
	value, err := referenceDigest(evidence.DomainRuntimeReference, t)
	if err != nil {
		return ref, err
	}
	ref.Digest = sha(value)
	ref.ID = evidence.RuntimeReferenceIDStart + value
	return ref, nil
}

// readJSON reads a JSON file of a bundle whole, within the limits.
func readJSON(root *os.Root, path string) ([]byte, error) {
	f, err := plainfile.OpenIn(root, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxJSONBytes+1))
	if err != nil {
		return nil, err
	}
	if fault := jsonFault(data); fault != "" {
		return nil, fmt.Errorf("%w: %s", ErrTooLarge, fault)
	}
	return data, nil
}
