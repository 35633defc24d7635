package cli

import (
	"context"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/access"
	"github.com/deedrun/deed/internal/api"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/clock"
	"github.com/deedrun/deed/internal/dispatch"
	"github.com/deedrun/deed/internal/feed"
	"github.com/deedrun/deed/internal/journal"
	"github.com/deedrun/deed/internal/mcpserver"
	"github.com/deedrun/deed/internal/notify"
	"github.com/deedrun/deed/internal/page"
	"github.com/deedrun/deed/internal/store"
)

// mount puts what deed serve shows onto its server, and starts what follows the events beside it. The returned function ends that and
// waits for it.
func (a *app) mount(ctx context.Context, mux access.Mux, eng *dispatch.Engine) (func(), error) {
	desk, err := a.desk()
	if err != nil {
		return nil, err
	}
	stream := feed.New(a.st, a.h, eng.Log)
	eng.Runner.Observe = func(p attempt.Progress) {
		stream.Progress(feed.Progress{TaskID: p.TaskID, AttemptID: p.AttemptID, Step: p.Step, Text: p.Text}, clock.System())
	}
	heard := eng.Runner.Noted
	eng.Runner.Noted = func(ref store.Ref, e journal.Entry) { // turn, tool and tokens
		if heard != nil {
			heard(ref, e)
		}
		stream.Noted(ref, e)
	}
	if h := a.tele.Handler(); h != nil {
		mux.Handle(access.Route{Pattern: "GET /metrics", Need: access.Read, Handler: h})
	}
	api.Mount(mux, api.Options{
		Home: a.h, Store: a.st, Config: a.cfg, Feed: stream, Clock: clock.System, Log: eng.Log, Version: Version(), Getenv: a.getenv,
		Admission: a.admission(), Workflows: a.workflows(), Schedules: a.schedules(), Sensors: a.sensorIntake(), View: a.models(), Desk: desk, Keys: a.trusted, Since: a.alone(),
	})
	page.Mount(mux, page.Options{
		Store: a.st, Home: a.h, Config: a.cfg, View: a.models(), Desk: desk, Log: eng.Log, Clock: clock.System, Events: api.Prefix + "/events", Files: api.Prefix, Version: Version(),
	})
	tools, err := a.mcpOptions(stream)
	if err != nil {
		return nil, err
	}
	mcpserver.Mount(mux, tools)
	teller := &notify.Notifier{Feed: stream, Store: a.st, Rules: a.cfg.Notify, Post: eng.Outbox.Post, Clock: clock.System, Log: eng.Log}
	if isTerminal(a.Err) {
		teller.Ring = func() { _, _ = a.Err.Write([]byte("\a")) }
	}
	return a.follow(ctx, eng, stream, teller), nil
}

// alone is since when no other process answers for this store: the one that holds the lock of its home is the only one, unless the
// store is a server that others use too.
func (a *app) alone() time.Time {
	if a.st.Dialect() != store.SQLite {
		return time.Time{}
	}
	return clock.System()
}

// follow runs the stream of events and the notifier until the returned function is called.
func (a *app) follow(ctx context.Context, eng *dispatch.Engine, stream *feed.Feed, teller *notify.Notifier) func() {
	ctx, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	for name, run := range map[string]func(context.Context) error{"events": stream.Run, "notify": teller.Run} {
		work.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				eng.Log.Error(name, "error", err)
			}
		})
	}
	return func() {
		stop()
		work.Wait()
	}
}
