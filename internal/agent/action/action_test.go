package action_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

func claimed(t *testing.T, dsn string) (*store.Store, store.Ref) {
	t.Helper()
	st, err := store.Open(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := st.EnqueueClaimed(t.Context(), store.NewTask{
		Intent: agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`)}, ProfileID: "p", AdapterID: "a", MaxAttempts: 3,
	}, store.ClaimOptions{RunnerID: "r", Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return st, c.Ref
}

func both(t *testing.T, run func(t *testing.T, dsn string)) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); run(t, filepath.Join(t.TempDir(), "deed.db")) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); run(t, pgtest.DSN(t)) })
}

// A question survives the process that asked it; a process that asks again finds the answer.
func TestAnAnswerOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, dsn string) {
		st, ref := claimed(t, dsn)
		subject := json.RawMessage(`{"tool":"shell","agent_tool":"Bash","subject":"git push","scope_digest":"scope"}`)
		a, err := st.OpenAction(t.Context(), ref, store.NewAction{Kind: action.KindPermission, Prompt: "push?", ContextDigest: "d1", Subject: subject})
		if err != nil {
			t.Fatal(err)
		}
		if got, closed, err := action.Await(t.Context(), st, a.ID, 0); err != nil || closed || got.ID != a.ID {
			t.Fatalf("Await = %+v %v %v", got, closed, err)
		}
		if err := st.Close(); err != nil { // the runner is gone
			t.Fatal(err)
		}
		st, err = store.Open(t.Context(), dsn, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		if _, ok, err := action.Find(t.Context(), st, ref.TaskID, "d2"); ok || err != nil {
			t.Fatalf("another context is found: %v", err)
		}
		got, ok, err := action.Find(t.Context(), st, ref.TaskID, "d1")
		if err != nil || !ok || got.ID != a.ID || action.Read(got).Allowed() {
			t.Fatalf("Find = %+v %v %v", got, ok, err)
		}
		if _, ok, err := action.Always(t.Context(), st, ref.TaskID, "scope"); ok || err != nil {
			t.Fatalf("an open question is an answer: %v", err)
		}
		done := make(chan store.Action, 1)
		go func() {
			a, _, _ := action.Await(t.Context(), st, a.ID, time.Minute)
			done <- a
		}()
		text, err := action.Answer(got, &action.Decision{Decision: "allow", Always: true, Note: "fine"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.AnswerAction(t.Context(), a.ID, text, "ada"); err != nil {
			t.Fatal(err)
		}
		if a := <-done; !action.Read(a).Allowed() || a.AnsweredBy != "ada" {
			t.Errorf("the wait gave %+v", a)
		}
		if a, ok, err := action.Always(t.Context(), st, ref.TaskID, "scope"); err != nil || !ok || a.AnsweredBy != "ada" {
			t.Errorf("Always = %+v %v %v", a, ok, err)
		}
		if _, ok, _ := action.Always(t.Context(), st, ref.TaskID, "other"); ok {
			t.Error("an answer holds for another scope")
		}
	})
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	st, ref := claimed(t, filepath.Join(t.TempDir(), "deed.db"))
	defer func() { _ = st.Close() }()
	a, err := st.OpenAction(t.Context(), ref, store.NewAction{Kind: "question", Prompt: "?"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("told to stop")
	go cancel(why)
	if _, closed, err := action.Await(ctx, st, a.ID, time.Hour); closed || !errors.Is(err, why) {
		t.Errorf("Await: %v %v", closed, err)
	}
}

func TestOnlyAYesIsAYes(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		`{"decision":"allow"}`: true, `{"decision":"deny"}`: false, `{"decision":"Allow"}`: false, `{}`: false, `true`: false, `"allow"`: false, ``: false, `{"decision":1}`: false,
	} {
		if got := action.Read(store.Action{State: store.ActionAnswered, Answer: json.RawMessage(answer)}).Allowed(); got != want {
			t.Errorf("%s is %t", answer, got)
		}
	}
	if action.Read(store.Action{State: store.ActionOpen, Answer: json.RawMessage(`{"decision":"allow"}`)}).Allowed() {
		t.Error("an open action is a yes")
	}
	if _, err := action.Answer(store.Action{ID: "x", Kind: action.KindPermission}, nil, json.RawMessage(`"ok"`)); err == nil {
		t.Error("a permission is answered with a text")
	}
	if _, err := action.Answer(store.Action{ID: "x", Kind: action.KindQuestion}, &action.Decision{}, nil); err == nil {
		t.Error("a question is approved")
	}
	if got := action.Text(store.Action{Answer: json.RawMessage(`"blue"`)}); got != "blue" {
		t.Error(got)
	}
}
