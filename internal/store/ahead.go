package store

import (
	"context"
	"errors"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store/state"
)

// What is here is for a process that makes one attempt and ends. Nothing depends on it but the time that the process takes.

// CompileAhead has what a process asks compiled that makes one attempt of a task of its own, up to the start of the agent. Compiled when
// they are asked first, these statements would be most of what asking them takes in SQLite. Its time is while the process has something
// else to do.
func (s *Store) CompileAhead(ctx context.Context) { s.eng.compileAhead(ctx) }

var errRehearsed = errors.New("rehearsed")

// Rehearse settles an attempt that runs, and does what else comes before the end of a process that makes one attempt, and takes all of it
// back. In earnest it finds its statements compiled, which is half of what it takes in SQLite. Its time is while the agent works.
// That it failed is not told: so will the settlement, which is.
func (s *Store) Rehearse(ctx context.Context, ref Ref) {
	if s.eng.dialect() != SQLite {
		return
	}
	in := Settlement{
		State: string(state.FailedTerminal), Status: agentruntime.TaskPermanentFailure,
		Usage: []UsagePart{{Day: s.now().UTC().Format(time.DateOnly), Usage: Usage{AgentMS: 1}}},
	}
	_ = s.eng.write(Soon(ctx), func(ctx context.Context, t tx) error {
		err := s.settle(ctx, t, ref, in)
		for _, q := range []string{closeRun, dropRunner} {
			_, xerr := t.exec(ctx, q, "")
			err = errors.Join(err, xerr)
		}
		due, qerr := t.query(ctx, outboxDue, "", 0, 0)
		if qerr == nil {
			qerr = due.Close()
		}
		return errors.Join(err, qerr, errRehearsed)
	})
}

// Shorten leaves less to be read to the process that opens the store next. Its time, too, is while the agent works: it waits for the
// disk. That it failed is no loss.
func (s *Store) Shorten(ctx context.Context) { s.eng.shorten(ctx) }
