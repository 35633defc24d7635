package runtimepkg

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const hidden = "ghp_0123456789abcdefghijkl"

// only selects the one provider of a package with these members and scripts.
func only(t *testing.T, change object, scripts map[string]string) *Selection {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("missing tool: supervisor: probes run on Linux")
	}
	dir := filepath.Join(t.TempDir(), "a b")
	p := pack(t, dir, "x", provider("x.run", "x", change))
	for name, text := range scripts {
		write(t, text, p, name)
	}
	s, err := catalog(t, dir).Select(Ask{Backend: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// environ is an operator's environment with a secret that nobody declared.
func environ(extra ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GITHUB_TOKEN=" + hidden}, extra...)
}

func verdict(t *testing.T, c *Checker, s *Selection, request string) *Readiness {
	t.Helper()
	r, err := c.Check(t.Context(), s, document(t, request))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), hidden) {
		t.Errorf("a secret is shown: %s %v", text, err)
	}
	return r
}

// Case 30.
func TestExecutables(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	tool := filepath.Join(bin, "mytool")
	write(t, "#!/bin/sh\necho mytool 7.1\necho $GITHUB_TOKEN\n", tool)
	write(t, "#!/bin/sh\necho no such flag >&2; exit 3\n", bin, "failing")
	write(t, "plain", bin, "plain")
	for _, name := range []string{"mytool", "failing"} {
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := "PATH=" + bin + ":" + os.Getenv("PATH")
	for name, c := range map[string]struct {
		require object
		env     []string
		ready   bool
		text    string
		export  string
	}{
		"a candidate":                {object{"candidates": []string{"none", "mytool"}, "env": []string{"MYTOOL"}}, []string{path}, true, tool, tool},
		"the variable wins":          {object{"candidates": []string{"sh"}, "env": []string{"UNSET", "MYTOOL"}}, []string{"MYTOOL=" + tool}, true, tool, tool},
		"an empty variable does not": {object{"candidates": []string{"mytool"}, "env": []string{"MYTOOL"}}, []string{path, "MYTOOL="}, true, tool, tool},
		"a variable that lies":       {object{"candidates": []string{"mytool"}, "env": []string{"MYTOOL"}}, []string{path, "MYTOOL=/no/such"}, false, "MYTOOL", ""},
		"a relative variable":        {object{"env": []string{"MYTOOL"}}, []string{"MYTOOL=./x"}, false, "absolute", ""},
		"none":                       {object{"candidates": []string{"nosuchtool"}, "install_hint": "get it from the shop"}, nil, false, "get it from the shop", ""},
		"not executable":             {object{"candidates": []string{"plain"}}, []string{path}, false, "not executable", ""},
		"its version":                {object{"candidates": []string{"mytool"}, "version_command": []string{"--version"}}, []string{path}, true, "mytool 7.1", ""},
		"no version":                 {object{"candidates": []string{"failing"}, "version_command": []string{"--version"}}, []string{path}, false, "no such flag", ""},
		"a program of the package":   {object{"candidates": []string{"{{runtime_path}}/tool.sh"}}, nil, false, "not executable", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := only(t, object{"runner_readiness": []object{{"id": "tool", "executable": c.require}}}, map[string]string{"tool.sh": ""})
			r := verdict(t, &Checker{Environ: environ(c.env...)}, s, `{}`)
			text, err := json.Marshal(r.Checks)
			if err != nil || r.Ready != c.ready || !strings.Contains(string(text), c.text) || r.Exports["MYTOOL"] != c.export {
				t.Errorf("ready %v: %s exports %v", r.Ready, text, r.Exports)
			}
			if !c.ready && (len(r.Why()) != 1 || !strings.Contains(r.Why()[0], "(")) {
				t.Errorf("no remedy: %q", r.Why())
			}
		})
	}
}

func TestPathsSecretsAndProbes(t *testing.T) {
	t.Parallel()
	there := t.TempDir()
	write(t, "0123456789\n", there, ".source-revision")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(there, link); err != nil {
		t.Fatal(err)
	}
	script := map[string]string{
		"ok.sh":    "exit 0\n",
		"bad.sh":   "echo the disk is $GITHUB_TOKEN$ALLOWED full >&2; exit 4\n",
		"leak.sh":  "echo " + hidden + " >&2; exit 1\n",
		"env.sh":   `test -z "$GITHUB_TOKEN" && test "$ALLOWED" = yes && test -n "$TOOL" && test "$SET" = "$1"`,
		"flood.sh": "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done\n",
	}
	run := func(name string) object {
		return object{"argv": []string{"sh", "{{runtime_path}}/" + name, "{{runtime_path}}"}, "env_allowlist": []string{"ALLOWED"}, "env": []object{{"name": "SET", "value": "{{runtime_path}}"}}}
	}
	for name, c := range map[string]struct {
		check object
		ready bool
		text  string
	}{
		"a path":                         {object{"env_path": object{"env": []string{"NO", "THERE"}}}, true, "THERE"},
		"no path":                        {object{"env_path": object{"env": []string{"NO"}}}, false, "NO is not set"},
		"a path to nowhere":              {object{"env_path": object{"env": "GONE"}, "remediation": "build it"}, false, "build it"},
		"a revision":                     {object{"env_path": object{"env": "THERE", "revision": "0123456789"}}, true, "THERE"},
		"another revision":               {object{"env_path": object{"env": "THERE", "revision": "ffff"}}, false, "0123456789"},
		"a canonical path":               {object{"env_path": object{"env": "LINK", "canonical_path": there}}, true, "LINK"},
		"another path":                   {object{"env_path": object{"env": "LINK", "canonical_path": "/"}}, false, "LINK"},
		"a secret":                       {object{"secret_env": []string{"GITHUB_TOKEN"}}, true, "from environment"},
		"case 38: no secret":             {object{"secret_env": []string{"NO_TOKEN"}}, false, "export NO_TOKEN"},
		"a probe":                        {object{"invocation": run("ok.sh")}, true, "ends with 0"},
		"a probe that fails":             {object{"invocation": run("bad.sh"), "remediation": "clear it"}, false, "the disk is yes full"},
		"a probe that tells a secret":    {object{"invocation": run("leak.sh")}, false, "ends with 1"},
		"case 34: a clean environment":   {object{"executable": object{"env": "TOOL", "candidates": "sh"}, "invocation": run("env.sh")}, true, "ends with 0"},
		"a probe that is not there":      {object{"invocation": object{"argv": []string{"nosuchprogram"}}}, false, "nosuchprogram"},
		"a probe that writes for ever":   {object{"invocation": run("flood.sh")}, false, "more than"},
		"extensions are the component's": {object{"required_extensions": []string{"wordpress"}}, true, "wordpress"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := only(t, object{"runner_readiness": []object{c.check}}, script)
			r := verdict(t, &Checker{Environ: environ("THERE="+there, "GONE=/no/such", "LINK="+link, "ALLOWED=yes")}, s, `{}`)
			text, err := json.Marshal(r.Checks)
			if err != nil || r.Ready != c.ready || !strings.Contains(string(text), c.text) {
				t.Errorf("ready %v: %s", r.Ready, text)
			}
		})
	}
}

// TestPathsThatAreFoundAreShown: the provider gets the variable of a path, but not where it would show too much.
func TestPathsThatAreFoundAreShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := filepath.Join(dir, "people", "me")
	if err := os.MkdirAll(filepath.Join(home, "tool"), 0o700); err != nil {
		t.Fatal(err)
	}
	var checks []object
	for _, name := range []string{"TOOL_DIR", "ROOT_DIR", "HOME_DIR", "ABOVE_DIR", "HOME"} {
		checks = append(checks, object{"id": name, "env_path": object{"env": name}})
	}
	s := only(t, object{"runner_readiness": checks}, nil)
	r := verdict(t, &Checker{Environ: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TOOL_DIR=" + filepath.Join(home, "tool"), "ROOT_DIR=/", "HOME_DIR=" + home, "ABOVE_DIR=" + filepath.Dir(home),
	}}, s, `{}`)
	if d := cmp.Diff(map[string]string{"TOOL_DIR": filepath.Join(home, "tool")}, r.Exports); d != "" || !r.Ready {
		t.Errorf("ready %v, exports differ (-want +got):\n%s", r.Ready, d)
	}
}

// TestManifestsCannotShowSecrets: a manifest that names a secret's variable where a path belongs, or hands it to a probe, does
// not make deed print the value. The value does not look like a secret, and is one because the manifest says so.
func TestManifestsCannotShowSecrets(t *testing.T) {
	t.Parallel()
	const plain = "correct horse battery"
	s := only(t, object{
		"secret_requirements": []object{{"name": "LICENCE"}},
		"runner_readiness": []object{
			{"id": "a", "env_path": object{"env": "LICENCE"}},
			{"id": "b", "env_path": object{"env": "GITHUB_TOKEN"}},
			{"id": "c", "executable": object{"env": "LICENCE"}},
			{"id": "d", "executable": object{"env": "GITHUB_TOKEN"}},
			{"id": "e", "invocation": object{"argv": []string{"sh", "-c", "echo $LICENCE$GITHUB_TOKEN >&2; exit 1"}, "env_allowlist": []string{"LICENCE", "GITHUB_TOKEN"}}},
			{"id": "f", "invocation": object{"argv": []string{"sh", "-c", "head -c 990 /dev/zero | tr '\\0' x | sed \"s/^/$LICENCE/\"; exit 1"}, "env_allowlist": []string{"LICENCE"}}},
		},
	}, nil)
	r := verdict(t, &Checker{Environ: environ("LICENCE=" + plain)}, s, `{}`)
	text, err := json.Marshal(r)
	if err != nil || r.Ready || strings.Contains(string(text), "battery") {
		t.Errorf("%s %v", text, err)
	}
	if n := len(r.Why()); n != 6 {
		t.Errorf("%d checks failed, want 6: %q", n, r.Why())
	}
}

// TestVerdictDependsOnConditions: a request that needs another secret is another question.
func TestVerdictDependsOnConditions(t *testing.T) {
	t.Parallel()
	s := only(t, object{"secret_env_requirements": []object{{"env": "DEEP", "when": object{"path": "inputs.deep", "equals": true}}}}, nil)
	c := &Checker{Environ: environ()}
	if r := verdict(t, c, s, `{"inputs":{"deep":false}}`); !r.Ready {
		t.Errorf("%v", r.Why())
	}
	if r := verdict(t, c, s, `{"inputs":{"deep":true}}`); r.Ready {
		t.Error("the verdict of another request was taken")
	}
}

// Case 37: the catalog, without a request, lists a provider as dispatchable unless it lacks a secret that every request needs.
func TestSecretsAndDispatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change object
		lacks  string // "" can be dispatched to
	}{
		"optional":      {object{"secret_requirements": []object{{"name": "MAYBE", "required": false}}}, ""},
		"conditional":   {object{"secret_env_requirements": []object{{"env": "SOMETIMES", "when": object{"any": []object{{"path": "provider", "equals": "codex"}}}}}}, ""},
		"of a provider": {object{"provider_defaults": object{"openai": object{"secret_env": "OPENAI_API_KEY"}}}, ""},
		"unconditional": {object{"secret_requirements": []object{{"name": "ALWAYS"}}}, "ALWAYS"},
		"a group":       {object{"secret_env_requirements": []object{{"env": []string{"ONE", "GITHUB_TOKEN"}}}}, "ONE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := verdict(t, &Checker{Environ: environ()}, only(t, c.change, nil), `{}`)
			if why := strings.Join(r.Why(), "\n"); r.Ready != (c.lacks == "") || !strings.Contains(why, c.lacks) || len(r.Why()) > 1 {
				t.Errorf("ready %v: %s", r.Ready, why)
			}
		})
	}
}

// TestProbeThatHangs: the limit holds, also for a grandchild in a session of its own.
func TestProbeThatHangs(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "pid")
	s := only(t, object{"runner_readiness": []object{{"invocation": object{"argv": []string{"sh", "{{runtime_path}}/hang.sh", mark}}}}},
		map[string]string{"hang.sh": "setsid sleep 600 & echo $! > \"$1\"; sleep 600\n"})
	r := verdict(t, &Checker{Environ: environ(), Limit: 300 * time.Millisecond}, s, `{}`)
	if r.Ready || !strings.Contains(strings.Join(r.Why(), ""), "did not end within") {
		t.Errorf("%v", r.Why())
	}
	if data, err := os.ReadFile(mark); err == nil { // a slow machine may not have come that far
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err == nil && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			t.Errorf("process %d of the probe is left", pid)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Checker{Environ: environ()}).Check(ctx, s, Document{}); !errors.Is(err, context.Canceled) {
		t.Errorf("called off: %v", err)
	}
}

// Case 31: five classifications keep what follows from them, and anything else is not ready. Case 33: the model wins.
func TestReadinessInvocation(t *testing.T) {
	t.Parallel()
	result := func(members string) string {
		return `printf '%s' '{"schema":"homeboy/agent-task-provider-readiness-result/v1",` + members + `}'`
	}
	for name, c := range map[string]struct {
		script           string
		ready, retryable bool
		class, text      string
	}{
		"ready":            {result(`"ready":true,"classification":"ready"`), true, false, ClassReady, ""},
		"incompatible":     {result(`"ready":false,"classification":"deterministic_incompatibility","retryable":false,"reason":"old","remediation":"upgrade"`), false, false, ClassIncompatible, "upgrade"},
		"auth":             {result(`"ready":false,"classification":"auth_failure","missing_secret_env":["T"],"remediation":"log in"`), false, false, ClassAuth, "log in"},
		"unknown":          {result(`"ready":false,"classification":"unknown_metadata","remediation":"look at it"`), false, false, ClassUnknown, "look at it"},
		"unknown, and yet": {result(`"ready":false,"classification":"unknown_metadata","retryable":true`), false, true, ClassUnknown, ""},
		"transient":        {result(`"ready":false,"classification":"transient_failure","retryable":true,"remediation":"wait a little"`), false, true, ClassTransient, "wait a little"},
		"malformed":        {"echo '{'", false, false, ClassUnknown, "one JSON object"},
		"two documents":    {result(`"ready":true,"classification":"ready"`) + "; echo '{}'", false, false, ClassUnknown, "one JSON object"},
		"empty":            {":", false, false, ClassUnknown, "one JSON object"},
		"wrong schema":     {`echo '{"schema":"x","ready":true,"classification":"ready"}'`, false, false, ClassUnknown, "schema"},
		"no verdict":       {result(`"classification":"ready"`), false, false, ClassUnknown, "ready"},
		"contradiction":    {result(`"ready":true,"classification":"auth_failure"`), false, false, ClassUnknown, "auth_failure"},
		"unknown class":    {result(`"ready":false,"classification":"tired"`), false, false, ClassUnknown, "tired"},
		"non-zero":         {result(`"ready":true,"classification":"ready"`) + "; exit 2", false, false, ClassUnknown, "ends with 2"},
		"hangs":            {"sleep 600", false, false, ClassUnknown, "did not end within"},
		"case 33: request": {`grep -q '"provider_id":"x.run".*"model":"asked"' && ` + result(`"ready":true,"classification":"ready"`), true, false, ClassReady, ""},
		"case 34: secrets": {`test -z "$GITHUB_TOKEN" && test "$ALLOWED" = yes && test -z "$UNLISTED" && ` + result(`"ready":true,"classification":"ready"`), true, false, ClassReady, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := only(t, object{"readiness_invocation": object{"argv": []string{"sh", "{{runtime_path}}/ready.sh"}, "env_allowlist": []string{"ALLOWED"}}}, map[string]string{"ready.sh": c.script + "\n"})
			limit := 20 * time.Second
			if name == "hangs" {
				limit = 200 * time.Millisecond
			}
			r := verdict(t, &Checker{Environ: environ("ALLOWED=yes", "UNLISTED=no"), Limit: limit}, s, `{"executor":{"model":"asked","config":{"model":"configured"}}}`)
			p := r.Checks[len(r.Checks)-1].Probe
			if r.Ready != c.ready || r.Retryable != c.retryable || p == nil || p.Classification != c.class || !strings.Contains(strings.Join(r.Why(), ""), c.text) {
				t.Errorf("ready %v, retryable %v, probe %+v, why %q", r.Ready, r.Retryable, p, r.Why())
			}
		})
	}
}

// Case 32: many who ask for the same probe once; another model, another content or time probe again.
func TestVerdictsAreKept(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	s := only(t, object{"readiness_invocation": object{"argv": []string{"sh", "{{runtime_path}}/ready.sh", count}}},
		map[string]string{"ready.sh": `echo x >> "$1"; printf '{"schema":"homeboy/agent-task-provider-readiness-result/v1","ready":true,"classification":"ready"}'` + "\n"})
	var mu sync.Mutex
	now := time.Unix(1_000_000, 0)
	c := &Checker{Environ: environ(), Clock: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}}
	ask := func(request string) {
		if r := verdict(t, c, s, request); !r.Ready {
			t.Errorf("%v", r.Why())
		}
	}
	probes := func() int {
		data, err := os.ReadFile(count)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "x")
	}
	one := `{"executor":{"backend":"x","model":"a"}}`
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { ask(one) })
	}
	wg.Wait()
	if n := probes(); n != 1 {
		t.Errorf("%d probes for one question", n)
	}
	ask(`{"executor":{"backend":"x","model":"b"}}`)
	if n := probes(); n != 2 {
		t.Errorf("another model: %d probes", n)
	}
	mu.Lock()
	now = now.Add(readyFor)
	mu.Unlock()
	ask(one)
	if n := probes(); n != 3 {
		t.Errorf("later: %d probes", n)
	}
	write(t, "changed", s.Package.Path, "run.sh")
	p, err := load(entry{id: "x", path: s.Package.Path, from: FromDir})
	if err != nil {
		t.Fatal(err)
	}
	s = &Selection{Package: p, Provider: s.Provider}
	ask(one)
	if n := probes(); n != 4 {
		t.Errorf("other files: %d probes", n)
	}
}

// TestCommandThatIsGone: readiness and the run resolve the command in one place.
func TestCommandThatIsGone(t *testing.T) {
	t.Parallel()
	s := only(t, nil, nil)
	if err := os.Remove(filepath.Join(s.Package.Path, "run.sh")); err != nil {
		t.Fatal(err)
	}
	if r := verdict(t, &Checker{Environ: environ()}, s, `{}`); r.Ready {
		t.Error("a command that is not there is ready")
	}
	s = only(t, object{"command": "nosuchprogram {{runtime_path}}/run.sh"}, nil)
	if r := verdict(t, &Checker{Environ: environ()}, s, `{}`); r.Ready {
		t.Error("a program that is not there is ready")
	}
}

// Case 16: a revision that cannot be had is said, in bounded time.
func TestRevision(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Revision(t.Context(), dir, environ()); !errors.Is(err, ErrUnknownRevision) {
		t.Error(err)
	}
	write(t, " abc123 \n", dir, ".source-revision")
	if rev, err := Revision(t.Context(), dir, environ()); err != nil || rev != "abc123" {
		t.Error(rev, err)
	}
}

// Case 16: a git that hangs, with a child that holds its output open, is given up. The error differs from that for a missing
// revision. Finding packages does not run git.
func TestRevisionThatHangs(t *testing.T) {
	t.Parallel()
	bin, dir := t.TempDir(), t.TempDir()
	mark := filepath.Join(bin, "asked")
	write(t, "#!/bin/sh\necho x >> "+mark+"\nsleep 600 &\nsleep 600\n", bin, "git")
	if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	path := pack(t, dir, "x", provider("x.run", "x", nil))
	if c := catalog(t, dir); len(c.Packages) != 1 || len(c.Problems) != 0 {
		t.Errorf("%v %v", c.Packages, c.Problems)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("git was asked to find a package")
	}
	if rev, err := revision(t.Context(), path, env, 300*time.Millisecond); rev != "" || !errors.Is(err, ErrRevisionTimeout) || !errors.Is(err, ErrUnknownRevision) {
		t.Errorf("%q, %v", rev, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := revision(ctx, path, env, time.Minute); !errors.Is(err, context.Canceled) || errors.Is(err, ErrRevisionTimeout) {
		t.Errorf("called off: %v", err)
	}
}
