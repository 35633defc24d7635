package packaged_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
)

// codeOf is the code of a refusal.
func codeOf(err error) string {
	var r *driver.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return fmt.Sprintf("no refusal: %v", err)
}

// Everything that can be wrong before the start is refused there, by a code and a class.
func TestRefusals(t *testing.T) {
	t.Parallel()
	executor := func(members map[string]any) map[string]any {
		e := map[string]any{"backend": "fake", "config": map[string]any{}}
		maps.Copy(e, members)
		return map[string]any{"executor": e}
	}
	for name, c := range map[string]struct {
		edit  edit
		ask   map[string]any
		code  string
		class homeboy.FailureClass
	}{
		"24 a capability":  {nil, executor(map[string]any{"required_capabilities": []string{"browser_runtime"}}), runtimepkg.CapabilityUnavailable, homeboy.ClassCapabilityMissing},
		"21 a selector":    {nil, executor(map[string]any{"selector": "other.agent"}), runtimepkg.SelectorMismatch, homeboy.ClassInvalidInput},
		"27 a package":     {nil, executor(map[string]any{"runtime_selection": map[string]any{"runtime_id": "other"}}), runtimepkg.ProviderMissing, homeboy.ClassInvalidInput},
		"another backend":  {nil, map[string]any{"executor": map[string]any{"backend": "other"}}, packaged.CodeRequestInvalid, homeboy.ClassInvalidInput},
		"29 disabled":      {func(p map[string]any) { p["status"] = "disabled" }, nil, runtimepkg.ProviderDisabled, homeboy.ClassInvalidInput},
		"no instructions":  {nil, map[string]any{"instructions": " "}, packaged.CodeRequestInvalid, homeboy.ClassInvalidInput},
		"a required field": {func(p map[string]any) { p["request_required_fields"] = []string{"inputs.findings"} }, nil, packaged.CodeRequestInvalid, homeboy.ClassInvalidInput},
		"inherit_env":      {nil, executor(map[string]any{"config": map[string]any{"inherit_env": true}}), packaged.CodeRequestInvalid, homeboy.ClassInvalidInput},
		"outputs that cannot be told": {
			nil,
			map[string]any{"inputs": []int{1}, "output_declarations": []any{map[string]any{"name": "r", "schema": "x/v1"}}},
			packaged.CodeOutputInvalid, homeboy.ClassInvalidInput,
		},
		"tools": {nil, map[string]any{"runtime_tools": []any{map[string]any{"id": "x", "transport": "stdio", "command": []string{"x"}}}}, packaged.CodeToolUnavailable, homeboy.ClassCapabilityMissing},
		"30 an executable": {func(p map[string]any) {
			p["runner_readiness"] = []any{map[string]any{"id": "tool", "executable": map[string]any{"candidates": []string{"no-such-tool-anywhere"}}}}
		}, nil, packaged.CodeExecutableMissing, homeboy.ClassProvider},
		"31 not ready": {func(p map[string]any) {
			p["readiness_invocation"] = map[string]any{"argv": []string{"sh", "-c", `echo '{"schema":"homeboy/agent-task-provider-readiness-result/v1","ready":false,"classification":"transient_failure","retryable":true,"reason":"busy"}'`}}
		}, nil, packaged.CodeNotReady, homeboy.ClassTransient},
		"38 a secret":    {func(p map[string]any) { p["secret_requirements"] = []any{map[string]any{"name": "FAKE_TOKEN"}} }, nil, runtimepkg.SecretEnvMissing, homeboy.ClassInvalidInput},
		"a git checkout": {func(p map[string]any) { p["workspace_materialization"] = map[string]any{"cwd": "git_checkout"} }, nil, packaged.CodeGitRequired, homeboy.ClassInvalidInput},
		"requires_git": {func(p map[string]any) {
			p["workspace_materialization"] = map[string]any{"cwd": "request_workspace", "requires_git": true}
		}, nil, packaged.CodeGitRequired, homeboy.ClassInvalidInput},
		"an artifact path outside": {func(p map[string]any) {
			p["workspace_materialization"] = map[string]any{"artifact_paths": []string{"../out"}}
		}, nil, packaged.CodeArtifactPath, homeboy.ClassProvider},
		"an artifact path in .git": {func(p map[string]any) {
			p["workspace_materialization"] = map[string]any{"artifact_paths": []string{".git/hooks"}}
		}, nil, packaged.CodeArtifactPath, homeboy.ClassProvider},
		"a required variable": {func(p map[string]any) {
			p["invocation"] = map[string]any{"argv": []string{"{{runtime_path}}/run"}, "env": []any{map[string]any{"name": "X", "source": "env:NO_SUCH_VARIABLE", "required": true}}}
		}, nil, packaged.CodeEnvMissing, homeboy.ClassProvider},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, `touch ran; answer succeeded done`, func(p map[string]any) {
				if c.edit != nil {
					c.edit(p)
				}
			})
			s.ask(c.ask)
			err := s.look()
			var r *driver.Refusal
			if !errors.As(err, &r) || r.Code != c.code || r.Class != string(c.class) {
				t.Errorf("got %v, %+v; want %s, %s", err, r, c.code, c.class)
			}
			if class := failure.ClassOf(err); class != failure.Config && (class != failure.Provider || c.class != homeboy.ClassTransient) {
				t.Errorf("class %s", class)
			}
			if s.read("ran") != "" {
				t.Error("it was started")
			}
			if _, serr := s.driver.Start(t.Context(), s.Job); codeOf(serr) != c.code { // without Fit, Start says the same
				t.Errorf("Start: %v", serr)
			}
		})
	}
}

// The request has what the host adds, and only paths that the provider sees.
func TestRequest(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"process", "namespace"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			s := play(t, `printf %s "$request" >"$HOMEBOY_AGENT_TASK_ARTIFACTS_DIR/seen.json"; answer succeeded done`, func(p map[string]any) {
				p["capabilities"] = []string{"workspace_permission_root/v1"}
				p["provider_defaults"] = map[string]any{"acme": map[string]any{"model": "m-default"}}
			})
			s.Job.Base = driver.Base{Digest: "sha256:abc", Commit: "c0ffee"}
			s.ask(map[string]any{
				"executor":           map[string]any{"backend": "fake", "runtime": map[string]any{"runtime_id": "fake"}, "config": map[string]any{"provider": "acme", "cwd": "/home/somebody"}},
				"expected_artifacts": []string{"patch", " patch "}, "output_declarations": []any{map[string]any{"name": "report", "schema": "x/v1", "required": true}},
				"workspace": map[string]any{"mode": "existing", "root": "/home/somebody/checkout"}, "x-unknown": []int{1},
			})
			if isolation == "namespace" {
				s.contain()
			}
			y, o := s.run()
			text := s.ReadFile(filepath.Join(s.Job.Dirs.Artifacts, "seen.json"))
			if text == "" {
				s.fatal(y, o, "nothing was seen")
			}
			doc, err := runtimepkg.ReadDocument([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			in := s.Job.Inside
			for path, want := range map[string]string{
				"artifacts_path": in(s.Job.Dirs.Artifacts), "artifacts_path_provenance.owner": "homeboy", "workspace.root": in(s.Job.Dirs.Workspace),
				"workspace.attempt.identity": s.Job.AttemptID, "workspace.attempt.base_ref": "c0ffee", "workspace.attempt.base_fingerprint": "sha256:abc",
				"executor.config.runtime_env.TMPDIR": in(s.Job.Dirs.Tmp), "executor.config.workspace.root": in(s.Job.Dirs.Workspace),
				"executor.config.workspace_root": in(s.Job.Dirs.Workspace), "executor.config.workspace_permission_root": in(s.Job.Dirs.Workspace),
				"executor.config.cwd": in(s.Job.Dirs.Workspace), "executor.config.model": "m-default", "executor.runtime_selection.executor_provider_id": "fake.agent",
				"artifact_declarations[0].name": "patch", "inputs.required_outputs[0].name": "report", "limits.timeout_ms": "30000",
				"metadata.publication.status": "not_attempted", "x-unknown[0]": "1",
			} {
				if got, _ := doc.At(path); fmt.Sprint(got) != want {
					t.Errorf("%s is %v, want %s", path, got, want)
				}
			}
			if _, there := doc.At("executor.runtime"); there {
				t.Error("there is an executor.runtime")
			}
			if isolation == "namespace" && strings.Contains(text, filepath.Dir(s.Job.Dirs.Workspace)) || strings.Contains(text, "/home/somebody") {
				t.Errorf("it names a path that is not the provider's:\n%s", text)
			}
			if !json.Valid([]byte(s.record(packaged.RequestFile))) {
				t.Error("the record of the request is not JSON")
			}
		})
	}
}

// A payload that is no request becomes the inputs of one, and the brief its instructions.
func TestARequestFromTheBrief(t *testing.T) {
	t.Parallel()
	s := play(t, `printf %s "$request" >seen.json; printf '{"schema":"homeboy/agent-task-outcome/v1","task_id":"%s","status":"succeeded"}' "$DEED_TASK_ID"`)
	s.Job.Payload, s.Job.Brief = json.RawMessage(`{"n": 9007199254740993}`), "Do the work.\n"
	y, o := s.run()
	q, _, err := homeboy.ReadRequest([]byte(s.read("seen.json")))
	if err != nil || o.Status != homeboy.Succeeded {
		s.fatal(y, o, "%v", err)
	}
	if q.Instructions != "Do the work.\n" || !strings.Contains(string(q.Inputs), "9007199254740993") || q.TaskID != s.Job.TaskID || q.Limits.TimeoutMS != 60_000 {
		t.Errorf("%+v", q)
	}
}

// Edge cases 38, 43, 46 and 47: secrets go by name to those who may have them, and nothing that is written has one.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-the-operator"
	needs := func(p map[string]any) { p["secret_requirements"] = []any{map[string]any{"name": "FAKE_TOKEN"}} }
	script := `echo "token $FAKE_TOKEN" >&2; echo "HOMEBOY_PROGRESS $FAKE_TOKEN" >&2; echo "a line of $FAKE_TOKEN"; echo "$FAKE_TOKEN" >"$HOMEBOY_AGENT_TASK_ARTIFACTS_DIR/leak.txt"
printf '{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded","summary":"used %s","metadata":{"deep":["%s"]},"outputs":{"o":"%s"},"artifacts":[{"id":"leak","kind":"log","path":"%s/leak.txt"}]}\n' "$FAKE_TOKEN" "$FAKE_TOKEN" "$FAKE_TOKEN" "$HOMEBOY_AGENT_TASK_ARTIFACTS_DIR"`
	for name, c := range map[string]struct {
		environ []string
		job     func(*driver.Job)
		want    bool
	}{
		"the operator's adapter":  {[]string{"FAKE_TOKEN=" + token}, func(*driver.Job) {}, true},
		"a guest without a grant": {[]string{"FAKE_TOKEN=" + token}, func(j *driver.Job) { j.Guest = true }, false},
		"a guest with a grant": {nil, func(j *driver.Job) {
			j.Guest, j.Secrets, j.SecretEnv = true, map[string]string{"FAKE_TOKEN": token}, []string{"FAKE_TOKEN"}
		}, true},
		"a guest with a grant, by its store": {[]string{"FAKE_TOKEN=" + token}, func(j *driver.Job) { j.Guest, j.SecretEnv = true, []string{"FAKE_TOKEN"} }, true},
		"a file of the operator's": {nil, func(j *driver.Job) {
			if err := os.WriteFile(filepath.Join(j.Adapter.Packaged.RuntimeDirs[0], "..", "auth.json"), []byte(`{"tokens":{"access":"`+token+`"}}`), 0o600); err != nil {
				t.Error(err)
			}
		}, true},
		"the adapter's env": {nil, func(j *driver.Job) { j.Adapter.Packaged.Env = map[string]string{"FAKE_TOKEN": token} }, true},
		"nobody":            {nil, func(*driver.Job) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, script, needs)
			if strings.HasPrefix(name, "a file") {
				s = play(t, script, func(p map[string]any) {
					p["secret_env_requirements"] = []any{map[string]any{"env": "FAKE_TOKEN", "secret_env_sources": map[string]any{"FAKE_TOKEN": map[string]any{"source": "json-file", "path": "~/auth.json", "field": "tokens.access"}}}}
				})
				s.environ[1] = "HOME=" + filepath.Dir(s.pkg)
			}
			s.driver = packaged.New(packaged.Options{Environ: append(c.environ, s.environ...)})
			s.H.Driver = s.driver
			c.job(&s.Job)
			err := s.look()
			if !c.want {
				if codeOf(err) != runtimepkg.SecretEnvMissing || strings.Contains(err.Error(), token) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			y, o := s.run()
			if o.Status != homeboy.Succeeded || strings.Contains(fmt.Sprintf("%+v %+v %+v", y, y.Claim, o), token) {
				s.fatal(y, o, "")
			}
			if len(o.Artifacts) != 1 || o.Artifacts[0].SHA256 == "" {
				s.fatal(y, o, "artifacts")
			}
			err = filepath.WalkDir(s.Job.Dirs.Run, func(file string, e os.DirEntry, err error) error {
				if err == nil && e.Type().IsRegular() && strings.Contains(s.ReadFile(file), token) {
					t.Errorf("the token is in %s", file)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			if leak := s.ReadFile(filepath.Join(s.Job.Dirs.Artifacts, "leak.txt")); strings.TrimSpace(leak) != token {
				t.Errorf("the provider had %q", leak) // else it shows nothing
			}
		})
	}
}

// A manifest says where a secret is kept, and is believed only when the operator installed it and the secret may be
// used.
func TestSourcesOfSecrets(t *testing.T) {
	t.Parallel()
	needs := func(p map[string]any) {
		p["secret_env_requirements"] = []any{map[string]any{"env": "FAKE_TOKEN", "secret_env_sources": map[string]any{"FAKE_TOKEN": map[string]any{"source": "json-file", "path": "~/auth.json", "field": "token"}}}}
	}
	for name, c := range map[string]struct {
		job  func(*driver.Job)
		want bool
	}{
		"the operator's":     {func(*driver.Job) {}, true},
		"a guest's":          {func(j *driver.Job) { j.Guest = true }, false},
		"a guest's, granted": {func(j *driver.Job) { j.Guest, j.SecretEnv = true, []string{"FAKE_TOKEN"} }, false}, // the package is a guest's too
	} {
		s := play(t, `answer succeeded done`, needs)
		home := strings.TrimPrefix(s.environ[1], "HOME=")
		if err := os.WriteFile(filepath.Join(home, "auth.json"), []byte(`{"token": "from-a-login-of-mine"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		c.job(&s.Job)
		if err := s.look(); (err == nil) != c.want || c.want && s.fit.Secrets["FAKE_TOKEN"] != "from-a-login-of-mine" {
			t.Errorf("%s: %v, %v", name, err, s.fit.Secrets)
		}
	}
}

// A literal that a manifest gives for a value that is set nowhere is no secret: the provider gets it, and the text is not redacted
// wherever it occurs. Published packages use "false" like this.
func TestLiteralsOfManifests(t *testing.T) {
	t.Parallel()
	s := play(t, `answer succeeded "it is $FAKE_FLAG"`, func(p map[string]any) {
		p["secret_env_requirements"] = []any{map[string]any{"env": []string{"FAKE_FLAG"}, "secret_env_sources": map[string]any{"FAKE_FLAG": map[string]any{"source": "json-file", "path": "~/auth.json", "field": "flag", "value": "off"}}}}
	})
	if y, o := s.run(); o.Status != homeboy.Succeeded || o.Summary != "it is off" {
		s.fatal(y, o, "")
	}
	if len(s.fit.Secrets) != 0 {
		t.Errorf("%v", s.fit.Secrets)
	}
}

// A project's packages serve the project's adapters alone; they run nothing outside of their sandbox, and cannot show
// themselves files of the machine.
func TestPackagesOfAProject(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	writePackage(t, filepath.Join(base, runtimepkg.PackagesDir), "guest", map[string]string{"run": sh + "answer succeeded done\n"}, func(p map[string]any) {
		p["readiness_invocation"] = map[string]any{"argv": []string{"touch", outside}}
		p["runner_readiness"] = []any{map[string]any{"id": "probe", "invocation": map[string]any{"argv": []string{"touch", outside}}}}
	})
	if err := errors.Join(os.WriteFile(filepath.Join(base, "homeboy-extension-root.json"), []byte(`{"shared_assets": ["shared", {"path": "out"}, "../..", "/etc"]}`), 0o644),
		os.Mkdir(filepath.Join(base, "shared"), 0o755), os.Symlink("/root", filepath.Join(base, "out"))); err != nil {
		t.Fatal(err)
	}
	d := packaged.New(packaged.Options{Environ: []string{"PATH=" + os.Getenv("PATH")}})
	s := play(t, "")
	j := s.Job
	j.Adapter = agentruntime.AdapterConfig{Packaged: &agentruntime.PackagedAdapter{AdapterID: "g", Kind: agentruntime.KindPackaged, Backend: "guest", TimeoutMS: 60_000}}
	j.Base, j.Payload = driver.Base{Tree: baseDir(base)}, nil
	if _, err := d.Fit(t.Context(), j); codeOf(err) != runtimepkg.ProviderMissing {
		t.Errorf("the operator's adapter uses a project's package: %v", err)
	}
	j.Guest = true
	f, err := d.Fit(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, m := range f.Mounts {
		if m.Writable {
			t.Errorf("%s can be written to", m.Target)
		}
		seen = append(seen, m.Source)
	}
	slices.Sort(seen)
	if want := []string{filepath.Join(base, runtimepkg.PackagesDir), filepath.Join(base, "shared")}; !slices.Equal(seen, want) {
		t.Errorf("it sees %v, want %v", seen, want)
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("a probe of the project ran")
	}
	link := filepath.Join(base, ".deed", runtimepkg.PackagesDir)
	elsewhere := writePackage(t, t.TempDir(), "linked", map[string]string{"run": sh}, func(map[string]any) {})
	if err := errors.Join(os.MkdirAll(link, 0o755), os.Symlink(elsewhere, filepath.Join(link, "linked"))); err != nil {
		t.Fatal(err)
	}
	j.Adapter.Packaged.Backend = "linked"
	if _, err := d.Fit(t.Context(), j); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("a link out of the project: %v", err)
	}
}

// Edge case 32: many tasks at once probe once.
func TestOneProbeForMany(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	s := play(t, "answer succeeded done", func(p map[string]any) {
		p["readiness_invocation"] = map[string]any{"argv": []string{"sh", "-c", `echo x >>'` + count + `'; echo '{"schema":"homeboy/agent-task-provider-readiness-result/v1","ready":true,"classification":"ready"}'`}}
	})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := s.driver.Fit(t.Context(), s.Job); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if data, err := os.ReadFile(count); err != nil || string(data) != "x\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// What a provider declares of its workspace is enforced: by the sandbox where there is one.
func TestMaterialisation(t *testing.T) {
	t.Parallel()
	script := `pwd >"$HOMEBOY_AGENT_TASK_ARTIFACTS_DIR/pwd"; echo x >outside.txt 2>/dev/null && echo outside >"$HOMEBOY_AGENT_TASK_ARTIFACTS_DIR/wrote"
echo a >"$DEED_WORKSPACE/.out/a.txt"; rm -f "$DEED_WORKSPACE/.out/base.txt"; answer succeeded done`
	for scope, changes := range map[string]bool{"workspace": true, "": true, "odd": true, "artifacts": false, "patch": false, "none": false} {
		t.Run("scope "+scope, func(t *testing.T) {
			t.Parallel()
			s := play(t, script, func(p map[string]any) {
				p["workspace_materialization"] = map[string]any{"cwd": "request_workspace", "write_scope": scope, "artifact_paths": []string{".out", ".out/deeper"}}
			})
			base := t.TempDir()
			s.Job.Base.Tree = baseDir(base)
			for _, dir := range []string{base, s.Job.Dirs.Workspace} {
				if err := errors.Join(os.Mkdir(filepath.Join(dir, ".out"), 0o755), os.WriteFile(filepath.Join(dir, ".out", "base.txt"), []byte("of the base\n"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			s.contain()
			if (s.fit.ReadOnly == "") != changes || !slices.Equal(s.fit.Writable, []string{".out"}) {
				t.Errorf("%q, %v", s.fit.ReadOnly, s.fit.Writable)
			}
			y, o := s.run()
			if o.Status != homeboy.Succeeded {
				s.fatal(y, o, "")
			}
			if wrote := s.read("outside.txt") != ""; wrote != changes {
				t.Errorf("it wrote outside: %v", wrote)
			}
			if got := s.read(".out/base.txt"); got != "of the base" || s.read(".out/a.txt") != "" {
				t.Errorf("the workspace has %q, %q", got, s.read(".out/a.txt"))
			}
			if got := s.ReadFile(filepath.Join(s.Job.Dirs.Artifacts, "workspace/.out/a.txt")); got != "a\n" {
				t.Errorf("the artifact is %q", got)
			}
			if held := s.record(packaged.EvidenceFile); !strings.Contains(held, `"held": "enforced"`) && !changes {
				t.Errorf("%s", held)
			}
		})
	}
	t.Run("runtime_package", func(t *testing.T) {
		t.Parallel()
		s := play(t, `pwd >"$DEED_WORKSPACE/pwd"; touch x 2>/dev/null && echo wrote >"$DEED_WORKSPACE/wrote"; answer succeeded done`, func(p map[string]any) {
			p["workspace_materialization"] = map[string]any{"cwd": "runtime_package"}
		})
		s.contain()
		if y, o := s.run(); o.Status != homeboy.Succeeded || s.read("pwd") != s.pkg || s.read("wrote") != "" {
			s.fatal(y, o, "it is in %q", s.read("pwd"))
		}
	})
	t.Run("a link in the place of artifacts", func(t *testing.T) {
		t.Parallel()
		away := t.TempDir()
		s := play(t, `rm -rf .out; ln -s `+away+` .out; echo x >.out/x; answer succeeded done`, func(p map[string]any) {
			p["workspace_materialization"] = map[string]any{"artifact_paths": []string{".out"}}
		})
		s.Job.Sandbox = nil
		if y, o := s.run(); o.Status != homeboy.Succeeded {
			s.fatal(y, o, "")
		}
		if st, err := os.Lstat(filepath.Join(s.Job.Dirs.Workspace, ".out")); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is not left for the gate: %v, %v", st, err)
		}
		if _, err := os.Lstat(filepath.Join(away, "x")); err != nil {
			t.Errorf("what it leads to was touched: %v", err)
		}
	})
}

// Ready and Version report on installed packages, and say nothing about those that a project may bring.
func TestReady(t *testing.T) {
	t.Parallel()
	s := play(t, "", func(p map[string]any) {
		p["runner_readiness"] = []any{map[string]any{"id": "tool", "executable": map[string]any{"candidates": []string{"no-such-tool-anywhere"}, "install_hint": "get it"}}}
	})
	r := s.driver.Ready(t.Context(), s.Job.Adapter)
	if r.Ready || len(r.Missing) != 1 || r.Missing[0].Name != "tool" || r.Missing[0].Remedy != "get it" {
		t.Errorf("%+v", r)
	}
	if v, err := s.driver.Version(t.Context(), s.Job.Adapter); err != nil || v != "fake 1.2.3" {
		t.Errorf("%q, %v", v, err)
	}
	s.Job.Adapter.Packaged.Backend = "other"
	if r := s.driver.Ready(t.Context(), s.Job.Adapter); !r.Ready {
		t.Errorf("%+v", r)
	}
	if _, err := s.driver.Version(t.Context(), s.Job.Adapter); err == nil {
		t.Error("a package that is not there has a version")
	}
	s.Job.Adapter.Packaged.RuntimeDirs = []string{"/no/such/dir"}
	if r := s.driver.Ready(t.Context(), s.Job.Adapter); r.Ready {
		t.Error("a directory that is not there is ready")
	}
}

// A baseDir is a base in a directory.
type baseDir string

func (d baseDir) Dir() (string, error) { return string(d), nil }

func (d baseDir) Has(dir string) bool {
	st, err := os.Lstat(filepath.Join(string(d), filepath.FromSlash(dir)))
	return err == nil && st.IsDir()
}
