package dispatch

import "time"

// What fails at once fails again at once, for as long as a disk is full or a row is damaged: it waits, each time longer, so that the loop
// fills no log and takes no core, and not so long that a person waits for it once it can go on.
const (
	firstWait = 100 * time.Millisecond
	maxWait   = 5 * time.Second
)

// A backoff holds back one part of the cycle after it failed. The others go on. Its owner is the loop.
type backoff struct {
	fails int
	until time.Time
}

// note says how the last try went.
func (b *backoff) note(now time.Time, err error) {
	if err == nil {
		*b = backoff{}
		return
	}
	b.until = now.Add(min(firstWait<<min(b.fails, 10), maxWait))
	b.fails++
}

// waits reports whether it is too early to try again. A clock that was set back does not prolong it.
func (b *backoff) waits(now time.Time) bool {
	return now.Before(b.until) && b.until.Sub(now) <= maxWait
}

// next is when something that is due at t is tried.
func (b *backoff) next(now, t time.Time) time.Time {
	if b.waits(now) && t.Before(b.until) {
		return b.until
	}
	return t
}
