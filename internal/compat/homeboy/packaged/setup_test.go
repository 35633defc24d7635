package packaged_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

func TestMain(m *testing.M) {
	drivertest.Main(m, func(m *testing.M) { goleak.VerifyTestMain(m) })
}

// An edit changes a declaration before it is written.
type edit func(provider map[string]any)

// writePackage writes a package whose one provider is a program, and returns its directory.
func writePackage(t testing.TB, parent, id string, files map[string]string, edits ...edit) string {
	t.Helper()
	dir := filepath.Join(parent, id)
	provider := map[string]any{
		"schema": homeboy.SchemaProvider, "id": id + ".agent", "label": id, "backend": id, "command": "{{runtime_path}}/run",
		"request_required_fields": []string{"schema", "task_id", "executor.backend", "instructions", "artifacts_path", "workspace.root", "limits.timeout_ms"},
		"outcome_statuses":        []string{"succeeded", "no_op", "failed", "provider_error", "timeout", "unable_to_remediate", "cancelled", "follow_up_issue", "candidate_recoverable"},
	}
	for _, e := range edits {
		e(provider)
	}
	manifest, err := json.Marshal(map[string]any{
		"schema": homeboy.SchemaManifest, "id": id, "name": id, "version": "1.2.3", "description": "A test.", "agent_task_executors": []any{provider},
	})
	if err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(files)
	all[id+".json"] = string(manifest)
	for name, text := range all {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A scene is one job with a package.
type scene struct {
	*drivertest.Bench
	t       testing.TB
	driver  *packaged.Driver
	pkg     string
	environ []string
	fit     driver.Fit
}

// sh begins a provider in sh: answer STATUS prints an outcome.
const sh = `#!/bin/sh
request=$(cat)
answer() { printf '{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"%s","summary":"%s"}\n' "$1" "$2"; }
`

// play makes a scene of a provider's script, in sh.
func play(t testing.TB, script string, edits ...edit) *scene {
	t.Helper()
	return stage(t, map[string]string{"run": sh + script + "\n"}, edits...)
}

// stage makes a scene of a package. The driver has PATH and HOME of this process's environment, and a key that is not
// declared.
func stage(t testing.TB, files map[string]string, edits ...edit) *scene {
	t.Helper()
	s := &scene{t: t, environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "AWS_SECRET_ACCESS_KEY=an-undeclared-key-of-the-host"}}
	s.pkg = writePackage(t, filepath.Join(t.TempDir(), "my packages"), "fake", files, edits...)
	s.driver = packaged.New(packaged.Options{Environ: s.environ})
	h := drivertest.Harness{Driver: s.driver, Adapter: func(_ string, timeout time.Duration) agentruntime.AdapterConfig {
		return agentruntime.AdapterConfig{Packaged: &agentruntime.PackagedAdapter{
			AdapterID: "fake", Kind: agentruntime.KindPackaged, Backend: "fake", RuntimeDirs: []string{s.pkg}, TimeoutMS: timeout.Milliseconds(),
		}}
	}}
	s.Bench = drivertest.New(t, h, "")
	s.ask(nil)
	return s
}

// ask sets the request, with members of the caller's.
func (s *scene) ask(members map[string]any) {
	s.t.Helper()
	q := map[string]any{
		"schema": homeboy.SchemaRequest, "task_id": "t1", "instructions": "Say hello.",
		"executor": map[string]any{"backend": "fake", "config": map[string]any{}}, "limits": map[string]any{"timeout_ms": 30_000},
	}
	maps.Copy(q, members)
	text, err := json.Marshal(q)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Job.Payload = text
}

// look asks the driver what the job needs, and provides it, as an attempt does.
func (s *scene) look() error {
	s.t.Helper()
	f, err := s.driver.Fit(s.t.Context(), s.Job)
	if err != nil {
		return err
	}
	s.fit, s.Job.Plan = f, f.Plan
	all := maps.Clone(f.Secrets)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, s.Job.Secrets)
	s.Job.Secrets, s.Job.Redactor = all, redact.New(all)
	return nil
}

// contain isolates the job, as an attempt does.
func (s *scene) contain() {
	s.t.Helper()
	if err := s.look(); err != nil {
		s.t.Fatal(err)
	}
	d := s.Job.Dirs
	mounts := append([]sandbox.Mount{
		{Source: d.Workspace, Target: "/workspace", Writable: s.fit.ReadOnly == ""},
		{Source: d.Home, Target: "/home/agent", Writable: true},
		{Source: d.Tmp, Target: "/tmp", Writable: true},
		{Source: d.Artifacts, Target: "/run/deed/artifacts", Writable: true},
		{Source: d.Exchange, Target: "/run/deed/exchange", Writable: true},
	}, s.fit.Mounts...)
	if s.fit.ReadOnly != "" {
		for _, dir := range s.fit.Writable {
			mounts = append(mounts, sandbox.Mount{Source: filepath.Join(d.Workspace, dir), Target: filepath.Join("/workspace", dir), Writable: true})
		}
	}
	if testing.Short() {
		s.t.Skip("short: needs a sandbox")
	}
	box, err := sandbox.New(s.t.Context(), sandbox.Spec{Kind: sandbox.Namespace, Mounts: mounts})
	if failure.ClassOf(err) == failure.Isolation {
		s.t.Skipf("missing tool: bwrap: apt-get install bubblewrap: %v", err)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.Job.Sandbox, s.Job.BaseEnv = box, map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"}
}

// run runs the first turn and returns further parts of its outcome.
func (s *scene) run() (driver.Yield, homeboy.Outcome) {
	s.t.Helper()
	if s.Job.Plan == nil {
		if err := s.look(); err != nil {
			s.t.Fatal(err)
		}
	}
	y := s.Turn(s.t.Context())
	return y, s.outcome(y)
}

func (s *scene) outcome(y driver.Yield) homeboy.Outcome {
	s.t.Helper()
	var o homeboy.Outcome
	if err := json.Unmarshal([]byte(s.ReadFile(y.ResultPath)), &o); err != nil {
		s.t.Fatalf("%s: %v", y.ResultPath, err)
	}
	return o
}

// read returns a file of the workspace, trimmed; empty when it is not there.
func (s *scene) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(s.Job.Dirs.Workspace, name))
	return strings.TrimSpace(string(data))
}

// record returns a file of deed's record.
func (s *scene) record(name string) string {
	s.t.Helper()
	return s.ReadFile(filepath.Join(s.Job.Dirs.Run, name))
}

// fatal fails a test with all there is to know of a turn.
func (s *scene) fatal(y driver.Yield, o homeboy.Outcome, format string, args ...any) {
	s.t.Helper()
	text, _ := json.MarshalIndent(o, "", " ")
	stderr := ""
	if y.StderrPath != "" {
		stderr = s.ReadFile(y.StderrPath)
	}
	s.t.Errorf("%s\n%s, %s, %v\n%s\nstderr: %s", fmt.Sprintf(format, args...), y.Kind, y.Class, y.Err, text, stderr)
}
