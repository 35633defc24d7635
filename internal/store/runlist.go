package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/evidence"
)

// runColumns is what scanRun reads, in its order.
const runColumns = `seq, id, task_id, attempt_id, session_id, runner_id, status, live, dir, bundle_dir, artifact_bytes, created_at,
	updated_at, heartbeat_at, ended_at, cancel_at, cancel_reason, retained, retain_until, eligible_at, progress, record`

// scanRun reads one row. The columns have the last word over the record.
func scanRun(row scanner) (Run, error) {
	var (
		r                                        Run
		id, record                               string
		task, attempt, session, reason, progress *string
		status                                   evidence.RunStatus
		live, retained                           int
		created, updated, beat                   int64
		ended, canceled, until, eligible         *int64
	)
	err := row.Scan(&r.seq, &id, &task, &attempt, &session, &r.RunnerID, &status, &live, &r.Dir, &r.BundleDir, &r.ArtifactBytes, &created,
		&updated, &beat, &ended, &canceled, &reason, &retained, &until, &eligible, &progress, &record)
	if err != nil {
		return Run{}, err
	}
	if derr := decodeNumbers(record, &r.Record); derr != nil {
		err = &DamagedError{Row: "run " + id, Part: "record", Err: derr}
	}
	r.TaskID, r.AttemptID, r.SessionID = str(task), str(attempt), str(session)
	r.Live, r.Retained = live == 1, retained == 1
	r.CreatedAt, r.HeartbeatAt, r.EndedAt = fromMicros(created), fromMicros(beat), timePtr(ended)
	r.RetainUntil, r.EligibleAt = timePtr(until), timePtr(eligible)
	if progress != nil {
		r.Progress = json.RawMessage(*progress)
	}
	rec := &r.Record
	rec.RunID, rec.Status = id, status
	rec.CreatedAt, rec.UpdatedAt, rec.HeartbeatAt = string(stamp(created)), string(stamp(updated)), string(stamp(beat))
	var c *evidence.RunCancellation
	if canceled != nil {
		c = &evidence.RunCancellation{RequestedAt: string(stamp(*canceled)), Reason: str(reason)}
	}
	rec.Lifecycle = evidence.NewRunLifecycle(status, c, rec.Lifecycle.Cleanup)
	return r, err
}

func timePtr(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return fromMicros(*us)
}

func manyRuns(ctx context.Context, c conn, q string, args ...any) ([]Run, error) {
	rows, err := c.query(ctx, q, args...)
	if err != nil {
		return nil, classify(err)
	}
	var out []Run
	err = eachRow(rows, func() error {
		r, err := shown(scanRun)(rows)
		out = append(out, r)
		return err
	})
	return out, classify(err)
}

// resolveRun returns the whole id for an id or an unambiguous prefix of at least six characters, else that of the newest run of a session.
func (s *Store) resolveRun(ctx context.Context, id string) (string, error) {
	full, err := s.runByID(ctx, strings.TrimSpace(id))
	if !errors.Is(err, ErrNotFound) || strings.TrimSpace(id) == "" {
		return full, err
	}
	serr := s.eng.read().row(ctx, `SELECT id FROM runs WHERE session_id = $1 ORDER BY seq DESC LIMIT 1`, id).Scan(&full)
	switch {
	case errors.Is(serr, sql.ErrNoRows):
		return "", err
	case serr != nil:
		return "", classify(serr)
	}
	return full, nil
}

func (s *Store) runByID(ctx context.Context, id string) (string, error) {
	if !evidence.ValidRunID(id) {
		return "", fmt.Errorf("%q: %w", id, ErrNotFound)
	}
	rows, err := s.eng.read().query(ctx, `SELECT id FROM runs WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 2`, id, id+"~")
	if err != nil {
		return "", classify(err)
	}
	var found []string
	if err := eachRow(rows, func() error {
		var v string
		err := rows.Scan(&v)
		found = append(found, v)
		return err
	}); err != nil {
		return "", classify(err)
	}
	switch {
	case len(found) > 0 && found[0] == id: // a whole id, also one that begins others
		return id, nil
	case len(found) == 0 || len(id) < minPrefix:
		return "", fmt.Errorf("%q: %w", id, ErrNotFound)
	case len(found) > 1:
		return "", fmt.Errorf("%q: %w", id, ErrAmbiguous)
	}
	return found[0], nil
}

// Run returns the run with this id, or with this id prefix of at least six characters, else the newest of the session with this id. It
// returns ErrNotFound or ErrAmbiguous.
func (s *Store) Run(ctx context.Context, id string) (Run, error) {
	full, err := s.resolveRun(ctx, id)
	if err != nil {
		return Run{}, fmt.Errorf("run %w", err)
	}
	r, err := scanRun(s.eng.read().row(ctx, `SELECT `+runColumns+` FROM runs WHERE id = $1`, full))
	if err != nil {
		return Run{}, missing("run", full, err)
	}
	return r, nil
}

// A RunFilter selects runs. The zero value selects the newest ones.
type RunFilter struct {
	Status    []evidence.RunStatus // empty: every state
	TaskID    string
	AttemptID string // of one attempt; what else is asked for is not looked at then
	SessionID string // as the caller named it; TaskID is not looked at then
	Limit     int    // 0: 100
	Before    string // a run id: only runs that are older
}

// Runs returns the runs of the selection, newest first.
func (s *Store) Runs(ctx context.Context, f RunFilter) ([]Run, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	c := s.eng.read()
	before := int64(1<<63 - 1)
	if f.Before != "" {
		id, err := s.resolveRun(ctx, f.Before)
		if err != nil {
			return nil, fmt.Errorf("runs before %w", err)
		}
		if err := c.row(ctx, `SELECT seq FROM runs WHERE id = $1`, id).Scan(&before); err != nil {
			return nil, missing("runs before", id, err)
		}
	}
	const head, tail = `SELECT ` + runColumns + ` FROM runs WHERE seq < $1`, ` ORDER BY seq DESC LIMIT $2`
	one := func(where string, arg ...any) ([]Run, error) {
		out, err := manyRuns(ctx, c, head+where+tail, append([]any{before, f.Limit}, arg...)...)
		if err != nil {
			return nil, fmt.Errorf("runs: %w", err)
		}
		return out, nil
	}
	switch {
	case f.AttemptID != "":
		return one(` AND attempt_id = $3`, f.AttemptID)
	case len(f.Status) == 0 && f.SessionID != "":
		return one(` AND session_id = $3`, f.SessionID)
	case len(f.Status) == 0 && f.TaskID != "":
		return one(` AND task_id = $3`, f.TaskID)
	case len(f.Status) == 0:
		return one("")
	}
	// Each state is an index walk of its own; a merge of at most eight short lists replaces a sort of the table.
	var out []Run
	for i, st := range f.Status {
		if slices.Contains(f.Status[:i], st) {
			continue
		}
		where, args := ` AND status = $3`, []any{string(st)}
		switch {
		case f.SessionID != "":
			where, args = where+` AND session_id = $4`, append(args, f.SessionID)
		case f.TaskID != "":
			where, args = where+` AND task_id = $4`, append(args, f.TaskID)
		}
		part, err := one(where, args...)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].seq > out[j].seq })
	return out[:min(len(out), f.Limit)], nil
}

// LiveRuns returns the runs for which something is left to do, oldest first. They are few: what runs now,
// and what a dead runner left.
func (s *Store) LiveRuns(ctx context.Context) ([]Run, error) {
	out, err := manyRuns(ctx, s.eng.read(), `SELECT `+runColumns+` FROM runs WHERE live = 1 ORDER BY seq`)
	if err != nil {
		return nil, fmt.Errorf("live runs: %w", err)
	}
	return out, nil
}

// EndedRuns returns runs for which nothing is left to do, newest end first, below the given one: the walk of
// a retention rule. A zero after begins with the newest.
func (s *Store) EndedRuns(ctx context.Context, after Run, limit int) ([]Run, error) {
	at, seq := int64(1<<63-1), int64(1<<63-1)
	if after.seq != 0 {
		at, seq = micros(after.EndedAt), after.seq
	}
	out, err := manyRuns(ctx, s.eng.read(), `SELECT `+runColumns+` FROM runs WHERE live = 0 AND (ended_at, seq) < ($1, $2)
		ORDER BY ended_at DESC, seq DESC LIMIT $3`, at, seq, limit)
	if err != nil {
		return nil, fmt.Errorf("ended runs: %w", err)
	}
	return out, nil
}

// EligibleRuns returns the runs whose own record says that they may go since this instant, oldest first.
func (s *Store) EligibleRuns(ctx context.Context, since time.Time, limit int) ([]Run, error) {
	out, err := manyRuns(ctx, s.eng.read(), `SELECT `+runColumns+` FROM runs WHERE live = 0 AND eligible_at <= $1
		ORDER BY eligible_at, seq LIMIT $2`, micros(since), limit)
	if err != nil {
		return nil, fmt.Errorf("eligible runs: %w", err)
	}
	return out, nil
}

// DeleteRun deletes a run for which nothing is left to do. It returns ErrRunLive for another one.
func (s *Store) DeleteRun(ctx context.Context, id string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		var live int
		if err := t.row(ctx, `SELECT live FROM runs WHERE id = $1 `+forUpdate, id).Scan(&live); err != nil {
			return missing("run", id, err)
		}
		if live == 1 {
			return ErrRunLive
		}
		_, err := t.exec(ctx, `DELETE FROM runs WHERE id = $1`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete run %s: %w", id, err)
	}
	return nil
}

// DropBundle forgets where the bundle of a settled attempt is, after a retention rule said that it goes.
func (s *Store) DropBundle(ctx context.Context, attemptID string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `UPDATE attempts SET bundle_dir = '' WHERE id = $1 AND live = 0`, attemptID)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop bundle of attempt %s: %w", attemptID, err)
	}
	return nil
}
