package attempt

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/evidence/history"
)

// The journal says how the reasons of a refusal reached the agent: as its driver saw it, and not before.
func TestTheJournalSaysInWhichConversationARefusalWasAnswered(t *testing.T) {
	t.Parallel()
	session := func(s driver.Sink) { s.Event(driver.EventSession, driver.SessionInfo{ID: "c"}) }
	restart := func(s driver.Sink) { s.Event(driver.EventRestart, driver.Restart{Why: "no such session"}) }
	for name, tc := range map[string]struct {
		second []func(driver.Sink) // what the driver reports in the second turn
		notes  []bool
		same   int
	}{
		"it goes on":                   {[]func(driver.Sink){session}, []bool{true}, 1},
		"it begins anew":               {[]func(driver.Sink){restart, session}, []bool{false}, 0},
		"it is known only while it is": {[]func(driver.Sink){session, restart, session}, []bool{true, false}, 0},
		"no conversation was opened":   {nil, []bool{false}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			d := &talker{}
			d.turn = func(_ context.Context, j driver.Job, in driver.Input, s driver.Sink) driver.Yield {
				if in.Turn == 1 {
					session(s)
				} else {
					for _, say := range tc.second {
						say(s)
					}
				}
				writes(t, j, "answer", fmt.Sprintln(40+in.Turn))
				return says("done")
			}
			res, err := b.Run(t.Context(), b.sup, b.talking(d, nil))
			if err != nil {
				t.Fatal(err)
			}
			if res.Refusals != 1 || res.Same != tc.same || res.Settlement.Status != agentruntime.TaskCompleted {
				t.Errorf("%d refusals, %d in the same conversation, %s %s", res.Refusals, res.Same, res.Settlement.Status, res.Settlement.LastError)
			}
			_, list := kinds(t, res.BundleDir)
			var notes []bool
			for _, e := range list {
				if e.Kind == history.KindRecovery {
					var r agentruntime.RecoveryAttempt
					if err := json.Unmarshal(e.Detail, &r); err != nil || r.Validate() != nil {
						t.Errorf("%s: %v", e.Detail, err)
					}
					notes = append(notes, r.SameConversation)
				}
			}
			if fmt.Sprint(notes) != fmt.Sprint(tc.notes) {
				t.Errorf("the journal says %v, want %v", notes, tc.notes)
			}
			if got := history.Of(history.Options{}, list).RecoveryAttempts; len(got) != 1 || got[0].SameConversation != tc.notes[len(tc.notes)-1] {
				t.Errorf("the task: %+v", got)
			}
		})
	}
}
