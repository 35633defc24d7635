package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// The agent of a goal that comes by itself: it works twice, waits in the first work until its deed was killed, and says at the end that
// it is done.
const lifeAgent = `
phase=$(sed -n 's/.*"phase":"\([a-z]*\)".*/\1/p' "$DEED_PAYLOAD_FILE")
if [ "$phase" = execute ] && [ ! -e "$OUT/killed" ]; then
  touch "$OUT/works"
  while [ ! -e "$OUT/killed" ]; do sleep 0.05; done
fi
echo "$phase" >> "$OUT/ran"
echo "report of $phase" > "$DEED_ARTIFACTS/$phase.md"
more=
if [ "$phase" = verify ]; then
  more='"workflow_signal": "continue",'
  [ "$(grep -c verify "$OUT/ran")" -lt 2 ] || more='"workflow_signal": "complete", "external_messages": [{"target": "mail", "text": "the goal is reached"}],'
fi
cat > "$DEED_RESULT_FILE" <<JSON
{"status": "completed", "machine_status": "ok", $more "operator_summary": "did $phase", "artifact_paths": ["$phase.md"]}
JSON
`

// TestServeALife lets a home run by itself: a file in a directory becomes a goal, the goal advances by verified signals and notifies a
// target at its end, and a schedule ticks meanwhile. The server is killed in the middle and started again; nothing is lost, nothing is
// done twice, and the report has it all.
func TestServeALife(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"work": lifeAgent, "tick": "exit 0"})
	for _, d := range []string{"inbox", "taken"} {
		if err := os.Mkdir(filepath.Join(s.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(s.dir, "deed.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, strings.Replace(string(text), "lease_seconds: 30", "lease_seconds: 30, adapter_id: work, profile_id: worker", 1)+`
profiles:
  worker: {style: codex-like, role: r, default_adapter_id: work, prompt_parts: [], skill_ids: [], context_policy: {max_prompt_chars: 20000, include_recent_memory: false}, result_policy: {allow_follow_up_tasks: false, allow_external_messages: true}}
sensors:
  inbox: {kind: directory, directory: inbox, move_to: taken, every_seconds: 1, workflow: {template: goal-loop, instance_key: "${payload.name}", context: {objective: "do what the file says"}}}
outbox: {targets: {mail: {kind: file, directory: mail}}}
`)
	s.ok("schedule", "add", "tick", "--every", "1s", "--type", "script", "--adapter", "tick", "--subject", "a tick")
	v := s.serve("--concurrency", "2")
	writeFile(t, filepath.Join(s.dir, "inbox", "goal.txt"), "write two reports\n")
	s.until("the goal is worked on", func() bool {
		_, err := os.Stat(filepath.Join(s.dir, "works"))
		return err == nil
	})
	v.signal(syscall.SIGKILL)
	v.wait()
	s.noProcess()
	writeFile(t, filepath.Join(s.dir, "killed"), "")

	v = s.serve("--concurrency", "2")
	st := s.open()
	s.until("the goal is reached and told", func() bool {
		list, err := st.Workflows(t.Context(), store.WorkflowFilter{All: true})
		mail, _ := filepath.Glob(filepath.Join(s.dir, "mail", "*.json"))
		return err == nil && len(list) == 1 && list[0].Record.Status == agentruntime.WorkflowCompleted && len(mail) == 1
	})
	s.until("the schedule goes on", func() bool {
		sc, err := st.Schedule(t.Context(), "tick")
		return err == nil && sc.Runs >= 3
	})
	v.signal(syscall.SIGTERM)
	if code := v.wait(); code != 0 {
		t.Errorf("serve ended with %d:\n%s", code, v.said())
	}
	s.noProcess()

	list, err := st.Workflows(t.Context(), store.WorkflowFilter{All: true})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := st.Transitions(t.Context(), list[0].ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var way []string
	for _, x := range steps {
		way = append(way, x.To)
	}
	if want := strings.Fields(goalSteps); !slices.Equal(way, want) {
		t.Errorf("the goal went %v, want %v", way, want)
	}
	if x, err := st.Sensor(t.Context(), "inbox"); err != nil || x.Accepted != 1 {
		t.Errorf("the sensor accepted %d, %v, want the one file", x.Accepted, err)
	}
	sums := s.ok("report", "--since", "1h")
	for _, want := range []string{"goal-loop goal.txt  start → complete", "tick  ran", "1 message delivered"} {
		if !strings.Contains(sums, want) {
			t.Errorf("the report does not speak of %s:\n%s", want, sums)
		}
	}
	if did := s.ok("cycles"); !strings.Contains(did, "by schedules") || !strings.Contains(did, "1 reclaimed") || !strings.Contains(did, "messages sent") {
		t.Errorf("the log of cycles:\n%s", did)
	}
}
