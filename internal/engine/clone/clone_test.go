package clone

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/agent/identity"
	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
)

const (
	envSecret  = "sk-live-4f9c2b7a1d8e6f3a0b5c"
	fileSecret = "ghp_Zk39Qm27Xw81Lt64Rv05"
	ownSecret  = "tok_9182736455647382910aa"
)

const settingsText = `
agent: loom
database: /elsewhere/deed.db
secrets: {TOKEN: {file: /elsewhere/token}}
adapters:
  usual: {kind: script, command: skills/tidy/bin/tidy-run, timeout_ms: 1000, env_file: secret.env, env: {API_KEY: ` + envSecret + `, MODE: calm}}
defaults: {adapter_id: usual}
profiles:
  handy: {style: codex-like, role: r, default_adapter_id: usual, prompt_parts: [], skill_ids: [tidy], context_policy: {max_prompt_chars: 1000, include_recent_memory: false}, result_policy: {allow_follow_up_tasks: false, allow_external_messages: false}}
task_types:
  sweep: {task_type: sweep, payload_schema_id: deed/payload.any/v1, allowed_skill_ids: [tidy]}
sensors:
  door: {kind: push, task: {task_type: sweep}}
`

const flowText = `workflow_type: sweep-up
initial_state: work
states:
  - {state_id: work, task_type: sweep, emits_task_intent: true, default_skill_ids: [tidy], transitions: [{signal: done, next_state: end}]}
  - {state_id: end, completion_signals: [done]}
`

type site struct {
	t    *testing.T
	home *home.Home
	st   *store.Store
}

func newSite(t *testing.T) *site {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), h.DB(), store.Options{Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &site{t, h, st}
}

func (s *site) write(name, text string, perm os.FileMode) {
	s.t.Helper()
	p := filepath.Join(s.home.Root(), name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), perm); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) config() *config.Config {
	s.t.Helper()
	c, err := config.Load(config.Options{Home: s.home.Config()})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// loom makes a home with an agent that has one of everything.
func loom(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.write("deed.yaml", settingsText, 0o600)
	s.write("secret.env", "GITHUB_TOKEN="+fileSecret+"\n", 0o600)
	s.write("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies.\n---\nTidy up.\n", 0o644)
	s.write("skills/tidy/bin/tidy-run", "#!/bin/sh\n", 0o755)
	s.write("workflows/sweep.yaml", flowText, 0o644)
	if _, err := bundle.LoadOrCreateKey(s.home.Keys()); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := s.st.AddAgent(ctx, agentruntime.AgentIdentity{
		AgentID: "loom", InternalName: "loom", DisplayName: "Loom", Host: "here", User: "me",
		OnchainIdentity: &agentruntime.OnchainIdentity{Contract: "SP1.registry"},
		ExternalName:    &agentruntime.ExternalName{Name: "Trustless Indra", Source: agentruntime.NameFromCache, WalletRef: "bc1q9"},
	}, "me"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.st.AddWallet(ctx, agentruntime.WalletIdentity{AgentID: "loom", Chain: "bitcoin", Address: "bc1q9", PublicKey: "02ab"}, "me"); err != nil {
		t.Fatal(err)
	}
	book := identity.Book{Store: s.st, Home: s.home}
	for _, soul := range []string{"Calm.\n", "Calm and kind.\n"} {
		p, _, err := book.Propose(ctx, identity.Draft{AgentID: "loom", Soul: []byte(soul), Purpose: []byte("Weave.\n"), By: "me"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := book.Decide(ctx, p.ID, true, "", "me"); err != nil {
			t.Fatal(err)
		}
	}
	e := &schedule.Engine{
		Store: s.st, Clock: time.Now,
		Admission: &task.Admission{Store: s.st, Config: s.config(), Clock: time.Now, Drivers: driver.NewSet(script.New()), Skills: skill.For(s.home, "")},
	}
	if _, _, err := e.Put(ctx, schedule.Plan{Name: "nightly", Every: time.Hour, Task: agentruntime.TaskIntent{TaskType: "sweep", SkillIDs: []string{"tidy"}, Payload: []byte(`{"n":1}`)}}, "me"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) export(name string) (*Export, error) {
	s.t.Helper()
	return Source{Home: s.home, Store: s.st, Config: s.config(), Environ: []string{"DEPLOY_TOKEN=" + ownSecret, "PATH=/bin"}}.Export(s.t.Context(), name)
}

func (s *site) mustExport(name string) *Export {
	s.t.Helper()
	x, err := s.export(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return x
}

// pack writes an export to a file.
func (s *site) pack(t filetree.Tree) string {
	s.t.Helper()
	var b bytes.Buffer
	if err := t.Pack(&b); err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.t.TempDir(), "a.tar.gz")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

func (s *site) target() Target {
	return Target{Home: s.home, Store: s.st, Config: s.config(), Drivers: driver.NewSet(script.New()), Clock: time.Now, By: "me"}
}

// An agent goes to another home and is the same there: exported again it is the same archive, byte for byte.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	from, to := loom(t), newSite(t)
	x := from.mustExport("loom")
	if again := from.mustExport("loom"); again.Tree.Digest() != x.Tree.Digest() {
		t.Error("exported twice, it differs")
	}
	a, err := Read(from.pack(x.Tree))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.target().Import(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if _, err := to.target().Import(t.Context(), a); err != nil {
		t.Errorf("what is there and the same is in the way: %v", err)
	}
	y := to.mustExport("loom")
	for _, f := range x.Tree {
		if g, _ := y.Tree.Get(f.Path); !bytes.Equal(f.Data, g.Data) {
			t.Errorf("%s came back as\n%s\nand was\n%s", f.Path, g.Data, f.Data)
		}
	}
	if x.Tree.Digest() != y.Tree.Digest() {
		t.Error("exported from the second home, it is another archive")
	}
	if len(a.Versions) != 2 || len(a.Skills) != 1 || len(a.Workflows) != 1 || len(a.Schedules) != 1 || len(a.Wallets) != 1 || a.Identity.Host != "" {
		t.Errorf("got %+v", a)
	}
	if got := strings.Join(x.Left, " "); got != "$.database $.secrets $.adapters.usual.env_file $.adapters.usual.env.API_KEY" {
		t.Errorf("left out %s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(to.home.Root(), ".import*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// No secret is in an archive: not of an env file, not of the settings, not of the environment, and not the key.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	s := loom(t)
	x := s.mustExport("loom")
	key, err := os.ReadFile(filepath.Join(s.home.Keys(), "ed25519.pem"))
	if err != nil {
		t.Fatal(err)
	}
	body := strings.Split(string(key), "\n")[1]
	for _, f := range x.Tree {
		for _, secret := range []string{envSecret, fileSecret, ownSecret, body, "PRIVATE KEY", "/elsewhere/token"} {
			if bytes.Contains(f.Data, []byte(secret)) {
				t.Errorf("%s holds %q", f.Path, secret)
			}
		}
	}
	for name, text := range map[string]string{"an env file": fileSecret, "the settings": envSecret, "the environment": ownSecret, "the key": body} {
		s.write("skills/tidy/notes.md", "use "+text+" here\n", 0o600)
		if _, err := s.export("loom"); err == nil || !strings.Contains(err.Error(), "skills/tidy/notes.md holds") || strings.Contains(err.Error(), text) {
			t.Errorf("a secret of %s: %v", name, err)
		}
	}
}

// What was damaged on the way is refused before anything is written.
func TestDamaged(t *testing.T) {
	t.Parallel()
	s := loom(t)
	whole := s.mustExport("loom").Tree
	for name, edit := range map[string]func(filetree.Tree) filetree.Tree{
		"changed": func(f filetree.Tree) filetree.Tree { return replace(f, "constitution/1/SOUL.md", "Wild.\n") },
		"missing": func(f filetree.Tree) filetree.Tree { return without(f, "wallets.yaml") },
		"more": func(f filetree.Tree) filetree.Tree {
			return append(f, filetree.File{Path: "skills/evil/SKILL.md", Data: []byte("x")})
		},
		"no manifest": func(f filetree.Tree) filetree.Tree { return without(f, "manifest.yaml") },
		"executable": func(f filetree.Tree) filetree.Tree {
			for i := range f {
				f[i].Exec = true
			}
			return f
		},
	} {
		bad, err := filetree.Of(edit(append(filetree.Tree{}, whole...))...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(s.pack(bad)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := os.ReadFile(s.pack(whole))
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.tar.gz")
	if err := os.WriteFile(cut, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(cut); err == nil {
		t.Error("half of an archive is taken")
	}
}

func replace(t filetree.Tree, name, text string) filetree.Tree {
	return append(without(t, name), filetree.File{Path: name, Data: []byte(text)})
}

func without(t filetree.Tree, name string) filetree.Tree {
	var out filetree.Tree
	for _, f := range t {
		if f.Path != name {
			out = append(out, f)
		}
	}
	return out
}

// All conflicts are listed at once, and nothing is changed.
func TestConflicts(t *testing.T) {
	t.Parallel()
	from, to := loom(t), loom(t)
	to.write("deed.yaml", strings.Replace(settingsText, "calm", "wild", 1), 0o600)
	to.write("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Other.\n---\n", 0o644)
	to.write("workflows/sweep.yaml", flowText+"# mine\n", 0o644)
	if _, err := to.st.ChangeAgent(t.Context(), "loom", "me", func(r *agentruntime.AgentIdentity) error { r.DisplayName = "L"; return nil }); err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(to.mustExport("loom").Tree.Digest())
	a, err := Read(from.pack(from.mustExport("loom").Tree))
	if err != nil {
		t.Fatal(err)
	}
	_, err = to.target().Import(t.Context(), a)
	if fault.Of(err) == nil {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		`deed.yaml $.adapters.usual.env.MODE: this home has "wild", the archive "calm"`, "--keep-settings", "skill tidy", "SKILL.md", "workflows/sweep.yaml",
		`agent loom $.display_name: this home has "L", the archive "Loom"`, "--as NAME",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if after := to.mustExport("loom").Tree.Digest(); after != before {
		t.Error("a refused import changed the home")
	}
}

// A home that has settings of its own is given what it has not, and keeps what it wrote; what contradicts is refused, with both values.
func TestMergeSettings(t *testing.T) {
	t.Parallel()
	from := loom(t)
	read := func() *Archive {
		a, err := Read(from.pack(from.mustExport("loom").Tree))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	const mine = "# my own\nadapters:\n  other: {kind: script, command: skills/tidy/bin/tidy-run, timeout_ms: 1000, env: {API_KEY: " + envSecret + "}} # careful\n"
	to := newSite(t)
	to.write("deed.yaml", mine, 0o600)
	_, err := to.target().Import(t.Context(), read())
	for _, want := range []string{"deed.yaml $.profiles: this home has nothing, the archive {", "deed.yaml $.adapters.usual: this home has nothing", "--merge-settings adds it, --keep-settings leaves"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without a word the error lacks %q:\n%v", want, err)
		}
	}
	target := to.target()
	target.MergeSettings = true
	plan, err := target.Check(t.Context(), read())
	if err != nil || plan.Whole || len(plan.Settings) != 6 || plan.Settings[0].Path() != "$.adapters.usual" || len(plan.Skills) != 1 || !plan.Identity {
		t.Fatalf("the plan is %+v, %v", plan, err)
	}
	if text, err := os.ReadFile(to.home.Config()); err != nil || string(text) != mine {
		t.Fatalf("a look changed deed.yaml: %s %v", text, err)
	}
	if _, err := target.Import(t.Context(), read()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(to.home.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# my own", "# careful", envSecret, "agent: loom", "usual:"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("deed.yaml lacks %q:\n%s", want, text)
		}
	}
	if c := to.config(); c.Agent != "loom" {
		t.Errorf("the runtime is %q", c.Agent)
	}
	// What the home has more than the archive, secrets too, is no difference.
	if plan, err := to.target().Import(t.Context(), read()); err != nil || plan.Writes() {
		t.Errorf("imported again: %+v %v", plan, err)
	}
	other := newSite(t)
	other.write("deed.yaml", "agent: spark\nretention: {max_count: 3}\ntask_types:\n  sweep: {task_type: sweep, payload_schema_id: deed/payload.any/v1}\n", 0o600)
	target = other.target()
	target.MergeSettings = true
	_, err = target.Import(t.Context(), read())
	for _, want := range []string{`deed.yaml $.agent: this home has "spark", the archive "loom"`, `$.task_types.sweep.allowed_skill_ids: this home has nothing, the archive ["tidy"]`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if _, err := other.st.Agent(t.Context(), "loom"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused import left an agent: %v", err)
	}
	if _, err := os.Lstat(other.home.Import()); err == nil {
		t.Error("a refused import left its record")
	}
}

// An archive that says where the state is would take its own rows away.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	to := newSite(t)
	a := &Archive{Identity: agentruntime.AgentIdentity{AgentID: "a", InternalName: "a", DisplayName: "A"}, Settings: []byte("agent: a\ndatabase: postgres://elsewhere/x\n")}
	if _, err := to.target().Import(t.Context(), a); err == nil || !strings.Contains(err.Error(), "deed.yaml $.database") {
		t.Errorf("got %v", err)
	}
}

// An agent that was removed, and one whose constitution went on here, are imported again or refused by what holds now.
func TestVersionsThatHold(t *testing.T) {
	t.Parallel()
	from, to := loom(t), newSite(t)
	a, err := Read(from.pack(from.mustExport("loom").Tree))
	if err != nil {
		t.Fatal(err)
	}
	older := *a
	older.Versions = a.Versions[:1]
	ctx := t.Context()
	if plan, err := to.target().Import(ctx, &older); err != nil || plan.Versions != 1 {
		t.Fatalf("%+v %v", plan, err)
	}
	if plan, err := to.target().Import(ctx, a); err != nil || plan.Versions != 1 || plan.Identity {
		t.Fatalf("the second version: %+v %v", plan, err)
	}
	if _, err := to.target().Import(ctx, &older); err == nil || !strings.Contains(err.Error(), "this home holds version 2") {
		t.Fatalf("an older archive: %v", err)
	}
	if err := to.st.DropWallet(ctx, a.Wallets[0], "me"); err != nil {
		t.Fatal(err)
	}
	if err := to.st.DropAgent(ctx, "loom", "me"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := to.target().Import(ctx, a); err != nil {
			t.Fatalf("after it was removed: %v", err)
		}
	}
	if g, err := to.st.Agent(ctx, "loom"); err != nil || g.Constitution != 4 {
		t.Errorf("it holds version %d, %v", g.Constitution, err)
	}
}

func TestRename(t *testing.T) {
	t.Parallel()
	from, to := loom(t), newSite(t)
	a, err := Read(from.pack(from.mustExport("loom").Tree))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Rename("../x\n"); err == nil {
		t.Error("a hostile name is taken")
	}
	if err := a.Rename("spark"); err != nil {
		t.Fatal(err)
	}
	if _, err := to.target().Import(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if c := to.config(); c.Agent != "spark" {
		t.Errorf("the runtime is %q", c.Agent)
	}
	x := to.mustExport("spark")
	if x.Archive.Wallets[0].AgentID != "spark" || len(x.Archive.Versions) != 2 {
		t.Errorf("got %+v", x.Archive)
	}
}

// A directory that a person writes needs no manifest, and all its faults are reported.
func TestDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agent.yaml": "agent_id: a\ninternal_name: b\n", "wallets.yaml": "{}\n", "schedules.yaml": "- {name: n, task: {task_type: 3}}\n", "deed.yaml": "adapterz: {}\n",
		"constitution/2/SOUL.md": "x", "skills/bad/SKILL.md": "x", "agnet.yaml": "x",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Read(dir)
	if fault.Of(err) == nil {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"agent.yaml", "wallets.yaml: is no list", "schedules.yaml[0].task", "deed.yaml", "constitution/1", "skills/bad SKILL.md", "agnet.yaml: is no file"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}
