package script_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/base/failure"
)

const completed = `finish '{"status":"completed"}'`

func TestInputReachesTheScript(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(byFile), `cat; echo; cat "$DEED_PAYLOAD_FILE"; echo; cat "$DEED_BRIEF_FILE"; echo "$AGENT_RUNTIME_TASK_PAYLOAD_JSON"
for a in "$@"; do printf '[%s]' "$a"; done; echo; pwd; ls -A "$HOME" "$TMPDIR" | head -1; `+completed)
	b.Job.Payload = json.RawMessage(`{"n": 9007199254740993, "args": ["a b", "", "$HOME"]}`)
	b.Job.Adapter.Script.ExtraArgs = []string{"--fast"}
	if err := os.MkdirAll(filepath.Join(b.Job.Dirs.Workspace, "sub/dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.Job.Adapter.Script.WorkingDir = "sub/dir"
	y := b.Turn(t.Context())
	p := string(b.Job.Payload)
	want := p + "\n" + p + "\nDo the work.\n" + p + "\n[--fast][a b][][$HOME]\n" + filepath.Join(b.Job.Dirs.Workspace, "sub/dir") + "\n"
	got := b.ReadFile(y.StdoutPath)
	if i := strings.Index(got, b.Job.Dirs.Home+":"); i >= 0 {
		got = got[:i]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	inv := y.Diagnostics["invocation"].(driver.Invocation)
	if d := cmp.Diff([]string{"--fast", "a b", "", "$HOME"}, inv.Argv[1:]); d != "" {
		t.Error(d)
	}
}

func TestBareCommandIsFoundOnThePathOfItsEnvironment(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(byFile), "")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "my-agent"), []byte("#!/bin/sh\necho '{\"status\": \"completed\"}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.Job.BaseEnv = map[string]string{"PATH": bin + ":/usr/bin:/bin"}
	b.Job.Adapter.Script.Command = "my-agent"
	if y := b.Turn(t.Context()); y.Kind != driver.YieldCompletion {
		t.Errorf("got %s, %v", y.Kind, y.Err)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*driver.Job)
		class  failure.Class
		want   string
	}{
		"args not a list":    {func(j *driver.Job) { j.Payload = json.RawMessage(`{"args": "x"}`) }, failure.Config, "payload.args is not a list"},
		"args null":          {func(j *driver.Job) { j.Payload = json.RawMessage(`{"args": null}`) }, failure.Config, "payload.args"},
		"args not strings":   {func(j *driver.Job) { j.Payload = json.RawMessage(`{"args": ["a", 1]}`) }, failure.Config, "payload.args[1]"},
		"NUL in args":        {func(j *driver.Job) { j.Payload = json.RawMessage(`{"args": ["\u0000"]}`) }, failure.Config, "NUL"},
		"payload not JSON":   {func(j *driver.Job) { j.Payload = json.RawMessage(`[1]`) }, failure.Config, "not a JSON object"},
		"dir escapes":        {func(j *driver.Job) { j.Adapter.Script.WorkingDir = "../home" }, failure.Config, `working_dir "../home"`},
		"dir link escapes":   {func(j *driver.Job) { j.Adapter.Script.WorkingDir = "out" }, failure.Config, "working_dir"},
		"dir is absent":      {func(j *driver.Job) { j.Adapter.Script.WorkingDir = "absent" }, failure.Config, "working_dir"},
		"dir is a file":      {func(j *driver.Job) { j.Adapter.Script.WorkingDir = "file" }, failure.Config, "not a directory"},
		"no command":         {func(j *driver.Job) { j.Adapter.Script.Command = "" }, failure.Config, "command is empty"},
		"relative command":   {func(j *driver.Job) { j.Adapter.Script.Command = "./agent" }, failure.Config, "relative path"},
		"absent command":     {func(j *driver.Job) { j.Adapter.Script.Command = "/no/such" }, failure.Spawn, "check the path"},
		"absent bare":        {func(j *driver.Job) { j.Adapter.Script.Command = "no-such-command" }, failure.Spawn, "install it"},
		"not executable":     {func(j *driver.Job) { j.Adapter.Script.Command = plain }, failure.Spawn, "chmod +x"},
		"a directory":        {func(j *driver.Job) { j.Adapter.Script.Command = dir }, failure.Spawn, "directory"},
		"no timeout":         {func(j *driver.Job) { j.Adapter.Script.TimeoutMS = 0 }, failure.Config, "timeout_ms is 0"},
		"negative timeout":   {func(j *driver.Job) { j.Adapter.Script.TimeoutMS = -5 }, failure.Config, "timeout_ms is -5"},
		"a missing env_file": {func(j *driver.Job) { j.Adapter.Script.EnvFile = "/no/such/env" }, failure.Config, "/no/such/env"},
		"another kind":       {func(j *driver.Job) { j.Adapter = agentruntime.AdapterConfig{Codex: &agentruntime.CodexAdapter{}} }, failure.Config, "codex"},
		"a conversation":     {func(j *driver.Job) { j.Resume = "x" }, failure.Config, "conversation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := drivertest.New(t, harness(byFile), "")
			w := b.Job.Dirs.Workspace
			if err := os.Symlink("../home", filepath.Join(w, "out")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(w, "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			tc.change(&b.Job)
			_, err := b.H.Driver.Start(t.Context(), b.Job)
			if failure.ClassOf(err) != tc.class || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %s: %v", failure.ClassOf(err), err)
			}
		})
	}
}

func TestWhatTheKernelRefusesToExecute(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct{ text, want string }{
		"noformat":      {"\x00\x01", "#! line"},
		"nointerpreter": {"#!/no/such/interpreter\n", "interpreter"},
	} {
		b := drivertest.New(t, harness(byFile), "")
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tc.text), 0o700); err != nil {
			t.Fatal(err)
		}
		b.Job.Adapter.Script.Command = path
		y := b.Turn(t.Context())
		if y.Class != failure.Spawn || !strings.Contains(y.Err.Error(), tc.want) {
			t.Errorf("%s: got %s, %v", name, y.Class, y.Err)
		}
	}
}

func TestResultsThatAreNone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		accept bool
		class  failure.Class
		want   string
	}{
		"silence":                        {`exit 0`, false, failure.InvalidWord, "exit 0 without a result"},
		"silence, taken":                 {`exit 0`, true, failure.None, ""},
		"prose":                          {`echo all done`, false, failure.InvalidWord, "exit 0 without a result"},
		"prose, taken":                   {`echo all done`, true, failure.None, ""},
		"JSON without a status":          {`echo '{"n": 1}'`, false, failure.InvalidWord, "no status"},
		"JSON without a status, taken":   {`echo '{"n": 1}'`, true, failure.None, ""},
		"an unknown word, not taken":     {`echo '{"status": "great"}'`, true, failure.InvalidWord, `"great"`},
		"a file without status":          {`finish '{"n": 1}'`, true, failure.InvalidWord, "no status"},
		"an empty file":                  {`: >"$DEED_RESULT_FILE"`, true, failure.InvalidWord, "not a JSON object"},
		"rubbish in the file":            {`echo oops >"$DEED_RESULT_FILE"; echo '{"status": "completed"}'`, true, failure.InvalidWord, "not a JSON object"},
		"a link":                         {`echo '{"status": "completed"}' >x; ln -s "$PWD/x" "$DEED_RESULT_FILE"`, true, failure.InvalidWord, "symbolic link"},
		"a FIFO":                         {`mkfifo "$DEED_RESULT_FILE"`, true, failure.InvalidWord, "FIFO"},
		"a directory":                    {`mkdir -p "$DEED_RESULT_FILE/x"`, true, failure.InvalidWord, "a directory"},
		"too large":                      {`head -c 9000000 /dev/zero >"$DEED_RESULT_FILE"`, true, failure.InvalidWord, "at most"},
		"signal":                         {`kill -KILL $$`, true, failure.AgentFailed, "ended by SIGKILL (137)"},
		"exit 1 in silence":              {`exit 1`, true, failure.AgentFailed, "exit 1"},
		"dir of exchange gone":           {`rm -rf "$(dirname "$DEED_RESULT_FILE")"`, true, failure.None, ""},
		"keywords are no verdict":        {`finish '{"status": "completed", "summary": "Documented the sandbox restrictions: permission denied, blocked"}'`, false, failure.None, ""},
		"a result cut out of the stdout": {`echo '{"status": "completed"}'; head -c 40000000 /dev/zero | tr '\0' x`, false, failure.InvalidWord, "bytes of stdout were dropped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := drivertest.New(t, harness(byFile), tc.script)
			b.Job.AcceptEmptyOutput = tc.accept
			y := b.Turn(t.Context())
			if y.Class != tc.class || (y.Err != nil && !strings.Contains(y.Err.Error(), tc.want)) {
				t.Errorf("got %s, %v", y.Class, y.Err)
			}
			if y.Class == failure.None && tc.accept && (y.Claim.Source != driver.SourceExitCode || y.Claim.Summary != "" || y.Claim.Status != agentruntime.TaskCompleted) {
				t.Errorf("claim: %+v", y.Claim)
			}
		})
	}
}

func TestDroppedPartsAreSaid(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(byFile), `finish '{"status": "completed", "file_changes": ["a", 1]}'`)
	y := b.Turn(t.Context())
	if d := cmp.Diff(any([]string{"file_changes[1]: a number, not a path"}), y.Diagnostics["dropped"]); d != "" {
		t.Error(d)
	}
}

func TestUnreadableAuditIsSaid(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(byFile), `mkfifo "$DEED_ARTIFACTS/adapter-audit.json"; `+completed)
	y := b.Turn(t.Context())
	if y.Audit != nil || y.Diagnostics["audit_error"] == nil {
		t.Errorf("got %s, %v", y.Audit, y.Diagnostics)
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	d := harness("").Driver
	ok := d.Ready(t.Context(), agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{Command: "sh"}})
	if !ok.Ready || len(ok.Missing) != 0 {
		t.Errorf("got %+v", ok)
	}
	bad := d.Ready(t.Context(), agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{Command: "/no/such", EnvFile: "/no/env"}})
	if bad.Ready || len(bad.Missing) != 2 || bad.Missing[0].Remedy == "" || bad.Missing[1].Remedy == "" {
		t.Errorf("got %+v", bad)
	}
}

func TestEnvFileReachesTheScriptAndNoRecord(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte("\ufeff# comment\n\nexport  A='a b'\r\nB=\"x # y\"\nC = spaced \nD=un'quoted\nDSN=postgres://u:pass@h/db\nE=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := drivertest.New(t, harness(byFile), `printf '[%s][%s][%s][%s][%s]' "$A" "$B" "$C" "$D" "${E-unset}"; finish '{"status":"completed"}'`)
	b.Job.Adapter.Script.EnvFile = file
	y := b.Turn(t.Context())
	if got, want := b.ReadFile(y.StdoutPath), "[a b][x # y][spaced][un'quoted][]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	inv := y.Diagnostics["invocation"].(driver.Invocation)
	if inv.Env["DSN"] != "[from env_file]" || strings.Contains(mustJSON(t, inv), "pass@h") {
		t.Errorf("recorded: %s", mustJSON(t, inv))
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
