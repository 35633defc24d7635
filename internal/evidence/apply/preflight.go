package apply

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// maxPayload is how large the patch of a payload may be: it is one string of a JSON document.
const maxPayload = 64 << 20

// Preflight says whether the whole change of a bundle is approved and sound, and gives what an applier needs. Unlike Apply
// it demands that every changed file is approved, it asks for no signature, and it looks at no directory. Work that a gate
// did not accept is not ready, as Apply refuses it; a bundle of a maker that has no gate is not asked for a verdict.
func Preflight(dir string, approve []string, approver string, v bundle.VerifyOptions) (evidence.ApplyPreflight, error) {
	out := evidence.ApplyPreflight{Schema: evidence.SchemaApplyPreflight, Violations: []evidence.Violation{}}
	o, err := Read(dir, v)
	out.Verification = o.Verification.BundleVerification
	var r *Refusal
	if err != nil && !errors.As(err, &r) {
		return out, err
	}
	if !o.Verification.Valid {
		out.Violations = append(out.Violations, o.Verification.Violations...)
		return out, nil
	}
	defer o.Close()
	verdict, err := o.unaccepted()
	if err != nil && !errors.As(err, &r) {
		return out, err
	}
	out.Violations = append(out.Violations, verdict...)
	if r != nil {
		for _, reason := range r.Reasons {
			out.Violations = append(out.Violations, evidence.Violation{Code: evidence.CodeMalformedReference, Path: evidence.PathPatch, File: reason.Path, Message: sentence(reason)})
		}
		return out, nil
	}
	out.Violations = append(out.Violations, o.uncovered(approve)...)
	if len(out.Violations) > 0 {
		return out, nil
	}
	out.Payload, err = o.payload(approver)
	if errors.Is(err, bundle.ErrTooLarge) {
		out.Violations = append(out.Violations, evidence.Violation{Code: evidence.CodeUnsafeFile, Path: evidence.PathPatch, File: evidence.PathPatch, Message: err.Error()})
		return out, nil
	}
	out.Ready = err == nil
	return out, err
}

// uncovered reports what keeps an approval from covering the change.
func (o *Offer) uncovered(approve []string) []evidence.Violation {
	var out []evidence.Violation
	add := func(code, path, file, format string, args ...any) {
		out = append(out, evidence.Violation{Code: code, Path: path, File: file, Message: fmt.Sprintf(format, args...)})
	}
	const at = "approvedFiles"
	if !o.Verification.ContentAddressed {
		add(evidence.CodeDigestMismatch, "manifest.contentDigest.inputs", evidence.PathManifest, "the bundle's id does not depend on its change")
	}
	switch {
	case len(o.Files) == 0: // so that nothing could be approved
		add(evidence.CodeMalformedReference, evidence.PathPatch, evidence.PathPatch, "the bundle changes nothing")
	case len(approve) == 0:
		add(evidence.CodeMalformedReference, at, "", "nothing is approved")
	}
	covered := map[string]bool{}
	for i, name := range approve {
		meant := called(o.Files, name)
		if len(meant) == 0 {
			add(evidence.CodeMalformedReference, fmt.Sprintf("%s[%d]", at, i), workspace.EarlierTextPath(name), "approved and not part of the change: %s", Shown(name))
			continue
		}
		// All of them must be approved, so that the name of documents can go first.
		first := max(0, slices.IndexFunc(meant, func(f File) bool { return f.documented(name) }))
		covered[meant[first].Full] = true
	}
	for _, f := range o.Files {
		if !covered[f.Full] {
			add(evidence.CodeMalformedReference, at, f.Name, "changed and not approved: %s", Shown(f.Name))
		}
	}
	return out
}

func (o *Offer) payload(approver string) (*evidence.ApplyPayload, error) {
	if slices.ContainsFunc(o.Files, func(f File) bool { return f.part.End > maxPayload }) {
		return nil, fmt.Errorf("the patch is %w: more than %d bytes", bundle.ErrTooLarge, maxPayload)
	}
	var patch bytes.Buffer
	if err := o.WritePatch(o.Files, &patch); err != nil {
		return nil, err
	}
	m := o.Verification.Manifest
	p := &evidence.ApplyPayload{
		ArtifactID: m.ID, Artifact: reference(m), ApprovedFiles: names(o.Files), Approver: approver,
		Patch: patch.String(), PatchEncoding: evidence.PatchUTF8, PatchSHA256: digest(patch.Bytes()),
		ArtifactContentDigest: m.ContentDigest.Value, ArtifactVerification: "valid",
	}
	if !utf8.Valid(patch.Bytes()) {
		p.Patch, p.PatchEncoding = base64.StdEncoding.EncodeToString(patch.Bytes()), evidence.PatchBase64
	}
	return p, nil
}

func reference(m *evidence.Manifest) evidence.ArtifactBundleRef {
	return evidence.ArtifactBundleRef{
		Kind: evidence.KindArtifactBundle, ID: m.ID,
		Digest: evidence.Digest{Algorithm: m.ContentDigest.Algorithm, Value: m.ContentDigest.Value},
	}
}

// Envelope verifies a bundle and describes it for its receiver. A bundle that has no readable manifest has no
// envelope.
func Envelope(dir string, v bundle.VerifyOptions) (evidence.EvidenceEnvelope, error) {
	rep, err := Verify(dir, v)
	if err != nil {
		return evidence.EvidenceEnvelope{}, err
	}
	if rep.Manifest == nil {
		return evidence.EvidenceEnvelope{}, invalid(rep)
	}
	e := evidence.EvidenceEnvelope{
		Schema: evidence.SchemaEvidenceEnvelope, Version: evidence.EnvelopeVersion, CreatedAt: rep.Manifest.CreatedAt,
		Artifact: reference(rep.Manifest), Runtime: rep.Manifest.Runtime, Refs: []evidence.ReferenceFile{},
		Verification: evidence.EnvelopeVerification{
			Valid: rep.Valid, ContentAddressed: rep.ContentAddressed, Signature: rep.Signature.Status, KeyID: rep.Signature.KeyID, Violations: rep.Violations,
		},
	}
	if s := rep.Statement; s != nil {
		e.Statement = &evidence.EnvelopeStatement{TaskID: s.TaskID, AttemptID: s.AttemptID, Verdict: s.Verdict, Status: s.Status, Containment: s.Containment}
	}
	for _, f := range rep.Manifest.Files {
		ref := evidence.ReferenceFile{Path: f.Path, Kind: f.Kind, ContentType: f.ContentType, Viewer: f.Viewer}
		if f.SHA256 != nil {
			ref.SHA256 = *f.SHA256
		}
		e.Refs = append(e.Refs, ref)
	}
	return e, nil
}
