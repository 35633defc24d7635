package process_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/failure"
)

func job(t *testing.T) driver.Job {
	return driver.Job{
		TaskID: "task-1", AttemptID: "attempt-1", Payload: json.RawMessage(`{"a": 1}`),
		Adapter: agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{Command: "/bin/true", TimeoutMS: 1}},
		Dirs:    driver.Dirs{Workspace: "/w", Home: "/h", Tmp: "/t", Artifacts: "/a", Exchange: "/x", Run: "/r"},
	}
}

func environ(j driver.Job) ([]string, error) {
	c, _ := process.Of(j.Adapter)
	vars, err := process.Environ(j, c)
	return vars.List(), err
}

func TestEnvironIsCompleteAndClean(t *testing.T) {
	t.Setenv("LEAK", "from the test's own environment")
	j := job(t)
	env, err := environ(j)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"AGENT_RUNTIME_ARTIFACT_DIR=/a", "AGENT_RUNTIME_ATTEMPT_ID=attempt-1", "AGENT_RUNTIME_NAME=deed",
		"AGENT_RUNTIME_STATE_DIR=/h", "AGENT_RUNTIME_TASK_ID=task-1", `AGENT_RUNTIME_TASK_PAYLOAD_JSON={"a": 1}`,
		"DEED_ARTIFACTS=/a", "DEED_ATTEMPT_ID=attempt-1", "DEED_BRIEF_FILE=/x/brief.md",
		"DEED_PAYLOAD_FILE=/x/payload.json", "DEED_RESULT_FILE=/x/result.json", "DEED_TASK_ID=task-1",
		"DEED_WORKSPACE=/w", "HOME=/h", "LANG=C.UTF-8", "PATH=" + process.DefaultPath, "SHELL=/bin/sh", "TMPDIR=/t", "TZ=UTC",
	}
	env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, "USER=") || strings.HasPrefix(s, "LOGNAME=") })
	if d := cmp.Diff(want, env); d != "" {
		t.Error(d)
	}
}

func TestEnvironPrecedence(t *testing.T) {
	t.Parallel()
	j := job(t)
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte("A=file\nB=file\nC=file\nHOME=file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j.BaseEnv = map[string]string{"A": "base", "PATH": "/opt/bin", "Z": "base"}
	j.Adapter.Script.EnvFile = file
	j.Adapter.Script.Env = map[string]string{"B": "env", "C": "env"}
	j.Secrets = map[string]string{"C": "secret"}
	j.Runtime = "prod"
	env, err := environ(j)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"A=file", "B=env", "C=secret", "Z=base", "HOME=file", "PATH=/opt/bin", "AGENT_RUNTIME_NAME=prod"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestLargePayloadIsNotInAVariable(t *testing.T) {
	t.Parallel()
	j := job(t)
	j.Payload = json.RawMessage(`{"a": "` + strings.Repeat("x", 200<<10) + `"}`)
	env, err := environ(j)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range env {
		if strings.HasPrefix(e, "AGENT_RUNTIME_TASK_PAYLOAD_JSON=") {
			t.Error("it is")
		}
	}
}

func TestEnvironRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*driver.Job){
		"deed's own name":  func(j *driver.Job) { j.Adapter.Script.Env = map[string]string{"DEED_ATTEMPT_ID": "x"} },
		"the other prefix": func(j *driver.Job) { j.BaseEnv = map[string]string{"AGENT_RUNTIME_NAME": "x"} },
		"no name":          func(j *driver.Job) { j.Adapter.Script.Env = map[string]string{"": "x"} },
		"no good name":     func(j *driver.Job) { j.Secrets = map[string]string{"A=B": "x"} },
		"a digit first":    func(j *driver.Job) { j.Secrets = map[string]string{"1A": "x"} },
		"NUL":              func(j *driver.Job) { j.Adapter.Script.Env = map[string]string{"A": "x\x00"} },
	} {
		j := job(t)
		change(&j)
		if _, err := environ(j); failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestBadEnvFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct{ text, want string }{
		"no equals":  {"A=1\njust words secretword\n", "line 2: there is no ="},
		"bad key":    {"A B=1\n", "line 1: "},
		"no key":     {"=1\n", "line 1: the name of a variable is empty"},
		"open quote": {"A=\"secretword\n", "line 1: A: the value begins with"},
		"one quote":  {"A='", "line 1: A: the value begins with"},
		"NUL":        {"A=\x00", "line 1: A: the value holds a NUL byte"},
		"too large":  {strings.Repeat("#", 2<<20), "more than"},
		"reserved":   {"DEED_TASK_ID=1\n", "deed's own name"},
	} {
		j := job(t)
		j.Adapter.Script.EnvFile = filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(j.Adapter.Script.EnvFile, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := environ(j)
		if failure.ClassOf(err) != failure.Config || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), j.Adapter.Script.EnvFile) {
			t.Errorf("%s: got %v", name, err)
		}
		if strings.Contains(err.Error(), "secretword") {
			t.Errorf("%s: the error shows the value: %v", name, err)
		}
	}
	for name, path := range map[string]string{"absent": filepath.Join(dir, "absent"), "a directory": dir, "relative": "env"} {
		j := job(t)
		j.Adapter.Script.EnvFile = path
		if _, err := environ(j); failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
