package fanoutrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/store"
)

// lookPause is how long a fanout is left alone after a look at it. Settled reports how its tasks end; the looks are for
// those that other dispatchers run, and for what could not be advanced.
const lookPause = 5 * time.Second

// Hook lets a dispatcher advance every live fanout that no process runs in the foreground. A fault of one does not stop
// the others.
func (s *Service) Hook() dispatch.Hook {
	return dispatch.Hook{Name: "fanouts", Due: s.advanceAll, Next: s.next}
}

func (s *Service) advanceAll(ctx context.Context) (int, error) {
	list, err := s.Store.LiveFanouts(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	made := 0
	for _, f := range list {
		if f.Owner != "" {
			continue
		}
		n, err := s.advanceOne(ctx, f.ID)
		made += n
		errs = append(errs, err)
	}
	return made, errors.Join(errs...)
}

func (s *Service) advanceOne(ctx context.Context, id string) (int, error) {
	st, err := s.Advance(ctx, id)
	if errors.Is(err, store.ErrFanoutOwned) {
		return st.Moved, nil // somebody took it to the foreground
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looks == nil {
		s.looks = map[string]time.Time{}
	}
	if delete(s.looks, id); st.Fanout.Live() && (err != nil || st.Moved < maxMoves) {
		pause := lookPause
		if st.Waits {
			pause = lookAgain
		}
		s.looks[id] = s.Clock().Add(pause)
	}
	if err != nil {
		err = fmt.Errorf("fanout %s: %w", id, err)
	}
	return st.Moved, err
}

// next says when a dispatcher should look: at once at a fanout that is new, else after a while.
func (s *Service) next(ctx context.Context) (at time.Time, any bool, err error) {
	list, err := s.Store.LiveFanouts(ctx)
	if err != nil {
		return at, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range list {
		if f.Owner != "" {
			continue
		}
		due := s.looks[f.ID] // zero: at once
		if !any || due.Before(at) {
			at, any = due, true
		}
	}
	return at, any, nil
}

// Settled advances the fanout that a task of the queue belongs to, if it does, as soon as the task has ended.
func (s *Service) Settled(ctx context.Context, taskID string) error {
	t, err := s.Store.ListedTask(ctx, taskID)
	if err != nil {
		return err
	}
	id := OfTask(t)
	if id == "" || !ended(t) {
		return nil
	}
	f, err := s.Store.Fanout(ctx, id)
	if err != nil || f.Owner != "" {
		return err
	}
	_, err = s.advanceOne(ctx, f.ID)
	return err
}
