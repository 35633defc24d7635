package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/compat/homeboy/providertask"
	"github.com/deedrun/deed/internal/isolate/egress"
)

// providerFlags are what `runtime run` and `runtime exec` share.
type providerFlags struct {
	checks                                          checkSpecFlags
	backend, selector, model                        string
	isolation, envFile, result, progress, workspace string
	hosts, scope, protect                           []string
	request                                         string // the file that the request is in, if it is in one
	baseRef                                         string
}

func (f *providerFlags) register(c *cobra.Command) {
	f.registerWork(c)
	c.Flags().StringVar(&f.result, "result-file", "", "write the outcome to this `FILE` too: atomically, readable by you only")
	c.Flags().StringVar(&f.progress, "progress", "", "`FORMAT` of progress: jsonl writes deed/progress/v1 lines to standard error")
}

// registerWork registers what holds for a request wherever it runs.
func (f *providerFlags) registerWork(c *cobra.Command) {
	fl := c.Flags()
	f.checks.register(c)
	fl.StringVar(&f.backend, "backend", "", "executor.backend, for a request that has none")
	fl.StringVar(&f.selector, "selector", "", "executor.selector: the `ID` of a provider")
	fl.StringVar(&f.model, "model", "", "executor.model")
	fl.StringVar(&f.isolation, "isolation", "", "`KIND`: none, process, namespace or container (default: the configured one, else namespace where this machine has it)")
	fl.StringArrayVar(&f.hosts, "allow-host", nil, "`HOST[:PORT]` that a contained provider may reach; repeatable (default: no network)")
	fl.StringVar(&f.envFile, "env-file", "", "a `FILE` of KEY=VALUE lines with secrets")
	fl.StringArrayVar(&f.scope, "scope", nil, "`GLOB` that may change; repeatable (default: everything)")
	fl.StringArrayVar(&f.protect, "protect", nil, "`GLOB` that must not change; repeatable")
}

// options are the caller's decisions.
func (f *providerFlags) options(rt runtimeFlags) (providertask.Options, error) {
	o := providertask.Options{
		Backend: f.backend, Isolation: f.isolation, Hosts: f.hosts, WriteScope: f.scope, ProtectedPaths: f.protect,
	}
	if f.progress != "" && f.progress != "jsonl" {
		return o, fmt.Errorf("--progress %q is not known (use jsonl)", f.progress)
	}
	if f.isolation != "" && !slices.Contains(deed.Isolations, f.isolation) {
		return o, fmt.Errorf("--isolation %q is not one of %s", f.isolation, strings.Join(deed.Isolations, ", "))
	}
	if _, err := egress.ParseRules(f.hosts); err != nil {
		return o, errors.New("--allow-host: " + err.Error()) // not as faults of the request
	}
	var err error
	if o.Checks, err = f.checks.checks(); err != nil {
		return o, err
	}
	if f.envFile != "" {
		if o.EnvFile, err = filepath.Abs(f.envFile); err != nil {
			return o, err
		}
	}
	for _, d := range rt.dirs {
		abs, err := filepath.Abs(d)
		if err != nil {
			return o, err
		}
		o.RuntimeDirs = append(o.RuntimeDirs, abs)
	}
	dir := rt.path
	if dir == "" {
		dir = componentDir(nil)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return o, err
	}
	o.Dir = extension.Locate(dir)
	return o, nil
}

// say lays the flags over a request, which people wrote themselves or left out.
func (f *providerFlags) say(q *homeboy.Request) error {
	if f.selector != "" {
		q.Executor.Selector = f.selector
	}
	if f.model != "" {
		q.Executor.Model = f.model
	}
	if f.workspace != "" {
		root, err := filepath.Abs(f.workspace)
		if err != nil {
			return err
		}
		q.Workspace = &homeboy.Workspace{Mode: homeboy.WorkspaceExisting, Root: root}
	}
	if f.baseRef != "" {
		if q.Workspace == nil {
			return errors.New("--base-ref needs a --workspace")
		}
		q.Workspace.BaseRef = f.baseRef
	}
	return nil
}

func (a *app) runtimeRunCmd(rt *runtimeFlags) *cobra.Command {
	var f providerFlags
	var instructions string
	c := &cobra.Command{
		Use: "run [REQUEST]", Short: "Run one request on a provider, and answer with one outcome",
		Long: `Read one homeboy/agent-task-request/v1 from a file, or from standard input for -, choose its provider, run it in a sandbox on a
copy of the workspace, judge the work, and answer with one homeboy/agent-task-outcome/v1, whatever happens: also for a
request that is refused, and when the run is interrupted. The provider's word is a claim: checks that fail make a success a
failure. The caller's directory is never written; the change is an artifact of kind patch.

Without a request, --instructions and --workspace make one. With --json, standard output is the outcome and nothing else.
Exit code 0 is for succeeded and no_op, 1 for a failure, 2 for a request that is refused, 3 for a fault of this machine,
130 for an interrupted run.`,
		Example: `  deed runtime run request.json --json
  deed runtime run - --check 'make test' --result-file outcome.json <request.json
  deed runtime run --backend local-shell --instructions "say hello" --workspace .`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 0) == (instructions == "") {
				return usage(errors.New("give a REQUEST, or --instructions (one of them)"))
			}
			if len(args) > 0 {
				f.request = args[0]
			}
			return a.provide(c.Context(), *rt, &f, func(ctx context.Context, s *providertask.Service) (runtimepkg.Request, error) {
				if len(args) == 0 {
					return f.inline(instructions)
				}
				return a.readProviderRequest(ctx, s, args[0], &f)
			})
		},
	}
	f.register(c)
	c.Flags().StringVar(&instructions, "instructions", "", "what to do, in place of a REQUEST")
	c.Flags().StringVar(&f.workspace, "workspace", "", "the `DIR` to work on a copy of, in place of the request's")
	c.Flags().StringVar(&f.baseRef, "base-ref", "", "with a git workspace: this `COMMIT` instead of HEAD")
	return c
}

// inline makes a request of flags.
func (f *providerFlags) inline(instructions string) (runtimepkg.Request, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return runtimepkg.Request{}, err
	}
	q := homeboy.Request{
		Schema: homeboy.SchemaRequest, TaskID: "run-" + id.String(), Instructions: instructions,
		Executor: homeboy.Executor{Config: map[string]homeboy.Value{}},
	}
	if err := f.say(&q); err != nil {
		return runtimepkg.Request{}, err
	}
	return runtimepkg.RequestOf(q)
}

// readProviderRequest reads a request from a file, with the flags laid over it. A runtime command is one, too.
func (a *app) readProviderRequest(ctx context.Context, s *providertask.Service, name string, f *providerFlags) (runtimepkg.Request, error) {
	data, err := a.readDocument(ctx, name, maxRequest)
	if err != nil {
		return runtimepkg.Request{}, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return runtimepkg.Request{}, errors.New("the request is empty (give one JSON object)")
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if json.Unmarshal(data, &head) == nil && head.Schema == homeboy.SchemaRuntimeCommand {
		q, warnings, err := homeboy.ReadRuntimeCommand(data)
		if err != nil {
			return runtimepkg.Request{}, err
		}
		r, err := s.Command(ctx, q)
		r.Warnings = warnings
		return r, err
	}
	r, err := runtimepkg.ReadRequest(data)
	if err != nil {
		return r, err
	}
	q := r.Request
	if err := f.say(&q); err != nil {
		return r, err
	}
	out, err := runtimepkg.RequestOf(q)
	out.Warnings = r.Warnings
	return out, err
}

// A readFunc makes the request that is to be answered.
type readFunc func(context.Context, *providertask.Service) (runtimepkg.Request, error)

// provide answers a request. From here on standard output carries one outcome and nothing else.
func (a *app) provide(ctx context.Context, rt runtimeFlags, f *providerFlags, read readFunc) error {
	o, code := a.outcome(ctx, rt, f, read)
	return a.oneDocument(o, f.result, code, func() { a.showOutcome(o) })
}

// outcome makes the outcome of a request. A fault in deed itself is reported like every other failure.
func (a *app) outcome(ctx context.Context, rt runtimeFlags, f *providerFlags, read readFunc) (o homeboy.Outcome, code int) {
	taskID := ""
	defer func() {
		if p := recover(); p != nil {
			o, code = providertask.NotStarted(ctx, taskID, failure.New(failure.Panic, "answer the request", fmt.Errorf("panic: %v", p), "this is a fault in deed: please report it"))
		}
	}()
	refused := func(err error) (homeboy.Outcome, int) {
		return providertask.NotStarted(ctx, taskID, failure.New(failure.Config, "read the request", err, "")) // whose own reason it finds
	}
	if err := distinct(fileFlag{"the request", f.request}, fileFlag{"--env-file", f.envFile}, fileFlag{"--result-file", f.result}); err != nil {
		f.result = "" // nothing is written
		return refused(err)
	}
	if err := checkResult(f.result); err != nil {
		return refused(fmt.Errorf("--result-file: %w", err))
	}
	opt, err := f.options(rt)
	if err != nil {
		return refused(err)
	}
	streams, done, err := a.progressStreams(agentTaskFlags{progress: f.progress})
	defer done()
	if err != nil {
		return refused(err)
	}
	s, err := a.providerTasks(ctx, opt)
	switch {
	case err != nil && exitCode(err) == ExitUsage:
		return refused(err)
	case err != nil:
		return providertask.NotStarted(ctx, taskID, err)
	}
	s.Streams = streams
	req, err := read(ctx, s)
	if taskID = req.TaskID; err != nil {
		return refused(err)
	}
	return s.Run(ctx, req)
}

// providerTasks opens what runs requests.
func (a *app) providerTasks(ctx context.Context, opt providertask.Options) (*providertask.Service, error) {
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	a.runtimeDirs = opt.RuntimeDirs
	eng, err := a.engine(1)
	if err != nil {
		return nil, err
	}
	return &providertask.Service{Home: a.h, Store: a.st, Admission: a.admission(), Engine: eng, Clock: clock.System, Options: opt}, nil
}

// showOutcome shows a person how the run ended.
func (a *app) showOutcome(o homeboy.Outcome) {
	word := string(o.Status)
	if homeboy.IsSuccess(o.Status) {
		word = a.color.Green(word)
	} else {
		word = a.color.Red(word)
	}
	a.printf("%s\n", strings.TrimSuffix(word+": "+clean(o.Summary), ": "))
	inSummary := func(d homeboy.Diagnostic) bool { return o.Summary != "" && strings.Contains(o.Summary, d.Message) }
	if len(o.Diagnostics) > 0 && inSummary(o.Diagnostics[0]) {
		a.field("code", clean(o.Diagnostics[0].Class))
		if remedy := remedyOf(o.Diagnostics[0]); remedy != "" {
			a.field("remedy", clean(remedy))
		}
	}
	if c := o.FailureClassification; c != "" {
		a.field("class", string(c))
	}
	var md struct {
		Deed struct {
			Bundle  string `json:"bundle"`
			Verdict string `json:"verdict"`
			Said    string `json:"provider_status"`
		} `json:"deed"`
	}
	if len(o.Metadata) > 0 {
		_ = json.Unmarshal(o.Metadata, &md) // deed wrote it; without it there is less to show
	}
	if md.Deed.Verdict != "" {
		a.field("verdict", clean(md.Deed.Verdict))
	}
	if said := md.Deed.Said; said != "" && said != string(o.Status) {
		a.field("provider", "said "+clean(said))
	}
	for _, x := range o.Artifacts {
		a.field(clean(x.Kind), clean(strings.TrimSpace(x.ID+" "+showPath(x.Path+x.URL))))
	}
	if md.Deed.Bundle != "" {
		a.field("bundle", clean(md.Deed.Bundle))
	}
	for _, d := range o.Diagnostics {
		if inSummary(d) {
			continue // the first line says it
		}
		text := d.Message
		if remedy := remedyOf(d); remedy != "" && !strings.Contains(text, remedy) {
			text += " (" + remedy + ")"
		}
		fmt.Fprintf(a.Err, "  %s: %s\n", clean(d.Class), clean(text))
	}
	if o.Status == homeboy.Succeeded && md.Deed.Bundle != "" && slices.ContainsFunc(o.Artifacts, func(x homeboy.Artifact) bool { return x.Kind == homeboy.KindPatch }) {
		a.hint("apply it:  deed apply %s --to DIR", quote(md.Deed.Bundle))
	}
}

// remedyOf is what a diagnostic says can be done about it.
func remedyOf(d homeboy.Diagnostic) string {
	var data struct {
		Remedy string `json:"remedy"`
	}
	if len(d.Data) > 0 {
		_ = json.Unmarshal(d.Data, &data) // a provider may write anything there
	}
	return data.Remedy
}
