package script_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/agent/driver/script"
)

func TestMain(m *testing.M) {
	drivertest.Main(m, func(m *testing.M) { goleak.VerifyTestMain(m) })
}

func harness(prelude string) drivertest.Harness {
	return drivertest.Harness{
		Driver:  script.New(),
		Prelude: prelude,
		Adapter: func(path string, timeout time.Duration) agentruntime.AdapterConfig {
			return agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{
				AdapterID: "test", Kind: agentruntime.KindScript, Command: path, TimeoutMS: timeout.Milliseconds(),
			}}
		},
	}
}

const (
	byFile   = `ended() { :; }; say() { printf '%s\n' "$1"; }; finish() { printf %s "$1" >"$DEED_RESULT_FILE"; }`
	byStdout = `ended() { :; }; say() { printf '%s\n' "$1"; }; finish() { printf '\nResult:\n~~~\n%s\n~~~\n' "$1" | sed 's/~~~/` + "```" + `/'; }`
)

func TestConformance(t *testing.T) {
	t.Run("result by file", func(t *testing.T) { drivertest.Run(t, harness(byFile)) })
	t.Run("result by stdout", func(t *testing.T) {
		h := harness(byStdout)
		h.Light = true
		drivertest.Run(t, h)
	})
}
