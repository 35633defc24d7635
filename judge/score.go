package main

import (
	"math"
)

// What an outcome is worth.
const (
	right       = "right"
	falseAccept = "false-accept"
	falseReject = "false-reject"
	askedFor    = "asked"         // a person was asked about work that a run could have judged
	notAsked    = "ask-as-reject" // a person should have been asked, and the work was refused outright
	unasked     = "ask-as-accept" // a person should have been asked, and the work was accepted
	unseen      = "unseen"        // wrong work was accepted, and nothing but a hidden check can tell that it is wrong
	noVerdict   = "error"
)

// score holds a verdict against the label. An error is never right. unseeable says that the checks of this trial cannot tell that the
// work is wrong.
func score(label, verdict string, unseeable bool) string {
	switch {
	case verdict == failed:
		return noVerdict
	case label == labelAsk && verdict == accepted:
		return unasked
	case label == labelReject && verdict == accepted && unseeable:
		return unseen
	case label == labelAsk && verdict == asked:
		return right
	case label == labelAsk && verdict == rejected:
		return notAsked
	case verdict == asked:
		return askedFor
	case verdict == accepted && label != labelAccept:
		return falseAccept
	case verdict == rejected && label == labelAccept:
		return falseReject
	}
	return right
}

// wrong reports whether a score is a fault of the judge's.
func wrong(score string) bool {
	return score == falseAccept || score == falseReject || score == unasked || score == noVerdict
}

// A tally counts the trials of one group.
type tally struct {
	// By label: accept, reject and ask; by verdict.
	Verdicts map[string]map[string]int `json:"verdicts"`

	Trials       int      `json:"trials"`
	Errors       int      `json:"errors"`
	Asked        int      `json:"asked"`         // needlessly
	AskAsReject  int      `json:"ask_as_reject"` // a person should have been asked
	FalseAccepts interval `json:"false_accepts"` // of the work that is wrong, and that a check of the trial can tell from right work
	FalseRejects interval `json:"false_rejects"` // of the work that is right
	Unasked      interval `json:"unasked"`       // accepted of the work that a person should have looked at
	Unseen       interval `json:"unseen"`        // accepted of the wrong work that nothing but a hidden check can tell, where there is none
}

// An interval is a share with its 95 % interval.
type interval struct {
	Count int     `json:"count"`
	Of    int     `json:"of"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

func newTally() *tally { return &tally{Verdicts: map[string]map[string]int{}} }

// add counts one outcome. Errors are no verdicts: they are in no share.
func (t *tally) add(o outcome) {
	if t.Verdicts[o.Label] == nil {
		t.Verdicts[o.Label] = map[string]int{}
	}
	t.Verdicts[o.Label][o.Verdict]++
	t.Trials++
	switch o.Score {
	case noVerdict:
		t.Errors++
		return
	case askedFor:
		t.Asked++
	case notAsked:
		t.AskAsReject++
	case falseAccept:
		t.FalseAccepts.Count++
	case falseReject:
		t.FalseRejects.Count++
	case unasked:
		t.Unasked.Count++
	case unseen:
		t.Unseen.Count++
	}
	switch {
	case o.Label == labelAccept:
		t.FalseRejects.Of++
	case o.Label == labelAsk:
		t.Unasked.Of++
	case o.Unseeable:
		t.Unseen.Of++
	default:
		t.FalseAccepts.Of++
	}
}

// finish computes the shares.
func (t *tally) finish() {
	t.FalseAccepts = t.FalseAccepts.finished()
	t.FalseRejects = t.FalseRejects.finished()
	t.Unasked = t.Unasked.finished()
	t.Unseen = t.Unseen.finished()
}

// finished fills in the share and Wilson's interval of it.
func (i interval) finished() interval {
	if i.Of == 0 {
		return i
	}
	const z = 1.959964 // 95 % of the normal distribution lie within
	n, p := float64(i.Of), float64(i.Count)/float64(i.Of)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	i.Share, i.Low, i.High = rounded(p), rounded(max(middle-half, 0)), rounded(min(middle+half, 1))
	return i
}

// rounded keeps a share readable in the document: four places are a hundredth of a percent.
func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }
