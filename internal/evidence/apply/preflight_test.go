package apply

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

func check(id string, text []byte) error { return schema.Validate(id, text) }

func mkfifo(t *testing.T, p string) {
	t.Helper()
	if err := syscall.Mkfifo(p, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := tree{"a.txt": "one\n", "with space.txt": "x\n"}
	after := tree{"a.txt": "two\n", "with space.txt": "y\n", "quote\"d": "q\n", "line\nbreak": "l\n"}
	dir := r.bundle(r.change(before, after))
	all := []string{"a.txt", "with space.txt", "quote\"d", "line\nbreak"}
	latin := r.bundle(r.change(tree{}, tree{"l": "caf\xe9\n"}))
	empty := r.bundle(r.change(tree{}, tree{}))
	tampered := r.bundle(r.change(before, after))
	if err := os.WriteFile(filepath.Join(tampered, evidence.PathPatch), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		dir     string
		approve []string
		want    []string // code, path and file of each violation; nil: ready
		any     bool     // only whether it is ready counts
	}{
		{name: "all", dir: dir, approve: all},
		{name: "nothing", dir: dir, want: []string{
			"malformed-reference approvedFiles ", "malformed-reference approvedFiles a.txt", "malformed-reference approvedFiles line\nbreak",
			"malformed-reference approvedFiles quote\"d", "malformed-reference approvedFiles with space.txt",
		}},
		{name: "partial", dir: dir, approve: all[1:], want: []string{"malformed-reference approvedFiles a.txt"}},
		{name: "too much", dir: dir, approve: append(slices.Clone(all), "with"), want: []string{"malformed-reference approvedFiles[4] with"}},
		{name: "digest mismatch", dir: tampered, approve: all, want: []string{}, any: true},
		{name: "no change", dir: empty, approve: nil, want: []string{"malformed-reference files/patch.diff files/patch.diff"}},
		{name: "no change, and one is approved", dir: empty, approve: []string{"a"}, want: []string{
			"malformed-reference files/patch.diff files/patch.diff", "malformed-reference approvedFiles[0] a",
		}},
		{name: "no bundle", dir: filepath.Join(dir, "none"), approve: all, want: []string{"missing-manifest manifest.json manifest.json"}},
		{name: "not UTF-8", dir: latin, approve: []string{"l"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, err := Preflight(tc.dir, tc.approve, "ada", bundle.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := check(evidence.SchemaApplyPreflight, text); err != nil {
				t.Errorf("not valid: %v\n%s", err, text)
			}
			if p.Ready != (tc.want == nil) {
				t.Errorf("ready is %v: %+v", p.Ready, p.Violations)
			}
			var got []string
			for _, v := range p.Violations {
				got = append(got, v.Code+" "+v.Path+" "+v.File)
			}
			if !tc.any && !slices.Equal(got, tc.want) {
				t.Errorf("violations are %q, want %q", got, tc.want)
			}
			if !p.Ready {
				return
			}
			patch := []byte(p.Payload.Patch)
			if p.Payload.PatchEncoding == evidence.PatchBase64 {
				if patch, err = base64.StdEncoding.DecodeString(p.Payload.Patch); err != nil {
					t.Fatal(err)
				}
			}
			stored, _ := os.ReadFile(filepath.Join(tc.dir, evidence.PathPatch))
			if string(patch) != string(stored) || p.Payload.PatchSHA256 != digest(stored) {
				t.Errorf("the payload has another patch than the bundle")
			}
		})
	}
}

// What Apply refuses for its verdict is not ready, and both say why in the same words.
func TestPreflightAsksForAVerdict(t *testing.T) {
	t.Parallel()
	const refused = `{"schema": "deed/verdict/v1", "accepted": false, "no_op": false, "reasons": [{"code": "check_failed", "message": "x"}, {"code": "check_failed", "message": "y"}], "checks": []}`
	const taken = `{"schema": "deed/verdict/v1", "accepted": true, "no_op": false, "reasons": [], "checks": []}`
	for _, tc := range []struct {
		name   string
		change func(c *change)
		says   string // empty: it is ready
		signed bool   // Apply refuses it for its verdict, not for its signature
	}{
		{name: "accepted", change: func(*change) {}},
		{
			name: "rejected", change: func(c *change) { c.verdict, c.reasons = "rejected", []string{"check_failed", "scope"} },
			says: "no gate accepted this bundle: its verdict is rejected, for check_failed, scope", signed: true,
		},
		{name: "no verdict", change: func(c *change) { c.verdict = "none" }, says: "no gate accepted this bundle: its verdict is none", signed: true},
		{name: "nothing said", change: func(c *change) { c.verdict = "" }, says: "no gate accepted this bundle: its verdict is none", signed: true},
		{
			// What was signed counts, not what a file says.
			name: "rejected, and a file says otherwise", change: func(c *change) {
				c.verdict, c.more = "rejected", map[string]string{bundle.PathVerdict: taken}
			},
			says: "its verdict is rejected", signed: true,
		},
		{
			name: "unsigned and rejected", change: func(c *change) { c.key, c.more = nil, map[string]string{bundle.PathVerdict: refused} },
			says: "its verdict is rejected, for check_failed (",
		},
		{name: "unsigned and accepted", change: func(c *change) { c.key, c.more = nil, map[string]string{bundle.PathVerdict: taken} }},
		{name: "unsigned without a verdict", change: func(c *change) { c.key = nil }, says: "its verdict is none"},
		{name: "unsigned, and its verdict is none", change: func(c *change) { c.key, c.more = nil, map[string]string{bundle.PathVerdict: "[]"} }, says: "its verdict is none"},
		{name: "of another maker", change: func(c *change) { c.key, c.backend = nil, "wordpress-playground" }},
		{name: "of another maker, with a verdict of its own", change: func(c *change) {
			c.key, c.backend, c.more = nil, "wordpress-playground", map[string]string{bundle.PathVerdict: `{"schema": "x", "accepted": false}`}
		}},
		{
			name: "of nobody, with a verdict of ours", change: func(c *change) {
				c.key, c.backend, c.more = nil, "wordpress-playground", map[string]string{bundle.PathVerdict: refused}
			},
			says: "its verdict is rejected",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := r.change(tree{}, tree{"a": "x\n"})
			tc.change(c)
			dir := r.bundle(c)
			for _, keys := range [][]bundle.PublicKey{{r.key.Public()}, nil} { // whether it is trusted or not
				p, err := Preflight(dir, []string{"a"}, "ada", bundle.VerifyOptions{TrustedKeys: keys})
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(p)
				if err == nil {
					err = check(evidence.SchemaApplyPreflight, text)
				}
				if err != nil {
					t.Errorf("not valid: %v\n%s", err, text)
				}
				if tc.says == "" {
					if !p.Ready {
						t.Errorf("not ready: %+v", p.Violations)
					}
					continue
				}
				if p.Ready || len(p.Violations) != 1 || p.Violations[0].Code != CodeNotAccepted || !strings.Contains(p.Violations[0].Message, tc.says) ||
					!strings.Contains(p.Violations[0].Message, "--force") {
					t.Errorf("ready is %v: %+v", p.Ready, p.Violations)
				}
			}
			to := r.path("target")
			tree{}.write(t, to)
			if _, err := r.Apply(t.Context(), r.request(dir, to)); tc.signed && (err == nil || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("apply says %v", err)
			}
		})
	}
}

// A file that the change list and the patch disagree on is named, in addition to the verdict.
func TestPreflightNamesTheFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.change(tree{}, tree{"a": "x\n"})
	c.verdict = "rejected"
	c.files = append(c.files, evidence.ChangedFile{
		Path: "/workspace/line\nbreak", RelativePath: "line\nbreak", MountTarget: "/workspace", Status: evidence.ChangeAdded, AfterSHA256: strings.Repeat("0", 64), AfterMode: "100644",
	})
	p, err := Preflight(r.bundle(c), []string{"a"}, "ada", bundle.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range p.Violations {
		got = append(got, v.Code+" "+v.File+": "+v.Message)
	}
	if len(got) != 2 || p.Violations[0].Code != CodeNotAccepted ||
		got[1] != `malformed-reference line`+"\n"+`break: "line\nbreak" is in the change list and not in the patch` {
		t.Errorf("violations are %q", got)
	}
}

func TestEnvelope(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.bundle(r.change(tree{}, tree{"a": "x"}))
	o := bundle.VerifyOptions{TrustedKeys: []bundle.PublicKey{r.key.Public()}}
	e, err := Envelope(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(evidence.SchemaEvidenceEnvelope, text); err != nil {
		t.Error(err)
	}
	if !e.Verification.Valid || e.Verification.Signature != bundle.SignatureValid || e.Statement == nil || e.Statement.Verdict != "accepted" {
		t.Errorf("the envelope is %s", text)
	}
	if strings.Contains(string(text), dir) {
		t.Errorf("the envelope names a directory of this machine: %s", text)
	}
	if err := os.Remove(filepath.Join(dir, evidence.PathPatch)); err != nil {
		t.Fatal(err)
	}
	if e, err = Envelope(dir, o); err != nil || e.Verification.Valid {
		t.Errorf("a bundle without its patch: %+v, %v", e.Verification, err)
	}
	if _, err := Envelope(filepath.Join(dir, "none"), o); err == nil {
		t.Error("no bundle: no error")
	}
}

func TestStage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.bundle(r.change(tree{"a": "1\n"}, tree{"a": "2\n", "b": "new\n"}))
	to := r.path("target")
	tree{"a": "1\n"}.write(t, to)
	req := r.request(dir, to)
	keys := req.Keys
	stage := func() evidence.PendingApplyPreview {
		t.Helper()
		p, err := r.Stage(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := stage()
	same(t, to, tree{"a": "1\n"})
	list, err := r.Pending(false)
	if err != nil || len(list) != 1 || list[0].ActionID != p.ActionID || len(list[0].Files) != 2 {
		t.Fatalf("pending is %+v, %v", list, err)
	}
	// Approved while the directory drifted: refused, and still open.
	tree{"a": "drift\n"}.write(t, to)
	out, err := r.Resolve(t.Context(), p.ActionID, Resolution{Approve: true, By: "bob", Keys: keys})
	if got := reasons(t, err); !slices.Equal(got, []string{"base_drift a"}) || out.Success {
		t.Errorf("drift: %v %+v", got, out)
	}
	tree{"a": "1\n"}.write(t, to)
	out, err = r.Resolve(t.Context(), p.ActionID[:30], Resolution{Approve: true, By: "bob", Keys: keys})
	if err != nil || !out.Success {
		t.Fatalf("approve: %+v, %v", out, err)
	}
	text, _ := json.Marshal(out)
	if err := check(evidence.SchemaArtifactApply, text); err != nil {
		t.Error(err)
	}
	same(t, to, tree{"a": "2\n", "b": "new\n"})
	if _, err := r.Resolve(t.Context(), p.ActionID, Resolution{Approve: true, By: "bob", Keys: keys}); err == nil {
		t.Error("approved twice: no error")
	}
	if _, err := r.Undo(t.Context(), p.ActionID, "bob"); err != nil {
		t.Error(err)
	}

	// Another bundle instead of the one that was shown.
	p = stage()
	other := r.bundle(r.change(tree{"a": "1\n"}, tree{"a": "evil\n", "b": "new\n"}))
	if err := os.Rename(dir, dir+".was"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, dir); err != nil {
		t.Fatal(err)
	}
	_, err = r.Resolve(t.Context(), p.ActionID, Resolution{Approve: true, By: "bob", Keys: keys})
	if got := reasons(t, err); !slices.Equal(got, []string{ReasonBundleChanged}) {
		t.Errorf("another bundle: %v", got)
	}
	if out, err = r.Resolve(t.Context(), p.ActionID, Resolution{Approve: false, By: "bob", Keys: keys}); err != nil || out.Success || out.Result.Status != evidence.ApplyRejected {
		t.Errorf("reject: %+v, %v", out, err)
	}
	if list, err = r.Pending(false); err != nil || len(list) != 0 {
		t.Errorf("pending is %+v, %v", list, err)
	}
	// What could not be applied is not staged.
	tree{"b": "there\n"}.write(t, to)
	if _, err := r.Stage(t.Context(), req); err == nil {
		t.Error("staged what drifted")
	}
	var got []string
	for _, l := range r.lines() {
		got = append(got, l.Operation+" "+l.Status)
	}
	want := []string{"stage staged", "apply refused", "apply applied", "undo undone", "stage staged", "apply refused", "reject rejected", "stage refused"}
	if !slices.Equal(got, want) {
		t.Errorf("audit is %q, want %q", got, want)
	}
}
