package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Window says how much of a fanout may run at a time.
type Window struct {
	Most     int            // items
	Capacity map[string]int // of a resource; one that is not named is held by one item at a time
}

// blocked returns the first of the resources that has no room left, or "".
func (w Window) blocked(uses []string, held map[string]int) string {
	for _, u := range uses {
		if r, n := weigh(u); held[r]+n > w.capacity(r) {
			return r
		}
	}
	return ""
}

// Weighted is n of a resource, for the uses of an item. The resource may not begin with a digit.
func Weighted(resource string, n int64) string { return strconv.FormatInt(n, 10) + "*" + resource }

// weigh tells what a use takes how much of.
func weigh(use string) (resource string, n int) {
	if before, after, ok := strings.Cut(use, "*"); ok {
		if n, err := strconv.Atoi(before); err == nil {
			return after, n
		}
	}
	return use, 1
}

func (w Window) capacity(resource string) int {
	if c, ok := w.Capacity[resource]; ok {
		return c
	}
	return 1
}

// afterItem is what an item waits for that another one must precede. Resources are never called so: callers give
// theirs a kind of its own.
func afterItem(ordinal int64) string { return "after:" + strconv.FormatInt(ordinal, 10) }

// OwnFanout makes a process the one that runs a fanout. A process that lives and runs it already is not displaced: the
// error is an *OwnedError. An owner is gone when it is among the dead or when no runner of its name is on record. With a
// nil process the fanout is left to dispatchers. A fanout that is over is left as it is.
func (s *Store) OwnFanout(ctx context.Context, id string, by *Runner, dead []string) (Fanout, error) {
	var f Fanout
	err := s.write(ctx, func(ctx context.Context, t tx) (err error) {
		if f, err = lockFanout(ctx, t, id); err != nil || !f.Live() {
			return err
		}
		me := ""
		if by != nil {
			me = by.ID
		}
		if f.Owner != "" && f.Owner != me && !slices.Contains(dead, f.Owner) {
			var one int
			err := t.row(ctx, `SELECT 1 FROM runners WHERE id = $1`, f.Owner).Scan(&one)
			if err == nil {
				return &OwnedError{FanoutID: id, RunnerID: f.Owner}
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		if by != nil {
			if err := s.putRunner(ctx, t, *by); err != nil {
				return err
			}
		}
		f.Owner = me
		if err := f.put(ctx, t, micros(s.now())); err != nil || by != nil {
			return err
		}
		return t.notify(ctx)
	})
	if err != nil {
		return Fanout{}, fmt.Errorf("own fanout %s: %w", id, err)
	}
	return f, nil
}

// parkBatch is how many items one transaction sets aside at most.
const parkBatch = 200

// NextItem returns the first item in the order of the plan that may be released, or ErrNoRoom, or ErrNothingPending.
// Items whose resources are held are set aside until they are free, so that nobody looks at them again and again: what a
// call costs does not depend on how many wait.
func (s *Store) NextItem(ctx context.Context, id string, w Window) (FanoutItem, error) {
	it, err := s.peekItem(ctx, s.eng.read(), id, w)
	for errors.Is(err, errParkFirst) {
		err = s.write(ctx, func(ctx context.Context, t tx) error {
			f, err := lockFanout(ctx, t, id)
			if err != nil || !f.Live() {
				return err
			}
			return s.parkBlocked(ctx, t, id, w)
		})
		if err == nil {
			it, err = s.peekItem(ctx, s.eng.read(), id, w)
		}
	}
	if err != nil {
		return FanoutItem{}, fmt.Errorf("next item of fanout %s: %w", id, classify(err))
	}
	return it, nil
}

// errParkFirst: the first pending item cannot be released, and others may come before one that can.
var errParkFirst = errors.New("set items aside first")

func (s *Store) peekItem(ctx context.Context, c conn, id string, w Window) (FanoutItem, error) {
	held, n, err := heldBy(ctx, c, id)
	if err != nil {
		return FanoutItem{}, err
	}
	if n >= w.Most {
		return FanoutItem{}, ErrNoRoom
	}
	it, err := scanItem(c.row(ctx, `SELECT `+itemColumns+` FROM fanout_items WHERE fanout_id = $1 AND state = 'pending' AND waits_for IS NULL
		ORDER BY ordinal LIMIT 1`, id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return FanoutItem{}, ErrNothingPending
	case err != nil:
		return FanoutItem{}, err
	}
	r := w.blocked(it.Uses, held)
	if r == "" {
		r, err = heldShared(ctx, c, it.Uses)
	}
	if err == nil && r != "" {
		err = errParkFirst
	}
	return it, err
}

// heldBy counts what the released items hold.
func heldBy(ctx context.Context, c conn, id string) (held map[string]int, n int, err error) {
	rows, err := c.query(ctx, `SELECT uses FROM fanout_items WHERE fanout_id = $1 AND state = 'released' ORDER BY ordinal`, id)
	if err != nil {
		return nil, 0, err
	}
	held = map[string]int{}
	err = eachRow(rows, func() error {
		var text *string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		uses, err := decodeUses(text)
		for _, u := range uses {
			r, weight := weigh(u)
			held[r] += weight
		}
		n++
		return err
	})
	return held, n, err
}

// parkBlocked sets the pending items aside that stand before the first one that can be released, a batch of them.
func (s *Store) parkBlocked(ctx context.Context, t tx, id string, w Window) error {
	held, _, err := heldBy(ctx, t, id)
	if err != nil {
		return err
	}
	rows, err := t.query(ctx, `SELECT ordinal, uses FROM fanout_items WHERE fanout_id = $1 AND state = 'pending' AND waits_for IS NULL
		ORDER BY ordinal LIMIT $2`, id, parkBatch)
	if err != nil {
		return err
	}
	type candidate struct {
		ordinal int64
		uses    []string
	}
	var list []candidate
	if err := eachRow(rows, func() error {
		var c candidate
		var text *string
		if err := rows.Scan(&c.ordinal, &text); err != nil {
			return err
		}
		c.uses, err = decodeUses(text)
		list = append(list, c)
		return err
	}); err != nil {
		return err
	}
	for _, c := range list {
		r := w.blocked(c.uses, held)
		if r == "" {
			if r, err = heldShared(ctx, t, c.uses); err != nil || r == "" {
				return err
			}
		}
		if _, err := t.exec(ctx, `UPDATE fanout_items SET waits_for = $1 WHERE fanout_id = $2 AND ordinal = $3`, r, id, c.ordinal); err != nil {
			return err
		}
		// It may have been woken for another of its resources, which it does not take now: the next one may.
		var free []string
		for _, u := range c.uses {
			if name, _ := weigh(u); name != r && held[name] < w.capacity(name) {
				free = append(free, u)
			}
		}
		if err := wakeWaiters(ctx, t, id, free); err != nil {
			return err
		}
	}
	return nil
}

// wakeWaiters lets the first item that waits for each of the used resources be tried again.
func wakeWaiters(ctx context.Context, t tx, id string, uses []string) error {
	for _, u := range uses {
		r, _ := weigh(u)
		_, err := t.exec(ctx, `UPDATE fanout_items SET waits_for = NULL WHERE fanout_id = $1 AND ordinal =
			(SELECT ordinal FROM fanout_items WHERE fanout_id = $1 AND waits_for = $2 ORDER BY ordinal LIMIT 1)`, id, r)
		if err != nil {
			return err
		}
	}
	return nil
}

// ParkItem sets a pending item aside until another one is done. It reports false, and changes nothing, when that one is
// done already.
func (s *Store) ParkItem(ctx context.Context, it FanoutItem, after int64) (bool, error) {
	var parked bool
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := lockFanout(ctx, t, it.FanoutID); err != nil {
			return err
		}
		res, err := t.exec(ctx, `UPDATE fanout_items SET waits_for = $1 WHERE fanout_id = $2 AND ordinal = $3 AND state = 'pending' AND try = $4
			AND EXISTS (SELECT 1 FROM fanout_items WHERE fanout_id = $2 AND ordinal = $5 AND state <> 'done')`,
			afterItem(after), it.FanoutID, it.Ordinal, it.Try, after)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if parked = n == 1; err != nil || !parked {
			return err
		}
		return wakeWaiters(ctx, t, it.FanoutID, it.Uses) // it may have been woken for them
	})
	if err != nil {
		return false, fmt.Errorf("park item %d of fanout %s: %w", it.Ordinal, it.FanoutID, err)
	}
	return parked, nil
}

// A Release puts one try of an item into the queue.
type Release struct {
	Item   FanoutItem // as NextItem returned it
	Task   NewTask
	Window Window
	Owner  string        // who runs the fanout; "": dispatchers
	Claim  *ClaimOptions // claim the task in the same transaction; nil: it waits for a dispatcher
}

// ReleaseItem makes a task of the queue stand for a pending item, in one transaction: there is never one without the
// other, and never a second one for the same try. The task's dedupe key says which fanout, item and try it is of. The claim
// is nil when none was asked for. It returns ErrItemMoved when the item was released or finished meanwhile or the fanout
// was cancelled, ErrNoRoom when the window has no room for it by now, and an *OwnedError when another process runs the fanout.
func (s *Store) ReleaseItem(ctx context.Context, r Release) (*Claim, error) {
	it := r.Item
	r.Task.DedupeKey = fmt.Sprintf("fanout/%s/%d/%d", it.FanoutID, it.Ordinal, it.Try)
	rows, out, _, err := s.taskRows([]NewTask{r.Task})
	if err == nil && r.Claim != nil {
		err = r.Claim.check()
	}
	if err != nil {
		return nil, fmt.Errorf("release item %d of fanout %s: %w", it.Ordinal, it.FanoutID, err)
	}
	var c *Claim
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		c = nil
		out[0] = Enqueued{TaskID: rows[0].id}
		f, err := lockFanout(ctx, t, it.FanoutID)
		if err != nil {
			return err
		}
		if err := s.mayRelease(ctx, t, f, r); err != nil {
			return err
		}
		fresh, err := s.takeKeys(ctx, t, rows, out)
		if err != nil {
			return err
		}
		if err := t.insertTasks(ctx, fresh); err != nil {
			return err
		}
		if err := takeShared(ctx, t, it, out[0].TaskID); err != nil {
			return err
		}
		if err := moveItem(ctx, t, it, `state = 'released', waits_for = NULL, task_id = $4`, out[0].TaskID); err != nil {
			return err
		}
		// What held much of a resource woke one item when it ended; there may be room for the next, too.
		if err := wakeWaiters(ctx, t, it.FanoutID, slices.DeleteFunc(slices.Clone(it.Uses), func(u string) bool { r, _ := weigh(u); return r == u })); err != nil {
			return err
		}
		f.Pending, f.Released = f.Pending-1, f.Released+1
		if err := f.put(ctx, t, micros(s.now())); err != nil {
			return err
		}
		if r.Claim == nil || out[0].Deduped { // the holder of the key has it run
			return t.notify(ctx)
		}
		c, err = s.claimOne(ctx, t, *r.Claim, rows[0].id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("release item %d of fanout %s: %w", it.Ordinal, it.FanoutID, err)
	}
	return c, nil
}

// mayRelease looks again under the lock.
func (s *Store) mayRelease(ctx context.Context, t tx, f Fanout, r Release) error {
	if f.Live() && f.Owner != r.Owner {
		return &OwnedError{FanoutID: f.ID, RunnerID: f.Owner}
	}
	it, err := lockItem(ctx, t, r.Item)
	if err != nil {
		return err
	}
	if it.State != ItemPending || f.CancelRequested {
		return ErrItemMoved
	}
	held, n, err := heldBy(ctx, t, f.ID)
	if err != nil {
		return err
	}
	if n >= r.Window.Most || r.Window.blocked(it.Uses, held) != "" {
		return ErrNoRoom
	}
	return nil
}

// lockItem reads an item again, at the try at which the caller saw it.
func lockItem(ctx context.Context, t tx, seen FanoutItem) (FanoutItem, error) {
	it, err := scanItem(t.row(ctx, `SELECT `+itemColumns+` FROM fanout_items WHERE fanout_id = $1 AND ordinal = $2`, seen.FanoutID, seen.Ordinal))
	if errors.Is(err, sql.ErrNoRows) {
		return it, fmt.Errorf("item %d: %w", seen.Ordinal, ErrNotFound)
	}
	if err == nil && it.Try != seen.Try {
		err = ErrItemMoved
	}
	return it, err
}

// moveItem changes an item; the arguments of set begin at $4.
func moveItem(ctx context.Context, t tx, it FanoutItem, set string, args ...any) error {
	_, err := t.exec(ctx, `UPDATE fanout_items SET `+set+` WHERE fanout_id = $1 AND ordinal = $2 AND try = $3`,
		append([]any{it.FanoutID, it.Ordinal, it.Try}, args...)...)
	return err
}

// FinishItem gives an item its record, whether it ran or not. The first record stays: with another, or for another try than
// the one it is at, it returns ErrItemMoved. The fanout is over with its last item, in the same transaction.
func (s *Store) FinishItem(ctx context.Context, seen FanoutItem, record json.RawMessage, succeeded bool) (Fanout, error) {
	text, err := rawJSON("record", record)
	if err == nil && text == nil {
		err = invalid("record is empty")
	}
	var f Fanout
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, t tx) (err error) {
			if f, err = lockFanout(ctx, t, seen.FanoutID); err != nil {
				return err
			}
			it, err := lockItem(ctx, t, seen)
			if err != nil {
				return err
			}
			if err := s.finishItem(ctx, t, &f, it, text.(string), succeeded); err != nil {
				return err
			}
			return f.put(ctx, t, micros(s.now()))
		})
	}
	if err != nil {
		return Fanout{}, fmt.Errorf("finish item %d of fanout %s: %w", seen.Ordinal, seen.FanoutID, err)
	}
	return f, nil
}

func (s *Store) finishItem(ctx context.Context, t tx, f *Fanout, it FanoutItem, record string, succeeded bool) error {
	switch it.State {
	case ItemPending:
		f.Pending--
	case ItemReleased:
		f.Released--
		if err := freeResources(ctx, t, it); err != nil {
			return err
		}
	default:
		return ErrItemMoved
	}
	f.Done++
	f.Succeeded += int64(bit(succeeded))
	if err := moveItem(ctx, t, it, `state = 'done', waits_for = NULL, record = $4, succeeded = $5`, record, bit(succeeded)); err != nil {
		return err
	}
	_, err := t.exec(ctx, `UPDATE fanout_items SET waits_for = NULL WHERE fanout_id = $1 AND waits_for = $2`, it.FanoutID, afterItem(it.Ordinal))
	return err
}

// An ItemRetry is another try of an item.
type ItemRetry struct {
	Item    FanoutItem      // as it was seen: released, or pending when its task could not be made
	Tries   json.RawMessage // all tries up to now
	Uses    []string        // what the next one holds
	Counted bool            // it is a retry of the policy, and not one for what was lost
	Most    int64           // retries of the whole fanout, when it is counted; -1: no bound

	NotBefore time.Time // it is set aside until then; zero: it is not. See WakeItems
}

// RetryItem makes an item pending for its next try. It returns ErrNoRetries when the fanout has none left,
// and ErrItemMoved when another step came first.
func (s *Store) RetryItem(ctx context.Context, a ItemRetry) error {
	tries, err := rawJSON("tries", a.Tries)
	var uses any
	if err == nil {
		uses, err = encodeUses(a.Uses)
	}
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, t tx) error {
			f, err := lockFanout(ctx, t, a.Item.FanoutID)
			if err != nil {
				return err
			}
			it, err := lockItem(ctx, t, a.Item)
			if err != nil {
				return err
			}
			if it.State == ItemDone || f.CancelRequested {
				return ErrItemMoved
			}
			if a.Counted {
				if a.Most >= 0 && f.Retries >= a.Most {
					return ErrNoRetries
				}
				f.Retries++
			}
			if it.State == ItemReleased {
				f.Pending, f.Released = f.Pending+1, f.Released-1
			}
			if err := moveItem(ctx, t, it, `state = 'pending', try = try + 1, task_id = NULL, tries = $4, uses = $5, waits_for = $6`,
				tries, uses, untilTime(a.NotBefore)); err != nil {
				return err
			}
			if err := freeResources(ctx, t, it); err != nil {
				return err
			}
			return f.put(ctx, t, micros(s.now()))
		})
	}
	if err != nil {
		return fmt.Errorf("try item %d of fanout %s again: %w", a.Item.Ordinal, a.Item.FanoutID, err)
	}
	return nil
}

// CancelFanout says that no item of a fanout is released any more. A second request keeps the first one's reason, and a
// fanout that is over is left as it is; neither is an error. What is released is the caller's to cancel, and what is
// pending to finish.
func (s *Store) CancelFanout(ctx context.Context, id, reason, by string) (Fanout, error) {
	var f Fanout
	err := s.write(ctx, func(ctx context.Context, t tx) (err error) {
		if f, err = lockFanout(ctx, t, id); err != nil || !f.Live() || f.CancelRequested {
			return err
		}
		now := micros(s.now())
		f.CancelRequested, f.CancelReason, f.CancelBy = true, clean(reason), clean(by)
		_, err = t.exec(ctx, `UPDATE fanouts SET cancel_at = $1, cancel_reason = $2, cancel_by = $3, updated_at = $1 WHERE id = $4`,
			now, nullable(f.CancelReason), nullable(f.CancelBy), id)
		if err != nil {
			return err
		}
		if err := fanoutEvent(ctx, t, EventFanoutCanceled, f, now); err != nil {
			return err
		}
		return t.notify(ctx)
	})
	if err != nil {
		return Fanout{}, fmt.Errorf("cancel fanout %s: %w", id, err)
	}
	return f, nil
}

// FinishPending gives records to items that will not be started, at most limit of them, in one transaction, and returns
// how many there were.
func (s *Store) FinishPending(ctx context.Context, id string, limit int, record func(FanoutItem) (json.RawMessage, error)) (n int, f Fanout, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) (err error) {
		n = 0
		if f, err = lockFanout(ctx, t, id); err != nil {
			return err
		}
		list, err := manyItems(ctx, t, `SELECT `+itemColumns+` FROM fanout_items WHERE fanout_id = $1 AND state = 'pending' AND waits_for IS NULL
			ORDER BY ordinal LIMIT $2`, id, limit)
		if err == nil && len(list) == 0 {
			list, err = manyItems(ctx, t, `SELECT `+itemColumns+` FROM fanout_items WHERE fanout_id = $1 AND waits_for IS NOT NULL
				ORDER BY waits_for, ordinal LIMIT $2`, id, limit)
		}
		if err != nil {
			return err
		}
		for _, it := range list {
			raw, err := record(it)
			if err != nil {
				return err
			}
			text, err := rawJSON("record", raw)
			if err != nil {
				return err
			}
			if err := s.finishItem(ctx, t, &f, it, text.(string), false); err != nil {
				return err
			}
			n++
		}
		if n == 0 {
			return nil
		}
		return f.put(ctx, t, micros(s.now()))
	})
	if err != nil {
		return 0, Fanout{}, fmt.Errorf("finish what is pending of fanout %s: %w", id, err)
	}
	return n, f, nil
}
