package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/evidence/bundle"
)

func TestScore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ label, verdict, want string }{
		{labelAccept, accepted, right},
		{labelAccept, rejected, falseReject},
		{labelAccept, asked, askedFor},
		{labelAccept, failed, noVerdict},
		{labelReject, accepted, falseAccept},
		{labelReject, rejected, right},
		{labelReject, asked, askedFor},
		{labelReject, failed, noVerdict},
		{labelAsk, accepted, unasked},
		{labelAsk, rejected, notAsked},
		{labelAsk, asked, right},
		{labelAsk, failed, noVerdict},
	} {
		if got := score(c.label, c.verdict, false); got != c.want {
			t.Errorf("score(%s, %s) = %s, want %s", c.label, c.verdict, got, c.want)
		}
	}
}

// What only a hidden check can tell is counted apart where there is none; a check that refuses it all the same is right.
func TestWorkThatNoVisibleCheckCanTell(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[string]string{accepted: unseen, rejected: right, asked: askedFor, failed: noVerdict} {
		if got := score(labelReject, verdict, true); got != want {
			t.Errorf("%s: %s, want %s", verdict, got, want)
		}
	}
	p := &project{Hidden: &hidden{Shell: "true"}}
	for _, tr := range (&attempt{Project: p, Tells: tellsHidden}).trials() {
		if tr.unseeable() == (tr.Form == formHidden) {
			t.Errorf("%s: %v", tr.Form, tr.unseeable())
		}
	}
	got := count([]outcome{
		{Label: labelReject, Verdict: accepted, Score: unseen, Unseeable: true, Form: formShell}, {Label: labelAsk, Verdict: accepted, Score: unasked, Form: formShell},
	}).Total
	if got.FalseAccepts.Of != 0 || got.Unseen.Count != 1 || got.Unseen.Of != 1 || got.Unasked.Count != 1 || got.Unasked.Of != 1 {
		t.Errorf("%+v", got)
	}
}

// The interval is Wilson's: the values are those of R's prop.test without the correction for continuity.
func TestInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want interval }{
		{interval{Count: 1, Of: 10}, interval{1, 10, 0.1, 0.0179, 0.4042}},
		{interval{Count: 0, Of: 100}, interval{0, 100, 0, 0, 0.037}},
		{interval{Count: 5, Of: 5}, interval{5, 5, 1, 0.5655, 1}},
		{interval{}, interval{}},
	} {
		if got := c.in.finished(); got != c.want {
			t.Errorf("%d of %d: got %v, want %v", c.in.Count, c.in.Of, got, c.want)
		}
	}
}

// An error is in no share: neither a right verdict nor a wrong one.
func TestErrorsCountApart(t *testing.T) {
	t.Parallel()
	got := count([]outcome{
		{Label: labelReject, Verdict: accepted, Score: falseAccept, Form: formShell},
		{Label: labelReject, Verdict: rejected, Score: right, Form: formShell},
		{Label: labelReject, Verdict: failed, Score: noVerdict, Form: formShell},
		{Label: labelAccept, Verdict: asked, Score: askedFor, Form: formHidden},
		{Label: labelAsk, Verdict: rejected, Score: notAsked, Form: formHidden},
	})
	if g := got.Total; g.Trials != 5 || g.Errors != 1 || g.Asked != 1 || g.AskAsReject != 1 || g.FalseAccepts.Count != 1 || g.FalseAccepts.Of != 2 || g.Unasked.Of != 1 || g.FalseRejects.Of != 1 {
		t.Errorf("total: %+v", g)
	}
	if g := got.Groups["form"][formShell]; g.Trials != 3 || g.FalseAccepts.Share != 0.5 {
		t.Errorf("form shell: %+v", g)
	}
}

// A verdict is read as deed writes it, whatever way it came.
func TestVerdictsAreRead(t *testing.T) {
	t.Parallel()
	const verdict = `{"schema": "deed/verdict/v1", "accepted": false, "reasons": [{"code": "CODE", "message": "why"}], "checks": []}`
	for _, c := range []struct{ name, doc, verdict, code string }{
		{"accepted", `{"status": "completed", "verdict": {"schema": "deed/verdict/v1", "accepted": true, "grade": "fixed", "reasons": []}}`, accepted, ""},
		{"rejected", `{"status": "permanent_failure", "verdict": ` + verdict + `}`, rejected, "CODE"},
		{"needs a person", `{"status": "permanent_failure", "verdict": ` + strings.Replace(verdict, "CODE", "needs_person", 1) + `}`, asked, "needs_person"},
		{"waits for a person", `{"status": "blocked", "class": "blocked", "verdict": null}`, asked, ""},
	} {
		var o outcome
		if err := readRun([]byte(c.doc), &o); err != nil || o.Verdict != c.verdict || strings.Join(o.Codes, " ") != c.code {
			t.Errorf("%s: %s %v, %v", c.name, o.Verdict, o.Codes, err)
		}
	}
	var o outcome
	if err := readRun([]byte(`{"status": "permanent_failure", "class": "infrastructure", "verdict": null}`), &o); err == nil || !strings.Contains(err.Error(), "infrastructure") {
		t.Errorf("no verdict: %v", err)
	}
}

// A list of known faults that is not true is told, in both directions.
func TestKnownFaultsStayTrue(t *testing.T) {
	t.Parallel()
	k := knownFaults{{Case: "p/a", Forms: []string{formShell, formSteps}, Reason: "because"}}
	got := k.surprises([]outcome{
		{Trial: "p/a:shell", Score: falseAccept}, {Trial: "p/a:steps", Score: right}, {Trial: "p/b:shell", Score: falseReject}, {Trial: "p/c:shell", Score: askedFor},
	})
	if len(got) != 2 || !strings.Contains(got[0], "p/a:steps is right") || !strings.Contains(got[1], "p/b:shell: false-reject") {
		t.Errorf("got %q", got)
	}
	if got := k.strangers([]trial{{&attempt{Project: &project{Name: "p"}, Name: "a"}, formShell}}); !cmp.Equal(got, []string{"p/a:steps"}) {
		t.Errorf("strangers: %q", got)
	}
}

// The signed document is read again, and one that was changed is not: neither its bytes nor, under another key, its counts.
func TestResultIsSigned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k, err := bundle.LoadOrCreateKey(filepath.Join(dir, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	all := []outcome{{Trial: "p/a:shell", Label: labelReject, Verdict: accepted, Score: falseAccept, Form: formShell}}
	r := result{Schema: resultSchema, Matrix: count(all), Trials: all}
	file := filepath.Join(dir, "result.json")
	if err := r.write(file, k); err != nil {
		t.Fatal(err)
	}
	if got, known, err := readResult(file, []bundle.PublicKey{k.Public()}); err != nil || !known || got.Matrix.Total.FalseAccepts.Count != 1 {
		t.Errorf("trusted: %v, %v, %+v", known, err, got.Matrix.Total)
	}
	if _, known, err := readResult(file, nil); err != nil || known {
		t.Errorf("by its own key: %v, %v", known, err)
	}

	lie := r
	lie.Matrix = count(nil)
	if err := lie.write(file, k); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readResult(file, nil); err == nil || !strings.Contains(err.Error(), "matrix") {
		t.Errorf("other counts: %v", err)
	}

	if err := r.write(file, k); err != nil {
		t.Fatal(err)
	}
	var e map[string]any
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(e["payload"].(string))
	if err != nil {
		t.Fatal(err)
	}
	e["payload"] = base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(string(payload), "false-accept", "right")))
	if text, err = json.Marshal(e); err != nil {
		t.Fatal(err)
	}
	put(t, file, string(text))
	if _, _, err := readResult(file, []bundle.PublicKey{k.Public()}); err == nil || !strings.Contains(err.Error(), "signature") {
		t.Errorf("changed: %v", err)
	}
}
