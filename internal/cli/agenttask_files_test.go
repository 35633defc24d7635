package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
)

// What an agent calls its files drives no terminal, from standard output or from the file, and is the same value all the same.
func TestAgentTaskRunEscapesWhatDrivesATerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": `echo x >"$(printf 'c1\302\2332J')"; echo x >"$(printf 'u\342\200\256gnp')"; printf '{"status": "completed", "operator_summary": "\\u009b31m\\u202eevil"}' >"$DEED_RESULT_FILE"`})
	result := filepath.Join(s.dir, "result.json")
	o := s.deed(nil, "agent-task-run", "--json", "--progress=jsonl", "--input-file="+s.request("agent", nil), "--result-file="+result)
	text, err := os.ReadFile(result)
	if err != nil || string(text) != o.stdout {
		t.Errorf("the file is not what standard output is: %v", err)
	}
	if strings.ContainsAny(o.stdout+o.stderr, "\u009b\u202e") || !strings.Contains(o.stdout, `\u009b2J`) || !strings.Contains(o.stdout, `\u202egnp`) {
		t.Errorf("%q\n%q", o.stdout, o.stderr)
	}
	if env := envelope(t, o.stdout); o.code != ExitDone || !strings.Contains(fmt.Sprintf("%+v", env), "c1\u009b2J") {
		t.Errorf("exit %d: the names are not what they were: %+v", o.code, env)
	}
}

// The answer and the bundle say which of the files that the agent left among its artifacts are none.
func TestAgentTaskRunTellsWhatIsNoArtifact(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": `cd "$DEED_ARTIFACTS" && mkfifo pipe && ln -s /etc/passwd link && echo x >file && echo '{"status": "completed"}' >"$DEED_RESULT_FILE"`})
	out := filepath.Join(s.dir, "out")
	o := s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{"artifacts_path": out}))
	env := envelope(t, o.stdout)
	const left = "left out of the artifacts, which are regular files: link (a link), pipe (a named pipe)"
	if o.code != ExitDone || len(env.Diagnostics) != 1 || env.Diagnostics[0].Class != "deed.artifacts.dropped" || env.Diagnostics[0].Message != left {
		t.Errorf("exit %d: %+v", o.code, env.Diagnostics)
	}
	for name, want := range map[string]string{evidence.PathEvents: `"artifacts_dropped"`, "files/verdict.json": `"artifact_dropped"`} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: no %s, %v\n%s", name, want, err, text)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "files/artifacts/file")); err != nil {
		t.Error(err)
	}
}

// What is written is never the request, nor two things at once, by whatever name.
func TestAgentTaskRunKeepsItsFilesDistinct(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": "exit 0"})
	in := s.request("agent", nil)
	want, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	link, hard, fresh := filepath.Join(s.dir, "link"), filepath.Join(s.dir, "hard"), filepath.Join(s.dir, "fresh")
	if err := errors.Join(os.Symlink(in, link), os.Link(in, hard)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		flag string
	}{
		{[]string{"--result-file=" + in}, "--result-file"},
		{[]string{"--result-file=" + hard}, "--result-file"},
		{[]string{"--result-file=" + link}, "--result-file"},
		{[]string{"--progress-file=" + in}, "--progress-file"},
		{[]string{"--progress-file=" + link}, "--progress-file"},
		{[]string{"--progress-file=" + hard, "--result-file=" + fresh}, "--progress-file"},
		{[]string{"--progress-file=" + fresh, "--result-file=" + s.dir + "/./fresh"}, "--progress-file"},
	} {
		o := s.deed(nil, append([]string{"agent-task-run", "--json", "--input-file=" + in}, c.args...)...)
		if env := envelope(t, o.stdout); o.code != ExitUsage || env.Success || !strings.Contains(o.stdout, c.flag+": ") || !strings.Contains(o.stdout, "name another file") {
			t.Errorf("%v: exit %d\n%s", c.args, o.code, o.stdout)
		}
		if got, err := os.ReadFile(in); err != nil || string(got) != string(want) {
			t.Fatalf("%v: the request is now %q, %v", c.args, got, err)
		}
		if _, err := os.Lstat(fresh); err == nil {
			t.Fatalf("%v: something was written", c.args)
		}
	}
	for _, args := range [][]string{
		{"ability-run", "--json", "--input-file=" + in, "--result-file=" + in},
		{"runtime", "run", "--json", in, "--result-file=" + hard},
		{"runtime", "run", "--json", "--instructions=x", "--env-file=" + in, "--result-file=" + in},
	} {
		if o := s.deed(nil, args...); o.code != ExitUsage || !strings.Contains(o.stdout, "name another file") {
			t.Errorf("%v: exit %d\n%s", args, o.code, o.stdout)
		}
	}
	if got, err := os.ReadFile(in); err != nil || string(got) != string(want) {
		t.Errorf("the request is now %q, %v", got, err)
	}
}
