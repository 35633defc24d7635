package promote

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
)

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// edge case 105: a failing gate skips later ones, and the output of a private gate is not reported.
func TestGates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.bundle(r.simple())
	var lines []string
	r.Progress = func(gate, line string) { lines = append(lines, gate+" "+line) }
	req := r.request(dir)
	big := strings.Repeat("0123456789abcdef", 8<<10) // 128 KiB
	req.Gates = []Gate{
		{Command: "echo HOMEBOY_PROGRESS half way; echo to stderr >&2; echo " + token + "; rm a.txt"},
		{Command: "cat a.txt; for i in $(seq 8192); do printf 0123456789abcdef; done"}, // the room of the first is not its own
		{Command: "echo HOMEBOY_PROGRESS psst; echo the hidden test is called TestX", Private: true},
		{Command: "echo the answer is 42; exit 7", Private: true},
		{Command: "touch " + filepath.Join(t.TempDir(), "ran")},
		{Command: "true", Private: true},
	}
	rep := r.promote(req)
	if rep.Status != homeboy.PromotionGateFailed || rep.Commit != "" || r.in("branch", "--list", "deed/*") != "" {
		t.Errorf("status %s, commit %q", rep.Status, rep.Commit)
	}
	var got []string
	for _, g := range rep.Gates {
		got = append(got, g.ID+" "+g.Visibility+" "+g.Status+" "+g.Termination)
	}
	if diff := cmp.Diff([]string{
		"gate-1 visible succeeded completed", "gate-2 visible succeeded completed", "private-gate-3 private succeeded completed",
		"private-gate-4 private failed completed", "gate-5 visible skipped ", "private-gate-6 private skipped ",
	}, got); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
	first, second, private := rep.Gates[0], rep.Gates[1], rep.Gates[3]
	if !strings.Contains(first.Tail, "to stderr") || !strings.Contains(first.Tail, "[REDACTED:TOKEN]") || first.Progress != "half way" {
		t.Errorf("the first gate is %+v", first)
	}
	if all := "two\n" + big; second.Bytes != int64(len(all)) || second.SHA256 != hashOf(all) || second.Tail != all[len(all)-maxTail:] {
		t.Errorf("the second gate has %d bytes, hash %s, a tail of %d", second.Bytes, second.SHA256, len(second.Tail))
	}
	if private.Bytes != 17 || private.SHA256 != hashOf("the answer is 42\n") {
		t.Errorf("the private gate is %+v", private)
	}
	text, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"TestX", "answer", "psst", "hidden test", token, "exit 7"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the report shows %q", secret)
		}
	}
	if diff := cmp.Diff([]string{"gate-1 half way"}, lines); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{evidence.ApplyRefused}, r.audited()); diff != "" {
		t.Error(diff)
	}
	r.tidy()
}

// The checks of the bundle come first, and what is recorded as hidden stays so.
func TestRecordedChecks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.bundle(r.simple())
	req := r.request(dir)
	req.Gates = []Gate{{Command: "true"}}
	r.checks = []deed.Check{
		{Name: "soft", Shell: "exit 1", Advisory: true},
		{Shell: "echo between us; exit 1", Hidden: true},
		{Name: "late", Shell: "true"},
	}
	var got []string
	for _, g := range r.promote(req).Gates {
		got = append(got, fmt.Sprint(g.ID, " ", g.Visibility, " ", g.Status, " ", g.Recorded, " ", g.Tail))
	}
	if diff := cmp.Diff([]string{
		"soft visible accepted_inherited_failure true ", "hidden-check-2 private failed true ", "late visible skipped true ", "gate-1 visible skipped false ",
	}, got); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
	req.Unchecked = true
	if rep := r.promote(req); rep.Status != homeboy.PromotionApplied || len(rep.Gates) != 1 {
		t.Errorf("without the recorded checks: %+v", rep)
	}
}

func TestGateLimits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, command, want string
		req                 func(*Request)
	}{
		{"time", "echo begun; exec sleep 600", homeboy.GateTimedOut, func(r *Request) { r.Timeout = 3 * time.Second }},
		{"silence", "echo begun; exec sleep 600", homeboy.GateNoProgress, func(r *Request) { r.Idle = 3 * time.Second }},
		// What it leaves behind waits without executing anything more: that would fail, and say so, once the command has ended.
		{"escaped", `d=$(mktemp -d) && mkfifo "$d/up" "$d/never"; setsid sh -c 'echo > "$0/up"; read x < "$0/never"' "$d" & read x < "$d/up"; echo begun; exit 1`, homeboy.GateCompleted, func(*Request) {}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			req := r.request(r.bundle(r.simple()))
			req.Gates = []Gate{{Command: tc.command}, {Command: "true"}}
			tc.req(&req)
			rep := r.promote(req)
			g := rep.Gates[0]
			if rep.Status != homeboy.PromotionGateFailed || g.Status != homeboy.GateFailed || g.Termination != tc.want || g.Tail != "begun\n" || rep.Gates[1].Status != homeboy.GateSkipped {
				t.Errorf("the report is %+v", rep)
			}
		})
	}
}

// edge case 106: whatever an external verifier does, it ends, and only a clear yes is one.
func TestVerifier(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, command, end string
		accepted           bool
	}{
		{name: "yes", command: `cat > seen.json; echo '{"accepted": true, "reason": "fine", "score": 3}'`, end: verifierCompleted, accepted: true},
		{name: "no", command: `cat > /dev/null; echo '{"accepted": false, "reason": "` + token + `"}'`, end: verifierCompleted},
		{name: "reads nothing", command: `echo '{"accepted": true}'`, end: verifierCompleted, accepted: true},
		{name: "reads nothing and stays", command: `exec sleep 600`, end: verifierTimedOut},
		{name: "answers without end", command: `exec yes '{"accepted": true}'`, end: verifierOverflow},
		{name: "descendant holds stderr", command: `setsid sleep 600 & echo '{"accepted": true}'`, end: verifierCompleted, accepted: true},
		{name: "descendant holds stderr and nothing is said", command: `setsid sleep 600 & exit 0`, end: verifierMalformed},
		{name: "talks without end", command: `yes nonsense | head -c 10000000 >&2; exit 1`, end: verifierFailed},
		{name: "two answers", command: `echo '{"accepted": true}{"accepted": false}'`, end: verifierMalformed},
		{name: "no decision", command: `echo '{"reason": "hm"}'`, end: verifierMalformed},
		{name: "a word for a decision", command: `echo '{"accepted": "true"}'`, end: verifierMalformed},
		{name: "is not there", command: `exec /no/such/verifier`, end: verifierFailed},
		{name: "killed", command: `echo '{"accepted": true}'; kill -9 $$`, end: verifierFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			// A change that is larger than a pipe holds, so that a verifier that does not read blocks its writer.
			c := r.simple()
			many := 0
			if strings.Contains(tc.name, "reads") || tc.name == "yes" {
				many = 2000
			}
			for i := range many {
				name := fmt.Sprintf("many/files/with/long/names/number-%05d.txt", i)
				c.patch = fmt.Appendf(c.patch, "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+x\n", name)
				c.files = append(c.files, evidence.ChangedFile{Path: "/workspace/" + name, RelativePath: name, Status: "added", AfterSHA256: hashOf("x\n"), AfterMode: "100644", MountTarget: "/workspace", PatchPath: evidence.PathPatch})
			}
			req := r.request(r.bundle(c))
			req.Verifier, req.Patience = tc.command, time.Minute
			if tc.end == verifierTimedOut {
				req.Patience = time.Second
			}
			rep := r.promote(req)
			want := homeboy.PromotionGateFailed
			if tc.accepted {
				want = homeboy.PromotionApplied
			}
			if v := rep.Verifier; rep.Status != want || v.Accepted != tc.accepted || v.Termination != tc.end || !tc.accepted && v.Reason == "" || strings.Contains(v.Reason, token) {
				t.Errorf("status %s, verifier %+v", rep.Status, rep.Verifier)
			}
			if (r.in("branch", "--list", "deed/*") != "") != tc.accepted {
				t.Error("the branch is there without a yes, or not with one")
			}
			if tc.name == "yes" {
				text, err := os.ReadFile(filepath.Join(r.Dir, "seen.json"))
				var seen homeboy.PromotionReport
				if err == nil {
					err = json.Unmarshal(text, &seen)
				}
				if err != nil || seen.Status != homeboy.PromotionVerificationPending || len(seen.Candidate.Files) != 2003 {
					t.Errorf("the verifier got %.200s, %v", text, err)
				}
			}
			r.tidy()
		})
	}
}

func TestFromFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.bundle(r.simple())
	patch, err := os.ReadFile(filepath.Join(dir, evidence.PathPatch))
	if err != nil {
		t.Fatal(err)
	}
	doc := func(deed, sha string) []byte {
		return fmt.Appendf(nil, `{"schema": %q, "task_id": "t", "status": "succeeded", "metadata": {"deed": {"bundle": %q}},
			"artifacts": [{"id": "log", "kind": "log", "path": "x"}, {"id": "p", "kind": "patch", "path": "../../p", "sha256": %q}]}`, homeboy.SchemaOutcome, deed, sha)
	}
	found, claims, err := FromFile(doc(dir, hashOf(string(patch))))
	if err != nil || found != dir || len(claims) != 1 {
		t.Fatalf("%s, %+v, %v", found, claims, err)
	}
	req := r.request(found)
	req.Claims, req.DryRun = claims, true
	r.promote(req)
	for _, text := range []string{"", "[]", string(doc("", "x")), `{"schema": "homeboy/agent-task-outcome/v1", "metadata": 3}`} {
		if _, _, err := FromFile([]byte(text)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	// A fanout: its one success, or the cell that was chosen; several are named, and none is chosen for the caller.
	good, none := string(doc(dir, "x")), `{"schema": "homeboy/agent-task-outcome/v1", "task_id": "t", "status": "no_op"}`
	for _, c := range []struct {
		run, dir, says string
	}{
		{`{"records": [{"id": "a", "outcome": ` + none + `}, {"id": "b", "outcome": ` + good + `}]}`, dir, ""},
		{`{"records": [{"id": "a", "outcome": ` + good + `}, {"id": "b", "outcome": ` + good + `}], "matrix": {"chosen": "b"}}`, dir, ""},
		{`{"records": [{"id": "a", "outcome": ` + good + `}, {"id": "b", "outcome": ` + good + `}]}`, "", "2 tasks of the fanout succeeded: a, b"},
		{`{"records": [{"id": "a", "outcome": ` + none + `}]}`, "", "nothing to promote"},
	} {
		got, _, err := FromFile([]byte(c.run))
		if got != c.dir || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", c.run, got, err)
		}
	}
}
