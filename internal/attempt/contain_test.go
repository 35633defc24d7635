package attempt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

// contained makes a task ask for namespace, or skips the test.
func contained(t *testing.T, edit func(*deed.TaskSpec)) func(*store.NewTask) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs a sandbox")
	}
	if _, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Namespace}); err != nil {
		t.Skipf("missing tool: bwrap: %v", err)
	}
	return func(n *store.NewTask) {
		n.Intent.Deed.Isolation = string(sandbox.Namespace)
		if edit != nil {
			edit(n.Intent.Deed)
		}
	}
}

func read(t *testing.T, res Result, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(res.BundleDir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A contained agent works in the directory that it is given and sees no path of the machine; the bundle records what
// restricted it.
func TestAContainedAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	source := t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "a.txt"), []byte("a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := b.claim(`env; pwd; cat a.txt; echo made >new.txt; echo r >"$DEED_ARTIFACTS/r.md"; test -e `+b.Home.Root()+` && echo "the home is seen"
test -e "$DEED_RESULT_FILE/../../run" && echo "the record is seen"
`+done, contained(t, func(d *deed.TaskSpec) {
		d.Workspace = &deed.Workspace{Source: source, Target: "/srv/app"}
		d.Sandbox = &deed.Sandbox{Env: map[string]string{"MODE": "fast"}}
		d.Checks = []deed.Check{{Shell: `test "$(pwd)" = /srv/app && test -f new.txt && test "$MODE" = fast && ! test -e ` + b.Home.Root()}}
	}))
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("%s: %s\n%s", res.Settlement.Class, res.Settlement.LastError, read(t, res, "files/attempt/stdout.log"))
	}
	bundletest.Check(t, res.BundleDir)
	out := read(t, res, "files/attempt/stdout.log")
	for _, hidden := range []string{b.Home.Root(), source, "is seen"} {
		if strings.Contains(out, hidden) {
			t.Errorf("the agent was told %q:\n%s", hidden, out)
		}
	}
	if !strings.Contains(out, "\n/srv/app\na\n") {
		t.Errorf("the agent said:\n%s", out)
	}
	var md evidence.Metadata
	if err := json.Unmarshal([]byte(read(t, res, evidence.PathMetadata)), &md); err != nil {
		t.Fatal(err)
	}
	e := md.Policy.Enforcement
	if md.Policy.Network != "deny" || e.Network.Status != evidence.PolicyEnforced || e.Filesystem.Status != evidence.PolicyEnforced || e.Isolation.Status != evidence.PolicyEnforced {
		t.Errorf("%+v", md.Policy)
	}
	if md.Runtime.Environment.Kind != "namespace" || len(md.Mounts) != 1 || md.Mounts[0].Target != "/srv/app" {
		t.Errorf("%+v %+v", md.Runtime, md.Mounts)
	}
	if len(res.Files) != 1 || res.Files[0].Path != "/srv/app/new.txt" || res.Files[0].RelativePath != "new.txt" {
		t.Errorf("%+v", res.Files)
	}
	if after, err := os.ReadDir(source); err != nil || len(after) != 1 {
		t.Errorf("the source holds %v (%v)", after, err)
	}
}

// Several workspaces are one tree for the evidence, and each is at its own path for the agent.
func TestSeveralWorkspaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := t.TempDir(), t.TempDir()
	for i, dir := range []string{one, two} {
		if err := os.WriteFile(filepath.Join(dir, "same.txt"), fmt.Appendf(nil, "%d\n", i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := b.claim(`pwd; echo x >>/workspace/one/same.txt; echo y >>/data/two/same.txt; (echo z >/workspace/look/new.txt) 2>&1; `+done, contained(t, func(d *deed.TaskSpec) {
		d.Workspaces = []deed.Workspace{
			{Source: two, Target: "/data/two"}, {Source: one, Target: "/workspace/one"}, {Type: deed.SeedEmpty, Target: "/workspace/look", ReadOnly: true},
		}
		d.Checks = []deed.Check{{Shell: `grep -q x same.txt && grep -q y /data/two/same.txt`}}
	}))
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("%s: %s\n%s", res.Settlement.Class, res.Settlement.LastError, read(t, res, "files/attempt/stdout.log"))
	}
	bundletest.Check(t, res.BundleDir)
	if out := read(t, res, "files/attempt/stdout.log"); !strings.HasPrefix(out, "/workspace/one\n") || !strings.Contains(out, "Read-only file system") {
		t.Errorf("the agent said:\n%s", out)
	}
	var paths []string
	for _, f := range res.Files {
		paths = append(paths, fmt.Sprintf("%d %s %s %s", f.MountIndex, f.MountTarget, f.RelativePath, f.Path))
	}
	slices.Sort(paths)
	if want := []string{"0 /data/two same.txt /data/two/same.txt", "1 /workspace/one same.txt /workspace/one/same.txt"}; !slices.Equal(paths, want) {
		t.Errorf("%q", paths)
	}
	if p := read(t, res, evidence.PathPatch); !strings.Contains(p, "a/data/two/same.txt") || !strings.Contains(p, "a/workspace/one/same.txt") {
		t.Errorf("the patch is\n%s", p)
	}
}

// A run that needs more than it may ends with a class of its own, and so does a workspace that may only be read.
// No task shows deed's own files to an agent, nor loses what it brings behind a directory of deed's.
func TestPlacesThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(b.Home.Keys(), link); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*deed.TaskSpec){
		"sandbox.mounts[0].source": func(d *deed.TaskSpec) { d.Sandbox.Mounts = []deed.Mount{{Source: b.Home.Root(), Target: "/x"}} },
		"mounts[0].source":         func(d *deed.TaskSpec) { d.Sandbox.Mounts = []deed.Mount{{Source: b.Home.Keys(), Target: "/x"}} },
		"[0].source": func(d *deed.TaskSpec) {
			d.Sandbox.Mounts = []deed.Mount{{Source: filepath.Dir(b.Home.Root()), Target: "/x"}}
		},
		"0].source":            func(d *deed.TaskSpec) { d.Sandbox.Mounts = []deed.Mount{{Source: link, Target: "/x"}} },
		"mounts[0].target":     func(d *deed.TaskSpec) { d.Sandbox.Mounts = []deed.Mount{{Source: "/var", Target: insideWorkspace}} },
		"workspaces[0].target": func(d *deed.TaskSpec) { d.Workspace.Target = insideHome },
		"workspaces[1].target": func(d *deed.TaskSpec) {
			d.Workspaces = []deed.Workspace{{Type: deed.SeedEmpty, Target: "/a"}, {Type: deed.SeedEmpty, Target: insideTmp}}
			d.Workspace = nil
		},
	} {
		c := b.claim(done, contained(t, func(d *deed.TaskSpec) {
			d.Workspace, d.Sandbox = &deed.Workspace{Type: deed.SeedEmpty}, &deed.Sandbox{}
			edit(d)
		}))
		res, err := b.Run(t.Context(), b.sup, c)
		if err != nil {
			t.Fatal(err)
		}
		if res.Settlement.Class != string(failure.Config) || !strings.Contains(res.Settlement.LastError, name) {
			t.Errorf("%s: %s: %s", name, res.Settlement.Class, res.Settlement.LastError)
		}
	}
}

func TestContainedClasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script, class, about string
		edit                       func(*deed.TaskSpec)
	}{
		{
			"too many processes", `i=0; while [ $i -lt 60 ]; do sleep 20 & i=$((i+1)); done; wait`, "limit_exceeded", "processes",
			func(d *deed.TaskSpec) { d.Sandbox = &deed.Sandbox{Limits: &deed.Limits{Processes: 16}} },
		},
		{"a read-only workspace", `echo x >new.txt || exit 3; ` + done, "agent_failed", "exit", func(d *deed.TaskSpec) {
			d.Sandbox = &deed.Sandbox{ReadOnlyWorkspace: true}
		}},
		{"a mount that is not there", done, "config", "/no/such/place", func(d *deed.TaskSpec) {
			d.Sandbox = &deed.Sandbox{Mounts: []deed.Mount{{Source: "/no/such/place"}}}
		}},
		{"sockets of services", done, "config", "sockets", func(d *deed.TaskSpec) {
			d.Sandbox = &deed.Sandbox{Mounts: []deed.Mount{{Source: "/run/lock", Target: "/lock"}}}
		}},
		{"a mount over the system", done, "config", "/usr", func(d *deed.TaskSpec) {
			d.Sandbox = &deed.Sandbox{Mounts: []deed.Mount{{Source: "/var", Target: "/usr/lib"}}}
		}},
		{"a host that is none", done, "config", "https", func(d *deed.TaskSpec) { d.Sandbox = &deed.Sandbox{Network: []string{"https:x"}} }},
		{"used-up turns", `echo '{"status": "retryable_failure", "failure_class": "max_turns"}'`, "max_turns", "", nil},
		{"a provider", `echo '{"status": "retryable_failure", "failure_class": "provider_error"}'`, "provider_error", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			res, err := b.Run(t.Context(), b.sup, b.claim(c.script, contained(t, c.edit)))
			if err != nil {
				t.Fatal(err)
			}
			if res.Settlement.Class != c.class || !strings.Contains(res.Settlement.LastError, c.about) {
				t.Errorf("%s: %s", res.Settlement.Class, res.Settlement.LastError)
			}
			bundletest.Check(t, res.BundleDir)
		})
	}
}

// The documents of a bundle never contradict each other: all of them come from one decision.
func TestDocumentsAgree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, outcome, agent, task string }{
		"done":     {`echo x >new; ` + done, "succeeded", "completed", "completed"},
		"no-op":    {done, "succeeded", "completed", "completed"},
		"failed":   {`exit 4`, "failed", "failed", "failed"},
		"rejected": {`echo '{"status": "completed", "file_changes": ["gone.txt"]}'`, "failed", "completed", "failed"},
		"blocked":  {`echo '{"status": "blocked"}'`, "blocked", "failed", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			res, err := b.Run(t.Context(), b.sup, b.claim(c.script, nil))
			if err != nil {
				t.Fatal(err)
			}
			for file, want := range map[string]string{evidence.PathCompletionOutcome: c.outcome, evidence.PathAgentResult: c.agent, evidence.PathAgentTaskResult: c.task} {
				var doc struct{ Status string }
				if err := json.Unmarshal([]byte(read(t, res, file)), &doc); err != nil || doc.Status != want {
					t.Errorf("%s says %q and not %q (%v)", file, doc.Status, want, err)
				}
			}
		})
	}
}

// A container holds an agent and its checks as a namespace does, and has no way out.
func TestAnAttemptInAContainer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: needs podman")
	}
	if _, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Container}); err != nil {
		t.Skipf("missing tool: podman: apt-get install podman runc, and run as root (%v)", err)
	}
	b := setup(t)
	inContainer := func(edit func(*deed.TaskSpec)) func(*store.NewTask) {
		return func(n *store.NewTask) {
			n.Intent.Deed.Isolation = string(sandbox.Container)
			edit(n.Intent.Deed)
		}
	}
	res, err := b.Run(t.Context(), b.sup, b.claim(`echo made >new.txt; test ! -e `+b.Home.Root()+` && `+done, inContainer(func(d *deed.TaskSpec) {
		d.Checks = []deed.Check{{Shell: `test "$(cat new.txt)" = made && ! test -e ` + b.Home.Root()}}
	})))
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Status != agentruntime.TaskCompleted || len(res.Files) != 1 {
		t.Fatalf("%s: %s\n%s", res.Settlement.Class, res.Settlement.LastError, read(t, res, "files/attempt/stderr.log"))
	}
	bundletest.Check(t, res.BundleDir)
	var md evidence.Metadata
	if err := json.Unmarshal([]byte(read(t, res, evidence.PathMetadata)), &md); err != nil {
		t.Fatal(err)
	}
	if e := md.Policy.Enforcement; md.Runtime.Environment.Kind != "container" || e.Network.Status != evidence.PolicyEnforced || e.Filesystem.Status != evidence.PolicyEnforced {
		t.Errorf("%+v", md.Policy)
	}

	res, err = b.Run(t.Context(), b.sup, b.claim(done, inContainer(func(d *deed.TaskSpec) { d.Sandbox = &deed.Sandbox{Network: []string{"example.com"}} })))
	if err != nil || res.Settlement.Class != "isolation_unavailable" {
		t.Errorf("with allowed hosts: %s: %s, %v", res.Settlement.Class, res.Settlement.LastError, err)
	}
}
