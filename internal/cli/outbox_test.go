package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
)

// TestCrashWhileSending kills the binary before and after a target took a message. It is sent again under the same id, and the
// target ends up with one.
func TestCrashWhileSending(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.OfSend {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"tells": `
cat > "$DEED_RESULT_FILE" <<'JSON'
{"status": "completed", "machine_status": "ok", "operator_summary": "done", "external_messages": [{"target": "box", "text": "hello"}]}
JSON
`})
			config := filepath.Join(s.dir, "deed.yaml")
			old, err := os.ReadFile(config)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, config, string(old)+`
outbox: {targets: {box: {kind: file, directory: box}}}
profiles:
  teller:
    style: claude-like
    role: teller
    default_adapter_id: tells
    prompt_parts: []
    skill_ids: []
    context_policy: {max_prompt_chars: 10000, include_recent_memory: false}
    result_policy: {allow_follow_up_tasks: false, allow_external_messages: true}
`)
			s.ok("task", "add", "--type", "script", "--profile", "teller", "--adapter", "tells")
			if o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, "dispatch"); o.signal != syscall.SIGKILL {
				t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			st := s.open()
			items, err := st.Outbox(t.Context(), store.OutboxFilter{State: store.OutboxPending})
			if err != nil || len(items) != 1 {
				t.Fatalf("%d items wait, %v; want the one that was under way", len(items), err)
			}
			s.ok("outbox", "retry", items[0].ID) // or wait until its lease has passed
			s.ok("dispatch")
			files, err := os.ReadDir(filepath.Join(s.dir, "box"))
			if err != nil || len(files) != 1 || files[0].Name() != items[0].ID+".json" {
				t.Errorf("the target has %v, %v", files, err)
			}
			if o, err := st.OutboxItem(t.Context(), items[0].ID); err != nil || o.State != store.OutboxDelivered {
				t.Errorf("the item is %s, %v", o.State, err)
			}
			s.tidy()
		})
	}
}
