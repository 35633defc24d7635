// Package api owns deed's HTTP API below /api/v1: its operations, how their input is read and their answers written, pages, entity
// tags, idempotency keys and the stream of events. It has no rules of its own: what an operation does belongs to the engine, the
// same call that the command line makes, and who may call it belongs to package access.
//
// The operations are a table of Go functions with typed input and output. The OpenAPI document is generated from it by the tests,
// committed as openapi.json, and served as it is committed.
package api

import (
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/engine/sensor"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

// Prefix is where the API begins.
const Prefix = "/api/v1"

// Options are the parts of the engine that the API calls.
type Options struct {
	Home      *home.Home
	Store     *store.Store
	Config    *config.Config
	Feed      *feed.Feed
	Clock     clock.Clock
	Log       *slog.Logger
	Version   string
	Getenv    func(string) string // reads deed's own environment: secrets are taken from it by name
	Admission *task.Admission
	Workflows *workflow.Engine
	Schedules *schedule.Engine
	Sensors   *sensor.Intake
	View      *view.Reader
	Desk      *answer.Desk
	Keys      func() ([]bundle.PublicKey, error) // that the installation trusts
	Since     time.Time                          // a process that answered requests before this is dead; zero: nothing is known of others
}

// An API answers requests.
type API struct {
	Options
	operations []*operation
	byID       map[string]*operation
}

//go:embed openapi.json
var document []byte

// New returns the API with all its operations.
func New(o Options) *API {
	a := &API{Options: o, byID: map[string]*operation{}}
	a.health()
	a.tasks()
	a.attempts()
	a.bundles()
	a.actions()
	a.schedules()
	a.sensors()
	a.workflows()
	a.fleet()
	a.tokens()
	a.events()
	return a
}

// Mount adds the API's routes.
func Mount(m access.Mux, o Options) *API {
	a := New(o)
	for _, op := range a.operations {
		m.Handle(access.Route{Pattern: op.method + " " + Prefix + op.path, Need: op.need, Handler: a.handler(op), Stream: op.stream, MaxBody: op.bound(), Timeout: op.timeout})
	}
	return a
}

// add registers an operation. Two with one name are a programmer's error.
func (a *API) add(op *operation) {
	if a.byID[op.id] != nil {
		panic("api: two operations are called " + op.id)
	}
	a.byID[op.id] = op
	a.operations = append(a.operations, op)
}

// changed wakes the dispatcher and whoever watches: something was written.
func (a *API) changed() { a.Home.Wake() }

// by is who is asking, for the record.
func by(ctx context.Context) string {
	if p := access.From(ctx); p.Name != "" {
		return p.Name
	}
	return "api"
}

// Document is the OpenAPI document.
func Document() []byte { return document }

func (a *API) health() {
	raw(a, http.MethodGet, "/openapi.json", about{id: "getOpenAPI", tag: "meta", summary: "The OpenAPI document of this API", need: access.Read, media: "application/json"},
		func(_ context.Context, w http.ResponseWriter, r *http.Request, _ none) error {
			return a.writeBytes(w, r, http.StatusOK, "application/json", document)
		})
	get(a, "/health", about{id: "getHealth", tag: "meta", summary: "Whether deed answers and its store can be read", need: access.Read},
		func(ctx context.Context, _ none) (Health, error) {
			_, paused, err := a.Store.Paused(ctx)
			return Health{Schema: "deed/health/v1", Status: "ok", Version: a.Version, Store: a.Store.Dialect(), Paused: paused}, err
		})
}

// Health says whether deed works.
type Health struct {
	Schema  string `json:"schema"`
	Status  string `json:"status"`
	Version string `json:"version"`
	Store   string `json:"store"`
	Paused  bool   `json:"paused"`
}
