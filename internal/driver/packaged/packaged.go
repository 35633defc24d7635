// Package packaged owns the driver that runs the provider command of a runtime package: which provider it is, the request
// that it reads, the environment and the limits that it runs in, and what follows from how it ended. It does not read
// manifests (runtimepkg) and does not judge what the provider did (gate).
package packaged

import (
	"context"
	"errors"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/failure"
)

// Options say where a driver finds what no job carries.
type Options struct {
	Home string // the directory of packages that the operator installed; see home.AgentRuntimes
}

// A Driver runs providers of runtime packages.
type Driver struct{ opt Options }

// New makes a Driver.
func New(opt Options) *Driver { return &Driver{opt: opt} }

// Kind returns the adapter kind.
func (*Driver) Kind() string { return agentruntime.KindPackaged }

// Ready says what is missing.
func (*Driver) Ready(context.Context, agentruntime.AdapterConfig) driver.Readiness {
	return driver.Readiness{Ready: true}
}

// Start prepares a session.
func (*Driver) Start(context.Context, driver.Job) (driver.Session, error) {
	return nil, failure.New(failure.Config, "start a provider", errors.New("packaged providers do not run yet"), "")
}
