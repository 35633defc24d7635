package outcome

import (
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/homeboy"
)

// The classes of diagnostics that deed's own verdict adds.
const (
	CodeGateRefused  = "deed.gate_refused"      // one for each reason of the gate
	CodeGateMissing  = "deed.gate_missing"      // a success that was not judged
	CodeEnded        = "deed.attempt_ended"     // deed ended the attempt for a reason of its own
	CodeNoOpChanged  = "deed.no_op_changed"     // it claimed that there was nothing to do, and changed something
	CodeNothingDone  = "deed.nothing_changed"   // a success without a change
	CodePatchEmpty   = "agent_task.patch_empty" // a change was asked for or claimed, and there is none next to other results
	CodePatchReplace = "deed.patch_replaced"    // the provider's own patch is not what deed captured
)

// SchemaIntentionalNoChange is the schema of a typed artifact, or of an output, by which a provider says that a revision
// needs no change.
const SchemaIntentionalNoChange = "homeboy/intentional-no-change/v1"

// A Verdict is what deed found about the change of an attempt, whatever its provider said.
type Verdict struct {
	Request homeboy.Request // what was asked for

	// Ended is how deed ended the attempt, where that is not for the gate to say: cancelled, timeout, provider_error,
	// failed. It overrides the gate, and a failure that only the provider reports; see Overlay. Empty: the attempt
	// ended by itself.
	Ended homeboy.OutcomeStatus
	Class homeboy.FailureClass // of Ended

	// NoAnswer says that no provider answered: the outcome is deed's own from the beginning.
	NoAnswer bool

	Judged   bool // the gate gave a verdict
	Accepted bool // and it was yes
	Reasons  []Reason
	Changed  int    // files that differ from the base
	Patch    *Patch // the change as deed captured it; nil: none
	Base     string // the revision that it applies to

	Attempt string // id of the attempt
	Bundle  string // directory of its evidence
}

// A Reason is one thing that the gate, or deed, had against an attempt.
type Reason struct {
	Code    string
	Message string
	Remedy  string
}

// A Patch is the change of an attempt, as deed captured it.
type Patch struct {
	Path   string
	SHA256 string
	Size   int64
	// ReviewOnly says why the patch cannot be applied as it is: something in it was redacted. Empty: it can be.
	ReviewOnly string
}

// Overlay returns the outcome of a task: what its provider said, and deed's own verdict, which counts. In this order:
//
//  1. cancelled by deed: cancelled
//  2. a timeout, a provider_error or a cancelled: it stays, and so does any failure next to a timeout, as in Read
//  3. another end by deed: that
//  4. another failure, or a candidate: it stays
//  5. no verdict, or a refusal: failed
//  6. an accepted change: succeeded, also where the provider said no_op
//  7. an accepted empty change: no_op; succeeded if no change was asked for or claimed and there are results;
//     candidate_recoverable if one was, and there are other results
//
// The patch that deed captured is added in every case, and can be applied only if the gate accepted it. A patch of the
// provider's own is added for review. An outcome that Overlay returned is not laid over again.
func Overlay(o homeboy.Outcome, v Verdict) homeboy.Outcome {
	l := overlayer{o: &o, v: v, said: o.Status, word: string(o.Status), claimed: slices.ContainsFunc(o.Artifacts, isPatch)}
	o.Diagnostics, o.Artifacts = slices.Clone(o.Diagnostics), slices.Clone(o.Artifacts)
	l.attach()
	l.decide()
	if word := providerStatus(o.Metadata); word != "" {
		l.word = word // it was kept when another status took its place
	} else if o.Status != l.said && !v.NoAnswer {
		o.Metadata = with(o.Metadata, "provider_status", l.said)
	}
	o.Metadata = with(o.Metadata, ownMember, l.account())
	return o
}

// providerStatus is the status that the provider reported, where the outcome has another.
func providerStatus(metadata homeboy.Value) string {
	members, _ := object(metadata)
	word, _ := members["provider_status"].Text()
	return word
}

// An overlayer is one call of Overlay.
type overlayer struct {
	o       *homeboy.Outcome
	v       Verdict
	said    homeboy.OutcomeStatus
	word    string // the provider's own
	claimed bool   // the provider has a patch of its own
}

func (l *overlayer) decide() {
	switch v := l.v; {
	case v.Ended == homeboy.Cancelled:
		l.end(homeboy.Cancelled, "", CodeEnded, PhaseCancel)
	case v.Ended == "" && !homeboy.IsSuccess(l.said), l.settled():
		if v.Judged {
			l.reasons(CodeGateRefused, PhaseGate) // they are evidence; the failure stays
		} else {
			l.reasons(CodeEnded, PhaseRun)
		}
	case v.Ended != "":
		phase := PhaseRun
		if v.Ended == homeboy.Timeout {
			phase = PhaseTimeout
		}
		l.end(v.Ended, v.Class, CodeEnded, phase)
	case !v.Judged:
		l.end(homeboy.Failed, homeboy.ClassExecutionFailed, CodeGateMissing, PhaseGate)
	case !v.Accepted:
		l.end(homeboy.Failed, homeboy.ClassExecutionFailed, CodeGateRefused, PhaseGate)
	case v.Changed > 0:
		l.changed()
	default:
		l.unchanged()
	}
}

// settled reports whether an outcome goes before another end by deed than cancelled.
func (l *overlayer) settled() bool {
	switch l.said {
	case homeboy.Timeout, homeboy.ProviderError, homeboy.Cancelled:
		return true
	}
	return l.v.Ended == homeboy.Timeout && !homeboy.IsSuccess(l.said)
}

// end sets a status that is no success, with its reasons.
func (l *overlayer) end(status homeboy.OutcomeStatus, class homeboy.FailureClass, code string, phase Phase) {
	if class == "" && status != homeboy.Cancelled {
		class = defaultClass(status)
	}
	l.o.Status, l.o.FailureClassification = status, class
	if s := l.o.Summary; s != "" && homeboy.IsSuccess(l.said) && len(l.v.Reasons) > 0 { // it is about a success
		l.o.Metadata = with(l.o.Metadata, "provider_summary", s)
		l.o.Summary = l.v.Reasons[0].Message
	}
	if len(l.v.Reasons) == 0 {
		addDiagnostic(l.o, code, "deed ended the attempt as "+string(status)+" and gave no reason", map[string]any{"phase": phase})
	}
	l.reasons(code, phase)
	refer(l.o, code)
}

func defaultClass(status homeboy.OutcomeStatus) homeboy.FailureClass {
	switch status {
	case homeboy.Timeout:
		return homeboy.ClassTimeout
	case homeboy.ProviderError:
		return homeboy.ClassProvider
	}
	return homeboy.ClassExecutionFailed
}

func (l *overlayer) reasons(code string, phase Phase) {
	for _, r := range l.v.Reasons {
		data := map[string]any{"phase": phase, "code": r.Code}
		if r.Remedy != "" {
			data["remedy"] = r.Remedy
		}
		addDiagnostic(l.o, code, r.Message, data)
	}
}

// changed is an accepted change: it counts, whatever the provider said.
func (l *overlayer) changed() {
	if l.said != homeboy.NoOp {
		return
	}
	l.o.Status = homeboy.Succeeded
	addDiagnostic(l.o, CodeNoOpChanged, fmt.Sprintf("the provider says that there was nothing to do, and %d files are changed", l.v.Changed), map[string]any{"phase": PhaseGate, "changed_files": l.v.Changed})
}

// unchanged is an accepted change without files. // edge case 71
func (l *overlayer) unchanged() {
	if l.said == homeboy.NoOp {
		return
	}
	switch asked, results := l.asked(), l.results(); {
	case !asked && results:
		return // a report was all that was wanted
	case asked && results && !l.intended():
		l.o.Status = homeboy.CandidateRecoverable
		addDiagnostic(l.o, CodePatchEmpty, "no file is changed, and there are other results: somebody has to look at them", map[string]any{"phase": PhaseNoOp})
	default:
		l.o.Status = homeboy.NoOp
		addDiagnostic(l.o, CodeNothingDone, "no file is changed", map[string]any{"phase": PhaseNoOp})
	}
}

// asked reports whether a change was asked for, or claimed.
func (l *overlayer) asked() bool {
	return l.claimed || slices.ContainsFunc(l.v.Request.Declarations(), func(d homeboy.ArtifactDeclaration) bool {
		return d.Name == homeboy.KindPatch || d.Type == homeboy.KindPatch
	})
}

// results reports whether a declared artifact or output is there and says something, or a patch that the provider made
// without changing a file. Such a patch has not been judged yet: promotion does that.
func (l *overlayer) results() bool {
	if slices.ContainsFunc(l.o.Artifacts, func(a homeboy.Artifact) bool {
		return isPatch(a) && verified(a) && !reviewOnly(a) && a.SizeBytes != nil && *a.SizeBytes > 0
	}) {
		return true
	}
	g := gathering{o: l.o}
	for _, d := range l.v.Request.Declarations() {
		if d.Name == homeboy.KindPatch || d.Type == homeboy.KindPatch {
			continue
		}
		if code, _, _ := g.lack(d); code == "" {
			return true
		}
	}
	return slices.ContainsFunc(l.v.Request.OutputDeclarations, func(d homeboy.OutputDeclaration) bool { return substantial(l.o.Outputs[d.Name]) })
}

// intended reports whether the provider says that this very revision needs no change.
func (l *overlayer) intended() bool {
	speaks := func(v homeboy.Value) bool {
		members, _ := object(v)
		for _, name := range []string{"revision", "base_revision", "base_ref", "base"} {
			if text, ok := members[name].Text(); ok {
				return l.v.Base != "" && text == l.v.Base
			}
		}
		return false
	}
	for _, t := range l.o.TypedArtifacts {
		if t.ArtifactSchema == SchemaIntentionalNoChange && speaks(t.Payload) {
			return true
		}
	}
	for _, v := range l.o.Outputs {
		members, _ := object(v)
		if id, _ := members["schema"].Text(); id == SchemaIntentionalNoChange && speaks(v) {
			return true
		}
	}
	return false
}

// patchID is the id of the change that deed captured.
const patchID = "deed-patch"

// attach adds the change that deed captured. It is the only one that was judged: the provider's own change is for
// review.
func (l *overlayer) attach() {
	p := l.v.Patch
	if p == nil || p.Size == 0 {
		return
	}
	for i := range l.o.Artifacts {
		a := &l.o.Artifacts[i]
		if a.ID == patchID { // a consumer that looks for deed's patch by its id finds no other
			a.ID = freshID(*l.o, "provider-"+patchID)
		}
		if isPatch(*a) && !reviewOnly(*a) {
			a.Metadata = with(a.Metadata, homeboy.MetadataReviewOnly, true)
			if a.SHA256 != p.SHA256 {
				addDiagnostic(l.o, CodePatchReplace, fmt.Sprintf("artifact %s: it is not the change that deed captured, which counts", clip(a.ID)), map[string]any{"phase": PhaseGate, "artifact": a.ID})
			}
		}
	}
	size := p.Size
	a := homeboy.Artifact{
		Schema: homeboy.SchemaArtifact, ID: patchID, Kind: homeboy.KindPatch, Name: homeboy.KindPatch, Path: p.Path, Mime: "text/x-diff", SizeBytes: &size, SHA256: p.SHA256,
		Metadata: value(map[string]any{provenance: custody{Owner: owner, Verified: true, Attempt: l.v.Attempt, BaseRef: l.v.Base}}),
	}
	why := p.ReviewOnly
	if why == "" && !(l.v.Judged && l.v.Accepted) {
		why = "the gate did not accept it"
	}
	if why != "" {
		a.Metadata = with(a.Metadata, homeboy.MetadataReviewOnly, true)
		a.Metadata = with(a.Metadata, "review_reason", why)
	}
	l.o.Artifacts = append(l.o.Artifacts, a)
}

// account is what deed says of the attempt: the member deed of the metadata.
func (l *overlayer) account() map[string]any {
	verdict := "none"
	switch {
	case l.v.Judged && l.v.Accepted:
		verdict = "accepted"
	case l.v.Judged:
		verdict = "refused"
	}
	if l.v.NoAnswer {
		l.word = ""
	}
	account := map[string]any{"verdict": verdict, "changed_files": l.v.Changed}
	for name, text := range map[string]string{"attempt_id": l.v.Attempt, "bundle": l.v.Bundle, "base": l.v.Base, "ended": string(l.v.Ended), "provider_status": l.word} {
		if text != "" {
			account[name] = text
		}
	}
	return account
}
