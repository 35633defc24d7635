package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/acp"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// contain puts a bench's agent into a sandbox as an attempt would.
func contain(t *testing.T, b *bench, writable bool) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs a sandbox")
	}
	d := b.Job.Dirs
	spec := sandbox.Spec{Kind: sandbox.Namespace, Mounts: []sandbox.Mount{
		{Source: d.Workspace, Target: "/workspace", Writable: writable},
		{Source: d.Home, Target: "/home/agent", Writable: true},
		{Source: d.Artifacts, Target: "/run/deed/artifacts", Writable: true},
		{Source: d.Exchange, Target: "/run/deed/exchange", Writable: true},
	}}
	mounts, err := acp.New().Mounts(b.Job.Adapter)
	if err != nil {
		t.Fatal(err)
	}
	spec.Mounts = append(spec.Mounts, mounts...)
	if b.Job.Sandbox, err = sandbox.New(t.Context(), spec); err != nil {
		t.Skipf("missing tool: bwrap: apt-get install bubblewrap (%v)", err)
	}
}

// A contained agent names files and commands as it sees them, and gets no further with deed's help than without.
func TestAContainedAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t, "files terminals", map[string]string{
		"FILES": `[["write", "/workspace/by-agent", "hello"], ["read", "/workspace/by-agent"], ["read", "/workspace/link"], ["read", "/etc/hosts"], ["read", "/home/agent/x"], ["write", "/tmp/x", "y"], ["read", "HOST"]]`,
		// Both see the same files, and neither the host's.
		"COMMANDS": `["hostname; cat /workspace/by-agent; pwd", "cat HOST || echo not here", "echo more >>/workspace/by-agent"]`,
	})
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("the secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(b.Job.Dirs.Workspace, "link")); err != nil {
		t.Fatal(err)
	}
	for name, value := range b.Job.Adapter.ACP.Env {
		b.Job.Adapter.ACP.Env[name] = strings.ReplaceAll(value, "HOST", secret)
	}
	contain(t, b, true)
	if y := b.run(); y.Kind != driver.YieldCompletion {
		t.Fatalf("%s, %v\n%s", y.Class, y.Err, b.notes())
	}
	b.mustNote("new /workspace", `by-agent: "hello"`, "link: refused", "hosts: refused", "/home/agent/x: refused", "/tmp/x: refused", secret+": refused", "deed\nhello/workspace", "not here")
	if data, err := os.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "by-agent")); err != nil || string(data) != "hellomore\n" {
		t.Errorf("%q, %v", data, err)
	}
	if strings.Contains(b.notes(), "the secret") {
		t.Errorf("a file outside was read:\n%s", b.notes())
	}
}

// Deed does not write for an agent what the agent may not write itself.
func TestAReadOnlyWorkspaceStaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, "files", map[string]string{"FILES": `[["write", "/workspace/new", "x"], ["write", "/workspace/old", "x"]]`})
	b.Job.Guard = &guard{effect: agentruntime.PolicyAllow}
	old := filepath.Join(b.Job.Dirs.Workspace, "old")
	if err := os.WriteFile(old, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	contain(t, b, false)
	y := b.run()
	if y.Kind != driver.YieldCompletion {
		t.Fatalf("%s, %v", y.Class, y.Err)
	}
	if got := b.ReadFile(y.StdoutPath); strings.Count(got, `"method":"fs/write_text_file"`) != 2 {
		t.Errorf("stdout: %s", got)
	}
	if data, err := os.ReadFile(old); err != nil || string(data) != "as it was" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(b.Job.Dirs.Workspace, "new")); err == nil {
		t.Error("a file was made")
	}
}
