package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// What a caller of a fanout may decide on, with errors.Is.
var (
	// ErrFanoutOwned: a live process runs the fanout. The error is an *OwnedError with its runner.
	ErrFanoutOwned = errors.New("another process runs the fanout")
	// ErrItemMoved: the item is not where the caller saw it: another step came first, and what was to be done is done
	// already or must not be done any more.
	ErrItemMoved = errors.New("the item of the fanout has moved on")
	// ErrNoRoom: as many items are released as may be at a time.
	ErrNoRoom = errors.New("no room for another item of the fanout")
	// ErrNothingPending: no item may be released: all are released, done, or wait for what others hold.
	ErrNothingPending = errors.New("no item of the fanout may be released")
	// ErrNoRetries: the fanout has used up its retries.
	ErrNoRetries = errors.New("the retries of the fanout are used up")
)

// An OwnedError names the runner that runs a fanout.
type OwnedError struct{ FanoutID, RunnerID string }

func (e *OwnedError) Error() string {
	return fmt.Sprintf("fanout %s is run by %s", e.FanoutID, e.RunnerID)
}

// Is makes errors.Is(err, ErrFanoutOwned) true.
func (e *OwnedError) Is(target error) bool { return target == ErrFanoutOwned }

// The statuses of a fanout.
const (
	FanoutIncomplete = "incomplete"
	FanoutCompleted  = "completed" // every item succeeded
	FanoutFailed     = "failed"
)

// The states of an item.
const (
	ItemPending  = "pending"  // it waits, or it was tried and waits for its next try
	ItemReleased = "released" // a task of the queue stands for it
	ItemDone     = "done"     // it has its record
)

// A Fanout is a plan that is run as tasks of the queue.
type Fanout struct {
	ID              string
	PlanHash        string
	Status          string
	Owner           string // the runner that runs it; "": dispatchers advance it, or it stands still
	Tasks           int64
	Pending         int64
	Released        int64
	Done            int64
	Succeeded       int64
	Retries         int64 // tries that its policy asked for after a first one
	CreatedAt       time.Time
	UpdatedAt       time.Time
	FinishedAt      time.Time // zero until every item is done
	CancelRequested bool
	CancelReason    string
	CancelBy        string

	seq int64
}

// Live reports whether items are left.
func (f Fanout) Live() bool { return f.FinishedAt.IsZero() }

// A FanoutItem is one task of a plan.
type FanoutItem struct {
	FanoutID  string
	Ordinal   int64 // its place in the plan, from 0
	Name      string
	GroupKey  string
	State     string
	Try       int      // from 1
	Uses      []string // what a try holds from its release to its end
	WaitsFor  string   // see ParkItem; "": it may be released
	TaskID    string   // of the try under way, or of the last one
	Succeeded bool
	Tries     json.RawMessage // the tries before this one; nil: there were none
	Record    json.RawMessage // nil until it is done
	Work      json.RawMessage // what is to be done; the store does not look into it
}

// A NewFanout is a plan before anything of it runs.
type NewFanout struct {
	ID       string // "": a new one
	PlanHash string
	Settings json.RawMessage // what holds for all items; the store does not look into it
	Owner    *Runner         // the process that runs it; nil: it is left to dispatchers
	Items    []NewItem
}

// A NewItem is one task of a plan before anything of it runs.
type NewItem struct {
	Name     string
	GroupKey string
	Uses     []string
	After    *int64 // the item that must be done before; nil: none. See ParkItem
	Work     json.RawMessage
	Record   json.RawMessage // of one that will not be started: it is done, and did not succeed
}

// insertRows is how many items one statement inserts.
const insertRows = 50

// CreateFanout records a fanout with all its items in one transaction: from then on none of them can be lost. One
// without items is completed at once.
func (s *Store) CreateFanout(ctx context.Context, n NewFanout) (Fanout, error) {
	rows, settings, err := n.check()
	if err != nil {
		return Fanout{}, fmt.Errorf("create fanout: %w", err)
	}
	now := s.now().Truncate(time.Microsecond)
	f := Fanout{ID: cmp.Or(n.ID, NewID()), PlanHash: n.PlanHash, Status: FanoutIncomplete, Tasks: int64(len(rows)), CreatedAt: now, UpdatedAt: now}
	for _, r := range rows {
		if r.state == ItemDone {
			f.Done++
		}
	}
	f.Pending = f.Tasks - f.Done
	if n.Owner != nil {
		f.Owner = n.Owner.ID
	}
	if f.Pending == 0 {
		f.Status, f.Owner, f.FinishedAt = FanoutFailed, "", now
		if f.Tasks == 0 {
			f.Status = FanoutCompleted
		}
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		if n.Owner != nil {
			if err := s.putRunner(ctx, t, *n.Owner); err != nil {
				return err
			}
		}
		_, err := t.exec(ctx, `INSERT INTO fanouts (id, plan_hash, status, live, owner, task_count, pending_count, done_count, created_at, updated_at, finished_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10)`,
			f.ID, f.PlanHash, f.Status, bit(f.Live()), nullable(f.Owner), f.Tasks, f.Pending, f.Done, micros(now), nullTime(f.FinishedAt))
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO fanout_bodies (fanout_id, settings) VALUES ($1, $2)`, f.ID, settings); err != nil {
			return err
		}
		if err := insertItems(ctx, t, f.ID, rows); err != nil {
			return err
		}
		return fanoutEvent(ctx, t, EventFanoutCreated, f, micros(now))
	})
	if err != nil {
		return Fanout{}, fmt.Errorf("create fanout: %w", err)
	}
	return f, nil
}

// an itemRow is an item on its way into the database.
type itemRow struct {
	name, group string
	uses, waits any
	work        string
	state       string
	record      any
}

func (n *NewFanout) check() (rows []itemRow, settings string, err error) {
	raw, err := rawJSON("settings", n.Settings)
	if err != nil {
		return nil, "", err
	}
	if settings, _ = raw.(string); settings == "" {
		settings = "{}"
	}
	if n.Owner != nil && n.Owner.ID == "" {
		return nil, "", invalid("owner: runner id is empty")
	}
	seen := make(map[string]bool, len(n.Items))
	rows = make([]itemRow, len(n.Items))
	for i, it := range n.Items {
		if it.Name == "" || seen[it.Name] || !utf8.ValidString(it.Name) || clean(it.Name) != it.Name {
			return nil, "", invalid("item %d: name %q is empty, no text, or the name of another item", i, it.Name)
		}
		seen[it.Name] = true
		work, err := rawJSON("work of item "+strconv.Itoa(i), it.Work)
		if err != nil {
			return nil, "", err
		}
		r := itemRow{name: it.Name, group: clean(it.GroupKey), work: "null", state: ItemPending}
		if text, ok := work.(string); ok {
			r.work = text
		}
		if r.uses, err = encodeUses(it.Uses); err != nil {
			return nil, "", err
		}
		if r.record, err = rawJSON("record of item "+strconv.Itoa(i), it.Record); err != nil {
			return nil, "", err
		}
		if r.record != nil {
			r.state = ItemDone
		}
		if it.After != nil {
			if *it.After < 0 || *it.After >= int64(len(n.Items)) || *it.After == int64(i) {
				return nil, "", invalid("item %d waits for item %d, which is no other item", i, *it.After)
			}
			if r.record == nil && len(n.Items[*it.After].Record) == 0 {
				r.waits = afterItem(*it.After)
			}
		}
		rows[i] = r
	}
	return rows, settings, nil
}

// encodeUses is the form in which resources are stored: sorted, each once, so that all items look at them in one order.
func encodeUses(uses []string) (any, error) {
	if len(uses) == 0 {
		return nil, nil
	}
	for _, u := range uses {
		if u == "" || clean(u) != u {
			return nil, invalid("resource %q is empty or no text", u)
		}
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(uses)))
	return encode(sorted)
}

func insertItems(ctx context.Context, t tx, id string, rows []itemRow) error {
	for at := 0; at < len(rows); {
		n := 1
		if len(rows)-at >= insertRows {
			n = insertRows
		}
		args := make([]any, 0, 1+n*itemInsertColumns)
		args = append(args, id)
		for i, r := range rows[at : at+n] {
			args = append(args, int64(at+i), r.name, r.group, r.uses, r.waits, r.work, r.state, r.record)
		}
		if _, err := t.exec(ctx, itemInsert(n), args...); err != nil {
			return err
		}
		at += n
	}
	return nil
}

const itemInsertColumns = 8

// itemInsert is the statement for n rows.
func itemInsert(n int) string {
	q := []byte(`INSERT INTO fanout_items (fanout_id, ordinal, name, group_key, uses, waits_for, work, state, record) VALUES `)
	for i := range n {
		if i > 0 {
			q = append(q, ", "...)
		}
		q = append(q, "($1"...)
		for c := range itemInsertColumns {
			q = append(q, ", $"...)
			q = strconv.AppendInt(q, int64(2+i*itemInsertColumns+c), 10)
		}
		q = append(q, ')')
	}
	return string(q)
}

func fanoutEvent(ctx context.Context, t tx, typ string, f Fanout, now int64) error {
	detail, err := encode(struct {
		ID        string `json:"fanout_id"`
		Status    string `json:"status"`
		Tasks     int64  `json:"task_count"`
		Done      int64  `json:"done_count"`
		Succeeded int64  `json:"succeeded_count"`
	}{f.ID, f.Status, f.Tasks, f.Done, f.Succeeded})
	if err != nil {
		return err
	}
	return appendEvent(ctx, t, typ, now, "", "", detail)
}

const fanoutColumns = `seq, id, plan_hash, status, owner, task_count, pending_count, released_count, done_count, succeeded_count,
	retry_count, created_at, updated_at, finished_at, cancel_at, cancel_reason, cancel_by`

func scanFanout(row scanner) (Fanout, error) {
	var (
		f                    Fanout
		owner, reason, by    *string
		created, updated     int64
		finished, cancelling *int64
	)
	err := row.Scan(&f.seq, &f.ID, &f.PlanHash, &f.Status, &owner, &f.Tasks, &f.Pending, &f.Released, &f.Done, &f.Succeeded,
		&f.Retries, &created, &updated, &finished, &cancelling, &reason, &by)
	if err != nil {
		return Fanout{}, err
	}
	f.Owner, f.CancelReason, f.CancelBy, f.CancelRequested = str(owner), str(reason), str(by), cancelling != nil
	f.CreatedAt, f.UpdatedAt = fromMicros(created), fromMicros(updated)
	if finished != nil {
		f.FinishedAt = fromMicros(*finished)
	}
	return f, nil
}

const itemColumns = `fanout_id, ordinal, name, group_key, state, try, uses, waits_for, task_id, succeeded, tries, record, work`

func scanItem(row scanner) (FanoutItem, error) {
	var (
		it                               FanoutItem
		uses, waits, task, tries, record *string
		work                             string
		succeeded                        int
	)
	err := row.Scan(&it.FanoutID, &it.Ordinal, &it.Name, &it.GroupKey, &it.State, &it.Try, &uses, &waits, &task, &succeeded, &tries, &record, &work)
	if err != nil {
		return FanoutItem{}, err
	}
	it.WaitsFor, it.TaskID, it.Succeeded, it.Work = str(waits), str(task), succeeded == 1, json.RawMessage(work)
	if tries != nil {
		it.Tries = json.RawMessage(*tries)
	}
	if record != nil {
		it.Record = json.RawMessage(*record)
	}
	it.Uses, err = decodeUses(uses)
	if err != nil {
		return FanoutItem{}, fmt.Errorf("item %d of fanout %s: %w", it.Ordinal, it.FanoutID, err)
	}
	return it, nil
}

func decodeUses(text *string) (uses []string, err error) {
	if text != nil {
		if err = json.Unmarshal([]byte(*text), &uses); err != nil {
			err = fmt.Errorf("resources: %w", err)
		}
	}
	return uses, err
}

func manyItems(ctx context.Context, c conn, q string, args ...any) ([]FanoutItem, error) {
	rows, err := c.query(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	var out []FanoutItem
	err = eachRow(rows, func() error {
		it, err := scanItem(rows)
		out = append(out, it)
		return err
	})
	return out, err
}

// Fanout returns the fanout with this id, or with this id prefix of at least six characters. It returns ErrNotFound or
// ErrAmbiguous.
func (s *Store) Fanout(ctx context.Context, id string) (Fanout, error) {
	c := s.eng.read()
	full, err := resolve(ctx, c, "fanouts", id)
	if err != nil {
		return Fanout{}, fmt.Errorf("fanout %w", err)
	}
	f, err := scanFanout(c.row(ctx, `SELECT `+fanoutColumns+` FROM fanouts WHERE id = $1`, full))
	if err != nil {
		return Fanout{}, missing("fanout", full, err)
	}
	return f, nil
}

// FanoutSettings returns what CreateFanout was given. They never change.
func (s *Store) FanoutSettings(ctx context.Context, id string) (json.RawMessage, error) {
	var text string
	if err := s.eng.read().row(ctx, `SELECT settings FROM fanout_bodies WHERE fanout_id = $1`, id).Scan(&text); err != nil {
		return nil, missing("settings of fanout", id, err)
	}
	return json.RawMessage(text), nil
}

// A FanoutFilter selects fanouts. The zero value selects the newest ones.
type FanoutFilter struct {
	Status string // "": every status
	Limit  int    // 0: 100
	Before string // a fanout id: only older ones
}

// Fanouts returns the fanouts of the selection, newest first.
func (s *Store) Fanouts(ctx context.Context, f FanoutFilter) ([]Fanout, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	before := int64(1<<63 - 1)
	if f.Before != "" {
		b, err := s.Fanout(ctx, f.Before)
		if err != nil {
			return nil, fmt.Errorf("fanouts before %w", err)
		}
		before = b.seq
	}
	q, args := `SELECT `+fanoutColumns+` FROM fanouts WHERE seq < $1`, []any{before, f.Limit}
	if f.Status != "" {
		q, args = q+` AND status = $3`, append(args, f.Status)
	}
	return s.manyFanouts(ctx, q+` ORDER BY seq DESC LIMIT $2`, args...)
}

// LiveFanouts returns the fanouts with items left, oldest first.
func (s *Store) LiveFanouts(ctx context.Context) ([]Fanout, error) {
	return s.manyFanouts(ctx, `SELECT `+fanoutColumns+` FROM fanouts WHERE live = 1 ORDER BY seq`)
}

func (s *Store) manyFanouts(ctx context.Context, q string, args ...any) ([]Fanout, error) {
	rows, err := s.eng.read().query(ctx, q, args...)
	if err != nil {
		return nil, fmt.Errorf("fanouts: %w", classify(err))
	}
	var out []Fanout
	if err := eachRow(rows, func() error {
		f, err := scanFanout(rows)
		out = append(out, f)
		return err
	}); err != nil {
		return nil, fmt.Errorf("fanouts: %w", classify(err))
	}
	return out, nil
}

// FanoutItems returns items in the order of the plan: at most limit of those behind the given ordinal; -1 begins.
func (s *Store) FanoutItems(ctx context.Context, id string, after int64, limit int) ([]FanoutItem, error) {
	return s.items(ctx, `SELECT `+itemColumns+` FROM fanout_items WHERE fanout_id = $1 AND ordinal > $2 ORDER BY ordinal LIMIT $3`, id, after, limit)
}

// FailedItems is FanoutItems for those that are done and did not succeed.
func (s *Store) FailedItems(ctx context.Context, id string, after int64, limit int) ([]FanoutItem, error) {
	return s.items(ctx, `SELECT `+itemColumns+` FROM fanout_items WHERE fanout_id = $1 AND state = 'done' AND succeeded = 0 AND ordinal > $2
		ORDER BY ordinal LIMIT $3`, id, after, limit)
}

// FanoutItem returns one item by its place.
func (s *Store) FanoutItem(ctx context.Context, id string, ordinal int64) (FanoutItem, error) {
	it, err := scanItem(s.eng.read().row(ctx, `SELECT `+itemColumns+` FROM fanout_items WHERE fanout_id = $1 AND ordinal = $2`, id, ordinal))
	if err != nil {
		return FanoutItem{}, missing("item of fanout", id, err)
	}
	return it, nil
}

// ReleasedItems returns the items that tasks of the queue stand for, in the order of the plan. There are never more than
// may run at a time.
func (s *Store) ReleasedItems(ctx context.Context, id string) ([]FanoutItem, error) {
	return s.items(ctx, `SELECT `+itemColumns+` FROM fanout_items WHERE fanout_id = $1 AND state = 'released' ORDER BY ordinal`, id)
}

func (s *Store) items(ctx context.Context, q string, args ...any) ([]FanoutItem, error) {
	out, err := manyItems(ctx, s.eng.read(), q, args...)
	if err != nil {
		return nil, fmt.Errorf("items of fanout %v: %w", args[0], classify(err))
	}
	return out, nil
}

// lockFanout reads a fanout under the lock of the transaction. Every step of a fanout begins with it, so that steps of
// one fanout follow each other.
func lockFanout(ctx context.Context, t tx, id string) (Fanout, error) {
	f, err := scanFanout(t.row(ctx, `SELECT `+fanoutColumns+` FROM fanouts WHERE id = $1 `+forUpdate, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Fanout{}, fmt.Errorf("fanout %s: %w", id, ErrNotFound)
	}
	return f, err
}

// put writes what a step changed.
func (f *Fanout) put(ctx context.Context, t tx, now int64) error {
	if f.Done == f.Tasks && f.Live() {
		f.Status, f.Owner, f.FinishedAt = FanoutFailed, "", fromMicros(now)
		if f.Succeeded == f.Tasks {
			f.Status = FanoutCompleted
		}
		if err := fanoutEvent(ctx, t, EventFanoutFinished, *f, now); err != nil {
			return err
		}
	}
	f.UpdatedAt = fromMicros(now)
	_, err := t.exec(ctx, `UPDATE fanouts SET status = $1, live = $2, owner = $3, pending_count = $4, released_count = $5, done_count = $6,
		succeeded_count = $7, retry_count = $8, updated_at = $9, finished_at = $10 WHERE id = $11`,
		f.Status, bit(f.Live()), nullable(f.Owner), f.Pending, f.Released, f.Done, f.Succeeded, f.Retries, now, nullTime(f.FinishedAt), f.ID)
	return err
}
