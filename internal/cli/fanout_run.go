package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
	"github.com/deedrun/deed/internal/compat/homeboy/fanoutrun"
	"github.com/deedrun/deed/internal/compat/homeboy/providertask"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/gc"
	"github.com/deedrun/deed/internal/store"
)

type fanoutRunFlags struct {
	providerFlags
	runtime             runtimeFlags
	config, output      string
	progress            string
	concurrency         int
	detach              bool
	defaultInstructions string
}

func (a *app) fanoutRunCmd() *cobra.Command {
	var f fanoutRunFlags
	c := &cobra.Command{
		Use: "run PLAN", Short: "Run a plan: every task once, and a record for each", Args: names("PLAN"),
		Long: `Run a plan that deed fanout plan, or another program, made; - is standard input. Everything that is wrong with it is said at once,
and then nothing is started. The fanout is recorded before its first task starts: killed at any moment, it goes on with deed
fanout resume, and nothing that has a record is run again. Three tasks run at a time unless the plan or --concurrency says
otherwise, 16 at most; tasks with a common key in limits.exclusive_resource_keys never run together.

With --detach the tasks are left to deed serve. Exit code 0 means that every task is completed (of a matrix: that a cell was
chosen), 1 that not all are, 2 that the plan is refused, 130 that a signal ended it and deed fanout resume goes on.`,
		Example: `  deed fanout run plan.json --output run.json
  deed fanout run plan.json --backend codex --check 'make test' --progress jsonl
  deed fanout run plan.json --detach`,
		RunE: func(c *cobra.Command, args []string) error { return a.fanoutRun(c.Context(), f, args[0]) },
	}
	f.registerWork(c)
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "the configuration that the plan was made of, for its options: a `FILE`, or -")
	fl.StringVar(&f.output, "output", "", "keep the run in `FILE`: whole at any moment, and written again about once a second")
	fl.StringVar(&f.progress, "progress", "", "`FORMAT` of progress on standard error: jsonl writes homeboy/fanout-reconcile-progress/v1 lines")
	fl.IntVar(&f.concurrency, "concurrency", 0, "tasks at a time, 1 to 16 (default: what the plan says, else 3)")
	fl.BoolVar(&f.detach, "detach", false, "leave the tasks to deed serve, and end")
	fl.StringVar(&f.defaultInstructions, "instructions", "", "`TEXT` for tasks that have none")
	fl.StringVar(&f.runtime.path, "path", "", "the project's `DIR` (default: the one that the current directory belongs to)")
	fl.StringArrayVar(&f.runtime.dirs, "runtime-dir", nil, "a `DIR` of packages, or a package, to look at too; repeatable")
	return c
}

func (a *app) fanoutRun(ctx context.Context, f fanoutRunFlags, name string) error {
	if err := checkProgress(f.progress); err != nil {
		return usage(err)
	}
	if f.concurrency < 0 || f.concurrency > homeboy.MaxConcurrency {
		return usage(fmt.Errorf("--concurrency %d is not between 1 and %d", f.concurrency, homeboy.MaxConcurrency))
	}
	if err := onceStdin(name, f.config); err != nil {
		return usage(err)
	}
	p, err := a.fanoutWork(f, name)
	if err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	if f.detach {
		return a.fanoutDetach(ctx, p)
	}
	return a.fanoutHere(ctx, f.progress, func(s *fanoutrun.Service, _ []string) (store.Fanout, error) {
		made, err := s.Create(ctx, p)
		if err == nil {
			crashpoint.Hit(crashpoint.FanoutCreated)
		}
		return made, err
	})
}

func checkProgress(format string) error {
	if format != "" && format != "jsonl" {
		return fmt.Errorf("--progress %q is not known (use jsonl)", format)
	}
	return nil
}

// fanoutWork reads the plan and all that holds for it. Nothing is opened or recorded.
func (a *app) fanoutWork(f fanoutRunFlags, name string) (p fanoutrun.Plan, err error) {
	if p.Plan, err = a.readRunPlan(name); err != nil {
		return p, err
	}
	if err := a.fanoutPolicy(&p, f, name); err != nil {
		return p, err
	}
	dirs := f.runtime.dirs
	f.runtime.dirs = nil
	for _, d := range dirs { // the process that releases the tasks may have another working directory
		abs, err := filepath.Abs(d)
		if err != nil {
			return p, usage(err)
		}
		f.runtime.dirs = append(f.runtime.dirs, abs)
	}
	opt, err := f.options(f.runtime)
	if err != nil {
		return p, usage(err)
	}
	if p.Caller, err = json.Marshal(opt); err != nil {
		return p, fmt.Errorf("encode the options: %w", err)
	}
	cfg, err := a.config()
	if err != nil {
		return p, err
	}
	d, err := cfg.DefaultBackend(opt.Dir)
	if err != nil && f.backend == "" {
		return p, usage(err)
	}
	p.Default = fanout.Defaults{
		Instructions: f.defaultInstructions,
		Executor:     homeboy.Executor{Backend: cmp.Or(f.backend, d.Backend), Selector: f.selector, Model: f.model},
	}
	bounds, err := a.packageBounds(f.runtime)
	if err != nil {
		return p, err
	}
	p.Policy.Suggest(bounds)
	p.Matrix = fanoutrun.IsMatrix(p.Plan)
	if f.output != "" {
		if p.Output, err = filepath.Abs(f.output); err == nil {
			err = checkResult(p.Output)
		}
		if err != nil {
			return p, usage(fmt.Errorf("--output: %w", err))
		}
		if fi, err := os.Stat(filepath.Dir(p.Output)); err != nil || !fi.IsDir() {
			return p, usage(fmt.Errorf("--output: %s is no directory (make it first)", showPath(filepath.Dir(p.Output))))
		}
	}
	return p, inFile(name, byOption(p.Check()))
}

// packageBounds says by backend how many tasks its package wants to run at a time (lifecycle.max_concurrency_default). Of several packages
// the most careful one counts.
func (a *app) packageBounds(f runtimeFlags) (map[string]int64, error) {
	c, err := a.runtimes(f)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, pkg := range c.Packages {
		for _, x := range pkg.Manifest.AgentTaskExecutors {
			if x.Lifecycle == nil || x.Lifecycle.MaxConcurrencyDefault < 1 {
				continue
			}
			n := x.Lifecycle.MaxConcurrencyDefault
			if least, ok := out[x.Backend]; ok {
				n = min(n, least)
			}
			out[x.Backend] = n
		}
	}
	return out, nil
}

// readRunPlan reads a plan, a matrix, or a plan of requests.
func (a *app) readRunPlan(name string) (homeboy.FanoutPlan, error) {
	data, err := a.fanoutFile(name, "")
	if err != nil {
		return homeboy.FanoutPlan{}, err
	}
	var head struct {
		Schema homeboy.Value `json:"schema"`
	}
	_ = json.Unmarshal(data, &head) // the readers report what is wrong with it
	if schema, _ := head.Schema.Text(); schema == fanoutrun.SchemaTaskPlan {
		p, ignored, err := fanoutrun.ReadTaskPlan(data)
		if len(ignored) > 0 {
			a.hint("%s %s: deed does not act on %s", a.errColor.Yellow("warning:"), inputName(name), strings.Join(ignored, ", "))
		}
		return p, inFile(name, err)
	}
	return a.planIn(name, data)
}

// fanoutPolicy reads how the plan is run: its own options count before those of the configuration.
func (a *app) fanoutPolicy(p *fanoutrun.Plan, f fanoutRunFlags, name string) error {
	options := map[string]homeboy.Value{}
	if f.config != "" {
		data, err := a.fanoutFile(f.config, "")
		if err != nil {
			return err
		}
		c, warnings, err := homeboy.ReadFanoutConfig(data)
		if err == nil {
			err = fanout.CheckConfig(c)
		}
		if err != nil {
			return inFile(f.config, err)
		}
		a.reportWarnings(f.config, warnings)
		p.Options = fanout.OptionsOf(c)
		policy, err := a.readPolicy(f.config, c.Extra["options"])
		if err != nil {
			return err
		}
		if policy.MaxConcurrency == 0 {
			p.Policy.MaxConcurrency = c.Concurrency
		}
		if raw := c.Extra["options"]; !raw.Null() {
			_ = json.Unmarshal(raw, &options) // it was read a moment ago
		}
	}
	own := map[string]homeboy.Value{}
	if raw := p.Plan.Extra["options"]; !raw.Null() {
		_ = json.Unmarshal(raw, &own) // readPolicy reports what is wrong with it
		if _, err := a.readPolicy(name, raw); err != nil {
			return err
		}
	}
	maps.Copy(options, own)
	merged, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("encode the options: %w", err)
	}
	policy, _, err := fanoutrun.ReadPolicy("$.options", merged)
	if err != nil {
		return inFile(name, err)
	}
	policy.MaxConcurrency = cmp.Or(int64(f.concurrency), policy.MaxConcurrency, p.Policy.MaxConcurrency)
	p.Policy = policy
	p.Needs, err = fanoutrun.NeedsOf(p.Plan)
	return inFile(name, err)
}

func (a *app) readPolicy(name string, options homeboy.Value) (fanoutrun.Policy, error) {
	p, ignored, err := fanoutrun.ReadPolicy("$.options", options)
	if len(ignored) > 0 {
		a.hint("%s %s: deed does not act on the options %s", a.errColor.Yellow("warning:"), inputName(name), clean(strings.Join(ignored, ", ")))
	}
	return p, inFile(name, err)
}

// byOption adds the option that supplies what a plan lacks: a plan of findings alone says neither who fixes them nor how.
func byOption(err error) error {
	faults := fault.Of(err)
	if len(faults) == 0 {
		return err
	}
	for i, f := range faults {
		switch {
		case f.Code != fault.Blank:
		case strings.HasSuffix(f.Path, ".executor.backend"):
			faults[i].Remedy = "name it in the template, or use --backend"
		case strings.HasSuffix(f.Path, "].instructions"):
			faults[i].Remedy = "say in the template what it is, or use --instructions"
		}
	}
	return faults
}

// fanoutService is what advances fanouts in this process, for a dispatcher.
func (a *app) fanoutService(eng *dispatch.Engine) *fanoutrun.Service {
	return &fanoutrun.Service{Store: a.st, Tasks: &fanoutTasks{a: a, eng: eng}, Clock: clock.System, Log: eng.Log}
}

// advanceFanout continues the fanout that a settled task belongs to.
func (a *app) advanceFanout(ctx context.Context, eng *dispatch.Engine, taskID string) {
	if err := a.fanouts.Settled(ctx, taskID); err != nil {
		eng.Log.Error("fanout", "task", taskID, "error", err)
	}
}

// fanoutTasks makes tasks of requests as deed runtime run does. It is used by one goroutine at a time.
type fanoutTasks struct {
	a      *app
	eng    *dispatch.Engine
	caller string
	made   *providertask.Service // for that caller: what it found out of packages is kept for a while
}

func (t *fanoutTasks) Prepare(ctx context.Context, caller json.RawMessage, q homeboy.Request) (row store.NewTask, refusal *homeboy.Outcome, err error) {
	if t.made == nil || t.caller != string(caller) {
		var opt providertask.Options
		if err := json.Unmarshal(caller, &opt); err != nil {
			return row, nil, fmt.Errorf("options of the fanout: %w", err)
		}
		t.caller = string(caller)
		t.made = &providertask.Service{Home: t.a.h, Store: t.a.st, Admission: t.a.admission(), Engine: t.eng, Clock: clock.System, Options: opt}
	}
	req, err := runtimepkg.RequestOf(q)
	if err != nil {
		return row, nil, err
	}
	return t.made.Prepare(ctx, req)
}

func (t *fanoutTasks) Outcome(ctx context.Context, task store.Task) (homeboy.Outcome, error) {
	return providertask.OutcomeOf(ctx, t.a.st, t.a.h, task.AttemptID)
}

// fanoutSlots runs the tasks of a fanout in this process.
type fanoutSlots struct{ eng *dispatch.Engine }

func (x fanoutSlots) Execute(ctx context.Context, c *store.Claim) error {
	_, err := x.eng.Execute(ctx, c)
	return err
}

func (x fanoutSlots) Beat(ctx context.Context) error { return x.eng.Register(ctx) }

func (x fanoutSlots) Sweep(ctx context.Context) error {
	_, err := x.eng.Reclaim(ctx, gc.Options{Wary: true})
	return err
}

// fanoutHere runs a fanout in this process to its end. begin records it, or takes it over; it gets the ids of dead
// runners.
func (a *app) fanoutHere(ctx context.Context, progress string, begin func(s *fanoutrun.Service, dead []string) (store.Fanout, error)) error {
	if progress != "" {
		a.quiet = true // standard error is for a program then: lines of JSON, and no talk between them
	}
	eng, err := a.engine(homeboy.MaxConcurrency)
	if err != nil {
		return err
	}
	eng.Log = a.logger(slog.LevelWarn)
	bg := context.WithoutCancel(ctx)
	defer func() { _ = eng.Close(bg) }()
	// What a killed run left is settled first: a bundle that was whole is adopted, and the rest is lost and tried again.
	rep, err := eng.Reclaim(bg, gc.Options{Wary: true})
	if err != nil {
		eng.Log.Warn("sweep", "error", err)
	}
	if err := eng.Register(bg); err != nil {
		return err
	}
	s := a.fanoutService(eng)
	s.Runner, s.Lease = eng.Record(), eng.Runner.Lease
	show := a.newProgress()
	defer show.clear()
	s.Observe = a.fanoutObserver(show, progress)
	f, err := begin(s, rep.Dead)
	if err != nil {
		return ownedHint(err)
	}
	if f.Live() {
		show.println("fanout %s: %s", f.ID, counted(int(f.Tasks), "task"))
		f, err = s.Run(ctx, f.ID, fanoutSlots{eng})
	}
	show.clear()
	if err != nil {
		return a.fanoutStopped(ctx, f, err)
	}
	return a.fanoutEnd(bg, s, f)
}

// ownedHint says what to do about a fanout that another process runs.
func ownedHint(err error) error {
	if errors.Is(err, store.ErrFanoutOwned) {
		return usage(fmt.Errorf("%w (wait for it, or end it with deed fanout cancel)", err))
	}
	return err
}

// fanoutStopped says how to resume.
func (a *app) fanoutStopped(ctx context.Context, f store.Fanout, err error) error {
	if f.ID != "" && f.Live() {
		a.hint("\n%d of %d tasks have their record; go on:  deed fanout resume %s", f.Done, f.Tasks, f.ID)
	}
	if ctx.Err() != nil {
		return &exitError{code: ExitInterrupted, err: errors.New("interrupted")}
	}
	return err
}

// fanoutObserver reports tasks that start and end.
func (a *app) fanoutObserver(show *progress, format string) func(homeboy.FanoutProgress) {
	done, failed := 0, 0
	enc := json.NewEncoder(&safeWriter{w: a.Err, json: true})
	return func(p homeboy.FanoutProgress) {
		if p.Status != homeboy.ProgressStarted {
			done++
			if p.Status != string(homeboy.RecordCompleted) {
				failed++
			}
		}
		if format != "" {
			_ = enc.Encode(p) // progress only: there may be no reader any more
			return
		}
		show.say(fmt.Sprintf("%d of %d done, %d failed: %s %s", done, p.GroupCount, failed, p.ID, p.Status))
	}
}

// fanoutDetach leaves a fanout to the dispatcher.
func (a *app) fanoutDetach(ctx context.Context, p fanoutrun.Plan) error {
	s := &fanoutrun.Service{Store: a.st, Clock: clock.System, Log: a.logger(slog.LevelWarn)}
	f, err := s.Create(ctx, p)
	if err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.FanoutCreated)
	a.h.Wake()
	return a.reportDetached(f)
}

func (a *app) reportDetached(f store.Fanout) error {
	if a.json {
		return a.emit(fanoutDocOf(f, nil, nil))
	}
	a.printf("%s\n", f.ID)
	a.hint("deed serve runs its %s; see how it goes:  deed fanout status %s", counted(int(f.Tasks), "task"), f.ID)
	return nil
}
