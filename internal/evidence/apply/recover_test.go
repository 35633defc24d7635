package apply

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// interrupted brings a target to the state in which an apply was killed after n of its steps.
func interrupted(t *testing.T, r *rig, dir, to string, n int) *journal {
	t.Helper()
	o, err := Read(dir, bundle.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	s, err := openSite(to)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	p, err := s.plan(o.Files)
	if err != nil {
		t.Fatal(err)
	}
	j, err := r.begin(t.Context(), record{ID: "00000000", Target: evidence.ApplyTarget{Directory: s.dir}, identity: s.id}, s, p)
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{dir: filepath.Join(s.dir, j.stageDir())}
	if err := os.Mkdir(st.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := st.build(t.Context(), o, s, p); err != nil {
		t.Fatal(err)
	}
	part := *p
	order := slices.SortedStableFunc(slices.Values(p.steps), func(a, b step) int { // deletions come first
		switch {
		case a.After.absent() == b.After.absent():
			return 0
		case a.After.absent():
			return -1
		}
		return 1
	})
	part.steps = order[:min(n, len(order))]
	if err := j.switchOver(st, s, &part); err != nil {
		t.Fatal(err)
	}
	return j
}

// A journal that is being written has a live owner; one that a killed apply left has none.
func TestADraftHasAnOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	draft, release, err := r.draft()
	if err != nil {
		t.Fatal(err)
	}
	tmp, err := os.Open(r.Home.Tmp())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tmp.Close() }()
	name := filepath.Base(draft)
	if ok, err := filepath.Match(".*.tmp", name); err != nil || !ok || filepath.Dir(draft) != r.Home.Tmp() {
		t.Errorf("%s is not a name that a cleanup knows", draft)
	}
	if unlock, ok := atomicfile.Abandoned(tmp, name); ok {
		unlock()
		t.Error("abandoned while it is written")
	}
	release()
	unlock, ok := atomicfile.Abandoned(tmp, name)
	defer unlock()
	if !ok {
		t.Error("it has an owner when nobody writes it")
	}

	dir, to := r.bundle(r.change(manyBefore, manyAfter)), r.path("target")
	manyBefore.write(t, to)
	if _, err := r.Apply(t.Context(), r.request(dir, to)); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(r.Home.Tmp()); err != nil || len(list) != 1 || list[0].Name() != name {
		t.Errorf("an apply left %v beside the draft, %v", list, err)
	}
}

// Wherever an apply is cut short, the next one finds every file as it was and continues.
func TestRecoverAtEveryStep(t *testing.T) {
	t.Parallel()
	for n := range len(manyBefore) + len(manyAfter) {
		r := newRig(t)
		dir := r.bundle(r.change(manyBefore, manyAfter))
		to := r.path("target")
		manyBefore.write(t, to)
		interrupted(t, r, dir, to, n)
		res, err := r.Apply(t.Context(), r.request(dir, to))
		if err != nil {
			t.Fatalf("after %d steps: %v", n, err)
		}
		if !slices.Equal(res.Recovered, []string{"00000000"}) {
			t.Errorf("recovered %v", res.Recovered)
		}
		same(t, to, manyAfter)
		r.tidy(to)
		if _, err := r.Undo(t.Context(), res.ApplyID, "ada"); err != nil {
			t.Fatal(err)
		}
		same(t, to, manyBefore)
		if t.Failed() {
			t.Fatalf("after %d steps", n)
		}
	}
}

// What somebody changed after the crash is never overwritten: the directory is left alone and reported as stuck, and
// other directories are not held up by it.
func TestRecoverLeavesForeignChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before, after := tree{"a": "1\n", "b": "1\n"}, tree{"a": "2\n", "b": "2\n"}
	dir := r.bundle(r.change(before, after))
	to, other := r.path("target"), r.path("other")
	before.write(t, to)
	before.write(t, other)
	j := interrupted(t, r, dir, to, 1)
	tree{"a": "mine\n"}.write(t, to)
	_, err := r.Apply(t.Context(), r.request(dir, to))
	if diff := cmp.Diff([]string{"recovery_blocked", "changed_since a"}, reasons(t, err)); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if got, _ := os.ReadFile(filepath.Join(to, "a")); string(got) != "mine\n" {
		t.Errorf("a is %q", got)
	}
	if _, err := r.Apply(t.Context(), r.request(dir, other)); err != nil {
		t.Errorf("another directory: %v", err)
	}
	// The remedy that the refusal names.
	if err := os.Rename(j.dir, r.path("aside")); err != nil {
		t.Fatal(err)
	}
	before.write(t, to)
	if _, err := r.Apply(t.Context(), r.request(dir, to)); err != nil {
		t.Errorf("with the journal out of the way: %v", err)
	}
}

func TestRecoverWithoutTheDirectory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before, after := tree{"a": "1\n"}, tree{"a": "2\n"}
	dir := r.bundle(r.change(before, after))
	to, other := r.path("target"), r.path("other")
	before.write(t, to)
	before.write(t, other)
	interrupted(t, r, dir, to, 1)
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Apply(t.Context(), r.request(dir, other)); err != nil {
		t.Errorf("another directory: %v", err)
	}
	before.write(t, to)
	_, err := r.Apply(t.Context(), r.request(dir, to))
	if got := reasons(t, err); got[0] != ReasonInterrupted {
		t.Errorf("a new directory at the same path: %v", got)
	}
}

// An apply that was complete when it was cut short is finished, and a second request for the same apply is answered that it is done. Any other
// request finds the files as they are.
func TestAWholeApplyIsFinished(t *testing.T) {
	t.Parallel()
	before, after := tree{"a": "1\n", "b": "1\n"}, tree{"a": "2\n", "b": "2\n"}
	for name, tc := range map[string]struct {
		bend func(t *testing.T, to string, req *Request)
		want []string // reasons; nil: it is reported as applied
	}{
		"the same":              {},
		"the same, by its link": {bend: func(t *testing.T, to string, req *Request) { link(t, to, to+"-link"); req.To = to + "-link" }},
		"one file of it":        {bend: func(_ *testing.T, _ string, req *Request) { req.Approve = []string{"a"} }, want: []string{"base_drift a"}},
		"changed meanwhile": {
			bend: func(t *testing.T, to string, _ *Request) { tree{"b": "mine\n"}.write(t, to) },
			want: []string{"base_drift a", "base_drift b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			dir, to := r.bundle(r.change(before, after)), r.path("target")
			before.write(t, to)
			j := interrupted(t, r, dir, to, 2)
			o, err := Read(dir, bundle.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			j.ArtifactID = o.Verification.Manifest.ID
			if err := j.mark(stateApplied); err != nil {
				t.Fatal(err)
			}
			req := r.request(dir, to)
			if tc.bend != nil {
				tc.bend(t, to, &req)
			}
			res, err := r.Apply(t.Context(), req)
			valid(t, res)
			if diff := cmp.Diff(map[string]string{"00000000": evidence.ApplyApplied}, res.RecoveredAs); diff != "" {
				t.Errorf("recovered (-want +got):\n%s", diff)
			}
			if tc.want != nil {
				if diff := cmp.Diff(tc.want, reasons(t, err)); diff != "" {
					t.Errorf("reasons (-want +got):\n%s", diff)
				}
				return
			}
			if err != nil || res.Status != evidence.ApplyApplied || res.ApplyID != "00000000" || !slices.Equal(res.AppliedFiles, []string{"a", "b"}) {
				t.Fatalf("result %+v, %v", res, err)
			}
			same(t, to, after)
			r.tidy(to)
			if _, err := r.Undo(t.Context(), res.ApplyID, "ada"); err != nil {
				t.Fatal(err)
			}
			same(t, to, before)
		})
	}
}

// Taking back an apply that was cut short is done when its recovery has done it; one that a person's change blocks is reported as such.
func TestUndoWhatWasCutShort(t *testing.T) {
	t.Parallel()
	before, after := tree{"a": "1\n", "b": "1\n"}, tree{"a": "2\n", "b": "2\n"}
	for _, foreign := range []bool{false, true} {
		r := newRig(t)
		dir, to := r.bundle(r.change(before, after)), r.path("target")
		before.write(t, to)
		j := interrupted(t, r, dir, to, 1)
		want := []Cut{{ID: "00000000", Directory: to, Journal: j.dir}}
		if cut, err := r.CutShort(t.Context()); err != nil || !cmp.Equal(want, cut) {
			t.Errorf("cut short: %v\n%s", err, cmp.Diff(want, cut))
		}
		if foreign {
			tree{"a": "mine\n"}.write(t, to)
		}
		res, err := r.Undo(t.Context(), "0000", "ada")
		valid(t, res)
		if foreign {
			if diff := cmp.Diff([]string{"recovery_blocked", "changed_since a"}, reasons(t, err)); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			continue
		}
		if err != nil || res.Status != evidence.ApplyRolledBack || res.ApplyID != "00000000" || res.AuditReference == "" || !slices.Equal(res.AppliedFiles, []string{"a", "b"}) {
			t.Errorf("result %+v, %v", res, err)
		}
		same(t, to, before)
		r.tidy(to)
		if cut, err := r.CutShort(t.Context()); err != nil || len(cut) != 0 {
			t.Errorf("cut short afterwards: %+v, %v", cut, err)
		}
		// Asked again, it is known as what it is, like an undo that was done already.
		res, err = r.Undo(t.Context(), "0000", "ada")
		valid(t, res)
		if got := reasons(t, err); !slices.Equal(got, []string{ReasonUndo}) || !strings.Contains(err.Error(), "00000000 was cut short and taken back already") {
			t.Errorf("a second undo: %v", err)
		}
		if res.Status != evidence.ApplyRefused || res.ApplyID != "00000000" || res.Target.Directory != to {
			t.Errorf("the result of a second undo is %+v", res)
		}
		if _, err = r.Undo(t.Context(), "1", "ada"); err == nil || !strings.Contains(err.Error(), "no apply 1 is known") {
			t.Errorf("another id: %v", err)
		}
		same(t, to, before)
	}
}

// What another process is working on was not cut short, and what was cut short in a directory that is gone is reported as
// that.
func TestCutShortAsksTheOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before, after := tree{"a": "1\n"}, tree{"a": "2\n"}
	dir, to := r.bundle(r.change(before, after)), r.path("target")
	before.write(t, to)
	interrupted(t, r, dir, to, 1)
	busy, err := openSite(to)
	if err != nil {
		t.Fatal(err)
	}
	cut, err := r.CutShort(t.Context())
	busy.close()
	if err != nil || len(cut) != 0 {
		t.Errorf("at work: %+v, %v", cut, err)
	}
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if cut, err = r.CutShort(t.Context()); err != nil || len(cut) != 1 || !cut[0].Gone {
		t.Errorf("without the directory: %+v, %v", cut, err)
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}
