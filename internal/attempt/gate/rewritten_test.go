package gate

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
)

// A run that edits a test while it waits to run is not believed, unless the base's own run does so too.
func TestARunThatRewritesTests(t *testing.T) {
	t.Parallel()
	refused := []string{"check_inputs_changed:add_test.go"}
	for _, c := range []struct {
		name   string
		does   func(t *testing.T, test string, base bool)
		change map[string]string
		check  deed.Check
		want   []string
	}{
		{name: "leaves them alone", does: func(*testing.T, string, bool) {}},
		{name: "rewrites one", does: func(t *testing.T, test string, base bool) {
			if !base {
				must(t, os.WriteFile(test, []byte("package p\n"), 0o600))
			}
		}, want: refused},
		{name: "rewrites one that has the same length", does: func(t *testing.T, test string, base bool) {
			if !base {
				must(t, os.WriteFile(test, []byte(strings.ToUpper(toyAdd)), 0o600))
			}
		}, want: refused},
		{name: "removes one", does: func(t *testing.T, test string, base bool) {
			if !base {
				must(t, os.Remove(test))
			}
		}, want: refused},
		{name: "puts a link in its place", does: func(t *testing.T, test string, base bool) {
			if !base {
				must(t, os.Rename(test, test+".txt"))
				must(t, os.Symlink(filepath.Base(test)+".txt", test))
			}
		}, want: refused},
		{name: "writes into it on the base too", does: func(t *testing.T, test string, _ bool) {
			must(t, os.WriteFile(test, []byte(toyAdd+"// snapshot\n"), 0o600))
		}},
		{
			name: "rewrites one that the agent edited", change: map[string]string{"main.go": fixed, "add_test.go": toyAdd + "// clearer\n"},
			does: func(t *testing.T, test string, base bool) {
				if !base {
					must(t, os.WriteFile(test, []byte("package p\n"), 0o600))
				}
			}, want: []string{refused[0], "needs_person", refused[0]},
		},
		{name: "is a build", check: deed.Check{Capability: "build"}, does: func(t *testing.T, test string, base bool) {
			if !base {
				must(t, os.WriteFile(test, []byte("package p\n"), 0o600))
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			change := c.change
			if change == nil {
				change = map[string]string{"main.go": fixed}
			}
			v := scene{base: toyBase(), work: files(change), edit: func(in *Input, _ string) {
				check := c.check
				if check.Capability == "" {
					check = deed.Check{Shell: "make test"}
				}
				in.Spec.Checks = []deed.Check{check}
				in.Runner = commands(func(_ context.Context, _ deed.Check, room string, base bool) RunResult {
					c.does(t, filepath.Join(Tree(room), "add_test.go"), base)
					return RunResult{Result: deed.CheckResult{Status: deed.CheckPassed}}
				})
			}}.decide(t)
			if diff := cmp.Diff(c.want, codes(v)); diff != "" {
				t.Errorf("reasons: %s\n%+v", diff, v.Reasons)
			}
		})
	}
}
