package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/acp"
	"github.com/deedrun/deed/internal/agent/driver/claudecode"
	"github.com/deedrun/deed/internal/agent/driver/codex"
	"github.com/deedrun/deed/internal/agent/driver/command"
	"github.com/deedrun/deed/internal/agent/driver/hermes"
	"github.com/deedrun/deed/internal/agent/driver/native"
	"github.com/deedrun/deed/internal/agent/driver/ollama"
	"github.com/deedrun/deed/internal/agent/driver/opencode"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/homeboy/fanoutrun"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
	"github.com/deedrun/deed/internal/engine/clone"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/outbox"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/telemetry"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

// app is one invocation: the global flags and the parts that a command opened.
type app struct {
	Stdio
	environ  []string
	unhook   func() // restores the default handling of signals
	color    palette
	errColor palette

	homeFlag   string
	configFlag string
	json       bool
	lines      bool // with json: documents are a line each, an error too
	quiet      bool

	runtimeDirs []string // packages that the user named at the command line, absolute

	h   *home.Home
	cfg *config.Config
	st  *store.Store

	seen *view.Reader // made by models; nil: not yet

	fanouts *fanoutrun.Service   // of a dispatcher; nil: this command is not one
	tele    *telemetry.Telemetry // nil: nothing is exported
	serves  bool                 // this is deed serve: its measures can be scraped

	// askInputs asks the person at the terminal about changed inputs; nil: there is no one to ask.
	askInputs func(context.Context, attempt.InputsQuestion) (bool, string, error)
}

func (a *app) getenv(name string) string {
	for i := len(a.environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(a.environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

func (a *app) close() error {
	err := a.tele.Close()
	if err != nil {
		a.hint("telemetry: %v", err)
	}
	if a.st == nil {
		return nil
	}
	err = a.st.Close()
	if a.seen != nil {
		err = errors.Join(a.seen.Close(), err)
	}
	a.st, a.seen = nil, nil
	return err
}

// config loads the settings once.
func (a *app) config() (*config.Config, error) {
	if a.cfg != nil {
		return a.cfg, nil
	}
	root, err := home.Resolve(a.homeFlag, a.getenv)
	if err != nil {
		return nil, usage(err)
	}
	explicit := a.configFlag
	if explicit == "" {
		explicit = a.getenv("DEED_CONFIG")
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	load := func() (*config.Config, error) {
		return config.Load(config.Options{Explicit: explicit, Home: home.At(root).Config(), Dir: dir, Path: a.getenv("PATH")})
	}
	if err := a.recoverImport(home.At(root), load); err != nil {
		return nil, err
	}
	c, err := load()
	if err != nil {
		return nil, usage(err)
	}
	a.cfg = c
	return c, nil
}

// recoverImport ends an import that was cut short before anything of the home is read: no command sees half an agent.
func (a *app) recoverImport(h *home.Home, load func() (*config.Config, error)) error {
	ctx := context.Background() // only a look, unless there was a crash
	return clone.Recover(ctx, h, func() (*store.Store, error) {
		cfg, err := load()
		if err != nil {
			return nil, err
		}
		return store.Open(ctx, a.databaseOf(h, cfg), store.Options{Clock: clock.System, AgeingStep: cfg.AgeingStep})
	})
}

// makeHome opens the home alone, making it where it is missing.
func (a *app) makeHome() (*home.Home, error) {
	root, err := home.Resolve(a.homeFlag, a.getenv)
	if err != nil {
		return nil, usage(err)
	}
	return home.Open(root)
}

// open opens home, settings and store for a command that may write.
func (a *app) open(ctx context.Context) error {
	if a.st != nil {
		return nil
	}
	if err := a.openHome(); err != nil {
		return err
	}
	return a.openStore(ctx, a.cfg)
}

// openHome opens home and settings.
func (a *app) openHome() (err error) {
	if _, err = a.config(); err != nil {
		return err
	}
	a.h, err = a.makeHome()
	return err
}

// view opens an existing home, for a command about what is already there: it makes none.
func (a *app) view(ctx context.Context) error {
	if a.st != nil {
		return nil
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	root, err := home.Resolve(a.homeFlag, a.getenv)
	if err != nil {
		return usage(err)
	}
	if a.h, err = home.View(root); err != nil {
		return usage(err)
	}
	if a.database(cfg) == a.h.DB() {
		if _, err := os.Stat(a.h.DB()); errors.Is(err, fs.ErrNotExist) {
			return usage(fmt.Errorf("there is no deed home at %s (add work first, or choose another with --home or DEED_HOME)", root))
		}
	}
	return a.openStore(ctx, cfg)
}

// database is where the state is: the variable, else the settings, else the home.
func (a *app) database(cfg *config.Config) string { return a.databaseOf(a.h, cfg) }

func (a *app) databaseOf(h *home.Home, cfg *config.Config) string {
	return cmp.Or(a.getenv("DEED_DATABASE"), cfg.Database, h.DB())
}

func (a *app) openStore(ctx context.Context, cfg *config.Config) error {
	dsn := a.database(cfg)
	if dsn == a.h.DB() {
		if err := a.notEmptied(); err != nil {
			return err
		}
	}
	st, err := store.Open(ctx, dsn, store.Options{Clock: clock.System, AgeingStep: cfg.AgeingStep})
	if dsn == a.h.DB() && (errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrReadOnly)) {
		return fmt.Errorf("%w: %s (its directory must be writable, also for reading)", err, dsn)
	}
	if dsn == a.h.DB() && errors.Is(err, store.ErrFull) {
		return fmt.Errorf("%w: %s (make room on its disk; reading needs a little, too)", err, dsn)
	}
	if err != nil {
		return err
	}
	if st.Dialect() == store.SQLite {
		st.OnCommit(a.h.Changed) // until it is closed: this wakes those who watch the home in another process
	}
	a.st = st
	return nil
}

// notEmptied refuses to begin a new queue in a home that has evidence of an old one.
func (a *app) notEmptied() error {
	if fi, err := os.Stat(a.h.DB()); err == nil && fi.Size() > 0 {
		return nil // the store itself reports whether it is sound
	}
	if list, err := os.ReadDir(a.h.Bundles()); err != nil || len(list) == 0 {
		return nil //nolint:nilerr // a home without bundles has nothing to lose
	}
	return fmt.Errorf("%s is missing or empty, and %s holds bundles of its tasks (restore the database from a backup, or move the home aside)", a.h.DB(), a.h.Bundles())
}

// drivers are the agents that this binary can run, with the packages of this home.
func (a *app) drivers() driver.Set {
	opt := packaged.Options{Environ: a.hostEnviron()}
	if a.cfg != nil {
		opt.Dirs, opt.Secrets = slices.Concat(a.cfg.Runtimes.Dirs, a.runtimeDirs), runtimepkg.OwnStores(a.environ, a.cfg.Secrets)
	}
	if root, err := home.Resolve(a.homeFlag, a.getenv); err == nil { // else the command has failed before
		opt.Home, opt.Shipped = home.At(root).AgentRuntimes(), runtimepkg.PlacesOf(home.At(root), "").Shipped
	}
	return drivers(opt)
}

// drivers is the list of agents that this binary can run.
func drivers(opt packaged.Options) driver.Set {
	return driver.NewSet(
		script.New(),
		native.New(),
		claudecode.New(),
		codex.New(),
		opencode.New(),
		ollama.New(),
		hermes.New(),
		command.New(),
		acp.New(),
		packaged.New(opt),
	)
}

func (a *app) admission() *task.Admission {
	return &task.Admission{Store: a.st, Config: a.cfg, Clock: clock.System, Drivers: a.drivers(), Skills: a.skills()}
}

// A runnerIdentity is what identifies this process when it runs tasks.
type runnerIdentity struct {
	self proc.Identity
	exe  string
	key  *bundle.Key
}

// runner finds out who runs here. It needs the home, and no store.
func (a *app) runner() (r runnerIdentity, err error) {
	if _, err := proc.LookPath("git", a.getenv("PATH"), "/"); err != nil {
		return r, errors.New("git is not on PATH (install it: patches are made and applied by it)")
	}
	if r.self, err = proc.SelfIdentity(); err != nil {
		return r, fmt.Errorf("identify this process: %w", err)
	}
	if r.exe, err = os.Executable(); err != nil {
		return r, fmt.Errorf("find this binary: %w", err)
	}
	if r.key, err = bundle.LoadOrCreateKey(a.h.Keys()); err != nil {
		return r, err
	}
	if err := proc.BecomeSubreaper(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return r, fmt.Errorf("adopt orphans: %w", err)
	}
	sandbox.Remember(a.h.Bubblewrap())
	return r, nil
}

// engine composes the dispatcher. The caller registers and closes it.
func (a *app) engine(slots int) (*dispatch.Engine, error) {
	r, err := a.runner()
	if err != nil {
		return nil, err
	}
	return a.engineOf(r, slots, nil)
}

func (a *app) engineOf(who runnerIdentity, slots int, observe func(attempt.Progress)) (*dispatch.Engine, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make a runner id: %w", err)
	}
	r := &attempt.Runner{
		Home: a.h, Store: a.st, Config: a.cfg, Clock: clock.System,
		RunnerID: fmt.Sprintf("%s:%d:%s", who.self.Host, who.self.PID, id), Version: Version(),
		Lease: a.cfg.Lease, Environ: a.hostEnviron(), Secrets: runtimepkg.OwnStores(a.environ, a.cfg.Secrets), Drivers: a.drivers(), Key: who.key, Observe: observe,
		AskInputs: a.askInputs,
	}
	log, err := a.observed(r)
	if err != nil {
		return nil, err
	}
	flows, schedules, senses := a.workflows(), a.schedules(), a.sensors(who.exe)
	return &dispatch.Engine{
		Parts: dispatch.Parts{
			Runner: r,
			Outbox: &outbox.Deliverer{Store: a.st, Admission: a.admission(), Config: a.cfg, Environ: a.environ, Clock: clock.System},
			Hooks: []dispatch.Hook{
				{Name: "schedules", Due: schedules.Due, Next: schedules.Next},
				{Name: "sensors", Due: senses.Due, Next: senses.Next, Start: senses.Start},
				{Name: "workflows", Due: flows.Due, Next: flows.Next},
			},
		},
		Home: a.h, Store: a.st, Clock: clock.System, Self: who.self, Exe: who.exe, Slots: slots, Log: log,
	}, nil
}

// logger writes messages to standard error: text for people, JSON lines for programs.
func (a *app) logger(level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if a.json {
		return slog.New(slog.NewJSONHandler(a.Err, o))
	}
	return slog.New(slog.NewTextHandler(a.Err, o))
}

func (a *app) level() slog.Level {
	if a.quiet {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
