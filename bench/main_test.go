// Package bench measures deed's speeds as ratios to a floor that is measured in the same run. Nothing in it fails
// for being slow.
package bench

import (
	"os"
	"testing"

	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// TestMain lets the test binary be a supervisor and a host of tools.
func TestMain(m *testing.M) {
	switch {
	case proc.IsSupervisor(os.Args):
		os.Exit(proc.SupervisorMain(os.Args))
	case sandbox.IsInner(os.Args):
		os.Exit(sandbox.InnerMain(os.Args))
	case tool.IsHost(os.Args):
		os.Exit(tool.HostMain(os.Args))
	case os.Getenv(streamURL) != "":
		os.Exit(streamClients())
	}
	os.Exit(m.Run())
}
