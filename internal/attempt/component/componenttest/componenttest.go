// Package componenttest owns what the tests of runtime components share: sources on disk, and a runner that isolates
// what it runs as deed does.
package componenttest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// Serve makes the test binary what Contained needs it to be. TestMain calls it first; it does not return when the
// binary was started as one of deed's own helpers.
func Serve() {
	switch {
	case proc.IsSupervisor(os.Args):
		os.Exit(proc.SupervisorMain(os.Args))
	case sandbox.IsInner(os.Args):
		os.Exit(sandbox.InnerMain(os.Args))
	}
}

// Needs skips a test where there are no namespaces.
func Needs(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs a sandbox")
	}
	for _, a := range sandbox.Probe(t.Context()) {
		if a.Kind == sandbox.Namespace && !a.Available {
			t.Skipf("missing tool: bwrap: apt-get install bubblewrap (%s)", a.Reason)
		}
	}
}

// Tree writes files in the form of a txtar archive and returns their directory.
func Tree(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		p := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Contained runs commands in namespaces of their own, without a network, each for at most the given time.
func Contained(t testing.TB, mounts []component.Mount, timeout time.Duration) component.Runner {
	t.Helper()
	sb, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Namespace, Mounts: component.Bound(mounts)})
	if err != nil {
		t.Fatal(err)
	}
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sup.Close() })
	return component.Inside(sb, sup, timeout)
}
