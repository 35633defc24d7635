package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/store/state"
)

// What a caller may decide on about runs, with errors.Is.
var (
	// ErrRunExists: another run has this id.
	ErrRunExists = errors.New("there is a run with this id already")
	// ErrRunEnded: the run has ended, so that only its clean-up, references and retention can be recorded.
	ErrRunEnded = errors.New("the run has ended")
	// ErrRunLive: the run has not ended, or its owner is still busy with it.
	ErrRunLive = errors.New("the run has not ended")
)

// A Run is a run's record with what only deed needs.
type Run struct {
	Record        evidence.RunRegistryEntry
	TaskID        string // "": it belongs to no task
	AttemptID     string
	SessionID     string
	RunnerID      string
	Live          bool   // its owner, or a sweep, still has something to do for it
	Dir           string // where the file of the record is; "": there is none
	BundleDir     string // relative to the home, or absolute when it is the caller's
	ArtifactBytes int64
	CreatedAt     time.Time
	HeartbeatAt   time.Time
	EndedAt       time.Time // zero until it ended
	Retained      bool
	RetainUntil   time.Time       // zero: not set
	EligibleAt    time.Time       // zero: not set
	Progress      json.RawMessage // the newest line of its progress; nil: none
	Damaged

	seq int64
}

// ID returns the run's id.
func (r Run) ID() string { return r.Record.RunID }

// NewRunID returns a fresh id, in the form that the contract gives it. Ids sort by the time they were made.
func NewRunID() string { return "run_" + strings.ReplaceAll(NewID(), "-", "") }

// A NewRun is a run that begins.
type NewRun struct {
	RunID     string             // "": a fresh one
	Status    evidence.RunStatus // queued or booting
	TaskID    string
	AttemptID string
	SessionID string
	RunnerID  string
	Dir       string
	BundleDir string // where its bundle will be, so that a sweep knows whose a half-written one is; see Run.BundleDir
	Metadata  map[string]any
	Retention *evidence.RunRetention
	Replay    *evidence.RunReplay
}

// InsertRun records a run that begins. It returns ErrRunExists when the id is taken.
func (s *Store) InsertRun(ctx context.Context, n NewRun) (Run, error) {
	if n.RunID == "" {
		n.RunID = NewRunID()
	}
	r, err := s.insertRun(ctx, n)
	if err != nil {
		return Run{}, fmt.Errorf("insert run %s: %w", n.RunID, err)
	}
	return r, nil
}

func (s *Store) insertRun(ctx context.Context, n NewRun) (Run, error) {
	if !evidence.ValidRunID(n.RunID) {
		return Run{}, invalid("run id %q must be 1 to 128 letters, digits, _ and -", n.RunID)
	}
	if n.RunnerID == "" {
		return Run{}, invalid("runner id is empty")
	}
	if err := state.RunNext(state.RunNew, n.Status); err != nil {
		return Run{}, err
	}
	now := s.now().Truncate(time.Microsecond)
	r := Run{
		TaskID: clean(n.TaskID), AttemptID: clean(n.AttemptID), SessionID: clean(n.SessionID), RunnerID: clean(n.RunnerID), Dir: n.Dir, BundleDir: clean(n.BundleDir), Live: true,
		CreatedAt: now, HeartbeatAt: now,
		Record: evidence.RunRegistryEntry{
			Schema: evidence.SchemaRunRegistryEntry, RunID: n.RunID, Status: n.Status, ArtifactRefs: []evidence.RunArtifactRef{},
			Lifecycle: evidence.NewRunLifecycle(n.Status, nil, evidence.RunCleanup{}), Replay: n.Replay,
			CreatedAt: string(stamp(micros(now))), UpdatedAt: string(stamp(micros(now))), HeartbeatAt: string(stamp(micros(now))),
		},
	}
	ids := map[string]any{}
	for name, v := range map[string]string{evidence.MetaTaskID: r.TaskID, evidence.MetaAttemptID: r.AttemptID, evidence.MetaSessionID: r.SessionID} {
		if v != "" {
			ids[name] = v
		}
	}
	for _, m := range []map[string]any{n.Metadata, ids} {
		if err := r.merge(m); err != nil {
			return Run{}, err
		}
	}
	if err := r.retain(n.Retention); err != nil {
		return Run{}, err
	}
	text, err := r.encode()
	if err != nil {
		return Run{}, err
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		res, err := t.exec(ctx, insertRun,
			n.RunID, nullable(r.TaskID), nullable(r.AttemptID), nullable(r.SessionID), r.RunnerID, string(n.Status), r.Dir, r.BundleDir, micros(now),
			bit(r.Retained), nullTime(r.RetainUntil), nullTime(r.EligibleAt), text)
		if err != nil {
			return err
		}
		if made, err := res.RowsAffected(); err != nil || made == 1 {
			return err
		}
		return ErrRunExists
	})
	return r, err
}

// A RunUpdate is a change of a run's record. What is zero stays as it is; metadata is merged, everything else replaced.
// Of a run that has ended only the second part can change.
type RunUpdate struct {
	To       evidence.RunStatus // "": as it is
	Metadata map[string]any
	Runtime  json.RawMessage
	Preview  json.RawMessage
	Result   json.RawMessage
	Replay   *evidence.RunReplay
	Error    *evidence.RunError

	Cleanup       string // running counts an attempt; succeeded and failed end it
	CleanupError  *evidence.RunError
	Refs          []evidence.RunArtifactRef
	Retention     *evidence.RunRetention
	Evidence      *evidence.RunResourceEvidence
	BundleDir     string
	ArtifactBytes *int64
	Progress      json.RawMessage
	Close         bool // nothing is left to do for the run; only for one without a file, see CloseRun
}

// UpdateRun changes the record of a run under the transition table and returns what it is now.
func (s *Store) UpdateRun(ctx context.Context, id string, u RunUpdate) (Run, error) {
	var r Run
	err := s.write(ctx, func(ctx context.Context, t tx) (err error) {
		r, err = scanRun(t.row(ctx, holdRun, id))
		if err != nil {
			return missing("run", id, err)
		}
		now := s.now().Truncate(time.Microsecond)
		if err := r.apply(u, now); err != nil {
			return err
		}
		text, err := r.encode()
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, updateRun,
			string(r.Record.Status), bit(r.Live), r.BundleDir, r.ArtifactBytes, micros(now), micros(r.HeartbeatAt), nullTime(r.EndedAt), bit(r.Retained),
			nullTime(r.RetainUntil), nullTime(r.EligibleAt), nullable(string(u.Progress)), text, id)
		return err
	})
	if err != nil {
		return Run{}, fmt.Errorf("update run %s: %w", id, err)
	}
	return r, nil
}

const (
	insertRun = `INSERT INTO runs (id, task_id, attempt_id, session_id, runner_id, status, live, dir, bundle_dir, created_at,
		updated_at, heartbeat_at, retained, retain_until, eligible_at, record)
		VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8, $9, $9, $9, $10, $11, $12, $13) ON CONFLICT (id) DO NOTHING`
	holdRun   = `SELECT ` + runColumns + ` FROM runs WHERE id = $1 ` + forUpdate
	updateRun = `UPDATE runs SET status = $1, live = $2, bundle_dir = $3, artifact_bytes = $4, updated_at = $5,
		heartbeat_at = $6, ended_at = $7, retained = $8, retain_until = $9, eligible_at = $10, progress = COALESCE($11, progress), record = $12 WHERE id = $13`
	closeRun = `UPDATE runs SET live = 0 WHERE id = $1 AND ended_at IS NOT NULL`
)

// CloseRun marks that nothing is left to do for a run that has ended, without a change of its record: its file
// says already what its row says. It returns ErrRunLive for one that has not ended, and ErrNotFound for one that was given up meanwhile.
func (s *Store) CloseRun(ctx context.Context, id string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		res, err := t.exec(ctx, closeRun, id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
		var live int
		if err := t.row(ctx, `SELECT live FROM runs WHERE id = $1`, id).Scan(&live); err != nil {
			return missing("run", id, err)
		}
		return ErrRunLive
	})
	if err != nil {
		return fmt.Errorf("close run %s: %w", id, err)
	}
	return nil
}

// apply changes the run in memory, or says why it cannot be changed.
func (r *Run) apply(u RunUpdate, now time.Time) error {
	from := r.Record.Status
	to := u.To
	if to == "" {
		to = from
	}
	if from.Terminal() && (to != from || u.changesWork()) {
		return fmt.Errorf("%s: %w", from, ErrRunEnded)
	}
	if err := state.RunNext(from, to); err != nil {
		return err
	}
	if u.Close && !to.Terminal() {
		return fmt.Errorf("close a run that is %s: %w", to, ErrRunLive)
	}
	r.Record.Status, r.Record.UpdatedAt = to, string(stamp(micros(now)))
	if !from.Terminal() {
		r.HeartbeatAt, r.Record.HeartbeatAt = now, r.Record.UpdatedAt
	}
	if to.Terminal() && r.EndedAt.IsZero() {
		r.EndedAt = now
	}
	r.Live = r.Live && !u.Close
	if err := r.merge(u.Metadata); err != nil {
		return err
	}
	for name, f := range map[string]struct {
		dst *json.RawMessage
		v   json.RawMessage
	}{"runtime": {&r.Record.Runtime, u.Runtime}, "preview": {&r.Record.Preview, u.Preview}, "result": {&r.Record.Result, u.Result}} {
		if _, err := rawJSON(name, f.v); err != nil {
			return err
		}
		if len(f.v) > 0 {
			*f.dst = f.v
		}
	}
	if u.Replay != nil {
		r.Record.Replay = u.Replay
	}
	if u.Error != nil {
		r.Record.Error = cleanError(u.Error)
	}
	if u.Refs != nil {
		r.Record.ArtifactRefs = u.Refs
	}
	if u.BundleDir != "" {
		r.BundleDir = clean(u.BundleDir)
	}
	if u.ArtifactBytes != nil {
		r.ArtifactBytes = *u.ArtifactBytes
	}
	if len(u.Progress) > 0 {
		r.Progress = u.Progress
	}
	if u.Evidence != nil {
		if err := r.merge(map[string]any{evidence.MetaResourceEvidence: u.Evidence}); err != nil {
			return err
		}
	}
	r.clean(u, now)
	return r.retain(u.Retention)
}

// changesWork reports whether the update changes what a run that has ended cannot change any more.
func (u RunUpdate) changesWork() bool {
	return u.Metadata != nil || u.Runtime != nil || u.Preview != nil || u.Result != nil || u.Replay != nil || u.Error != nil
}

// clean records a step of the clean-up, and derives the lifecycle again.
func (r *Run) clean(u RunUpdate, now time.Time) {
	at, failed := string(stamp(micros(now))), cleanError(u.CleanupError)
	c := r.Record.Lifecycle.Cleanup
	switch u.Cleanup {
	case evidence.CleanupRunning:
		c = evidence.RunCleanup{Status: u.Cleanup, Attempts: c.Attempts + 1, StartedAt: at, UpdatedAt: at, Error: failed}
	case evidence.CleanupSucceeded, evidence.CleanupFailed:
		c.Status, c.UpdatedAt, c.CompletedAt, c.Error = u.Cleanup, at, at, failed
		if c.Attempts == 0 { // there was little to do, and its beginning was not worth a write
			c.Attempts, c.StartedAt = 1, at
		}
	}
	r.Record.Lifecycle = evidence.NewRunLifecycle(r.Record.Status, r.Record.Lifecycle.Cancellation, c)
}

func cleanError(e *evidence.RunError) *evidence.RunError {
	if e == nil {
		return nil
	}
	return &evidence.RunError{Name: clean(e.Name), Message: clean(e.Message), Code: clean(e.Code)}
}

// retain replaces how long the run is kept.
func (r *Run) retain(k *evidence.RunRetention) error {
	if k == nil {
		return nil
	}
	if err := k.Validate(); err != nil {
		return invalid("retention: %v", err)
	}
	r.Record.Retention = k
	r.Retained = k.Retained
	r.RetainUntil, _ = time.Parse(time.RFC3339Nano, k.RetainUntil)
	r.EligibleAt, _ = time.Parse(time.RFC3339Nano, k.CleanupEligibleAt)
	return nil
}

// merge lays metadata over the run's own. Values whose names look like those of credentials are not stored.
func (r *Run) merge(m map[string]any) error {
	if len(m) == 0 {
		return nil
	}
	text, err := encode(m)
	if err != nil {
		return invalid("metadata: %v", err)
	}
	var plain map[string]any
	if err := decodeNumbers(text, &plain); err != nil {
		return invalid("metadata: %v", err)
	}
	if r.Record.Metadata == nil {
		r.Record.Metadata = map[string]any{}
	}
	for k, v := range withoutSecrets(plain) {
		r.Record.Metadata[k] = v
	}
	return nil
}

// secretName reports whether a name is like that of a credential. A regular expression would take a process longer to compile than
// to use.
func secretName(name string) bool {
	name = strings.ToLower(strings.ToUpper(name)) // both: there are letters that only one of them makes plain
	for _, word := range [...]string{"secret", "token", "credential", "password", "apikey", "api_key", "api-key"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// withoutSecrets replaces what stands under a name of a credential, at any depth.
func withoutSecrets(m map[string]any) map[string]any {
	for k, v := range m {
		if secretName(k) {
			m[k] = "[redacted]"
			continue
		}
		m[k] = withoutSecretsIn(v)
	}
	return m
}

func withoutSecretsIn(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return withoutSecrets(v)
	case []any:
		for i := range v {
			v[i] = withoutSecretsIn(v[i])
		}
	}
	return v
}

// decodeNumbers reads JSON and keeps its numbers as they are written.
func decodeNumbers(text string, v any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	return d.Decode(v)
}

func (r *Run) encode() (string, error) {
	if err := r.Record.Validate(); err != nil {
		return "", invalid("record: %v", err)
	}
	return encode(r.Record)
}

// A RunBeat is what a heartbeat returns to the owner of a run.
type RunBeat struct {
	At              string // the heartbeat, as the record has it
	Status          evidence.RunStatus
	CancelRequested bool
	CancelAt        string
	CancelReason    string
}

// BeatRun records that the run's owner is alive, with its newest line of progress if there is one. It writes one row
// and reads no record. A run that has ended is left as it is, and its status says so.
func (s *Store) BeatRun(ctx context.Context, id string, progress json.RawMessage) (RunBeat, error) {
	var b RunBeat
	var canceled *int64
	var reason *string
	line, err := rawJSON("progress", progress)
	if err != nil {
		return b, fmt.Errorf("beat run %s: %w", id, err)
	}
	now := micros(s.now())
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := t.exec(ctx, `UPDATE runs SET heartbeat_at = $1, progress = COALESCE($2, progress) WHERE id = $3 AND ended_at IS NULL`,
			now, line, id); err != nil {
			return err
		}
		return t.row(ctx, `SELECT status, cancel_at, cancel_reason FROM runs WHERE id = $1`, id).Scan(&b.Status, &canceled, &reason)
	})
	if err != nil {
		return RunBeat{}, missing("beat run", id, err)
	}
	b.At = string(stamp(now))
	if canceled != nil {
		b.CancelRequested, b.CancelAt, b.CancelReason = true, string(stamp(*canceled)), str(reason)
	}
	return b, nil
}

// CancelRun asks the owner of a run to end it. A second request keeps the first one's reason, and a run that has ended
// is left as it is; neither is an error.
func (s *Store) CancelRun(ctx context.Context, id, reason string) (evidence.RunCancellationRequest, error) {
	var out evidence.RunCancellationRequest
	full, err := s.resolveRun(ctx, id)
	if err != nil {
		return out, fmt.Errorf("cancel run %w", err)
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		r, err := scanRun(t.row(ctx, `SELECT `+runColumns+` FROM runs WHERE id = $1 `+forUpdate, full))
		if err != nil {
			return missing("run", full, err)
		}
		l := &r.Record.Lifecycle
		out = evidence.RunCancellationRequest{
			Schema: evidence.SchemaRunCancellationRequest, RunID: full, Status: r.Record.Status, Terminal: r.Record.Status.Terminal(),
			CancellationRequested: !r.Record.Status.Terminal(), AlreadyRequested: l.CancelRequested,
		}
		if !out.Terminal && !out.AlreadyRequested {
			now := micros(s.now())
			if _, err := t.exec(ctx, `UPDATE runs SET cancel_at = $1, cancel_reason = $2, updated_at = $1 WHERE id = $3`, now, nullable(clean(reason)), full); err != nil {
				return err
			}
			*l = evidence.NewRunLifecycle(r.Record.Status, &evidence.RunCancellation{RequestedAt: string(stamp(now)), Reason: clean(reason)}, l.Cleanup)
			r.Record.UpdatedAt = string(stamp(now))
		}
		out.Record = r.Record
		return nil
	})
	if err != nil {
		return evidence.RunCancellationRequest{}, fmt.Errorf("cancel run %s: %w", full, err)
	}
	return out, nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// nullTime is an instant as a statement argument; zero is NULL.
func nullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return micros(t)
}
