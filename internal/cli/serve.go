package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/systemd"
	"github.com/deedrun/deed/internal/engine/dispatch"
)

func (a *app) dispatchCmd() *cobra.Command {
	var (
		once  bool
		slots int
	)
	c := &cobra.Command{
		Use: "dispatch", Short: "Run what is due, then end", Args: cobra.NoArgs,
		Long: `Take the home's dispatch lock, sweep what is dead, and run due tasks until none is left. With --once: one
cycle, at most one task for each slot.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.dispatch(c.Context(), once, slots)
		},
	}
	c.Flags().BoolVar(&once, "once", false, "one cycle only")
	c.Flags().IntVar(&slots, "concurrency", 1, "attempts at a time")
	return c
}

// locked opens everything for a dispatcher and takes the lock. The returned function gives both back.
func (a *app) locked(ctx context.Context, slots int) (*dispatch.Engine, func() error, error) {
	if slots < 1 || slots > 1024 {
		return nil, nil, usage(fmt.Errorf("--concurrency %d is not between 1 and 1024", slots))
	}
	if err := a.open(ctx); err != nil {
		return nil, nil, err
	}
	eng, err := a.engine(slots)
	if err != nil {
		return nil, nil, err
	}
	eng.Runner.Staffed = true
	lock, err := eng.Lock(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := eng.Register(ctx); err != nil {
		return nil, nil, errors.Join(err, lock.Release())
	}
	a.fanouts = a.fanoutService(eng)
	eng.Hooks = append(eng.Hooks, a.fanouts.Hook())
	return eng, func() error {
		return errors.Join(eng.Close(context.WithoutCancel(ctx)), lock.Release())
	}, nil
}

func (a *app) dispatch(ctx context.Context, once bool, slots int) error {
	eng, release, err := a.locked(ctx, slots)
	if err != nil {
		return err
	}
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(driver.ErrInterrupted) })
	defer stop()
	var total dispatch.Report
	if once {
		total, err = eng.Once(run)
		if !a.json {
			a.showCycle(total)
		}
	} else {
		total, err = a.drain(run, eng)
	}
	if err = errors.Join(err, release()); err != nil {
		return err
	}
	if a.json {
		if err := a.emit(total); err != nil {
			return err
		}
	} else if len(total.Ran) == 0 {
		a.hint("%s", total.Status)
	}
	if len(total.Faults) > 0 {
		return &exitError{code: ExitInfra, err: errSilent}
	}
	return nil
}

// drain runs what is due until nothing is, with every slot busy.
func (a *app) drain(ctx context.Context, eng *dispatch.Engine) (dispatch.Report, error) {
	total := dispatch.Report{Status: "idle", Ran: []dispatch.Ran{}}
	eng.Log = a.logger(slog.LevelWarn)
	err := eng.Serve(ctx, dispatch.ServeOptions{UntilIdle: true, Cycle: total.Add, Settled: func(r dispatch.Ran) {
		a.advanceFanout(ctx, eng, r.TaskID)
		one := dispatch.Report{Status: "ran", Ran: []dispatch.Ran{r}}
		if !a.json {
			a.showCycle(one)
		}
		total.Add(one)
	}})
	if len(total.Ran) == 0 {
		total.Status = "idle"
	}
	if _, paused, perr := a.st.Paused(ctx); perr == nil && paused && len(total.Ran) == 0 {
		total.Status = "paused"
	}
	return total, err
}

func (a *app) showCycle(rep dispatch.Report) {
	for _, r := range rep.Ran {
		a.printf("%s  %s  %s\n", r.TaskID, a.status(r.Status), clean(r.Summary))
	}
	for _, f := range rep.Faults {
		fmt.Fprintf(a.Err, "%s %s\n", a.errColor.Red("deed:"), f)
	}
}

func (a *app) serveCmd() *cobra.Command {
	var (
		slots  int
		window windowFlags
	)
	c := &cobra.Command{
		Use: "serve", Short: "Dispatch until told to stop", Args: cobra.NoArgs,
		Long: `Dispatch as work arrives: woken by new tasks and by due times. The first SIGTERM or Ctrl-C drains: nothing
new is claimed and running attempts end by themselves. The second stops them; their tasks wait for the next dispatcher and
lose no attempt. Both leave nothing running.

SIGHUP, and "deed reload", make it read deed.yaml again: settings that cannot be used are named, and the old ones stay in force.

It also answers HTTP, on this machine only by default, and on the socket deed.sock in the home: "deed open" lets a
browser in, "deed token add" a program. See docs/SERVER.md.`,
		Example: `  deed serve --concurrency 4
  deed serve --listen off
  deed serve --listen 0.0.0.0:7433 --tls-cert cert.pem --tls-key key.pem`,
		RunE: func(c *cobra.Command, _ []string) error {
			a.unhook() // from here on signals mean drain and stop
			a.serves = true
			return a.serve(context.WithoutCancel(c.Context()), slots, window)
		},
	}
	c.Flags().IntVar(&slots, "concurrency", 2, "attempts at a time")
	window.add(c)
	return c
}

func (a *app) serve(ctx context.Context, slots int, window windowFlags) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	manager, err := a.manager()
	if err != nil {
		return usage(err)
	}
	defer func() { _ = manager.Close() }()
	eng, release, err := a.locked(ctx, slots)
	if err != nil {
		return err
	}
	h := newHost(a, eng, manager)
	if err := h.open(ctx, window); err != nil {
		return errors.Join(err, release())
	}
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h.idle.Go(func() { h.listen(signals, stop) })
	eng.Log.Info("serving", "home", a.h.Root(), "store", a.st.Dialect(), "concurrency", slots, "runner", eng.Runner.RunnerID)
	h.logManager(manager.Ready("dispatching"))
	said := -1
	err = eng.Serve(run, dispatch.ServeOptions{
		Drain: h.drain, Change: h.change, Settled: func(r dispatch.Ran) { h.now.Load().advanceFanout(run, eng, r.TaskID) },
		BeatEvery: manager.Every(),
		Beat: func(running int) {
			h.logManager(manager.Alive())
			if running != said {
				said = running
				h.logManager(manager.Status(fmt.Sprintf("%d of %d attempts run", running, slots)))
			}
		},
	})
	close(h.ended)
	h.idle.Wait()
	return errors.Join(err, h.close(ctx), release())
}

// manager finds the service manager that started this process, and hides it from what this process starts.
func (a *app) manager() (*systemd.Notifier, error) {
	n, err := systemd.Listener(a.getenv)
	for _, name := range systemd.Variables {
		_ = os.Unsetenv(name) // of a name that is fixed
		a.environ = slices.DeleteFunc(slices.Clone(a.environ), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	return n, err
}

func (a *app) pauseCmd() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "pause", Short: "Stop claiming tasks; running ones go on", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.open(c.Context()); err != nil {
				return err
			}
			if err := a.st.Pause(c.Context(), reason, a.operator()); err != nil {
				return err
			}
			a.h.Wake()
			return a.showPause(c.Context())
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return c
}

func (a *app) resumeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "resume", Short: "Claim tasks again after a pause", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.open(c.Context()); err != nil {
				return err
			}
			if err := a.st.Resume(c.Context(), a.operator()); err != nil {
				return err
			}
			a.h.Wake()
			return a.showPause(c.Context())
		},
	}
}

func (a *app) showPause(ctx context.Context) error {
	p, paused, err := a.st.Paused(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.emit(map[string]any{"paused": paused, "reason": p.Reason})
	}
	if paused {
		a.printf("dispatch is paused\n")
	} else {
		a.printf("dispatch goes on\n")
	}
	return nil
}
