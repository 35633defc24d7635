package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/compat/codebox/agenttask"
	"github.com/deedrun/deed/internal/compat/codebox/boundary"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
)

type agentTaskFlags struct {
	input, result, progress, progressFile string
}

func (a *app) agentTaskRunCmd() *cobra.Command {
	var f agentTaskFlags
	c := &cobra.Command{
		Use:     "agent-task-run --input-file=FILE",
		Aliases: []string{"run-agent-task"},
		Short:   "Run one request of an orchestrator and answer with one envelope",
		Long: `Read one wp-codebox/task-input/v1 request, run its agent in a sandbox on copies of its workspaces, and judge the
work. With --json one wp-codebox/agent-task-run/v1 envelope is written to standard output, whatever happens: also for a
request that is refused, and when the run is interrupted; --result-file has the same. Without it there are words for a
person. The request is checked strictly, and every fault is named with its path.

The agent is the adapter of that name in deed.yaml; a request that names none gets wp-codebox-sandbox if
there is such an adapter, else the default one. The bundle is the directory that artifacts_path names, which must be
empty or absent, else one in deed's home.
Exit code 0 means that the normalised result is a success: succeeded or no_op.`,
		Example: `  deed agent-task-run --input-file=request.json --json
  deed agent-task-run --input-file=- --json --progress=jsonl <request.json
  deed schema show wp-codebox/agent-task-run-request/v1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.input == "" {
				return usage(errors.New("--input-file is missing (name a file with one JSON request, or - for standard input)"))
			}
			if f.progress != "" && f.progress != "jsonl" {
				return usage(fmt.Errorf("--progress %q is not known (use jsonl)", f.progress))
			}
			return a.agentTaskRun(c.Context(), f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.input, "input-file", "", "`FILE` with the request; - for standard input")
	fl.StringVar(&f.result, "result-file", "", "write the envelope to this `FILE` too: atomically, readable by you only")
	fl.StringVar(&f.progress, "progress", "", "`FORMAT` of progress: jsonl writes deed/progress/v1 lines")
	fl.StringVar(&f.progressFile, "progress-file", "", "write progress to this `FILE` instead of standard error")
	return c
}

// maxRequest bounds what is read of a request.
const maxRequest = 16 << 20

// agentTaskRun answers a request. From here on standard output carries one envelope and nothing else. The file is written
// first: it is there also when standard output has no reader any more.
func (a *app) agentTaskRun(ctx context.Context, f agentTaskFlags) error {
	env, code := a.answer(ctx, &f)
	return a.oneDocument(env, f.result, code, func() { a.showEnvelope(env) })
}

// oneDocument ends a command whose standard output is one document, whatever happened; show presents it to a person.
func (a *app) oneDocument(doc any, file string, code int, show func()) error {
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	text = append(terminal.SafeJSON(text), '\n') // in the file as well: it is the same document, and people look into it, too
	code = a.keepResult(file, text, code)
	if a.json {
		if _, err := a.Out.Write(text); err != nil {
			return err
		}
	} else {
		show()
	}
	if code == ExitDone {
		return nil
	}
	return &exitError{code: code, err: errSilent}
}

// keepResult writes the one document to the caller's file, if there is one, and returns what the command ends with. That it
// cannot be written is talk: standard output has no room for a second document.
func (a *app) keepResult(file string, text []byte, code int) int {
	if file == "" {
		return code
	}
	if err := writeResult(file, text); err != nil {
		fmt.Fprintf(a.Err, "deed: --result-file: %s\n", clean(err.Error()))
		if code == ExitDone {
			return ExitInfra
		}
	}
	return code
}

// showEnvelope shows a person how the run ended.
func (a *app) showEnvelope(env codebox.AgentTaskRun) {
	goal := ""
	if env.TaskInput != nil {
		goal = env.TaskInput.Goal
	}
	a.printf("%s\n", strings.TrimSuffix(env.AgentTaskRunResult.Status+": "+clean(goal), ": "))
	if env.Artifacts != "" {
		if env.Success {
			a.field("verdict", clean(env.AgentTaskRunResult.Summary))
		}
		a.field("bundle", clean(env.Artifacts))
	}
	lines := diagnoses(env.Diagnostics)
	for _, line := range lines[:min(len(lines), maxDiagnoses)] {
		fmt.Fprintf(a.Err, "  %s\n", line)
	}
	if n := len(lines) - maxDiagnoses; n > 0 {
		fmt.Fprintf(a.Err, "  and %d more: --json shows them, and so does --result-file\n", n)
	}
	switch {
	case env.AgentTaskRunResult.Status == evidence.StatusSucceeded && applicable(env.TaskInput):
		a.hint("apply it:  deed apply %s --to DIR", quote(env.Artifacts))
	case env.RunMetadata.RunID != "" && !env.Success:
		a.hint("look closer:  deed runs show %s", env.RunMetadata.RunID)
	}
}

// maxDiagnoses is how many findings are shown to a person: an agent can make thousands, and no one scrolls through
// those.
const maxDiagnoses = 20

// applicable reports whether the caller lets the change be applied.
func applicable(in *codebox.TaskInput) bool {
	var policy struct {
		ApplyBack string `json:"applyBack"`
	}
	return in == nil || json.Unmarshal(in.Policy, &policy) != nil || policy.ApplyBack != "disabled"
}

// diagnoses lists each finding once: a failure can stand under several classes, and as the sum of its reasons.
func diagnoses(ds []evidence.Diagnostic) []string {
	var lines []string
	for _, d := range ds {
		if line := diagnosis(d); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	all := slices.Clone(lines)
	return slices.DeleteFunc(lines, func(sum string) bool {
		return slices.ContainsFunc(all, func(line string) bool { return strings.HasSuffix(sum, ": "+line) || strings.HasSuffix(sum, "; "+line) })
	})
}

// diagnosis is one finding with its place, if it has one, and what to do about it.
func diagnosis(d evidence.Diagnostic) string {
	text := clean(d.Message)
	if d.Path != "" && !strings.HasPrefix(d.Message, d.Path) { // a message about a file begins with its name
		text = clean(d.Path) + ": " + text
	}
	if d.Remedy != "" && !strings.Contains(d.Message, d.Remedy) {
		text += " (" + clean(d.Remedy) + ")"
	}
	return text
}

// writeResult keeps the envelope in a file of the caller's choice.
func writeResult(file string, text []byte) error {
	if err := checkResult(file); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteFile(file, text, 0o600)
}

// checkResult wants a name that is free or a regular file. It is asked before the run, too: a run whose result cannot be
// kept is not begun.
func checkResult(file string) error {
	if file == "" {
		return nil
	}
	if fi, err := os.Lstat(file); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file (name a new file)", file)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// A fileFlag is a file that a command is given, and how: by which flag, or as what.
type fileFlag struct{ flag, file string }

// distinct wants files that are not one: what is written would be in the place of what is read, or of what else is written.
func distinct(files ...fileFlag) error {
	for i, f := range files {
		for _, other := range files[:i] {
			if sameFile(other.file, f.file) {
				return fmt.Errorf("%s: %s is the file of %s, too (name another file)", f.flag, f.file, other.flag)
			}
		}
	}
	return nil
}

// sameFile reports whether two names lead to one regular file, or would if it were made. Devices and pipes keep nothing that could be lost.
func sameFile(a, b string) bool {
	if a == "" || b == "" || a == "-" {
		return false
	}
	x, xerr := os.Stat(a)
	y, yerr := os.Stat(b)
	if xerr == nil && yerr == nil {
		return x.Mode().IsRegular() && os.SameFile(x, y)
	}
	return xerr != nil && yerr != nil && workspace.TruePath(a) == workspace.TruePath(b)
}

// keepApart keeps a result out of the bundle, which would no longer be what was signed. A file that already exists there is not written
// at all.
func keepApart(file *string, artifacts string) error {
	if *file == "" || artifacts == "" || !workspace.Within(workspace.TruePath(*file), workspace.TruePath(artifacts)) {
		return nil
	}
	err := fmt.Errorf("--result-file: %s lies in the artifacts_path %s, which is the bundle's alone (name a file beside it)", *file, artifacts)
	*file = ""
	return err
}

// answer makes the envelope of a request. A fault in deed itself is reported like every other failure.
func (a *app) answer(ctx context.Context, f *agentTaskFlags) (env codebox.AgentTaskRun, code int) {
	var data []byte
	defer func() {
		if p := recover(); p != nil {
			env, code = boundary.NotStarted(data, failure.New(failure.Panic, "answer the request", fmt.Errorf("panic: %v", p), "this is a fault in deed: please report it"), a.hide(ctx, data))
		}
	}()
	refused := func(err error) (codebox.AgentTaskRun, int) {
		return boundary.Refusal(data, err, a.hide(ctx, data)), ExitUsage
	}
	unbegun := func(err error) (codebox.AgentTaskRun, int) { return boundary.NotStarted(data, err, a.hide(ctx, data)) }
	if err := distinct(fileFlag{"--input-file", f.input}, fileFlag{"--result-file", f.result}, fileFlag{"--progress-file", f.progressFile}); err != nil {
		f.result = "" // nothing is written
		return refused(err)
	}
	if err := checkResult(f.result); err != nil {
		return refused(fmt.Errorf("--result-file: %w", err))
	}
	data, err := a.readInput(ctx, f.input)
	if ctx.Err() != nil {
		return unbegun(ctx.Err())
	}
	if err != nil {
		return refused(err)
	}
	req, err := boundary.Read(data)
	if err != nil {
		return a.refusal(ctx, data, err), ExitUsage
	}
	if err := keepApart(&f.result, req.ArtifactsPath); err != nil {
		return refused(err)
	}
	s, done, err := a.agentTasks(ctx, *f)
	defer done()
	switch {
	case ctx.Err() != nil:
		return unbegun(ctx.Err())
	case exitCode(err) == ExitUsage:
		return unbegun(failure.New(failure.Config, "make ready", err, ""))
	case err != nil:
		return unbegun(err)
	}
	return s.Run(ctx, req)
}

// refusal answers a request that cannot be read. It makes no home: without one there are no secrets to hide.
func (a *app) refusal(ctx context.Context, data []byte, err error) codebox.AgentTaskRun {
	cfg, cerr := a.config()
	root, herr := home.Resolve(a.homeFlag, a.getenv)
	if cerr != nil || herr != nil { // the next request whose form is right will report it
		return boundary.Refusal(data, err, a.hide(ctx, data))
	}
	return agenttask.Refused(ctx, data, err, agenttask.Machine{Home: home.At(root), Config: cfg, Secrets: runtimepkg.OwnStores(a.environ, cfg.Secrets)})
}

// hide finds the values that no answer to a request may repeat. Without settings these are those of the environment; and an answer that has no
// time left for a keychain does without it.
func (a *app) hide(ctx context.Context, data []byte) *redact.Redactor {
	var kept map[string]settings.Secret
	if cfg, err := a.config(); err == nil {
		kept = cfg.Secrets
	}
	return agenttask.Hide(ctx, data, runtimepkg.OwnStores(a.environ, kept))
}

// agentTasks opens what runs requests. The returned function, which is never nil, ends what listens to the run.
func (a *app) agentTasks(ctx context.Context, f agentTaskFlags) (*agenttask.Service, func(), error) {
	streams, done, err := a.progressStreams(f)
	if err != nil {
		return nil, done, usage(err)
	}
	if err := a.openHome(); err != nil {
		return nil, done, err
	}
	if err := a.openStore(ctx, a.cfg); err != nil {
		return nil, done, err
	}
	eng, err := a.engine(1)
	if err != nil {
		return nil, done, err
	}
	return &agenttask.Service{Home: a.h, Store: a.st, Admission: a.admission(), Engine: eng, Clock: clock.System, Streams: streams}, done, nil
}

// readInput reads a request.
func (a *app) readInput(ctx context.Context, file string) ([]byte, error) {
	data, err := a.readDocument(ctx, file, maxRequest)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--input-file: %w", err)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("--input-file: the request is empty (give one JSON object)")
	}
	return data, nil
}

// progressStreams opens what listens to the run. The returned function ends it.
func (a *app) progressStreams(f agentTaskFlags) ([]*runrecord.Stream, func(), error) {
	if f.progress == "" && f.progressFile == "" {
		return nil, func() {}, nil
	}
	w, closeFile := a.Err, func() error { return nil }
	if f.progressFile != "" {
		// A pipe without a reader is refused, and never waited for.
		file, err := os.OpenFile(f.progressFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, func() {}, fmt.Errorf("--progress-file: %w", err)
		}
		w, closeFile = file, file.Close
	}
	s := runrecord.NewStream(w, clock.System)
	return []*runrecord.Stream{s}, func() { _, _ = s.Close(), closeFile() }, nil
}
