package cli

import (
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

// TestCrashOfSchedules kills the binary before and after the task of a run is queued. The run has one task in the end.
func TestCrashOfSchedules(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{store.SQLite, store.Postgres} {
		for _, p := range crashpoint.OfSchedule {
			t.Run(engine+"/"+string(p), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, map[string]string{"quiet": "exit 0"})
				if engine == store.Postgres {
					s.dsn = pgtest.DSN(t)
				}
				s.ok("schedule", "add", "daily", "--every", "24h", "--first", "2020-01-01T00:00:00Z", "--type", "script", "--adapter", "quiet")
				if o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, "dispatch"); o.signal != syscall.SIGKILL {
					t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
				}
				s.ok("dispatch")
				s.ok("dispatch")
				st := s.open()
				tasks, err := st.Tasks(t.Context(), store.TaskFilter{})
				if err != nil || len(tasks) != 1 || tasks[0].Record.Status != agentruntime.TaskCompleted {
					t.Errorf("%d tasks, %v; want one that is completed", len(tasks), err)
				}
				if sc, err := st.Schedule(t.Context(), "daily"); err != nil || sc.Runs != 1 || sc.Missed < 1000 || !sc.Live() {
					t.Errorf("%+v, %v; want one run and the missed ones counted", sc, err)
				}
				s.tidy()
			})
		}
	}
}
