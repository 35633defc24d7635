package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

// example is the agent in examples/, with a workflow and a wallet added.
func example(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "caretaker")
	if err := os.CopyFS(dir, os.DirFS("../../examples/caretaker")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "wallets.yaml"), "- {agent_id: caretaker, chain: bitcoin, address: bc1q9}\n")
	if err := os.Mkdir(filepath.Join(dir, "workflows"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "workflows", "tidy.yaml"), `workflow_type: tidy
initial_state: work
states:
  - {state_id: work, task_type: script, emits_task_intent: true, transitions: [{signal: done, next_state: end}]}
  - {state_id: end, completion_signals: [done]}
`)
	return dir
}

// homeSite is a site that works by the settings of its home.
func homeSite(t *testing.T, engine string) *site {
	t.Helper()
	s := newSite(t, nil)
	s.env = append(s.env, "DEED_CONFIG=")
	if err := os.Remove(filepath.Join(s.dir, "deed.yaml")); err != nil {
		t.Fatal(err)
	}
	if engine == store.Postgres {
		s.dsn = pgtest.DSN(t)
	}
	return s
}

// ownSettings is what a home has before an agent comes into it.
const ownSettings = "# mine\nretry: {base_seconds: 0.001, max_seconds: 0.001} # quick\n"

// standing is what somebody finds who looks at the home's files: the settings, the skills and the workflows, whole.
func (s *site) standing() string {
	s.t.Helper()
	var b strings.Builder
	for _, top := range []string{"deed.yaml", "skills", "workflows"} {
		err := filepath.WalkDir(filepath.Join(s.home, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			b.WriteString(path + "\n" + string(text))
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.t.Fatal(err)
		}
	}
	return b.String()
}

// rows counts what the store has of the agent.
func (s *site) rows(name string) (agents, wallets, version, schedules int) {
	s.t.Helper()
	st, ctx := s.open(), s.t.Context()
	g, err := st.Agent(ctx, name)
	if err == nil {
		agents, version = 1, int(g.Constitution)
	} else if !errors.Is(err, store.ErrNotFound) {
		s.t.Fatal(err)
	}
	list, err := st.Wallets(ctx, store.WalletFilter{AgentID: name})
	if err != nil {
		s.t.Fatal(err)
	}
	plans, err := st.Schedules(ctx, "", 10)
	if err != nil {
		s.t.Fatal(err)
	}
	return agents, len(list), version, len(plans)
}

// leftovers ages the files in the temporary directory, sweeps, and asserts that nothing is left of an import or a skill.
func (s *site) leftovers() {
	s.t.Helper()
	tmp := filepath.Join(s.home, "tmp")
	entries, err := os.ReadDir(tmp)
	if err != nil {
		s.t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, e := range entries {
		if err := os.Chtimes(filepath.Join(tmp, e.Name()), old, old); err != nil {
			s.t.Fatal(err)
		}
	}
	s.ok("cleanup")
	var left []string
	for _, glob := range []string{"tmp/*", ".import*", "import.json", "*/.*.tmp", "blobs/sha256/.*"} {
		some, err := filepath.Glob(filepath.Join(s.home, glob))
		if err != nil {
			s.t.Fatal(err)
		}
		left = append(left, some...)
	}
	if len(left) > 0 {
		s.t.Errorf("left behind: %v", left)
	}
}

// TestImportCrash kills the real binary at every step of an import. The next command finds the home as it was or as it will be; the
// same import then succeeds, and nothing is left over.
func TestImportCrash(t *testing.T) {
	t.Parallel()
	steps := append([]crashpoint.Point{}, crashpoint.OfImport...)
	steps = append(steps, "import.half#2", crashpoint.SkillStaged, crashpoint.SkillPublished, crashpoint.StoreWritten)
	for _, engine := range []string{store.SQLite, store.Postgres} {
		for _, p := range steps {
			t.Run(engine+"/"+string(p), func(t *testing.T) {
				t.Parallel()
				crashImport(t, engine, p)
			})
		}
	}
}

func crashImport(t *testing.T, engine string, p crashpoint.Point) {
	source := example(t)
	s := homeSite(t, engine)
	s.ok("agent", "add", "host") // the home is there
	writeFile(t, filepath.Join(s.home, "deed.yaml"), ownSettings)
	before := s.standing()
	arguments := []string{"agent", "import", source, "--merge-settings"}
	if o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, arguments...); o.signal != syscall.SIGKILL {
		t.Fatalf("the crash point %s was never reached: exit %d\n%s", p, o.code, o.stderr)
	}
	agents, wallets, version, schedules := s.rows("caretaker")
	whole := agents == 1
	if n := agents + wallets + version + schedules; n != 0 && n != 4 {
		t.Fatalf("a part of the agent is there: %d agents, %d wallets, version %d, %d schedules", agents, wallets, version, schedules)
	}
	if want := p == crashpoint.ImportCommitted || p == crashpoint.StoreWritten; whole != want {
		t.Errorf("whole: %v, want %v", whole, want)
	}
	s.ok("skill", "list") // any command will do
	if now := s.standing(); (now == before) == whole {
		t.Errorf("the rows are there: %v, and the files are\n%s", whole, now)
	}
	s.ok(arguments...)
	agents, wallets, version, schedules = s.rows("caretaker")
	if agents != 1 || wallets != 1 || version != 1 || schedules != 1 {
		t.Errorf("after it was done again: %d agents, %d wallets, version %d, %d schedules", agents, wallets, version, schedules)
	}
	after := s.standing()
	for _, want := range []string{"# mine", "# quick", "agent: caretaker", "skills/housekeeping/SKILL.md", "workflows/tidy.yaml"} {
		if !strings.Contains(after, want) {
			t.Errorf("after it was done again the home lacks %q:\n%s", want, after)
		}
	}
	s.ok("agent", "export", "caretaker", filepath.Join(s.dir, "again.tar.gz"))
	s.leftovers()
}

// TestImportTakenBackCrash kills the process that takes a broken import back, in the middle: the next one continues.
func TestImportTakenBackCrash(t *testing.T) {
	t.Parallel()
	source := example(t)
	s := homeSite(t, store.SQLite)
	s.ok("agent", "add", "host")
	before := s.standing()
	for _, p := range []crashpoint.Point{crashpoint.ImportPublished, crashpoint.ImportTakenBack} {
		args := []string{"agent", "list"}
		if p == crashpoint.ImportPublished {
			args = []string{"agent", "import", source}
		}
		if o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, args...); o.signal != syscall.SIGKILL {
			t.Fatalf("the crash point %s was never reached: exit %d\n%s", p, o.code, o.stderr)
		}
	}
	// What somebody wrote meanwhile is theirs.
	writeFile(t, filepath.Join(s.home, "workflows", "tidy.yaml"), "# theirs\n")
	s.ok("agent", "list")
	if now := s.standing(); now != before+filepath.Join(s.home, "workflows", "tidy.yaml")+"\n# theirs\n" {
		t.Errorf("taken back, the home has\n%s", now)
	}
	s.leftovers()
}

// TestSkillCrash kills the real binary at every step of adding a skill and its next version.
func TestSkillCrash(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.OfSkill {
		for _, again := range []bool{false, true} {
			t.Run(string(p)+map[bool]string{true: "/replace"}[again], func(t *testing.T) {
				t.Parallel()
				crashSkill(t, p, again)
			})
		}
	}
}

func crashSkill(t *testing.T, p crashpoint.Point, again bool) {
	s := homeSite(t, store.SQLite)
	dir := filepath.Join(s.dir, "links")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(version string) {
		writeFile(t, filepath.Join(dir, "SKILL.md"), "---\nname: links\ndescription: Counts.\nmetadata: {version: \""+version+"\"}\n---\n"+version+"\n")
		writeFile(t, filepath.Join(dir, "notes.md"), version)
	}
	s.ok("agent", "add", "host")
	arguments := []string{"skill", "add", dir}
	if again {
		write("1")
		s.ok(arguments...)
		arguments = append(arguments, "--replace")
	}
	before := s.standing()
	write("2")
	if o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, arguments...); o.signal != syscall.SIGKILL {
		t.Fatalf("the crash point %s was never reached: exit %d\n%s", p, o.code, o.stderr)
	}
	now := s.standing()
	s.ok(arguments...)
	after := s.standing()
	if strings.Count(after, "2") < 2 || after == before {
		t.Fatalf("added again it is\n%s", after)
	}
	if want := map[bool]string{true: after, false: before}[p == crashpoint.SkillPublished]; now != want {
		t.Errorf("killed at %s the home has\n%s\nwant\n%s", p, now, want)
	}
	if out := s.ok("skill", "list"); !strings.Contains(out, "links  2") {
		t.Errorf("listed as\n%s", out)
	}
	if o := s.deed([]string{"DEED_CRASHPOINT=" + string(crashpoint.SkillRemoved)}, "skill", "remove", "links"); o.signal != syscall.SIGKILL {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	if out := s.ok("skill", "list"); strings.Contains(out, "links") {
		t.Errorf("removed, it is listed:\n%s", out)
	}
	s.leftovers()
}
