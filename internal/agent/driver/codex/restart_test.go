package codex

import (
	"testing"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
)

// A thread with another id than the one that was to go on is another conversation.
func TestAnotherThread(t *testing.T) {
	t.Parallel()
	for id, resumed := range map[string]bool{"thread-1": true, "thread-2": false} {
		var events []any
		state := &agentcli.State{ID: "thread-1"}
		sink := driver.SinkFunc(func(_ string, detail any) { events = append(events, detail) })
		NewReader(agentcli.NewReporter(sink, nil, state), state, "m").Feed([]byte(`{"type":"thread.started","thread_id":"` + id + `"}`))
		last, ok := events[len(events)-1].(driver.SessionInfo)
		if !ok || last.Resumed != resumed || last.ID != id {
			t.Errorf("%s: %+v", id, events)
		}
		if _, restarted := events[0].(driver.Restart); restarted == resumed {
			t.Errorf("%s: %+v", id, events)
		}
	}
}
