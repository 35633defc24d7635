package apply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// CodeNotAccepted is the violation of a preflight whose bundle says that no gate accepted the work.
const CodeNotAccepted = "verdict-not-accepted"

const (
	verdictAccepted = "accepted"
	verdictRejected = "rejected"
	verdictNone     = "none"
)

// maxVerdict is how large a verdict may be to be read, maxTold how many of its reasons are repeated.
const (
	maxVerdict = 32 << 20
	maxReasons = 10
)

// A ruling is what a bundle says that a gate decided, and the codes of the reasons.
type ruling struct {
	word    string
	reasons []string
}

// ruling is that of the signed statement, by any signer; ok is false without one.
func (o *Offer) ruling() (r ruling, ok bool) {
	s := o.Verification.Statement
	if s == nil {
		return ruling{word: verdictNone}, false
	}
	r = ruling{word: s.Verdict, reasons: s.Reasons}
	if r.word == "" {
		r.word = verdictNone
	}
	return r, true
}

// claimed is the ruling of an unsigned bundle of deed's: what its files say, for what that is worth. A bundle of another
// maker has none, and ok is false.
func (o *Offer) claimed() (r ruling, ok bool, err error) {
	m := o.Verification.Manifest
	ours := m.Runtime.Backend == bundle.Backend
	if bundle.ListedFile(m, bundle.PathVerdict) == nil {
		return ruling{word: verdictNone}, ours, nil
	}
	var text bytes.Buffer
	if err := o.copy(bundle.PathVerdict, maxVerdict, &text); err != nil {
		return r, ours, err
	}
	var v deed.Verdict
	if broken := json.Unmarshal(text.Bytes(), &v); broken != nil || v.Schema != deed.SchemaVerdict {
		return ruling{word: verdictNone}, ours, nil //nolint:nilerr // what cannot be read as a verdict is no verdict
	}
	r.word = verdictRejected
	if v.Accepted {
		r.word = verdictAccepted
	}
	for _, reason := range v.Reasons {
		if !slices.Contains(r.reasons, reason.Code) {
			r.reasons = append(r.reasons, reason.Code)
		}
	}
	return r, true, nil
}

// refusal says what keeps work from being applied, with what can be done about it.
func (r ruling) refusal(remedy string) string {
	out := "no gate accepted this bundle: its verdict is " + Shown(r.word)
	for i, code := range r.reasons {
		switch i {
		case 0:
			out += ", for " + Shown(code)
		case maxReasons:
			return out + fmt.Sprintf(" and %d more (%s)", len(r.reasons)-i, remedy)
		default:
			out += ", " + Shown(code)
		}
	}
	return out + " (" + remedy + ")"
}

// unaccepted is the violation of a preflight for which Apply would refuse the verdict. A bundle of a maker that has no
// gate is not asked for one.
func (o *Offer) unaccepted() ([]evidence.Violation, error) {
	r, ok := o.ruling()
	if !ok {
		var err error
		if r, ok, err = o.claimed(); err != nil {
			return nil, err
		}
	}
	if !ok || r.word == verdictAccepted {
		return nil, nil
	}
	v := evidence.Violation{
		Code: CodeNotAccepted, Path: bundle.PathVerdict, Message: r.refusal("`deed apply --force` applies it all the same"),
		Details: map[string]any{"verdict": r.word, "reasons": append([]string{}, r.reasons...)},
	}
	if bundle.ListedFile(o.Verification.Manifest, bundle.PathVerdict) != nil {
		v.File = bundle.PathVerdict
	}
	return []evidence.Violation{v}, nil
}
