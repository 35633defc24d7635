package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
)

// withoutBubblewrap is an environment of a machine that has what agents need, and no sandbox.
func withoutBubblewrap(t *testing.T) []string {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{"sh", "cat", "git", "env"} {
		file, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("missing tool: %s: install it", name)
		}
		if err := os.Symlink(file, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"PATH=" + bin}
}

func diagnosed(env codebox.AgentTaskRun, class, path string) *evidence.Diagnostic {
	for i, d := range env.Diagnostics {
		if d.Class == class && d.Path == path {
			return &env.Diagnostics[i]
		}
	}
	return nil
}

// Where there is no sandbox, a request that only prefers one is run, and its answer says where its workspaces are. A path that could not be
// shown to the agent is not left out in silence: such a request is refused for want of a sandbox, with the path of the mount. A request that
// wants a sandbox is answered with how to do without, in its own words.
func TestAgentTaskRunWithoutASandbox(t *testing.T) {
	t.Parallel()
	env := withoutBubblewrap(t)
	s := newSite(t, map[string]string{"agent": `echo fixed >a.txt; echo "{\"status\": \"completed\", \"file_changes\": [\"$DEED_WORKSPACE/a.txt\"]}"`})
	preferred := map[string]any{"sandbox": "preferred"}
	ask := func(more map[string]any) (codebox.AgentTaskRun, outcome) {
		t.Helper()
		o := s.deed(env, "agent-task-run", "--json", "--input-file="+s.request("agent", more))
		return envelope(t, o.stdout), o
	}

	got, o := ask(map[string]any{"policy": preferred})
	if o.code != ExitDone || diagnosed(got, "deed.isolation_degraded", "$.policy.sandbox") == nil {
		t.Errorf("exit %d, %+v", o.code, got.Diagnostics)
	}
	if d := diagnosed(got, "deed.target_not_honoured", "$.workspaces[0].target"); d == nil || !strings.Contains(d.Message, "at $DEED_WORKSPACE") {
		t.Errorf("%+v", got.Diagnostics)
	}

	data := t.TempDir()
	file := filepath.Join(data, "f")
	writeFile(t, file, "x")
	for path, more := range map[string]map[string]any{
		"$.mounts[1]": {"mounts": []any{
			map[string]any{"source": data, "target": "/copy", "mode": "readwrite"}, map[string]any{"source": data, "target": "/data", "mode": "readonly"},
		}},
		"$.staged_files[0]": {"staged_files": []any{map[string]any{"source": file, "target": "/data/f"}}},
	} {
		more["policy"] = preferred
		got, o := ask(more)
		d := diagnosed(got, "deed.isolation_unavailable", path)
		if o.code != ExitInfra || d == nil || d.Remedy == "" || !strings.Contains(d.Message, "without a sandbox") {
			t.Errorf("%s: exit %d, %+v", path, o.code, got.Diagnostics)
		}
	}

	got, o = ask(nil)
	d := diagnosed(got, "deed.isolation_unavailable", "")
	if o.code != ExitInfra || d == nil || strings.Contains(d.Remedy+d.Message, "--isolation") || !strings.Contains(d.Remedy, `"sandbox": "preferred"`) {
		t.Errorf("exit %d, %+v", o.code, got.Diagnostics)
	}
	if list := s.ok("task", "list", "--json"); strings.Count(list, `"agent-task-run"`) != 1 {
		t.Errorf("a refused request was queued:\n%s", list)
	}

	o = s.deed(env, "run", "--isolation", "namespace", "--no-workspace", "--agent", "agent", "x")
	if o.code == ExitDone || !strings.Contains(o.stderr, "--isolation process") {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
	o = s.deed(env, "run", "--isolation", "process", "--no-workspace", "--mount", data+":/data", "--agent", "agent", "x")
	if o.code == ExitDone || !strings.Contains(o.stderr, "$.deed.sandbox.mounts[0]") || !strings.Contains(o.stderr, "/data") {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
}

// Without WordPress a component is there as files. No answer says that it will be activated, and a request that asks for that is refused.
func TestAgentTaskRunWithoutWordPress(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": "exit 0"})
	plugin := filepath.Join(s.dir, "example")
	if err := os.Mkdir(plugin, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(plugin, "example.php"), "<?php /* Plugin Name: Example */\n")
	o := s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{"extra_plugins": []any{map[string]any{"source": plugin}}}))
	env := envelope(t, o.stdout)
	if o.code != ExitDone || diagnosed(env, "deed.no_wordpress", "$.extra_plugins[0]") == nil {
		t.Errorf("exit %d, %+v", o.code, env.Diagnostics)
	}
	if !strings.Contains(o.stdout, `"not_applicable"`) || strings.Contains(o.stdout, `"pending"`) {
		t.Errorf("the record is\n%s", o.stdout)
	}
	asked := map[string]any{"component_contracts": []any{map[string]any{"slug": "example", "path": plugin, "loadAs": "plugin", "activate": true}}}
	o = s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", asked))
	if env := envelope(t, o.stdout); o.code != ExitUsage || len(env.Diagnostics) != 1 || env.Diagnostics[0].Path != "$.component_contracts[0].activate" {
		t.Errorf("exit %d, %+v", o.code, env.Diagnostics)
	}
}
