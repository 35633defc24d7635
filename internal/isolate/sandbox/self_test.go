//go:build linux

package sandbox_test

import (
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// TestSelf runs the test binary itself where its file is not mounted.
func TestSelf(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, kind := range []sandbox.Kind{sandbox.None, sandbox.Process, sandbox.Namespace} {
		t.Run(string(kind), func(t *testing.T) {
			spec := f.spec(kind)
			spec.Mounts = spec.Mounts[:1]
			s := f.open(spec)
			p, out := f.command(s, nil, s.Self(), "-test.list=^TestSelf$")
			exit, err := s.Run(t.Context(), f.sup, p)
			if err != nil || exit.Code != 0 || !strings.Contains(out.String(), "TestSelf") {
				t.Errorf("%+v, %v\n%s", exit, err, out)
			}
		})
	}
	var none *sandbox.Sandbox
	if none.Self() == "" {
		t.Error("no path without a sandbox")
	}
}
