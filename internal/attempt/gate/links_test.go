package gate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
)

// Links in the place of tests, of their directories and of configuration have the effect of a deletion or an edit.
func TestAgentsThatCheatWithLinks(t *testing.T) {
	t.Parallel()
	link := func(target, name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, name)))
			must(t, os.Symlink(target, filepath.Join(dir, name)))
		}
	}
	for _, c := range []struct {
		name string
		work []func(*testing.T, string)
		want []string
	}{
		{"a directory of tests", []func(*testing.T, string){files(map[string]string{"main.go": fixed}), link(".", "sub")}, []string{"tests_vanished", "needs_person", "check_inputs_changed:sub/other_test.go"}},
		{"a test", []func(*testing.T, string){files(map[string]string{"x.go": "package p\n\nfunc TestAdd(t *testing.T) {}\n"}), link("x.go", "add_test.go")}, []string{"tests_still_failing", "needs_person", "check_inputs_changed:add_test.go"}},
		{"a test that leads nowhere", []func(*testing.T, string){files(map[string]string{"main.go": fixed}), link("nowhere", "add_test.go")}, []string{"no_tests", "check_inputs_changed:add_test.go"}},
		{"a configuration", []func(*testing.T, string){link("main.go", "Makefile")}, []string{"tests_still_failing", "check_inputs_changed:Makefile"}},
		{"a new configuration", []func(*testing.T, string){link("main.go", "pytest.ini")}, []string{"tests_still_failing", "check_inputs_changed:pytest.ini"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := scene{base: toyBase(), work: func(t *testing.T, dir string) {
				for _, w := range c.work {
					w(t, dir)
				}
			}, edit: func(in *Input, _ string) {
				in.Spec.Checks, in.Runner = []deed.Check{{Capability: runner.Test}}, &toy{}
			}}.decide(t)
			if diff := cmp.Diff(c.want, codes(v)); diff != "" {
				t.Errorf("%s\n%+v", diff, v.Reasons)
			}
		})
	}
}
