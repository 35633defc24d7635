// Package dispatchtest owns the engine that tests share. Their TestMain has to call proc.SupervisorMain.
package dispatchtest

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/outbox"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
)

// Engine returns an engine on a home of its own, not registered yet, whose failed attempts are tried again at once.
func Engine(t testing.TB, drivers ...driver.Driver) *dispatch.Engine {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), h.DB(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	st.OnCommit(h.Changed)
	key, err := bundle.LoadOrCreateKey(h.Keys())
	if err != nil {
		t.Fatal(err)
	}
	self, err := proc.SelfIdentity()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Retry.Base, cfg.Retry.Max, cfg.Retry.Jitter = time.Millisecond, time.Millisecond, 0
	return &dispatch.Engine{
		Home: h, Store: st, Clock: clock.System, Self: self, Exe: exe, Slots: 1, Log: slog.New(slog.DiscardHandler),
		Parts: dispatch.Parts{
			Runner: &attempt.Runner{
				Home: h, Store: st, Config: cfg, Clock: clock.System, RunnerID: "me", Lease: time.Minute, Environ: os.Environ(),
				Drivers: driver.NewSet(drivers...), Key: key,
			},
			Outbox: &outbox.Deliverer{Store: st, Config: cfg, Clock: clock.System},
		},
	}
}
