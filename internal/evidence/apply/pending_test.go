package apply

import (
	"errors"
	"slices"
	"testing"
)

// What a person says to a staged apply is kept with it and in the audit log, without secrets.
func TestANoteIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir, to := r.bundle(r.change(tree{"a": "1\n"}, tree{"a": "2\n"})), r.path("target")
	tree{"a": "1\n"}.write(t, to)
	req := r.request(dir, to)
	for _, approve := range []bool{false, true} {
		p, err := r.Stage(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Resolve(t.Context(), p.ActionID, Resolution{Approve: approve, By: "bob", Note: "because of hunter2hunter2", Keys: req.Keys}); err != nil {
			t.Fatal(err)
		}
		const want = "because of [REDACTED:TOKEN]"
		if p, err = r.Staged(p.ActionID); err != nil || p.Note != want {
			t.Errorf("approved %v: the note is %q, %v", approve, p.Note, err)
		}
		lines := r.lines()
		if last := lines[len(lines)-1]; last.Note != want {
			t.Errorf("approved %v: the audit line is %+v", approve, last)
		}
	}
}

// A file that several parts of a bundle vouch for is one reason.
func TestAFaultIsListedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir, to := r.bundle(r.change(tree{"a": "1\n"}, tree{"a": "2\n"})), r.path("target")
	tree{"a": "1\n"}.write(t, to)
	tree{"files/patch.diff": "x"}.write(t, dir)
	_, err := r.Apply(t.Context(), r.request(dir, to))
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("the error is %v, want a refusal", err)
	}
	for i, x := range refusal.Reasons {
		if slices.Index(refusal.Reasons, x) != i {
			t.Errorf("%+v is listed again", x)
		}
	}
}
