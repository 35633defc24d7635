package cli

import (
	"net/http"
	"time"

	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/engine/notify"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/api"
	"github.com/deedrun/deed/internal/web/mcpserver"
	"github.com/deedrun/deed/internal/web/page"
)

// watch feeds what the attempts of a runner do into the stream of events.
func (h *host) watch(r *attempt.Runner) {
	stream := h.stream
	r.Observe = func(p attempt.Progress) {
		stream.Progress(feed.Progress{TaskID: p.TaskID, AttemptID: p.AttemptID, Step: p.Step, Text: p.Text}, clock.System())
	}
	previous := r.OnEntry
	r.OnEntry = func(ref store.Ref, e journal.Entry) { // turn, tool and tokens
		if previous != nil {
			previous(ref, e)
		}
		stream.OnEntry(ref, e)
	}
}

// routes puts what deed serve shows onto its server, by the settings of an app.
func (h *host) routes(mux access.Mux, a *app) error {
	desk, err := a.desk()
	if err != nil {
		return err
	}
	if m := a.tele.Handler(); m != nil {
		mux.Handle(access.Route{Pattern: "GET /metrics", Need: access.Read, Handler: m})
	}
	mux.Handle(access.Route{Pattern: "POST /reload", Need: access.Admin, Handler: http.HandlerFunc(h.answerReload)})
	api.Mount(mux, api.Options{
		Home: a.h, Store: a.st, Config: a.cfg, Feed: h.stream, Clock: clock.System, Log: h.eng.Log, Version: Version(), Getenv: a.getenv,
		Admission: a.admission(), Workflows: a.workflows(), Schedules: a.schedules(), Sensors: a.sensorIntake(), View: a.models(), Desk: desk, Keys: a.trusted, Since: h.since,
	})
	page.Mount(mux, page.Options{
		Store: a.st, Home: a.h, Config: a.cfg, View: a.models(), Desk: desk, Log: h.eng.Log, Clock: clock.System, Events: api.Prefix + "/events", Files: api.Prefix, Version: Version(),
	})
	tools, err := a.mcpOptions(h.stream)
	if err != nil {
		return err
	}
	mcpserver.Mount(mux, tools)
	return nil
}

// notifier notifies people of events, by the settings of an app.
func (h *host) notifier(a *app, p dispatch.Parts) *notify.Notifier {
	n := &notify.Notifier{Feed: h.stream, Store: a.st, Clock: clock.System, Log: h.eng.Log}
	if isTerminal(a.Err) {
		n.Ring = func() { _, _ = a.Err.Write([]byte("\a")) }
	}
	n.Use(a.cfg.Notify, p.Outbox.Post)
	return n
}

// soleOwnerSince is since when this process alone answers for the store. The process that holds the lock of the home is the only one,
// unless the store is a server that others use too: then the time is zero.
func (a *app) soleOwnerSince() time.Time {
	if a.st.Dialect() != store.SQLite {
		return time.Time{}
	}
	return clock.System()
}
