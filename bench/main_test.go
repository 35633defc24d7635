// Package bench measures deed's speeds as ratios to a floor that is measured in the same run. Nothing in it fails
// for being slow.
package bench

import (
	"os"
	"testing"

	"github.com/deedrun/deed/internal/proc"
)

// TestMain lets the test binary be a supervisor.
func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	os.Exit(m.Run())
}
