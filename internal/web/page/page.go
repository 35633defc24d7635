// Package page owns the operator's page: what runs, what was accepted, what failed and why, what waits, each with its evidence, as HTML
// that is made on the server, one style sheet and one small script, all in the binary. It keeps nothing: it reads package view and the
// store, and its writes are the engine's, under the name of the caller. Package server decides who gets in.
//
// What an agent wrote is text in it and never markup: html/template escapes it, escape sequences and characters that hide or reorder
// others are removed or made visible, and the server's content security policy allows no script but the page's own file.
package page

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

// Options are what the page shows and works with. All but Clock, Events, Files and Version are needed.
type Options struct {
	Store   *store.Store
	Home    *home.Home
	Config  *config.Config
	View    *view.Reader
	Desk    *answer.Desk // where answers are given; its workflows are shown too
	Log     *slog.Logger
	Clock   clock.Clock // nil: clock.System
	Events  string      // the path of the stream of events; "": the page does not follow
	Files   string      // below it files of bundles and artifacts are served, as package api does; "": they cannot be had here
	Version string
}

// A Site is the page of one home.
type Site struct {
	Options
}

// Mount adds the page to a server.
func Mount(mux access.Mux, o Options) *Site {
	if o.Clock == nil {
		o.Clock = clock.System
	}
	s := &Site{o}
	mux.Handle(access.Route{Pattern: "GET /static/{hash}/{name}", Need: access.Public, Handler: http.HandlerFunc(serveAsset)})
	for pattern, show := range map[string]func(*http.Request) (screen, error){
		"GET /{$}":                          s.home,
		"GET /tasks":                        s.tasks,
		"GET /tasks/{id}":                   s.task,
		"GET /tasks/{id}/diff":              s.diff,
		"GET /tasks/{id}/journal":           s.journal,
		"GET /tasks/{id}/logs":              s.logs,
		"GET /tasks/{id}/brief":             s.brief,
		"GET /tasks/{id}/usage":             s.taskUsage,
		"GET /tasks/{id}/bundle":            s.bundle,
		"GET /attempts/{id}":                s.attempt,
		"GET /actions":                      s.actions,
		"GET /actions/{id}":                 s.action,
		"GET /workflows":                    s.workflows,
		"GET /workflows/{id}":               s.workflow,
		"GET /workflows/definitions/{type}": s.definition,
		"GET /schedules":                    s.schedules,
		"GET /sensors":                      s.sensors,
		"GET /outbox":                       s.outbox,
		"GET /fleet":                        s.fleet,
		"GET /usage":                        s.usage,
		"GET /search":                       s.search,
		"GET /":                             s.notFound,
	} {
		mux.Handle(access.Route{Pattern: pattern, Need: access.Read, Handler: s.show(show), Timeout: time.Minute})
	}
	for pattern, do := range map[string]func(*http.Request) (string, error){
		"POST /tasks/{id}/cancel": s.cancel,
		"POST /tasks/{id}/retry":  s.retry,
		"POST /tasks/{id}/resume": s.resume,
		"POST /tasks/{id}/apply":  s.apply,
		"POST /actions/{id}":      s.answer,
		"POST /schedules/{id}":    s.switchSchedule,
		"POST /sensors/{id}":      s.switchSensor,
		"POST /outbox/{id}":       s.moveOutbox,
		"POST /queue/{do}":        s.queue,
	} {
		mux.Handle(access.Route{Pattern: pattern, Need: access.Operate, Handler: s.do(do), Timeout: 5 * time.Minute})
	}
	return s
}
