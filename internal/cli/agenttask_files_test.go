package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
)

// The caller hears what the agent left among its artifacts that is none, and so does whoever reads the bundle.
func TestAgentTaskRunTellsWhatIsNoArtifact(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": `cd "$DEED_ARTIFACTS" && mkfifo pipe && ln -s /etc/passwd link && echo x >file && echo '{"status": "completed"}' >"$DEED_RESULT_FILE"`})
	out := filepath.Join(s.dir, "out")
	o := s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{"artifacts_path": out}))
	env := envelope(t, o.stdout)
	const left = "left out of the artifacts, which are regular files: link (a link), pipe (a named pipe)"
	if o.code != ExitDone || len(env.Diagnostics) != 1 || env.Diagnostics[0].Class != "deed.artifacts.dropped" || env.Diagnostics[0].Message != left {
		t.Errorf("exit %d: %+v", o.code, env.Diagnostics)
	}
	for name, want := range map[string]string{codebox.PathEvents: `"artifacts_dropped"`, "files/verdict.json": `"artifact_dropped"`} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: no %s, %v\n%s", name, want, err, text)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "files/artifacts/file")); err != nil {
		t.Error(err)
	}
}
