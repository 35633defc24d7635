package attempt

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/brief"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/store"
)

// profiled gives the runner a profile named p.
func (b *testBundle) profiled(chars string, memory bool) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "deed.yaml")
	text := `adapters: {x: {kind: script, command: ./x, timeout_ms: 1000}}
profiles:
  p:
    style: hermes-like
    role: mender
    default_adapter_id: x
    prompt_parts: []
    skill_ids: []
    context_policy: {max_prompt_chars: ` + chars + `, include_recent_memory: ` + map[bool]string{true: "true", false: "false"}[memory] + `}
    result_policy: {allow_follow_up_tasks: false, allow_external_messages: false}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Explicit: file})
	if err != nil {
		b.t.Fatal(err)
	}
	b.Config = cfg
}

// ran runs a claim and returns the brief that its bundle has.
func (b *testBundle) ran(c *store.Claim) (Result, brief.Document) {
	b.t.Helper()
	res, err := b.Run(b.t.Context(), b.sup, c)
	if err != nil {
		b.t.Fatal(err)
	}
	return res, b.told(res)
}

func (b *testBundle) told(res Result) brief.Document {
	b.t.Helper()
	at, err := b.Store.Attempt(b.t.Context(), res.Ref.AttemptID)
	if err != nil {
		b.t.Fatal(err)
	}
	doc, err := ReadBrief(res.BundleDir, PathBrief, at.BriefHash)
	if err != nil {
		b.t.Fatal(err)
	}
	d, err := brief.Read(doc)
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

// The same task has the same hash in another home, another directory, another time zone, another language and another year.
func TestTheSameBriefEverywhere(t *testing.T) {
	t.Parallel()
	const early, plan = "11111111-1111-7111-8111-111111111111", "the plan\n"
	hashes := map[string]string{}
	for dir, env := range map[string][]string{
		"home": {"TZ=UTC", "LANG=C"}, "another place/with blanks & é": {"TZ=Asia/Tokyo", "LC_ALL=tr_TR.UTF-8", "LANG=tr_TR.UTF-8"},
	} {
		b := setupAt(t, filepath.Join(t.TempDir(), dir))
		b.Environ = append(b.Environ, env...)
		if dir != "home" {
			b.Clock = func() time.Time { return time.Date(2031, 5, 4, 3, 2, 1, 0, time.FixedZone("x", 3600)) }
		}
		left := filepath.Join(b.Home.Bundle(early), "files", "artifacts")
		if err := os.MkdirAll(left, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(left, "plan.md"), []byte(plan), 0o600); err != nil {
			t.Fatal(err)
		}
		note := map[string]any{"workflow": map[string]any{
			"workflow_id": store.NewID(), "workflow_type": "w", "instance_key": "k", "state_id": "execute", "visit": 2, "iteration": 1, "accepted_signals": []string{"ok"},
			"earlier": []any{map[string]any{
				"visit": 1, "state_id": "plan", "iteration": 1, "task_id": store.NewID(), "status": "completed", "bundle": b.Home.Bundle(early),
				"artifacts": []string{filepath.Join(left, "plan.md"), filepath.Join(left, "gone.md")},
			}},
		}}
		res, d := b.ran(b.claim(`cat "$DEED_BUNDLES/`+early+`/files/artifacts/plan.md" > "$DEED_ARTIFACTS/seen"; `+done, func(n *store.NewTask) {
			n.Intent.Payload = mustJSON(note)
			n.Intent.WorkflowRef = &agentruntime.WorkflowRef{WorkflowID: "w", StateID: "execute", InstanceKey: "k"}
			n.Intent.Deed.Sandbox = &deed.Sandbox{Mounts: []deed.Mount{{Source: left}}}
		}))
		if res.Settlement.Status != agentruntime.TaskCompleted {
			t.Fatalf("%s: %s", res.Settlement.Class, res.Settlement.LastError)
		}
		raw, err := os.ReadFile(filepath.Join(res.BundleDir, PathBrief))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), b.Home.Root()) || strings.Contains(string(raw), filepath.Base(filepath.Dir(b.Home.Root()))+"/") {
			t.Errorf("the brief has a path of the home:\n%s", raw)
		}
		if seen, err := os.ReadFile(filepath.Join(res.BundleDir, "files", "artifacts", "seen")); err != nil || string(seen) != plan {
			t.Errorf("the agent does not find what the brief names: %q %v", seen, err)
		}
		if d.Replay.Grade != brief.GradeBestEffort || !strings.Contains(d.Prompt, "$DEED_BUNDLES/"+early+"/files/artifacts/gone.md (plan, visit 1): no longer there") {
			t.Errorf("%v\n%s", d.Replay, d.Prompt)
		}
		hashes[brief.Hash(raw)] = dir
	}
	if len(hashes) != 1 {
		t.Errorf("%d hashes: %v", len(hashes), hashes)
	}
}

// The grade says what the workspace and the program allow.
func TestReplayGrades(t *testing.T) {
	t.Parallel()
	b := setup(t)
	repo := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"}} {
		c := exec.Command("git", args...)
		c.Dir = repo
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	source := func(dir string) func(*store.NewTask) {
		return func(n *store.NewTask) { n.Intent.Deed.Workspace = &deed.Workspace{Source: dir} }
	}
	check := func(name string, edit func(*store.NewTask), want, says string) {
		t.Helper()
		_, d := b.ran(b.claim(done, edit))
		if d.Replay.Grade != want || !strings.Contains(strings.Join(d.Replay.Reasons, "\n"), says) {
			t.Errorf("%s: %v, want %s: %s", name, d.Replay, want, says)
		}
	}
	check("no workspace", nil, brief.GradeInputsFrozen, "pinned")
	check("a commit", source(repo), brief.GradeInputsFrozen, "pinned")
	if err := os.WriteFile(filepath.Join(repo, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check("a dirty repository", source(repo), brief.GradeBestEffort, "in no commit") // edge case 57
	check("a directory", source(t.TempDir()), brief.GradeBestEffort, "no repository")
	check("a program of the machine", func(n *store.NewTask) {
		n.Intent.Deed.Adapter = mustJSON(agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{AdapterID: "agent", Kind: agentruntime.KindScript, Command: "true", TimeoutMS: 1000}})
		n.Intent.Deed.AcceptEmptyOutput = ptr(true)
	}, brief.GradeBestEffort, "whichever the PATH finds")
}

// What is never dropped and does not fit fails the task before anything of the agent runs.
func TestABriefThatDoesNotFit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profiled("300", false)
	res, err := b.Run(t.Context(), b.sup, b.claim(`touch "$DEED_ARTIFACTS/ran"; `+done, func(n *store.NewTask) { n.ProfileID = "p" }))
	if err != nil {
		t.Fatal(err)
	}
	s := res.Settlement
	for _, want := range []string{"output contract ", `max_prompt_chars of profile "p" is 300`, "raise max_prompt_chars of profile \"p\" to at least "} {
		if !strings.Contains(s.LastError, want) {
			t.Errorf("it lacks %q: %s", want, s.LastError)
		}
	}
	if s.Class != string(failure.Config) || s.Status != agentruntime.TaskPermanentFailure || len(s.Artifacts) != 0 {
		t.Errorf("%s %s", s.Class, s.Status)
	}
}

// An agent remembers what deed found about its last tasks, and nothing that it said.
func TestAnAgentRemembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profiled("20000", true)
	about := func(subject string, checks ...deed.Check) func(*store.NewTask) {
		return func(n *store.NewTask) {
			n.ProfileID, n.Intent.Subject, n.MaxAttempts = "p", subject, 1
			n.Intent.Deed.Checks = checks
		}
	}
	b.ran(b.claim(`echo x > kept.txt; echo '{"status": "completed", "machine_status": "ok", "operator_summary": "BOASTING", "file_changes": ["kept.txt"]}'`, about("the first")))
	b.ran(b.claim(done, about("the second", deed.Check{Name: "never", Shell: "exit 1"})))
	b.ran(b.claim(`echo '{"status": "permanent_failure", "machine_status": "failed", "operator_summary": "WHINING"}'`, about("the third")))
	_, d := b.ran(b.claim(done, about("the last")))
	for _, want := range []string{
		"“the third”: permanent_failure; the agent said that it cannot do the work\n", "“the second”: permanent_failure; the gate did not find the work done; refused: check_failed",
		"“the first”: completed; accepted, 1 file changed, changed kept.txt",
	} {
		if !strings.Contains(d.Prompt, want) {
			t.Errorf("it lacks %q:\n%s", want, d.Prompt)
		}
	}
	if strings.Contains(d.Prompt, "BOASTING") || strings.Contains(d.Prompt, "WHINING") {
		t.Errorf("it remembers what an agent said:\n%s", d.Prompt)
	}
	if strings.Index(d.Prompt, "the third") > strings.Index(d.Prompt, "the first") {
		t.Errorf("not the newest first:\n%s", d.Prompt)
	}
	b.Config.Name = "another"
	if _, d := b.ran(b.claim(done, about("elsewhere"))); strings.Contains(d.Prompt, "Recent work") {
		t.Errorf("another runtime remembers it:\n%s", d.Prompt)
	}
}

// A killed attempt leaves its brief, and the conversation that continues keeps it, whatever has changed. If it is not
// the brief that the agent got, the attempt starts from scratch.
func TestAConversationKeepsItsBrief(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string) error{
		"kept":    func(string) error { return nil },
		"changed": func(dir string) error { return os.WriteFile(filepath.Join(dir, BriefFile), []byte("{}"), 0o600) },
		"removed": func(dir string) error { return os.Remove(filepath.Join(dir, BriefFile)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			d := &talker{ref: "c"}
			c := b.talking(d, nil)
			d.turn = func(_ context.Context, j driver.Job, in driver.Input, _ driver.Sink) driver.Yield {
				writes(t, j, "answer", "42\n")
				if len(d.inputs) == 1 {
					panic(errKilled) // stands for SIGKILL
				}
				return says("done")
			}
			a := &run{Runner: b.Runner, sup: b.sup, claim: c, dir: b.Home.Attempt(c.Ref.AttemptID), owner: "runner", started: b.Clock()}
			if err := guard(func() error { return a.execute(t.Context()) }); failure.ClassOf(err) != failure.Panic {
				t.Fatal(err)
			}
			lost, err := b.Store.Lost(t.Context(), []string{"runner"})
			if err != nil || len(lost) != 1 {
				t.Fatalf("%v %v", lost, err)
			}
			if _, err := b.Salvage(t.Context(), lost[0]); err != nil {
				t.Fatal(err)
			}
			first := b.told(Result{Ref: c.Ref, BundleDir: b.Home.Bundle(c.Ref.AttemptID)})
			if err := spoil(b.Home.Attempt(c.Ref.AttemptID)); err != nil {
				t.Fatal(err)
			}
			b.Config.Name = "renamed" // a new brief would say so
			if err := b.Store.Retry(t.Context(), c.Ref.TaskID, "", "test"); err != nil {
				t.Fatal(err)
			}
			next, err := b.Store.Claim(t.Context(), store.ClaimOptions{RunnerID: "runner", Lease: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			res, again := b.ran(next)
			if res.Settlement.Status != agentruntime.TaskCompleted {
				t.Fatalf("%s %s", res.Settlement.Status, res.Settlement.LastError)
			}
			x, _ := json.Marshal(first)
			y, _ := json.Marshal(again)
			if kept := name == "kept"; (string(x) == string(y)) != kept || res.Resumed != kept {
				t.Errorf("resumed %v\n%s\n%s", res.Resumed, x, y)
			}
		})
	}
}
