package cli

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	s.ok("workflow", "start", "goal-loop", "a goal", "--agent", "tells", "--workspace", t.TempDir())
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
