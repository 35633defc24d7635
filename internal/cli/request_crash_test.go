package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/store"
	deedserver "github.com/deedrun/deed/internal/web/server"
)

// TestCrashInAWrite kills the real binary inside writes over HTTP: when the key is marked, when the thing is done, when the answer is
// kept. A new server gets the same request with the same key, twice, and it has happened once.
func TestCrashInAWrite(t *testing.T) {
	t.Parallel()
	script := map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "quiet", "payload": map[string]any{}}
	body, err := json.Marshal(map[string]any{"tasks": []any{script}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		prepare func(s *site) string // returns the path
		body    string
		event   string // that reports what was asked for
	}{
		"add":    {func(*site) string { return "/tasks" }, string(body), "task_enqueued"},
		"cancel": {func(s *site) string { return "/tasks/" + s.add(script) + "/cancel" }, `{"reason":"no"}`, store.EventTaskOperatorCanceled},
		"retry": {func(s *site) string {
			id := s.add(script)
			s.ok("task", "cancel", id)
			return "/tasks/" + id + "/retry"
		}, "", store.EventTaskOperatorRetried},
		"run": {func(s *site) string {
			s.ok("schedule", "add", "nightly", "--every", "24h", "--type", "script", "--adapter", "quiet", "--subject", "x")
			return "/schedules/nightly/run"
		}, "", "task_enqueued"},
	} {
		for _, p := range crashpoint.OfRequest {
			t.Run(name+"/"+string(p), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, map[string]string{"quiet": "exit 0"})
				s.ok("pause") // nothing runs: what is there was asked for
				path := c.prepare(s)
				st := s.open()
				before := happened(t, st, c.event)

				s.env = []string{"DEED_CRASHPOINT=" + string(p)}
				v := s.serve()
				if status, text := s.write(path, c.body); status != 0 {
					t.Fatalf("the crash point was never reached: %d %s", status, text)
				}
				v.wait()
				s.env = nil
				s.serve()
				var last string
				for try := range 2 {
					status, text := s.write(path, c.body)
					if status/100 != 2 || try > 0 && text != last {
						t.Fatalf("try %d: %d %s, after %s", try, status, text, last)
					}
					last = text
				}
				if n := happened(t, st, c.event) - before; n != 1 {
					t.Errorf("it happened %d times", n)
				}
			})
		}
	}
}

// write posts to the server of a site with the same key each time. The status is 0 when the server dies before it has answered.
func (s *site) write(path, body string) (status int, text string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://deed/api/v1"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", "the-key")
	client := deedserver.Client(home.At(s.home))
	client.Timeout = time.Minute
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(data)
}

// happened is how many events of a kind the store has.
func happened(t *testing.T, st *store.Store, kind string) (n int) {
	t.Helper()
	list, err := st.Events(t.Context(), store.EventFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Type == kind {
			n++
		}
	}
	return n
}
