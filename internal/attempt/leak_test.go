package attempt

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// leaky is a token that no rule of a forge knows from the text of this file.
const leaky = "ghp" + "_" + "Wq8ZkT3nVb6LmR2xYc9HdJ5sFg7PaQ4uEo1i"

// holding lists the files below a directory that hold a text.
func holding(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, p))
		if strings.Contains(string(data), text) {
			found = append(found, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// An agent that leaks a token learns of it without seeing the token, and its second turn is judged on its own. What
// it said stays hidden, unless the token is where it may be.
func TestALeakIsToldAndHidden(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		second  func(t *testing.T, j driver.Job)
		accepts bool
		patched bool // the token is in the bundle's patch
	}{
		"taken out": {func(t *testing.T, j driver.Job) { writes(t, j, "config", "token = $TOKEN\n") }, true, false},
		"kept":      {func(*testing.T, driver.Job) {}, false, false},
		"put where it may be": {func(t *testing.T, j driver.Job) {
			writes(t, j, "config", "")
			writes(t, j, "allowed", leaky+"\n")
		}, true, true},
		"in both places": {func(t *testing.T, j driver.Job) { writes(t, j, "allowed", leaky+"\n") }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			d := &talker{ref: "c"}
			d.turn = func(_ context.Context, j driver.Job, in driver.Input, _ driver.Sink) driver.Yield {
				writes(t, j, "answer", "42\n")
				if in.Turn == 1 {
					writes(t, j, "config", "token = "+leaky+"\n")
				} else {
					tc.second(t, j)
				}
				return says("the token is " + leaky)
			}
			one := 1
			res, err := b.Run(t.Context(), b.sup, b.talking(d, func(s *deed.TaskSpec) { s.AllowSecrets, s.MaxRecoveries = []string{"allowed"}, &one }))
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict.Accepted != tc.accepts || len(d.inputs) != 2 {
				t.Fatalf("%d turns, %+v", len(d.inputs), res.Verdict)
			}
			if told := d.inputs[1].Text; !strings.Contains(told, "config:1") || !strings.Contains(told, "github-pat") || strings.Contains(told, leaky) {
				t.Errorf("the agent was told:\n%s", told)
			}
			for _, r := range res.Verdict.Reasons {
				if r.Code != gate.CodeLeakInChange || r.Path != "config" || strings.Contains(r.Message, leaky) {
					t.Errorf("a reason: %+v", r)
				}
			}
			found := holding(t, res.BundleDir, leaky)
			if tc.patched != (len(found) > 0 && strings.Contains(strings.Join(found, " "), "files/patch.diff")) || !tc.patched && len(found) > 0 {
				t.Errorf("the token is in %v", found)
			}
			if len(holding(t, res.BundleDir, "REDACTED:github-pat")) == 0 && !tc.patched {
				t.Error("nothing is hidden")
			}
			rep, err := bundle.Verify(res.BundleDir, bundle.VerifyOptions{Keys: []bundle.PublicKey{b.Key.Public()}, RequireSignature: true})
			if err != nil || !rep.Valid {
				t.Errorf("the bundle does not verify: %v %+v", err, rep)
			}
		})
	}
}
