package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/systemd"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/engine/notify"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/server"
)

// A host is a running deed serve: what stays when the settings are read again, and the app that has the current settings. One goroutine,
// listen, takes orders: to reload, to drain and to stop.
type host struct {
	eng     *dispatch.Engine
	manager *systemd.Notifier
	runner  string // its id, which stays
	since   time.Time

	now    atomic.Pointer[app]
	before []*app // of earlier settings: requests that are under way may read with them

	win        *server.Server
	stream     *feed.Feed
	notes      *notify.Notifier // notifies people of events
	stopNotify func()           // ends that
	stopFeed   func()

	asks   chan order
	change chan dispatch.Parts
	drain  chan struct{}
	ended  chan struct{} // closed: the loop has ended
	idle   sync.WaitGroup
}

func newHost(a *app, eng *dispatch.Engine, manager *systemd.Notifier) *host {
	h := &host{
		eng: eng, manager: manager, runner: eng.Runner.RunnerID, since: a.soleOwnerSince(),
		asks: make(chan order), change: make(chan dispatch.Parts), drain: make(chan struct{}), ended: make(chan struct{}),
	}
	h.now.Store(a)
	return h
}

// open starts the HTTP server for a dispatcher that holds the home's lock.
func (h *host) open(ctx context.Context, f windowFlags) (err error) {
	a := h.now.Load()
	if h.win, err = a.window(h.eng, f); err != nil {
		return err
	}
	h.stream = feed.New(a.st, a.h, h.eng.Log)
	h.watch(h.eng.Runner)
	if err := h.routes(h.win, a); err != nil {
		return err
	}
	h.stopFeed = h.background(ctx, "events", h.stream.Run)
	h.notes = h.notifier(a, h.eng.Parts)
	h.stopNotify = h.background(ctx, "notify", h.notes.Run)
	err = h.win.Start(ctx)
	if err != nil {
		h.stopFollowing()
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w (another program, or the deed of another home, has it: choose another with --listen or DEED_LISTEN, or --listen off)", err)
	}
	if err != nil {
		return err
	}
	if at := h.win.URL(); at != "" {
		h.eng.Log.Info("answering", "url", at)
	}
	return nil
}

func (h *host) stopFollowing() {
	h.stopNotify()
	h.stopFeed()
}

// background runs something until the returned function is called, which waits for its end.
func (h *host) background(ctx context.Context, name string, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		if err := run(ctx); err != nil && ctx.Err() == nil {
			h.eng.Log.Error(name, "error", err)
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// close ends the HTTP server when the last attempt has ended: clients that watch a drain see its end.
func (h *host) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
	defer cancel()
	err := h.win.Shutdown(ctx)
	h.stopFollowing()
	for i, a := range append(h.before, h.now.Load()) {
		if i > 0 && a.seen != nil { // the first app is the command's own
			err = errors.Join(err, a.seen.Close())
		}
	}
	return err
}

// listen takes orders until the loop has ended. On a terminal SIGHUP may mean that the terminal is gone, which is the end.
func (h *host) listen(signals <-chan os.Signal, stop context.CancelCauseFunc) {
	a := h.now.Load()
	onTerminal := isTerminal(a.Err)
	ends := 0
	for {
		select {
		case <-h.ended:
			return
		case answer := <-h.asks:
			out, err := h.reload(ends > 0)
			answer <- answered{out, err}
		case s := <-signals:
			if s == syscall.SIGHUP && !(onTerminal && !isTerminal(a.Err)) {
				_, _ = h.reload(ends > 0) // reload has logged the result
				continue
			}
			if ends++; ends == 1 {
				h.logManager(h.manager.Stopping("draining: running attempts end by themselves"))
				close(h.drain)
				continue
			}
			h.eng.Log.Warn("stopping running attempts")
			stop(driver.ErrInterrupted)
		}
	}
}

// logManager logs an error of the service manager's socket: a service that works does not stop for it.
func (h *host) logManager(err error) {
	if err != nil {
		h.eng.Log.Warn("service manager", "error", err)
	}
}

// errEnds says that a reload came too late.
var errEnds = errors.New("deed serve ends, and takes over no settings any more")

// reload reads the settings again and uses them from here on, or says why not and changes nothing.
func (h *host) reload(ends bool) (out reloaded, err error) {
	if ends {
		h.eng.Log.Warn("no reload", "reason", errEnds)
		return out, errEnds
	}
	h.logManager(h.manager.Reloading("reading the settings"))
	if out, err = h.takeOver(); err != nil {
		h.eng.Log.Error("the settings cannot be used: the old ones stay in force", "error", err)
		h.logManager(h.manager.Ready("dispatching with the old settings: the new ones cannot be used"))
		return out, err
	}
	h.eng.Log.Info("settings reloaded", "files", out.Files, "at_next_start", out.Restart)
	h.logManager(h.manager.Ready("dispatching"))
	return out, nil
}

func (h *host) takeOver() (reloaded, error) {
	old := h.now.Load()
	next, parts, err := h.renewed(old)
	if err != nil {
		return reloaded{}, err
	}
	if err := h.win.Remount(func(mux access.Mux) error { return h.routes(mux, next) }); err != nil {
		return reloaded{}, err
	}
	select {
	case h.change <- parts:
	case <-h.ended:
		return reloaded{}, errEnds
	}
	h.before = append(h.before, old)
	h.now.Store(next)
	h.notes.Use(next.cfg.Notify, parts.Outbox.Post)
	out := reloaded{Schema: schemaReload, Files: next.cfg.Files}
	if h.before[0].cfg.AgeingStep != next.cfg.AgeingStep { // of the store, which stays open as it was at the start
		out.Restart = append(out.Restart, "$.defaults.ageing_seconds")
	}
	return out, nil
}

// renewed is the app with the settings as they are now, and what they make of the dispatcher.
func (h *host) renewed(old *app) (*app, dispatch.Parts, error) {
	next := *old
	next.cfg, next.seen = nil, nil
	if _, err := next.config(); err != nil {
		return nil, dispatch.Parts{}, err
	}
	if was, is := old.database(old.cfg), next.database(next.cfg); was != is {
		return nil, dispatch.Parts{}, fmt.Errorf("$.database: another database needs a restart, what runs belongs to the old one (stop deed serve and start it anew, or take %s back)", nameOfDatabase(cmp.Or(next.cfg.Database, is)))
	}
	e, err := next.engine(h.eng.Slots)
	if err != nil {
		return nil, dispatch.Parts{}, err
	}
	e.Runner.RunnerID = h.runner
	h.watch(e.Runner)
	next.fanouts = next.fanoutService(h.eng)
	e.Hooks = append(e.Hooks, next.fanouts.Hook())
	return &next, e.Parts, nil
}

// nameOfDatabase is a database without what lets one in: the answer to a reload is in the log.
func nameOfDatabase(dsn string) string {
	if !strings.Contains(dsn, "://") {
		return strconv.Quote(dsn)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "the new address"
	}
	return strconv.Quote((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}
