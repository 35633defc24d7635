package attempt

import (
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/evidence/history"
)

// A toldWhy notes how the agent got the reasons of a refusal: in the conversation that it had, or in another. That is seen when the
// next turn has opened its conversation, and not before.
type toldWhy struct {
	run  *run
	what *agentruntime.RecoveryAttempt // nil: the turn answers no refusal

	mu   sync.Mutex
	said bool // guarded by mu
}

func (a *run) toldWhy() *toldWhy { return &toldWhy{run: a, what: a.conversation.answer} }

// say notes it once. An agent that first went on and then began another conversation is noted again, under the same id.
func (w *toldWhy) say(same bool) {
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

// end is for a turn that ended before any conversation was open: none went on.
func (w *toldWhy) end() {
	w.mu.Lock()
	said := w.said
	w.mu.Unlock()
	if !said {
		w.say(false)
	}
}
