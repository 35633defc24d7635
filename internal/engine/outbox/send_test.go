package outbox_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/engine/outbox"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/store"
)

// TestMain lets the test binary be the supervisor of commands.
func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	os.Exit(m.Run())
}

const key = "whsec_c2VjcmV0LW9mLXRoZS1yZWNlaXZlcg=="

// A place is a store with one settled task, and a deliverer for it.
type place struct {
	*testing.T
	d   *outbox.Deliverer
	now time.Time
}

func newPlace(t *testing.T, targets map[string]settings.Target) *place {
	t.Helper()
	p := &place{T: t, now: time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return p.now }
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "deed.db"), store.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	file := filepath.Join(t.TempDir(), "deed.yaml")
	if err := os.WriteFile(file, []byte("adapters: {\"true\": {kind: script, command: \"true\", timeout_ms: 1000}}\ndefaults: {adapter_id: \"true\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Explicit: file}) // an adapter for what becomes a task
	if err != nil {
		t.Fatal(err)
	}
	cfg.Targets, cfg.OutboxAttempts = targets, 3
	cfg.Retry = config.Retry{Base: time.Minute, Max: time.Hour, RetryAfterCap: time.Hour}
	adm := &task.Admission{Store: st, Config: cfg, Clock: clock, Drivers: driver.NewSet(script.New())}
	p.d = &outbox.Deliverer{Store: st, Admission: adm, Config: cfg, Clock: clock, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOOK_KEY=" + key, "UNRELATED=1"}}
	return p
}

// queue settles a task that has something to deliver, and returns the item.
func (p *place) queue(body string) store.OutboxItem {
	p.Helper()
	ctx := p.Context()
	subject := "mend the test"
	c, err := p.d.Store.EnqueueClaimed(ctx, store.NewTask{
		Intent:    agentruntime.TaskIntent{TaskType: "script", Source: "test", Subject: subject, Payload: json.RawMessage(`{}`)},
		ProfileID: "default", MaxAttempts: 1,
	}, store.ClaimOptions{RunnerID: "r", Lease: time.Hour})
	p.ok(err)
	p.ok(p.d.Store.Begin(ctx, c.Ref, store.Begin{}))
	p.ok(p.d.Store.Settle(ctx, c.Ref, store.Settlement{
		State: "completed", Status: agentruntime.TaskCompleted,
		Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, OperatorSummary: "done"},
		Outbox:  []store.OutboxItem{{Kind: store.OutboxExternalMessage, Body: json.RawMessage(body)}},
	}))
	items, err := p.d.Store.Outbox(ctx, store.OutboxFilter{TaskID: c.Ref.TaskID})
	p.ok(err)
	return items[0]
}

func (p *place) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// send sends what is due and returns what became of an item.
func (p *place) send(id string) store.OutboxItem {
	p.Helper()
	_, err := p.d.Send(p.Context())
	p.ok(err)
	o, err := p.d.Store.OutboxItem(p.Context(), id)
	p.ok(err)
	return o
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	answers := []int{http.StatusInternalServerError, http.StatusTooManyRequests, http.StatusOK}
	var got []deed.Message
	var ids []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id, at := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
		if want := outbox.Signature(key, id, at, body); r.Header.Get("Webhook-Signature") != want {
			t.Errorf("signature %q, want %q", r.Header.Get("Webhook-Signature"), want)
		}
		var m deed.Message
		if err := json.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		got, ids = append(got, m), append(ids, id)
		if answers[0] == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1800")
		}
		w.WriteHeader(answers[0])
		answers = answers[1:]
	}))
	t.Cleanup(srv.Close)
	p := newPlace(t, map[string]settings.Target{"ops": {Kind: settings.TargetWebhook, URL: srv.URL, SecretEnv: "HOOK_KEY"}})
	it := p.queue(`{"target": "ops", "text": "done"}`)

	o := p.send(it.ID)
	if o.State != store.OutboxPending || !o.NextAt.Equal(p.now.Add(time.Minute)) || !strings.Contains(o.LastError, "500") {
		t.Fatalf("after 500: %+v", o)
	}
	if n, err := p.d.Send(t.Context()); n != 0 || err != nil || len(got) != 1 {
		t.Fatalf("it was sent before its time: %d, %v", n, err)
	}
	p.now = o.NextAt
	if o = p.send(it.ID); o.State != store.OutboxPending || !o.NextAt.Equal(p.now.Add(30*time.Minute)) {
		t.Fatalf("after 429: %+v", o)
	}
	p.now = o.NextAt
	if o = p.send(it.ID); o.State != store.OutboxDelivered || o.Result != "200 OK" || o.Attempts != 3 {
		t.Fatalf("after 200: %+v", o)
	}
	if ids[0] != it.ID || ids[0] != ids[2] || got[2].Delivery != 3 || got[2].TaskID != it.TaskID || got[2].Subject != "mend the test" {
		t.Errorf("ids %v, last message %+v", ids, got[2])
	}
}

// TestDeadLetters gives messages up, at once where no retry can help.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(srv.Close)
	p := newPlace(t, map[string]settings.Target{
		"wrong":   {Kind: settings.TargetWebhook, URL: srv.URL + "/x", SecretEnv: "HOOK_KEY"},
		"moved":   {Kind: settings.TargetWebhook, URL: srv.URL + "/moved", SecretEnv: "HOOK_KEY"},
		"unset":   {Kind: settings.TargetWebhook, URL: srv.URL, SecretEnv: "NOT_SET"},
		"fails":   {Kind: settings.TargetCommand, Command: []string{"sh", "-c", "echo the printer is on fire >&2; exit 1"}},
		"others":  {Kind: settings.TargetFile, Directory: t.TempDir(), Profiles: []string{"someone-else"}},
		"types":   {Kind: settings.TargetFile, Directory: t.TempDir(), TaskTypes: []string{"agent-task"}},
		"to-task": {Kind: settings.TargetTask, TaskType: "no-such-type"},
	})
	for _, c := range []struct {
		body, want string
		tries      int
	}{
		{`{"target": "wrong"}`, "404", 1},
		{`{"target": "moved"}`, "307", 1},
		{`{"target": "nowhere"}`, `no target "nowhere"`, 1},
		{`{"text": "to whom?"}`, "names no target", 1},
		{`{"target": "others"}`, "no messages of profile default", 1},
		{`{"target": "types"}`, "no messages of task type script", 1},
		{`{"target": "to-task"}`, "no-such-type", 1},
		{`{"target": "unset"}`, "NOT_SET", 3},
		{`{"target": "fails"}`, "the printer is on fire", 3},
	} {
		it := p.queue(c.body)
		o := p.send(it.ID)
		for range 5 {
			p.now = p.now.Add(2 * time.Hour)
			o = p.send(it.ID)
		}
		if o.State != store.OutboxFailed || o.Attempts != c.tries || !strings.Contains(o.LastError, c.want) {
			t.Errorf("%s: %s after %d, %q; want failed after %d, %q", c.body, o.State, o.Attempts, o.LastError, c.tries, c.want)
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	dir, out := filepath.Join(t.TempDir(), "made", "by it"), filepath.Join(t.TempDir(), "seen")
	p := newPlace(t, map[string]settings.Target{
		"mailbox": {Kind: settings.TargetFile, Directory: dir},
		"script":  {Kind: settings.TargetCommand, Command: []string{"sh", "-c", `cat > "$0"; env >> "$0"; setsid sleep 1000 >/dev/null 2>&1 & echo taken`, out}, SecretEnv: "HOOK_KEY"},
		"queue":   {Kind: settings.TargetTask, TaskType: "script"},
	})
	box := p.queue(`{"target": "mailbox", "n": 1.0}`)
	o := p.send(box.ID)
	data, err := os.ReadFile(filepath.Join(dir, box.ID+".json"))
	if err != nil || o.State != store.OutboxDelivered || !strings.Contains(string(data), `"n":1.0`) {
		t.Errorf("mailbox: %+v, %s, %v", o, data, err)
	}
	o = p.send(p.queue(`{"target": "script", "text": "a"}`).ID)
	data, err = os.ReadFile(out)
	if err != nil || o.State != store.OutboxDelivered || o.Result != "taken" ||
		!strings.Contains(string(data), "HOOK_KEY="+key) || strings.Contains(string(data), "UNRELATED") || !strings.Contains(string(data), "DEED_MESSAGE_ID="+o.ID) {
		t.Errorf("script: %+v, %s, %v", o, data, err)
	}
	if left, err := proc.FindByEnv("DEED_MESSAGE_ID", o.ID); err != nil || len(left) > 0 {
		t.Errorf("what it started is left: %v, %v", left, err)
	}
	o = p.send(p.queue(`{"target": "queue", "do": "it"}`).ID)
	made, err := p.d.Store.Task(t.Context(), o.Result)
	if err != nil || o.State != store.OutboxDelivered || made.Intent.Source != "outbox:queue" || made.Intent.Deed == nil || made.Intent.Deed.Depth != 1 {
		t.Errorf("queue: %+v, %+v, %v", o, made.Intent, err)
	}
}

// TestSlowTargets bounds a target that never answers, and stops when deed is asked to stop.
func TestSlowTargets(t *testing.T) {
	t.Parallel()
	begun := filepath.Join(t.TempDir(), "begun")
	slow := settings.Target{Kind: settings.TargetCommand, Command: []string{"sh", "-c", `: >"$0"; exec sleep 600`, begun}, TimeoutSeconds: 1}
	p := newPlace(t, map[string]settings.Target{"slow": slow})
	it := p.queue(`{"target": "slow"}`)
	if o := p.send(it.ID); o.State != store.OutboxPending || !strings.Contains(o.LastError, "longer than 1s") {
		t.Errorf("after its time: %+v", o)
	}
	p.now = p.now.Add(time.Hour)
	_ = os.Remove(begun)
	slow.TimeoutSeconds = 600
	p.d.Config.Targets["slow"] = slow
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			if _, err := os.Stat(begun); err == nil {
				return
			}
			select {
			case <-tick.C:
			case <-t.Context().Done():
				return
			}
		}
	}()
	if _, err := p.d.Send(ctx); err != nil {
		t.Fatal(err)
	}
	o, err := p.d.Store.OutboxItem(t.Context(), it.ID)
	if err != nil || o.State != store.OutboxPending || o.NextAt.After(p.now) {
		t.Errorf("after an interruption: %+v, %v", o, err)
	}
}

// TestManyMessages sends what is due in bounded portions, each once.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newPlace(t, map[string]settings.Target{"box": {Kind: settings.TargetFile, Directory: dir}})
	var want []string
	for range 40 {
		want = append(want, p.queue(`{"target": "box"}`).ID+".json")
	}
	if n, err := p.d.Send(t.Context()); n != 40 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
}
