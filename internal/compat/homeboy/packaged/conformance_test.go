package packaged_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
)

// byOutcome makes outcomes of what the suite's agents say.
const byOutcome = `ended() { :; }; say() { printf '%s\n' "$1" >&2; }; finish() {
	printf %s "$1" | sed 's/"completed"/"succeeded"/; s/"permanent_failure"/"unable_to_remediate"/; s/operator_summary/summary/; s/^{/{"schema": "homeboy\/agent-task-outcome\/v1", "task_id": "'"$DEED_TASK_ID"'", /'
}`

func TestConformance(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		Driver: packaged.New(packaged.Options{Environ: []string{"PATH=" + os.Getenv("PATH")}}), Part: drivertest.Provider, Prelude: byOutcome,
		Adapter: func(path string, timeout time.Duration) agentruntime.AdapterConfig {
			dir := writePackage(t, filepath.Join(filepath.Dir(path), "packages"), "adversary", map[string]string{}, func(p map[string]any) { p["command_argv"] = []string{path} })
			return agentruntime.AdapterConfig{Packaged: &agentruntime.PackagedAdapter{
				AdapterID: "a", Kind: agentruntime.KindPackaged, Backend: "adversary", RuntimeDirs: []string{dir}, TimeoutMS: timeout.Milliseconds(),
			}}
		},
	})
}
