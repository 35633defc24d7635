package view

import (
	"context"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/store"
)

// How far the plots of a home look back.
const (
	hoursBack = 24
	daysBack  = 30
)

// readRate counts what ended, hour by hour and day by day.
func (r *Reader) readRate(ctx context.Context, h *Home, now time.Time) error {
	hour, day := now.UTC().Truncate(time.Hour), now.UTC().Truncate(24*time.Hour)
	h.Hours = buckets(hour, time.Hour, hoursBack)
	h.Days = buckets(day, 24*time.Hour, daysBack)
	from := day.AddDate(0, 0, 1-daysBack)
	return r.src.Store.Ended(ctx, from, func(e store.Tally) {
		for _, of := range []struct {
			list []Bucket
			span time.Duration
			last time.Time
		}{{h.Hours, time.Hour, hour}, {h.Days, 24 * time.Hour, day}} {
			back := int(of.last.Sub(e.Hour.Truncate(of.span)) / of.span)
			if back >= 0 && back < len(of.list) {
				of.list[len(of.list)-1-back].count(e)
			}
		}
	})
}

func buckets(last time.Time, span time.Duration, n int) []Bucket {
	out := make([]Bucket, n)
	for i := range out {
		out[i].From = stamp(last.Add(-time.Duration(n-1-i) * span))
	}
	return out
}

func (b *Bucket) count(t store.Tally) {
	if t.Kind == store.TallyAttempt {
		b.Attempts += t.N
		if c := failure.Class(t.Key); c == failure.Rejected || c == failure.Stuck {
			b.Refused += t.N
		}
		return
	}
	switch agentruntime.TaskStatus(t.Key) {
	case agentruntime.TaskCompleted:
		b.Completed += t.N
	case agentruntime.TaskOperatorCanceled:
		b.Canceled += t.N
	default:
		b.Failed += t.N
	}
}
