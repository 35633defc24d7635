package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

const (
	heartbeat  = 15 * time.Second // the longest silence on a stream: proxies and clients see that it lives
	writeLimit = 10 * time.Second // how long a client may take to read what it is sent
	maxEvents  = 1000
)

type streamQuery struct {
	Task     string   `query:"task" doc:"only what is about this task"`
	Events   []string `query:"event" doc:"only events of these names"`
	Progress bool     `query:"progress" default:"true" doc:"how far running attempts are, too; that is told once and has no id"`
	After    string   `query:"after" doc:"the id of an event: what came after it; absent: what comes from now on"`
	LastID   string   `header:"Last-Event-ID" doc:"as after; what an event stream client sends when it connects again"`
}

type eventQuery struct {
	Task   string `query:"task" doc:"only what is about this task"`
	After  string `query:"after" doc:"the id of an event: only what came after it"`
	Newest bool   `query:"newest" doc:"the newest ones instead of the oldest"`
	Limit  int    `query:"limit" default:"100" min:"1" max:"1000" doc:"at most so many"`
}

// Events is a part of the log of what the engine did, oldest first.
type Events struct {
	Schema string        `json:"schema"`
	Items  []feed.Record `json:"items"`
}

func (a *API) events() {
	raw(a, http.MethodGet, "/events", about{
		id: "streamEvents", tag: "events", summary: "Follow what changes", need: access.Read, stream: true, media: "text/event-stream",
		detail: "Server-sent events. Each has the id of the event, its name and a JSON document as data. With Last-Event-ID, or after, the stream goes on " +
			"behind that event and misses nothing. A client that was too slow gets one event named overflow and then what it missed, without the progress of " +
			"that time. A comment comes at least every 15 seconds.",
	}, a.stream)
	get(a, "/events/log", about{id: "listEvents", tag: "events", summary: "List what happened", need: access.Read}, a.listEvents)
}

// eventID reads the id of an event; -1 is none.
func eventID(text, name string) (int64, error) {
	if text == "" {
		return feed.Now, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, httperror.New(http.StatusBadRequest, "unknown_event_id", name+" "+strconv.Quote(clip(text))+" is not the id of an event; leave it out to begin now, or use 0 to begin with the first")
	}
	return n, nil
}

func (a *API) taskID(ctx context.Context, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	t, err := a.Store.Task(ctx, id)
	return t.ID(), err
}

func (a *API) listEvents(ctx context.Context, in eventQuery) (Events, error) {
	after, err := eventID(in.After, "after")
	if err != nil {
		return Events{}, err
	}
	id, err := a.taskID(ctx, in.Task)
	if err != nil {
		return Events{}, err
	}
	list, err := a.Store.Events(ctx, store.EventFilter{TaskID: id, After: max(after, 0), Newest: in.Newest, Limit: in.Limit})
	out := Events{Schema: "deed/events/v1", Items: []feed.Record{}}
	for _, e := range list {
		out.Items = append(out.Items, feed.RecordOf(e))
	}
	return out, err
}

// stream writes server-sent events until the client or the server ends.
func (a *API) stream(ctx context.Context, w http.ResponseWriter, r *http.Request, in streamQuery) error {
	after, err := eventID(in.After, "after")
	if err == nil && in.LastID != "" {
		after, err = eventID(in.LastID, "Last-Event-ID")
	}
	if err != nil {
		return err
	}
	id, err := a.taskID(ctx, in.Task)
	if err != nil {
		return err
	}
	var begin strings.Builder
	begin.WriteString("retry: 2000\n\n")
	newest, err := a.Feed.Position(ctx)
	if err != nil {
		return err
	}
	if after > newest {
		// The store was replaced by an older one. What the client knows may be of no worth: it has to look again.
		begin.WriteString("event: " + feed.Overflow + "\ndata: {\"event\":\"" + feed.Overflow + "\",\"source\":\"" + feed.FromFeed + "\",\"at\":\"" + string(agentruntime.At(a.Clock())) + "\"}\n\n")
		after = newest
	}
	sub, err := a.Feed.Subscribe(ctx, after, feed.Filter{TaskID: id, Events: in.Events, Progress: in.Progress})
	if err != nil {
		return err
	}
	defer sub.Close()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies that would hold the answer until it ends
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Transfer-Encoding", "identity") // over HTTP/1.1 to the end of the connection: chunks would make three writes of each
	s := &sse{w: w, ctl: http.NewResponseController(w)}
	s.buf = append(s.buf, begin.String()...)
	w.WriteHeader(http.StatusOK)
	if s.flush() {
		s.pump(ctx, sub)
	}
	return nil
}

// An sse is one event stream that is being written.
type sse struct {
	w   http.ResponseWriter
	ctl *http.ResponseController
	buf []byte
}

// pump writes what comes until the client cannot or will not read any more.
func (s *sse) pump(ctx context.Context, sub *feed.Subscription) {
	for ctx.Err() == nil {
		wait, stop := context.WithTimeout(ctx, heartbeat)
		events, err := sub.Next(wait)
		quiet := wait.Err() != nil && ctx.Err() == nil
		stop()
		switch {
		case quiet && len(events) == 0:
			s.buf = append(s.buf, ": still here\n\n"...)
		case err != nil:
			return // the store's fault, or the end; the client comes back and continues after its last id
		}
		for _, e := range events {
			s.buf = append(s.buf, e.Frame()...)
		}
		if !s.flush() {
			return
		}
	}
}

// flush sends what is there, and reports whether the client took it in time.
func (s *sse) flush() bool {
	_ = s.ctl.SetWriteDeadline(clock.Start().Add(writeLimit)) // not every writer has one
	_, err := s.w.Write(s.buf)
	s.buf = s.buf[:0]
	return err == nil && s.ctl.Flush() == nil
}
