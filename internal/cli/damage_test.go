package cli

import (
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/base/home"
	deedserver "github.com/deedrun/deed/internal/web/server"
)

// TestDamagedListsSaySo spoils rows as a foreign hand would. Every list shows the rest, and names what it cannot read to a program as well.
func TestDamagedListsSaySo(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"tells": `echo '{"status": "completed", "machine_status": "ok", "operator_summary": "did it", "external_messages": [{"target": "box", "text": "done"}]}' > "$DEED_RESULT_FILE"` + "\n",
	})
	settings := filepath.Join(s.dir, "deed.yaml")
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, settings, string(text)+`
sensors: {eye: {kind: push}}
outbox: {targets: {box: {kind: file, directory: mail}}}
profiles:
  teller: {style: claude-like, role: teller, default_adapter_id: tells, prompt_parts: [], skill_ids: [],
    context_policy: {max_prompt_chars: 10000, include_recent_memory: false},
    result_policy: {allow_follow_up_tasks: false, allow_external_messages: true}}
`)
	event := filepath.Join(s.dir, "event.json")
	writeFile(t, event, `{"sensor_id": "eye", "event_id": "e1", "observed_at": "2026-11-15T08:00:00Z", "source_ref": "door", "dedupe_key": "k",
 "payload": {"seen": true}, "proposed_task": {"task_type": "script", "requested_profile_id": "teller", "source": "eye", "subject": "look", "payload": {}}}`)
	s.ok("task", "add", "--type", "script", "--adapter", "tells", "--profile", "teller")
	s.ok("dispatch")
	flow := s.ok("workflow", "start", "goal-loop", "a goal", "--agent", "tells", "--workspace", t.TempDir())
	flow = strings.TrimSpace(flow)
	s.ok("sensor", "emit", "--file", event)

	db, err := sql.Open("sqlite", filepath.Join(s.home, "deed.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`UPDATE workflows SET context = '{'`, `UPDATE sensors SET cursor = '}'`, `UPDATE sensor_events SET payload = '}'`, `UPDATE outbox SET body = '}'`,
	} {
		res, err := db.ExecContext(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			t.Fatalf("%s: %d rows, %v", q, n, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if o := s.deed(nil, "workflow", "show", flow, "--json"); o.code != 0 || !strings.Contains(o.stdout, "goal-loop") || !strings.Contains(o.stderr, "damaged: context of workflow "+flow) {
		t.Errorf("deed workflow show: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for list, shown := range map[string]string{
		"workflow list": "goal-loop", "sensor list": "eye", "sensor events": "e1", "outbox list --state delivered": "delivered",
	} {
		for _, more := range []string{"", "--json"} {
			o := s.deed(nil, strings.Fields(list+" "+more)...)
			if o.code != 0 || !strings.Contains(o.stdout, shown) || !strings.Contains(o.stderr, "damaged: ") {
				t.Errorf("deed %s %s: exit %d\n%s%s", list, more, o.code, o.stdout, o.stderr)
			}
		}
	}
}

// TestDamagedTasksHideNothing damages a task that is done and the attempt of another. Every view of the whole home still works, and a request
// over HTTP for one of the two alone is answered with what is wrong with it.
func TestDamagedTasksHideNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"good": "exit 0", "bad": "exit 1"})
	for _, x := range [][2]string{{"good", "whole"}, {"good", "spoiled"}, {"good", "proofless"}, {"bad", "failed"}} {
		s.ok("task", "add", "--type", "script", "--adapter", x[0], "--subject", x[1], "--attempts", "1")
	}
	s.ok("dispatch")
	s.ok("agent", "add", "loom")
	writeFile(t, filepath.Join(s.dir, "SOUL.md"), "calm\n")
	writeFile(t, filepath.Join(s.dir, "PURPOSE.md"), "weave\n")
	s.ok("agent", "propose", "loom", "--soul", filepath.Join(s.dir, "SOUL.md"), "--purpose", filepath.Join(s.dir, "PURPOSE.md"))
	db, err := sql.Open("sqlite", filepath.Join(s.home, "deed.db"))
	if err != nil {
		t.Fatal(err)
	}
	var id, whole string
	for subject, to := range map[string]*string{"spoiled": &id, "whole": &whole} {
		if err := db.QueryRowContext(t.Context(), `SELECT id FROM tasks WHERE intent LIKE ?`, "%"+subject+"%").Scan(to); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []string{
		`UPDATE attempts SET evidence = '{' WHERE task_id IN (SELECT id FROM tasks WHERE intent LIKE '%proofless%' OR intent LIKE '%failed%')`,
		`UPDATE tasks SET intent = '{' WHERE intent LIKE '%spoiled%' OR intent LIKE '%failed%'`, `UPDATE agents SET record = '{'`,
		`UPDATE events SET detail = '{' WHERE seq IN (SELECT seq FROM events WHERE task_id IN (SELECT id FROM tasks WHERE intent LIKE '%whole%') LIMIT 1)`,
	} {
		if res, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		} else if n, err := res.RowsAffected(); err != nil || n == 0 {
			t.Fatalf("%s: %d rows, %v", q, n, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	why := "intent of task " + id + " cannot"
	for _, all := range []string{"report", "report --json", "top", "top --json"} {
		o := s.deed(nil, strings.Fields(all)...)
		if o.code != 0 || !strings.Contains(o.stdout, "whole") || !strings.Contains(o.stdout, "proofless") || !strings.Contains(o.stdout, why) {
			t.Errorf("deed %s: exit %d\n%s%s", all, o.code, o.stdout, o.stderr)
		}
	}
	if o := s.deed(nil, "agent", "review", "loom"); strings.Contains(o.stderr, "no agent") {
		t.Errorf("an agent whose record cannot be read: %s", o.stderr)
	}
	v := s.serve()
	for path, want := range map[string][]string{
		"/api/v1/tasks/" + id: {"500", `"code":"damaged"`, why}, "/api/v1/home": {"200", "whole", why}, "/": {"200", "whole"}, "/tasks/" + id: {"500", why},
		"/api/v1/tasks/" + whole: {"200", "whole"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://deed"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := deedserver.Client(home.At(v.home)).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		for _, w := range want {
			if err != nil || !strings.Contains(resp.Status+string(body), w) {
				t.Errorf("GET %s: %s, without %s, %v:\n%s", path, resp.Status, w, err, body)
			}
		}
	}
	v.signal(syscall.SIGTERM)
	if code := v.wait(); code != 0 {
		t.Errorf("exit %d:\n%s", code, v.said())
	}
}

// TestKilledServeIsSeen kills a dispatcher with its agent at work. Until somebody dispatches again nothing says that it works.
func TestKilledServeIsSeen(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"gated": `echo up > "$OUT/up"; while [ ! -e "$OUT/go" ]; do sleep 0.05; done; exit 0`})
	v := s.serve()
	id := strings.TrimSpace(s.ok("task", "add", "--type", "script", "--adapter", "gated"))
	s.until("the agent runs", func() bool { _, err := os.Stat(filepath.Join(s.dir, "up")); return err == nil })
	for _, c := range [][]string{{"top"}, {"task", "list"}} {
		if o := s.deed(nil, c...); o.code != 0 || c[0] == "top" && !strings.Contains(o.stdout, "dispatch on") || strings.Contains(o.stdout+o.stderr, "gone") {
			t.Errorf("deed %s while it works:\n%s%s", c, o.stdout, o.stderr)
		}
	}
	v.signal(syscall.SIGKILL)
	v.wait()
	if o := s.ok("top"); !strings.Contains(o, "no dispatcher runs") || !strings.Contains(o, "its process is gone") {
		t.Errorf("deed top:\n%s", o)
	}
	if o := s.deed(nil, "task", "show", id); !strings.Contains(o.stderr, "the process that ran it is gone") {
		t.Errorf("deed task show:\n%s%s", o.stdout, o.stderr)
	}
	if o := s.deed(nil, "task", "list"); !strings.Contains(o.stdout, "running, gone") || !strings.Contains(o.stderr, "settles it") {
		t.Errorf("deed task list:\n%s%s", o.stdout, o.stderr)
	}
	if o := s.ok("task", "show", id, "--json"); !strings.Contains(o, `"phase": "gone"`) {
		t.Errorf("deed task show --json:\n%s", o)
	}
	writeFile(t, filepath.Join(s.dir, "go"), "")
	s.ok("dispatch")
	if o := s.ok("task", "show", id); !strings.Contains(o, "lost") {
		t.Errorf("after it was settled:\n%s", o)
	}
	s.noProcess()
}

// TestTheMachineFailed has an agent, which runs as its user, put something else in the place of its evidence. That is no fault of the
// work, and the exit code says so, also to a process that watches.
func TestTheMachineFailed(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"breaker": `rm -rf "$OUT/home/bundles"; echo x > "$OUT/home/bundles"`, "failing": "exit 1"})
	for agent, want := range map[string]int{"failing": 1, "breaker": 3} {
		o := s.deed(nil, "run", "--agent", agent, "--isolation", "process", "--workspace", t.TempDir(), "--json", "try")
		var doc struct {
			TaskID string `json:"task_id"`
		}
		if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || o.code != want {
			t.Fatalf("%s: exit %d, %v:\n%s%s", agent, o.code, err, o.stdout, o.stderr)
		}
		if agent == "breaker" {
			if err := os.Remove(filepath.Join(s.dir, "home", "bundles")); err != nil {
				t.Fatal(err)
			}
		}
		if o := s.deed(nil, "watch", doc.TaskID); o.code != want {
			t.Errorf("watch of %s: exit %d:\n%s%s", agent, o.code, o.stdout, o.stderr)
		}
	}
}
