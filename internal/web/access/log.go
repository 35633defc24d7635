package access

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/store"
)

// How much is kept of what was done and refused. Unauthenticated clients can fill their own part only.
const (
	keepRefusals = 10_000
	keepEntries  = 1_000_000
)

// Refusals are gathered: equal ones become one row that counts them, one gathering writes a bounded number of rows, and there
// is at most one in each span. So a flood of them costs the disk nothing that matters.
const (
	refusalSpan = 10 * time.Second
	refusalRows = 16
	trimEvery   = 4096 // entries
)

// A Log records who did what, and who was refused. A write is recorded before it is done: an entry without an end was cut
// short by a crash.
type Log struct {
	store *store.Store
	clock clock.Clock
	log   *slog.Logger

	written atomic.Int64 // entries since the last look at what is kept

	wake chan struct{}
	quit chan struct{}
	done chan struct{}

	mu       sync.Mutex
	refusals map[refusal]int // guarded by mu
	others   int             // refusals beyond what is kept apart; guarded by mu
	since    time.Time       // of the first of them; guarded by mu
}

type refusal struct {
	name, role, how, remote, action, note string
	status                                int
}

// OpenLog starts a log. Close ends it.
func OpenLog(st *store.Store, now clock.Clock, log *slog.Logger) *Log {
	l := &Log{
		store: st, clock: now, log: log, refusals: map[refusal]int{},
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	l.written.Store(trimEvery) // an earlier process may have left more than is kept
	l.poke()
	go l.run()
	return l
}

// Begin records that a write is about to happen. When it returns an error nothing may be done: what cannot be recorded does not
// happen.
func (l *Log) Begin(ctx context.Context, r *http.Request, who Principal, action string) (*Entry, error) {
	e := &Entry{log: l, row: store.AccessEntry{
		At: l.clock(), Name: who.Name, Role: who.Role.String(), How: string(who.How), Remote: Remote(r), Action: short(action), Target: short(r.URL.Path),
	}}
	seqs, err := l.store.LogAccess(ctx, e.row)
	if err != nil {
		return nil, err
	}
	e.row.Seq = seqs[0]
	if l.written.Add(1) == trimEvery {
		l.poke()
	}
	return e, nil
}

func (l *Log) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Note records something that is already complete, such as a login or a command.
func (l *Log) Note(ctx context.Context, e store.AccessEntry) error {
	e.At = l.clock()
	_, err := l.store.LogAccess(ctx, e)
	return err
}

// An Entry is a write that is under way.
type Entry struct {
	log *Log

	mu  sync.Mutex
	row store.AccessEntry // guarded by mu
}

// End records how it ended.
func (e *Entry) End(ctx context.Context, status int) error {
	e.mu.Lock()
	e.row.Status = status
	row := e.row
	e.mu.Unlock()
	return e.log.store.EndAccess(ctx, row)
}

type entryKey struct{}

// WithEntry returns the context of a write that is under way.
func WithEntry(ctx context.Context, e *Entry) context.Context {
	return context.WithValue(ctx, entryKey{}, e)
}

// Did makes the log entry of a write more precise: the id of what it made, and a note. Outside of a write it does nothing.
func Did(ctx context.Context, target, note string) {
	e, ok := ctx.Value(entryKey{}).(*Entry)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if target != "" {
		e.row.Target = short(target)
	}
	e.row.Note = short(note)
}

// Refused records that somebody was refused. It never waits.
func (l *Log) Refused(r *http.Request, who Principal, action string, status int, note string) {
	l.mu.Lock()
	k := refusal{name: who.Name, role: who.Role.String(), how: string(who.How), remote: Remote(r), action: short(action), note: short(note), status: status}
	if len(l.refusals) == 0 && l.others == 0 {
		l.since = l.clock()
	}
	if _, ok := l.refusals[k]; ok || len(l.refusals) < refusalRows {
		l.refusals[k]++
	} else {
		l.others++
	}
	l.mu.Unlock()
	l.poke()
}

// run writes what was gathered: the first refusal at once, those that follow when the span is over.
func (l *Log) run() {
	defer close(l.done)
	for {
		select {
		case <-l.wake:
		case <-l.quit:
			l.gather()
			return
		}
		if !l.gather() {
			continue // nothing was refused, so that the next refusal need not wait
		}
		select {
		case <-time.After(refusalSpan):
		case <-l.quit:
			l.gather()
			return
		}
	}
}

// gather writes what was refused, and reports whether there was anything. It looks at what is kept when enough was written.
func (l *Log) gather() bool {
	rows := l.take()
	ctx, cancel := context.WithTimeout(context.Background(), refusalSpan)
	defer cancel()
	if len(rows) > 0 {
		if _, err := l.store.LogAccess(ctx, rows...); err != nil {
			l.log.Warn("refused requests are not in the log", "requests", len(rows), "error", err)
		}
	}
	if l.written.Add(int64(len(rows))) >= trimEvery {
		l.written.Store(0)
		if err := l.store.TrimAccessLog(ctx, keepRefusals, keepEntries); err != nil {
			l.log.Warn("the access log grows", "error", err)
		}
	}
	return len(rows) > 0
}

// take empties what was gathered.
func (l *Log) take() []store.AccessEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := make([]store.AccessEntry, 0, len(l.refusals)+1)
	for k, times := range l.refusals {
		rows = append(rows, store.AccessEntry{
			At: l.since, Name: k.name, Role: k.role, How: k.how, Remote: k.remote, Action: k.action, Status: k.status, Note: k.note, Times: times, Refused: true,
		})
	}
	if l.others > 0 {
		rows = append(rows, store.AccessEntry{
			At: l.since, Role: Public.String(), Action: "various", Status: http.StatusForbidden, Note: "refusals that are not listed one by one", Times: l.others, Refused: true,
		})
	}
	clear(l.refusals)
	l.others = 0
	return rows
}

// Close writes what is left and ends the log.
func (l *Log) Close() {
	close(l.quit)
	<-l.done
}

// short bounds a text that an unauthenticated client may have written.
func short(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:most], len(s))
}
