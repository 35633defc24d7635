package conform

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// A subject is one provider command while it is looked at.
type subject struct {
	*suite
	x       homeboy.ExecutorProvider
	cmd     runtimepkg.Command
	base    runtimepkg.Document // a valid request
	planted map[string]string   // a value for every declared secret
	hide    *redact.Redactor
	exports map[string]string
	status  homeboy.OutcomeStatus // of the first run; empty: it left no outcome
	n       int                   // of runs, for their directories
	hung    bool                  // a run reached its whole limit: the others are given less
}

// hungLimit is how long a run may take of a command that has hung before: twenty runs of the whole limit would show nothing more.
const hungLimit = 5 * time.Second

// request is a valid one: the caller's, else the smallest.
func (p *subject) request() runtimepkg.Document {
	doc := p.opt.Request
	if doc == nil {
		doc = runtimepkg.Document{"instructions": "Say hello", "limits": map[string]any{"timeout_ms": json.Number(fmt.Sprint(p.opt.Limit.Milliseconds()))}}
	}
	sel := &runtimepkg.Selection{Package: p.pkg, Provider: p.x}
	doc, _ = sel.Complete(doc)
	executor, ok := doc["executor"].(map[string]any)
	if !ok {
		executor = map[string]any{}
		doc["executor"] = executor
	}
	executor["backend"] = p.x.Backend
	if s, _ := doc["task_id"].(string); strings.TrimSpace(s) == "" {
		doc["task_id"] = "conform-1"
	}
	return doc
}

// with returns a copy of the valid request with a change.
func (p *subject) with(change func(doc runtimepkg.Document)) runtimepkg.Document {
	text, _ := json.Marshal(p.base) // it was JSON
	doc, _ := runtimepkg.ReadDocument(text)
	change(doc)
	return doc
}

// plant makes up a value for every secret, that occurs nowhere else.
func (p *subject) plant() {
	p.planted = map[string]string{}
	for _, n := range runtimepkg.SecretNeeds(p.x, p.base) {
		p.planted[n.Name] = ""
	}
	for _, r := range p.x.SecretEnvRequirements { // whatever their conditions
		for _, name := range r.Env {
			p.planted[name] = ""
		}
	}
	for name := range p.planted {
		sum := sha256.Sum256([]byte(p.tmp + "\x00" + name))
		p.planted[name] = "conform-" + hex.EncodeToString(sum[:16])
	}
	p.hide = redact.New(p.planted)
}

// A stage is where one run happens.
type stage struct{ top, work, artifacts, home, tmp string }

// stage makes the directories of a run below a name, which may have blanks and quotes in it.
func (p *subject) stage(name string) (stage, error) {
	p.n++
	top := filepath.Join(p.tmp, fmt.Sprintf("%d", p.n), name)
	st := stage{top: top, work: filepath.Join(top, "work"), artifacts: filepath.Join(top, "artifacts"), home: filepath.Join(top, "home"), tmp: filepath.Join(top, "tmp")}
	for _, dir := range []string{st.work, st.artifacts, st.home, st.tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return st, err
		}
	}
	if err := os.CopyFS(st.work, os.DirFS(p.seed)); err != nil {
		return st, fmt.Errorf("make a workspace: %w", err)
	}
	return st, nil
}

// begin makes the repository that every workspace is a copy of.
func (s *suite) begin(ctx context.Context) error {
	s.seed = filepath.Join(s.tmp, "seed")
	if err := os.Mkdir(s.seed, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.seed, "README.md"), []byte("# A workspace to try a provider in\n"), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "--template="},
		{"add", "-A"},
		{"-c", "user.name=conform", "-c", "user.email=conform@localhost", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "Begin"},
	} {
		r, err := proc.Tool(ctx, proc.ToolSpec{Argv: append([]string{"git"}, args...), Dir: s.seed, Env: []string{
			"PATH=" + proc.Getenv(s.opt.Environ, "PATH"), "HOME=" + s.tmp, "GIT_CONFIG_NOSYSTEM=1", "LANG=C.UTF-8",
		}})
		if err == nil {
			err = r.Check()
		}
		if err != nil {
			return fmt.Errorf("make a workspace: %w", err)
		}
	}
	return nil
}

// complete gives a request what a host fills in.
func (st stage) complete(doc runtimepkg.Document, deadline bool) []byte {
	doc["artifacts_path"] = st.artifacts
	w, _ := doc["workspace"].(map[string]any)
	w = maps.Clone(w)
	if w == nil {
		w = map[string]any{}
	}
	w["mode"], w["root"] = homeboy.WorkspaceExisting, st.work
	doc["workspace"] = w
	if deadline {
		doc["limits"] = map[string]any{"timeout_ms": json.Number("1000")}
	}
	text, _ := json.Marshal(doc) // it was JSON
	return text
}

// environ is all that the command sees.
func (p *subject) environ(st stage, pkg *runtimepkg.Package) []string {
	config, _ := json.Marshal(map[string]any{})
	if c, ok := p.base.At("executor.config"); ok {
		config, _ = json.Marshal(c)
	}
	vars := map[string]string{
		"PATH": proc.Getenv(p.opt.Environ, "PATH"), "HOME": st.home, "TMPDIR": st.tmp, "LANG": "C.UTF-8",
		"HOMEBOY_AGENT_TASK_PROVIDER_ID": p.x.ID, "HOMEBOY_AGENT_TASK_EXECUTOR_CONFIG_JSON": string(config), "HOMEBOY_AGENT_TASK_ARTIFACTS_DIR": st.artifacts,
		"HOMEBOY_RUNTIME_PATH": pkg.Real, "HOMEBOY_AGENT_RUNTIME_ID": pkg.ID, "HOMEBOY_AGENT_RUNTIME_PATH": pkg.Real,
		"GIT_ASKPASS": "/bin/false", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "credential.helper", "GIT_CONFIG_VALUE_0": "",
	}
	for _, e := range p.cmd.Env {
		if e.Value != "" {
			vars[e.Name] = e.Value
		}
	}
	maps.Copy(vars, p.exports)
	maps.Copy(vars, p.planted)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}

// A ran is what one run left.
type ran struct {
	stage
	exit           proc.Exit
	err            error // it could not be started, or did not end whole
	stdout, stderr []byte
	over           bool // it wrote more than it may
	p              *subject
}

// maxOutput is the most that is read of each stream.
const maxOutput = 8 << 20

// invocation is how the command is run this time. The zero value runs the package in its own directory.
type invocation struct {
	stdin    io.Reader // nil: the null device
	args     []string  // after the manifest's own
	limit    time.Duration
	pkg      *runtimepkg.Package // nil: the package under test
	onOutput func()              // called when it says something
}

// run runs the command in a stage. The supervisor ends everything that it started.
func (p *subject) run(ctx context.Context, st stage, v invocation) ran {
	pkg, cmd := p.pkg, p.cmd
	if v.pkg != nil {
		pkg = v.pkg
		again, err := pkg.Command(p.x)
		if err != nil {
			return ran{stage: st, err: err, p: p}
		}
		cmd = again
		if p.cmd.Argv[0] != cmd.Argv[0] && !strings.HasPrefix(cmd.Argv[0], pkg.Real) {
			cmd.Argv = append([]string{p.cmd.Argv[0]}, cmd.Argv[1:]...) // a program that readiness found
		}
	}
	if v.limit == 0 {
		v.limit = p.wallClock()
	}
	if p.hung {
		v.limit = min(v.limit, hungLimit)
	}
	dir := st.work
	if w := p.x.WorkspaceMaterialization; w != nil && w.Cwd == homeboy.CwdRuntimePackage {
		dir = pkg.Real
	}
	out, errs := &capped{onOutput: v.onOutput}, &capped{onOutput: v.onOutput}
	r := ran{stage: st, p: p}
	spec := proc.Spec{
		Argv: slices.Concat(cmd.Argv, v.args), Dir: dir, Env: p.environ(st, pkg), Stdin: v.stdin, Stdout: out, Stderr: errs,
		Timeout: v.limit, Grace: p.opt.Patience,
	}
	if p.opt.Isolation == sandbox.Process {
		r.exit, r.err = p.sup.Run(ctx, spec)
	} else {
		r.exit, r.err = p.contained(ctx, st, pkg, cmd, spec)
	}
	p.hung = p.hung || r.exit.TimedOut && v.limit > hungLimit
	r.stdout, r.stderr, r.over = out.Bytes(), errs.Bytes(), out.over || errs.over
	return r
}

// wallClock is the limit of the request, and some more: a command may report its own timeout.
func (p *subject) wallClock() time.Duration {
	text, _ := json.Marshal(p.base) // it was JSON
	q, _, err := homeboy.ReadRequest(text)
	if err != nil || q.Limits == nil {
		return p.opt.Limit + p.opt.Patience
	}
	return min(time.Duration(q.Limits.WallClockMS())*time.Millisecond, 24*time.Hour) + p.opt.Patience
}

// capped keeps what is written up to a bound, and swallows the rest.
type capped struct {
	bytes.Buffer
	over     bool
	onOutput func()
}

func (w *capped) Write(b []byte) (int, error) {
	if w.onOutput != nil {
		w.onOutput()
	}
	n := min(len(b), maxOutput-w.Len())
	w.Buffer.Write(b[:n])
	w.over = w.over || n < len(b)
	return len(b), nil
}

// evidence is the end of the command's output, without secrets.
func (r ran) evidence() string {
	var parts []string
	if r.err != nil {
		parts = append(parts, r.err.Error())
	}
	for _, s := range []struct {
		name string
		text []byte
	}{{"stdout", r.stdout}, {"stderr", r.stderr}} {
		text := strings.TrimSpace(strings.ToValidUTF8(string(r.p.hide.Bytes(s.text)), "\uFFFD"))
		const most = 1500
		if len(text) > most {
			text = "… " + strings.ToValidUTF8(text[len(text)-most:], "")
		}
		if text != "" {
			parts = append(parts, s.name+": "+text)
		}
	}
	return strings.Join(parts, "\n")
}

// ended says how the command ended, or why it did not.
func (r ran) ended() string {
	var start *proc.StartError
	switch {
	case errors.As(r.err, &start):
		return fmt.Sprintf("it could not be started: %v", start.Err)
	case r.err != nil:
		return r.err.Error()
	case r.exit.TimedOut:
		return "it did not end in time"
	case r.exit.Signal != "":
		return "it was ended by " + r.exit.Signal
	case r.exit.Code != 0:
		return fmt.Sprintf("it ended with %d", r.exit.Code)
	}
	return ""
}

// document finds the outcome on standard output, and whether there is more than it.
func (r ran) document() (doc []byte, alone bool) {
	text := bytes.TrimSpace(r.stdout)
	if json.Valid(text) && bytes.HasPrefix(text, []byte("{")) {
		return text, !r.over
	}
	for at := 0; at < len(text); {
		if text[at] == '{' {
			var found json.RawMessage
			if json.NewDecoder(bytes.NewReader(text[at:])).Decode(&found) == nil {
				return found, false
			}
		}
		next := bytes.IndexByte(text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return nil, false
}
