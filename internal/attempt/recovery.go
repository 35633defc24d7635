package attempt

import (
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/evidence/history"
)

// A delivery notes how the reasons of a refusal reached the agent: in its existing conversation, or in a new one.
// That is known only once the next turn has opened its conversation.
type delivery struct {
	run  *run
	what *agentruntime.RecoveryAttempt // nil: the turn delivers no refusal

	mu   sync.Mutex
	said bool // guarded by mu
}

func (a *run) newDelivery() *delivery { return &delivery{run: a, what: a.conversation.answer} }

// record notes it once. An agent that first continued and then began another conversation is noted again, under the
// same id.
func (w *delivery) record(same bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.what == nil || w.said && (same || !w.what.SameConversation) {
		return
	}
	note, t := *w.what, &w.run.conversation
	w.run.mu.Lock()
	switch t.answer = nil; {
	case same:
		t.same++
	case w.said:
		t.same--
	}
	w.run.mu.Unlock()
	note.SameConversation = same
	w.said, w.what = true, &note
	w.run.note(history.KindRecovery, note)
}

// end is for a turn that ended before any conversation was open: none was continued.
func (w *delivery) end() {
	w.mu.Lock()
	said := w.said
	w.mu.Unlock()
	if !said {
		w.record(false)
	}
}
