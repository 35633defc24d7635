package tool_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

func TestMain(m *testing.M) {
	switch {
	case proc.IsSupervisor(os.Args):
		os.Exit(proc.SupervisorMain(os.Args))
	case sandbox.IsInner(os.Args):
		os.Exit(sandbox.InnerMain(os.Args))
	case tool.IsHost(os.Args):
		os.Exit(tool.HostMain(os.Args))
	}
	goleak.VerifyTestMain(m)
}
