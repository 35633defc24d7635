package store

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/store/pgtest"
)

func seqs(list []Event) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Type)
	}
	return out
}

// Two transactions take their numbers in one order and commit in the other. Whoever follows the log gets the later number only
// when the earlier one is decided, be it by a commit or by a rollback.
func TestSettledEventsMissNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{"commit": nil, "rollback": errors.New("no")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openFile(t, pgtest.DSN(t))
			ctx := t.Context()
			if err := s.Append(ctx, Event{Type: "zero"}); err != nil {
				t.Fatal(err)
			}
			start, err := s.SettledEvents(ctx, 0, 100)
			if err != nil || len(start) != 1 {
				t.Fatal(start, err)
			}
			after := start[0].Seq
			numbered, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error)
			go func() {
				ended <- s.eng.write(ctx, func(ctx context.Context, tx tx) error {
					if err := appendEvent(ctx, tx, "early", 1, "", "", "{}"); err != nil {
						return err
					}
					close(numbered)
					<-goOn
					return end
				})
			}()
			<-numbered
			if err := s.Append(ctx, Event{Type: "late"}); err != nil {
				t.Fatal(err)
			}
			if all, err := s.Events(ctx, EventFilter{After: after}); err != nil || len(all) != 1 || all[0].Type != "late" {
				t.Fatalf("the later number is not visible first: %v, %v", seqs(all), err)
			}
			brief, stop := context.WithTimeoutCause(ctx, 200*time.Millisecond, errors.New("undecided"))
			defer stop()
			if got, err := s.SettledEvents(brief, after, 100); err == nil {
				t.Fatalf("%v was handed out before an earlier one was decided", seqs(got))
			}
			if at, err := s.EventHorizon(brief); err == nil {
				t.Fatalf("the horizon is %d while an earlier one is undecided", at)
			}
			type answer struct {
				events []Event
				err    error
			}
			got := make(chan answer)
			go func() {
				events, err := s.SettledEvents(ctx, after, 100)
				got <- answer{events, err}
			}()
			close(goOn)
			if err := <-ended; !errors.Is(err, end) {
				t.Fatal(err)
			}
			a := <-got
			want := []string{"early", "late"}
			if end != nil {
				want = want[1:]
			}
			if a.err != nil || len(a.events) != len(want) || a.events[0].Type != want[0] {
				t.Fatalf("%v, %v; want %v", seqs(a.events), a.err, want)
			}
			if at, err := s.EventHorizon(ctx); err != nil || at != a.events[len(a.events)-1].Seq {
				t.Fatal(at, err)
			}
		})
	}
}

func TestOnCommit(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "deed.db"))
	n := 0
	stop := s.OnCommit(func() { n++ })
	if _, err := s.Enqueue(t.Context(), plainTask("x")); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if err := s.Append(t.Context(), Event{Type: "a"}); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	if err := s.Append(t.Context(), Event{}); err == nil || n != 2 {
		t.Fatal(n, err)
	}
	stop()
	if err := s.Append(t.Context(), Event{Type: "b"}); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	if at, err := s.EventHorizon(t.Context()); err != nil || at != 3 {
		t.Fatal(at, err)
	}
}
