package opencode

import (
	"testing"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/base/failure"
)

// A session with another id than the one that was to go on is another conversation.
func TestAnotherSession(t *testing.T) {
	t.Parallel()
	for id, resumed := range map[string]bool{"ses_1": true, "ses_2": false} {
		var kinds []string
		state := &agentcli.State{ID: "ses_1"}
		sink := driver.SinkFunc(func(kind string, _ any) { kinds = append(kinds, kind) })
		s := newStream(agentcli.NewReporter(sink, nil, state), state, "m", time.Hour, func(*failure.Error) {})
		s.line([]byte(`{"type":"step_start","sessionID":"` + id + `","part":{}}`))
		s.end()
		if restarted := kinds[0] == driver.EventRestart; restarted == resumed {
			t.Errorf("%s: %v", id, kinds)
		}
	}
}
