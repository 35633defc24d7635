package cli

import (
	"context"
	"log/slog"

	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/engine/telemetry"
)

// observed sets up what is exported about the runner's work, by the standard variables of OpenTelemetry, and returns the log
// to use.
func (a *app) observed(r *attempt.Runner) (*slog.Logger, error) {
	log := a.logger(a.level())
	if a.tele != nil { // an engine more in the same process
		r.OnEntry, r.Trace = a.tele.OnEntry, a.tele.Parent
		return a.tele.Logger(log), nil
	}
	s, err := telemetry.Read(a.getenv)
	if err != nil {
		return nil, usage(err)
	}
	s.Scraped = a.serves && !s.Off
	a.tele, err = telemetry.Start(context.Background(), telemetry.Options{Settings: s, Version: r.Version, RunnerID: r.RunnerID, Clock: r.Clock, Log: log})
	if err != nil || a.tele == nil {
		return log, err
	}
	r.OnEntry, r.Trace = a.tele.OnEntry, a.tele.Parent
	for _, g := range a.gauges() {
		if err := a.tele.Watch(g); err != nil {
			return nil, err
		}
	}
	return a.tele.Logger(log), nil
}

// gauges are what waits now. None of them reads finished work.
func (a *app) gauges() []telemetry.Gauge {
	return []telemetry.Gauge{
		{Name: "deed.queue", About: "Tasks that wait: ready to be claimed, or for their time.", Label: "deed.queue.state", Read: func(ctx context.Context) (map[string]int64, error) {
			b, err := a.st.Backlog(ctx)
			return map[string]int64{"ready": b.Ready, "later": b.Later}, err
		}},
		{Name: "deed.actions.open", About: "Required actions that wait for a person.", Read: func(ctx context.Context) (map[string]int64, error) {
			b, err := a.st.Backlog(ctx)
			return map[string]int64{"": b.OpenActions}, err
		}},
		{Name: "deed.outbox", About: "Messages and follow-ups that were not delivered.", Label: "deed.outbox.state", Read: func(ctx context.Context) (map[string]int64, error) {
			b, err := a.st.Backlog(ctx)
			return b.Outbox, err
		}},
	}
}
