package provider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
)

const manifest = `{
  "schema": "homeboy/agent-runtime-manifest/v1", "id": "hello", "name": "Hello", "version": "1.0.0", "description": "Says hello.",
  "agent_task_executors": [
    {"id": "hello.run", "backend": "hello", "command": "hello", "request_required_fields": ["instructions", "executor.config.who"],
     "outcome_statuses": ["succeeded", "no_op", "failed", "provider_error", "timeout", "cancelled"],
     "redacted_metadata_keys": ["session"],
     "secret_requirements": [{"name": "HELLO_TOKEN", "required": false}],
     "workspace_materialization": {"artifact_paths": [".homeboy/hello"]}},
    {"id": "hello.other", "backend": "other", "command": "other"}
  ]
}`

var hello = Provider{ID: "hello.run", Manifest: []byte(manifest)}

const request = `{"schema":"homeboy/agent-task-request/v1","task_id":"t1","executor":{"backend":"hello","config":{"who":"world"}},"instructions":"Say hello"}`

// ran is what one command left.
type ran struct {
	code    int
	out     string
	err     string
	outcome homeboy.Outcome
}

func serve(t *testing.T, p Provider, stdin string, environ []string, h Handler) ran {
	t.Helper()
	var out, errs bytes.Buffer
	code := Serve(t.Context(), p, h, Stdio{Environ: environ, Dir: t.TempDir(), In: strings.NewReader(stdin), Out: &out, Err: &errs})
	r := ran{code: code, out: out.String(), err: errs.String()}
	r.read(t)
	return r
}

// read demands exactly one strict outcome.
func (r *ran) read(t *testing.T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(r.out))
	if err := d.Decode(&r.outcome); err != nil {
		t.Fatalf("exit %d, %v\n%s\n%s", r.code, err, r.out, r.err)
	}
	if rest, _ := io.ReadAll(d.Buffered()); strings.TrimSpace(string(rest)) != "" {
		t.Errorf("more after the outcome: %q", rest)
	}
	if err := r.outcome.Validate(); err != nil {
		t.Errorf("not strict: %v\n%s", err, r.out)
	}
	if r.code != 0 {
		t.Errorf("exit %d with an outcome", r.code)
	}
}

func (r ran) is(t *testing.T, status homeboy.OutcomeStatus, class homeboy.FailureClass, diagnostic string) {
	t.Helper()
	if r.outcome.Status != status || r.outcome.FailureClassification != class {
		t.Errorf("%s/%s, want %s/%s\n%s", r.outcome.Status, r.outcome.FailureClassification, status, class, r.out)
	}
	if diagnostic != "" && (len(r.outcome.Diagnostics) == 0 || r.outcome.Diagnostics[0].Class != diagnostic) {
		t.Errorf("diagnostics %v, want %s first", r.outcome.Diagnostics, diagnostic)
	}
}

func ok(context.Context, Request, *Run) (Outcome, error) { return Succeeded("done"), nil }

func TestServe(t *testing.T) {
	t.Parallel()
	r := serve(t, hello, request, nil, func(_ context.Context, q Request, r *Run) (Outcome, error) {
		var config struct{ Who string }
		if err := q.Config(&config); err != nil {
			return Outcome{}, err
		}
		if err := r.Output("greeting", "hello "+config.Who); err != nil {
			return Outcome{}, err
		}
		r.Diagnose("note", "said it", map[string]int{"n": 1})
		if err := r.Metadata("turns", 3); err != nil {
			return Outcome{}, err
		}
		return Succeeded(q.Instructions), r.Artifact("report", "sub/report.md", []byte("# hello"))
	})
	r.is(t, homeboy.Succeeded, "", "note")
	o := r.outcome
	if o.TaskID != "t1" || o.Summary != "Say hello" || string(o.Outputs["greeting"]) != `"hello world"` || string(o.Metadata) != `{"turns":3}` {
		t.Errorf("%s", r.out)
	}
	if len(o.Artifacts) != 1 {
		t.Fatalf("%s", r.out)
	}
	a := o.Artifacts[0]
	content, err := os.ReadFile(a.Path)
	sum := sha256.Sum256(content)
	if err != nil || a.SHA256 != hex.EncodeToString(sum[:]) || *a.SizeBytes != 7 || a.ID != "sub-report.md" || !strings.HasSuffix(a.Path, "/.homeboy/hello/sub/report.md") {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestRequests has every request that is not one: each is a normalised failure of one kind, with every fault named.
func TestRequests(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, stdin, task string
		want              []string
	}{
		{"empty", "", unknownTask, []string{"standard input is empty"}},
		{"blank", " \n ", unknownTask, []string{"standard input is empty"}},
		{"not JSON", "hello", unknownTask, []string{"is not JSON"}},
		{"half", request[:40], unknownTask, []string{"is not JSON"}},
		{"two", request + request, unknownTask, []string{"more after its first value"}},
		{"a list", "[]", unknownTask, []string{"is not a JSON object"}},
		{"another schema", strings.Replace(request, "request/v1", "request/v2", 1), "t1", []string{"$.schema"}},
		{"no schema", strings.Replace(request, `"schema":"homeboy/agent-task-request/v1",`, "", 1), "t1", []string{"$.schema: is missing"}},
		{"a schema that is a number", strings.Replace(request, `"homeboy/agent-task-request/v1"`, "1", 1), "t1", []string{"$.schema"}},
		{"no task", strings.Replace(request, `"task_id":"t1",`, "", 1), unknownTask, []string{"$.task_id"}},
		{"task is null", strings.Replace(request, `"t1"`, "null", 1), unknownTask, []string{"$.task_id"}},
		{"task is blank", strings.Replace(request, `"t1"`, `"  "`, 1), unknownTask, []string{"$.task_id"}},
		{"another backend", strings.Replace(request, `"hello"`, `"codex"`, 1), "t1", []string{`"codex" is not the backend`}},
		{"no backend", strings.Replace(request, `"backend":"hello",`, "", 1), "t1", []string{"$.executor.backend: is missing"}},
		{"no executor", `{"schema":"homeboy/agent-task-request/v1","task_id":"t1","instructions":"x"}`, "t1", []string{"$.executor.backend", "$.executor.config.who"}},
		{"a required field", strings.Replace(request, `"who":"world"`, "", 1), "t1", []string{"$.executor.config.who"}},
		{"a blank field", strings.Replace(request, `Say hello`, "  ", 1), "t1", []string{"$.instructions"}},
		{"all at once", `{}`, unknownTask, []string{"$.schema", "$.task_id", "$.executor.backend", "$.instructions", "$.executor.config.who"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, hello, tt.stdin, nil, func(context.Context, Request, *Run) (Outcome, error) {
				t.Error("it was run")
				return Outcome{}, nil
			})
			r.is(t, homeboy.ProviderError, homeboy.ClassInvalidInput, DiagnosticRequest)
			if r.outcome.TaskID != tt.task || r.outcome.Retryable == nil || *r.outcome.Retryable {
				t.Errorf("%s", r.out)
			}
			for _, want := range tt.want {
				if !strings.Contains(r.outcome.Diagnostics[0].Message, want) {
					t.Errorf("%q does not say %q", r.outcome.Diagnostics[0].Message, want)
				}
			}
		})
	}
}

func TestTolerates(t *testing.T) {
	t.Parallel()
	for name, stdin := range map[string]string{
		"unknown members": strings.Replace(request, `"task_id"`, `"x_new":{"a":[1]},"task_id"`, 1),
		"a mark":          "\xef\xbb\xbf" + request,
		"large":           strings.Replace(request, `"task_id"`, `"inputs":"`+strings.Repeat("x", 5<<20)+`","task_id"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			serve(t, hello, stdin, nil, ok).is(t, homeboy.Succeeded, "", "")
		})
	}
	t.Run("the variable", func(t *testing.T) {
		t.Parallel()
		serve(t, hello, "", []string{RequestVariable + "=" + request}, ok).is(t, homeboy.Succeeded, "", "")
	})
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	tests := []struct {
		name       string
		outcome    Outcome
		err        error
		status     homeboy.OutcomeStatus
		class      homeboy.FailureClass
		diagnostic string
	}{
		{"no op", NoOp("nothing to do"), nil, homeboy.NoOp, "", ""},
		{"an error", Outcome{}, boom, homeboy.Failed, homeboy.ClassExecutionFailed, DiagnosticExecution},
		{"a success with an error", Succeeded("x"), boom, homeboy.Failed, homeboy.ClassExecutionFailed, DiagnosticExecution},
		{"setup", Outcome{}, fmt.Errorf("begin: %w", Setup(boom)), homeboy.ProviderError, homeboy.ClassProvider, DiagnosticSetup},
		{"a class", Outcome{}, &Failure{Class: homeboy.ClassRateLimited, Err: boom}, homeboy.Failed, homeboy.ClassRateLimited, "rate_limited"},
		{"a status alone", Outcome{Status: homeboy.Timeout}, nil, homeboy.Timeout, homeboy.ClassTimeout, ""},
		{"undeclared", Outcome{Status: homeboy.FollowUpIssue}, nil, homeboy.Failed, homeboy.ClassUnknown, DiagnosticStatus},
		{"unable is undeclared", Unable("no"), nil, homeboy.Failed, homeboy.ClassExecutionFailed, DiagnosticStatus},
		{"no status", Outcome{}, nil, homeboy.ProviderError, homeboy.ClassProvider, DiagnosticOutcome},
		{"not a status", Outcome{Status: "great"}, nil, homeboy.Failed, homeboy.ClassUnknown, DiagnosticStatus},
		{"a class beside success", Outcome{Status: homeboy.Succeeded, FailureClassification: homeboy.ClassTimeout}, nil, homeboy.ProviderError, homeboy.ClassProvider, DiagnosticOutcome},
		{"an artifact without a name", Outcome{Status: homeboy.Succeeded, Artifacts: []homeboy.Artifact{{}}}, nil, homeboy.ProviderError, homeboy.ClassProvider, DiagnosticOutcome},
		{"metadata that is no JSON", Outcome{Status: homeboy.Succeeded, Metadata: []byte("{")}, nil, homeboy.ProviderError, homeboy.ClassProvider, DiagnosticOutcome},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			serve(t, hello, request, nil, func(context.Context, Request, *Run) (Outcome, error) { return tt.outcome, tt.err }).is(t, tt.status, tt.class, tt.diagnostic)
		})
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	r := serve(t, hello, request, []string{"HELLO_TOKEN=open sesame"}, func(context.Context, Request, *Run) (Outcome, error) { panic("no open sesame here") })
	r.is(t, homeboy.ProviderError, homeboy.ClassProvider, DiagnosticPanic)
	if !strings.Contains(r.err, "provider_test.go") || strings.Contains(r.err+r.out, "sesame") {
		t.Errorf("%s\n%s", r.err, r.out)
	}
}

// TestLimits has functions that heed their context and others that do not: the outcome is the same.
func TestLimits(t *testing.T) {
	t.Parallel()
	limited := strings.Replace(request, `"task_id"`, `"limits":{"timeout_ms":100},"task_id"`, 1)
	past := strings.Replace(request, `"task_id"`, `"limits":{"execution_deadline_unix_ms":1},"task_id"`, 1)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, h := range map[string]Handler{
		"heeds": func(ctx context.Context, _ Request, _ *Run) (Outcome, error) {
			<-ctx.Done()
			return Outcome{}, ctx.Err()
		},
		"does not heed": func(context.Context, Request, *Run) (Outcome, error) { <-release; return Succeeded("late"), nil },
	} {
		for limit, stdin := range map[string]string{"limit": limited, "deadline": past} {
			t.Run(name+" "+limit, func(t *testing.T) {
				t.Parallel()
				serve(t, hello, stdin, nil, h).is(t, homeboy.Timeout, homeboy.ClassTimeout, DiagnosticTimeout)
			})
		}
	}
	t.Run("finished in time", func(t *testing.T) {
		t.Parallel()
		// A deadline leaves a function that has ended more time to return than a short limit does.
		soon := fmt.Sprintf(`"limits":{"execution_deadline_unix_ms":%d},"task_id"`, time.Now().Add(headroom+100*time.Millisecond).UnixMilli())
		serve(t, hello, strings.Replace(request, `"task_id"`, soon, 1), nil, func(ctx context.Context, _ Request, _ *Run) (Outcome, error) {
			<-ctx.Done()
			return Succeeded("just so"), nil
		}).is(t, homeboy.Succeeded, "", "")
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	code := Serve(ctx, hello, func(ctx context.Context, _ Request, _ *Run) (Outcome, error) {
		cancel()
		<-ctx.Done()
		return Outcome{}, ctx.Err()
	}, Stdio{Dir: t.TempDir(), In: strings.NewReader(request), Out: &out, Err: &errs})
	r := ran{code: code, out: out.String(), err: errs.String()}
	r.read(t)
	r.is(t, homeboy.Cancelled, homeboy.ClassUnknown, DiagnosticCancelled)

	t.Run("what could not be set up for it", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		var out bytes.Buffer
		Serve(ctx, hello, func(ctx context.Context, _ Request, _ *Run) (Outcome, error) {
			cancel(errors.New("the host had enough"))
			<-ctx.Done()
			return Outcome{}, Setup(fmt.Errorf("start helper: %w", context.Cause(ctx)))
		}, Stdio{Dir: t.TempDir(), In: strings.NewReader(request), Out: &out, Err: &errs})
		r := ran{out: out.String()}
		r.read(t)
		r.is(t, homeboy.Cancelled, homeboy.ClassUnknown, DiagnosticCancelled)
	})
	t.Run("what is missing all the same", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		Serve(ctx, hello, func(ctx context.Context, _ Request, _ *Run) (Outcome, error) {
			cancel()
			<-ctx.Done()
			return Outcome{}, Setup(errors.New("no helper here"))
		}, Stdio{Dir: t.TempDir(), In: strings.NewReader(request), Out: &out, Err: &errs})
		r := ran{out: out.String()}
		r.read(t)
		r.is(t, homeboy.ProviderError, homeboy.ClassProvider, DiagnosticSetup)
	})
	t.Run("before the request came", func(t *testing.T) {
		out.Reset()
		in, w := io.Pipe()
		defer func() { _ = w.Close() }()
		code := Serve(ctx, hello, ok, Stdio{Dir: t.TempDir(), In: in, Out: &out, Err: &errs})
		r := ran{code: code, out: out.String()}
		r.read(t)
		r.is(t, homeboy.Cancelled, homeboy.ClassUnknown, DiagnosticCancelled)
	})
}

// TestSecrets prints secrets to everything that a provider can write. Edge cases 43, 44, 45.
func TestSecrets(t *testing.T) {
	t.Parallel()
	environ := []string{"HELLO_TOKEN=pass", `OTHER_TOKEN=pass"word$(x)\1`, "SHORT=abc"}
	stdin := strings.Replace(request, `"config"`, `"secret_env":["OTHER_TOKEN","SHORT"],"config"`, 1)
	r := serve(t, hello, stdin, environ, func(_ context.Context, q Request, r *Run) (Outcome, error) {
		long, err := r.Secret("OTHER_TOKEN")
		if err != nil {
			return Outcome{}, err
		}
		if _, err := r.Secret("UNDECLARED"); err == nil || !strings.Contains(err.Error(), "not declared") {
			t.Errorf("UNDECLARED: %v", err)
		}
		r.Progress("the key is\n%s", long)
		fmt.Fprint(r.Stderr(), "a"+long[:5])
		fmt.Fprint(r.Stderr(), long[5:]+"z and abc")
		r.Diagnose("x", "it is "+long, map[string]string{long: "a"})
		if err := errors.Join(r.Metadata("session", map[string]string{"a": "b"}), r.Metadata("deep", []any{map[string]any{"secrets": "x", "author": "me"}}), r.Output("o", []string{long, "pass"})); err != nil {
			return Outcome{}, err
		}
		if err := r.ArtifactFrom("log", "log.txt", io.MultiReader(strings.NewReader("1 "+long[:6]), strings.NewReader(long[6:]+" 2 pas"))); err != nil {
			return Outcome{}, err
		}
		return Succeeded("used " + long), nil
	})
	r.is(t, homeboy.Succeeded, "", "")
	content, err := os.ReadFile(r.outcome.Artifacts[0].Path)
	if err != nil || string(content) != "1 [redacted] 2 pas" {
		t.Errorf("artifact %q, %v", content, err)
	}
	if want := "HOMEBOY_PROGRESS the key is [redacted]\na[redacted]z and abc"; r.err != want {
		t.Errorf("stderr %q, want %q", r.err, want)
	}
	if strings.Contains(r.out, "pass") || strings.Contains(r.out, "word") {
		t.Errorf("%s", r.out)
	}
	if want := `{"deep":[{"author":"me","secrets":"[redacted]"}],"session":"[redacted]"}`; string(r.outcome.Metadata) != want {
		t.Errorf("metadata %s", r.outcome.Metadata)
	}
}

// TestSecretAsWord has a secret that is spelled like a word of the contract: the document stays one.
func TestSecretAsWord(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"succeeded", "homeboy", "status", "t1t1", "request"} {
		stdin := strings.Replace(request, `"t1"`, `"t1t1"`, 1)
		r := serve(t, hello, stdin, []string{"HELLO_TOKEN=" + secret}, func(_ context.Context, _ Request, r *Run) (Outcome, error) {
			return Succeeded("it is " + secret), r.Artifact("report", "r", nil)
		})
		if r.outcome.TaskID != "t1t1" || strings.Contains(r.outcome.Summary, secret) {
			t.Errorf("%s: %s", secret, r.out)
		}
	}
}

func TestArtifactNames(t *testing.T) {
	t.Parallel()
	r := serve(t, hello, request, nil, func(_ context.Context, _ Request, r *Run) (Outcome, error) {
		for _, bad := range []string{"", ".", "..", "../x", "/etc/x", "a/../../x", "a/"} {
			if err := r.Artifact("report", bad, nil); err == nil {
				t.Errorf("%q was taken", bad)
			}
		}
		dir := r.ArtifactsDir()
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.Symlink(t.TempDir(), filepath.Join(dir, "out"))); err != nil {
			return Outcome{}, err
		}
		if err := r.Artifact("report", "out/x", nil); err == nil {
			t.Error("a link was followed")
		}
		return Succeeded(""), errors.Join(r.Artifact("my report", "a b", []byte("1")), r.Artifact("report", "a-b", []byte("2")), r.Artifact("report", "a b", []byte("3")))
	})
	r.is(t, homeboy.Succeeded, "", "")
	var ids []string
	for _, a := range r.outcome.Artifacts {
		ids = append(ids, a.ID+" "+a.Kind+" "+a.Name)
	}
	if want := []string{"a-b-2 report a-b", "a-b report a b"}; !slices.Equal(ids, want) {
		t.Errorf("%v, want %v", ids, want)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	for _, tt := range []struct{ name, stdin, want string }{
		{"where it was started", request, ""},
		{"workspace.root", strings.Replace(request, `"task_id"`, fmt.Sprintf(`"workspace":{"root":%q},"task_id"`, dir), 1), dir},
		{"a root that is not here", strings.Replace(request, `"task_id"`, `"workspace":{"root":"/not/here"},"task_id"`, 1), ""},
		{"config.cwd", strings.Replace(request, `"who"`, fmt.Sprintf(`"cwd":%q,"who"`, other), 1), other},
	} {
		serve(t, hello, tt.stdin, nil, func(_ context.Context, _ Request, r *Run) (Outcome, error) {
			if want := tt.want; r.Dir() != want && (want != "" || r.Dir() != r.std.Dir) {
				t.Errorf("%s: %s, want %s", tt.name, r.Dir(), want)
			}
			return Succeeded(""), nil
		})
	}
	stdin := strings.Replace(request, `"task_id"`, fmt.Sprintf(`"artifacts_path":%q,"task_id"`, dir+"/deep/er"), 1)
	r := serve(t, hello, stdin, []string{"HOMEBOY_AGENT_TASK_ARTIFACTS_DIR=" + other}, func(_ context.Context, _ Request, r *Run) (Outcome, error) {
		return Succeeded(""), r.Artifact("report", "r", nil)
	})
	if r.outcome.Artifacts[0].Path != dir+"/deep/er/r" {
		t.Errorf("%s", r.out)
	}
}

func TestDeclaration(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	code := Serve(t.Context(), hello, nil, Stdio{Args: []string{ContractFlag}, In: strings.NewReader(""), Out: &out, Err: &errs})
	var x homeboy.ExecutorProvider
	if err := json.Unmarshal(out.Bytes(), &x); err != nil || code != 0 || x.ID != "hello.run" || x.Backend != "hello" {
		t.Errorf("%d, %v, %s, %s", code, err, out.String(), errs.String())
	}
	for name, p := range map[string]Provider{
		"nothing":            {},
		"no backend":         {ID: "a.b"},
		"not a manifest":     {Manifest: []byte("{")},
		"another id":         {ID: "a.b", Manifest: []byte(manifest)},
		"several and no id":  {Manifest: []byte(manifest)},
		"another backend":    {ID: "hello.run", Backend: "x", Manifest: []byte(manifest)},
		"an empty manifest":  {ID: "hello.run", Manifest: []byte("{}")},
		"a list as manifest": {ID: "hello.run", Manifest: []byte("[]")},
	} {
		out.Reset()
		if code := Serve(t.Context(), p, ok, Stdio{In: strings.NewReader(request), Out: &out, Err: &errs}); code != 1 || out.Len() > 0 {
			t.Errorf("%s: %d, %s", name, code, out.String())
		}
	}
	serve(t, Provider{ID: "hello.run", Backend: "hello"}, request, nil, ok).is(t, homeboy.Succeeded, "", "")
}

func TestClosedOutput(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	if code := Serve(t.Context(), hello, ok, Stdio{Dir: t.TempDir(), In: strings.NewReader(request), Out: failing{}, Err: &errs}); code != 1 || !strings.Contains(errs.String(), "standard output") {
		t.Errorf("%d, %s", code, errs.String())
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("closed") }

// TestMain makes this binary a provider, so that Main is seen as a host sees it.
func TestMain(m *testing.M) {
	if os.Getenv("PROVIDER_TEST_MAIN") != "" {
		Main(hello, func(ctx context.Context, _ Request, r *Run) (Outcome, error) {
			r.Progress("up")
			<-ctx.Done()
			return Outcome{}, ctx.Err()
		})
	}
	os.Exit(m.Run())
}

func TestTerminated(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.WaitDelay = []string{"PROVIDER_TEST_MAIN=1"}, t.TempDir(), strings.NewReader(request), 10*time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len(progressMark)+3)
	if _, err := io.ReadFull(errs, line); err != nil || string(line) != progressMark+"up\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, errs)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	r := ran{out: out.String()}
	r.read(t)
	r.is(t, homeboy.Cancelled, homeboy.ClassUnknown, DiagnosticCancelled)
}

func FuzzServe(f *testing.F) {
	f.Add([]byte(request), "secret")
	f.Add([]byte(`{"task_id":"\u0000","executor":[]}`), `"`)
	f.Add([]byte(`{"schema":"homeboy/agent-task-request/v1","task_id":"t","executor":{"backend":"hello","config":{"who":[]}},"instructions":{}}`), "{\"a\":")
	f.Fuzz(func(t *testing.T, stdin []byte, secret string) {
		if strings.ContainsRune(secret, 0) {
			t.Skip()
		}
		r := serve(t, hello, string(stdin), []string{"HELLO_TOKEN=" + secret}, func(context.Context, Request, *Run) (Outcome, error) {
			return Outcome{Status: homeboy.Succeeded, Summary: secret, Outputs: map[string]homeboy.Value{"x": encoded(secret)}}, nil
		})
		if strings.TrimSpace(secret) != "" && len(strings.TrimSpace(secret)) >= shortest && strings.Contains(r.outcome.Summary, secret) && !strings.Contains(Redacted, secret) {
			t.Errorf("%q is in %q", secret, r.outcome.Summary)
		}
	})
}

func FuzzRedactor(f *testing.F) {
	f.Add("aaaabaaaac", "aaaab", "aaaa", 3)
	f.Add("xx pass\"word pass", "pass\"word", "pass", 5)
	f.Fuzz(func(t *testing.T, text, a, b string, at int) {
		r := newRedactor([]string{a, b})
		whole := r.text(text)
		var out bytes.Buffer
		w := &hidingWriter{hide: r, to: &out}
		if at < 0 || at > len(text) {
			at = len(text) / 2
		}
		for _, part := range []string{text[:at], text[at:]} {
			if _, err := io.WriteString(w, part); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || out.String() != whole {
			t.Errorf("in parts %q, whole %q, %v", out.String(), whole, err)
		}
	})
}
