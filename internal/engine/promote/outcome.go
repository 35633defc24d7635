package promote

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// ReasonReviewOnly says that the patches of an outcome are the provider's claims, and none is what deed captured itself. They can be
// looked at; nothing vouches for them.
const ReasonReviewOnly = "artifact_review_only"

// FromFile finds the bundle behind a document that deed wrote, and the patches that it names. The document is an outcome,
// or the run or the result of a fanout in which one task made a change or one cell was chosen.
func FromFile(text []byte) (dir string, claims []homeboy.Artifact, err error) {
	outcome, err := ofFanout(text)
	if err != nil {
		return "", nil, err
	}
	if outcome == nil {
		outcome = text
	}
	return fromOutcome(outcome)
}

// ofFanout picks the one outcome of a fanout that can be meant; nil: the document is of no fanout.
func ofFanout(text []byte) ([]byte, error) {
	var run struct {
		Records []homeboy.FanoutRecord `json:"records"`
		Matrix  struct {
			Chosen string `json:"chosen"`
		} `json:"matrix"`
	}
	_ = json.Unmarshal(text, &run) // whoever reads the outcome reports text that is not JSON
	if len(run.Records) == 0 {
		return nil, nil
	}
	var names []string
	var found homeboy.Value
	for _, r := range run.Records {
		var o homeboy.Outcome
		if json.Unmarshal(r.Outcome, &o) != nil || o.Status != homeboy.Succeeded || run.Matrix.Chosen != "" && r.Name() != run.Matrix.Chosen {
			continue
		}
		names, found = append(names, r.Name()), r.Outcome
	}
	switch len(names) {
	case 0:
		return nil, errors.New("no task of the fanout succeeded: there is nothing to promote")
	case 1:
		return found, nil
	}
	return nil, fmt.Errorf("%d tasks of the fanout succeeded: %s (promote each by the attempt_id in metadata.deed of its outcome)", len(names), strings.Join(names, ", "))
}

// fromOutcome finds the bundle behind an outcome.
func fromOutcome(text []byte) (dir string, claims []homeboy.Artifact, err error) {
	o, _, err := homeboy.ReadOutcome(text, "")
	if err != nil {
		return "", nil, err
	}
	var meta struct {
		Deed struct {
			Bundle string `json:"bundle"`
		} `json:"deed"`
	}
	if len(o.Metadata) > 0 {
		if err := json.Unmarshal(o.Metadata, &meta); err != nil {
			return "", nil, fmt.Errorf("read the outcome's metadata: %w", err)
		}
	}
	if meta.Deed.Bundle == "" {
		return "", nil, errors.New("the outcome names no bundle ($.metadata.deed.bundle): only what deed ran itself can be promoted")
	}
	for _, a := range o.Artifacts {
		if a.Kind == homeboy.KindPatch || a.Role == homeboy.KindPatch {
			claims = append(claims, a)
		}
	}
	return meta.Deed.Bundle, claims, nil
}

// claimed refuses a candidate when the outcome names patches and none of them is the candidate's.
func (j *job) claimed(c candidate) error {
	if len(j.Claims) == 0 {
		return nil
	}
	kept := ""
	if e := bundle.ListedFile(c.offer.Verification.Manifest, evidence.PathPatch); e != nil && e.SHA256 != nil {
		kept = e.SHA256.Value
	}
	if slices.ContainsFunc(j.Claims, func(a homeboy.Artifact) bool {
		return a.SHA256 != "" && (a.SHA256 == kept || a.SHA256 == c.report.SHA256)
	}) {
		return nil
	}
	r := &apply.Refusal{}
	for _, a := range j.Claims {
		r.Reasons = append(r.Reasons, evidence.ApplyReason{Code: ReasonReviewOnly, Path: a.Path, Message: "is a patch that the provider claims and deed did not capture: it can be reviewed and not promoted"})
	}
	return r
}
