package providertask

import (
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/attempt/ending"
	"github.com/deedrun/deed/internal/base/failure"
)

// Every class of failure has a word, none of them a success, and the words do not contradict the ending that decides the exit code.
func TestEveryClassHasAWord(t *testing.T) {
	t.Parallel()
	for class := range failure.Rules {
		w, ok := words[class]
		if !ok {
			t.Errorf("class %s has no word", class)
			continue
		}
		if class == failure.None {
			continue
		}
		e := ending.OfClass(class)
		if w.status == "" || homeboy.IsSuccess(w.status) || e.Success() || e.Exit == failure.ExitDone {
			t.Errorf("%s: %+v, %+v", class, w, e)
		}
		if (w.status == homeboy.Cancelled) != (e.Status == "failed" && e.Classification == ending.ClassCancelled) {
			t.Errorf("%s: the outcome is %s and the ending %s", class, w.status, e.Name)
		}
		if (w.status == homeboy.Cancelled) != (w.class == "") {
			t.Errorf("%s: a cancellation has no class, every failure has one: %+v", class, w)
		}
	}
	if len(words) != len(failure.Rules) {
		t.Errorf("%d words for %d classes", len(words), len(failure.Rules))
	}
	if w := wordOf("of_a_later_version"); w != providersFault {
		t.Errorf("an unknown class: %+v", w)
	}
	for class, exit := range map[failure.Class]int{
		failure.Canceled: 1, failure.Interrupted: 130, failure.Timeout: 1, failure.Config: 2, failure.Isolation: 3, failure.Lost: 3, failure.Infra: 3,
		failure.Panic: 3, failure.Budget: 1, failure.Blocked: 1, failure.RateLimited: 1, failure.Rejected: 1, failure.Provider: 1, failure.Spawn: 1, failure.Turns: 1,
	} {
		if got := ending.OfClass(class).Exit; got != exit {
			t.Errorf("%s ends with %d, want %d", class, got, exit)
		}
	}
}
