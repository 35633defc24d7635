package claudecode_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/driver/claudecode"
	"github.com/deedrun/deed/internal/driver/drivertest"
)

func TestMain(m *testing.M) {
	drivertest.Main(m, func(m *testing.M) { goleak.VerifyTestMain(m) })
}

// standIn speaks Claude Code's stream around the suite's scripts.
const standIn = `say() { printf '%s\n' "$1"; }
finish() { printf %s "$1" >"$DEED_RESULT_FILE"; ended; }
ended() { printf '\n%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"it is done","session_id":"S-1"}'; }
event() { printf '%s\n' "$1"; }`

func harness() drivertest.Harness {
	return drivertest.Harness{
		Driver:  claudecode.New(),
		Prelude: standIn,
		Adapter: func(path string, timeout time.Duration) agentruntime.AdapterConfig {
			return agentruntime.AdapterConfig{ClaudeCode: &agentruntime.ClaudeCodeAdapter{
				AdapterID: "test", Kind: agentruntime.KindClaudeCode, Command: path, TimeoutMS: timeout.Milliseconds(),
			}}
		},
	}
}

func TestConformance(t *testing.T) { drivertest.Run(t, harness()) }
