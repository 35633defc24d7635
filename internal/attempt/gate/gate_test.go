package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/evidence/leak"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A scene is a base, what an agent did to its copy, and what it said about that.
type scene struct {
	base   map[string]string
	work   func(t *testing.T, dir string) // changes the agent's copy
	claims []string
	mute   bool // the agent makes no claim of completion
	edit   func(in *Input, artifacts string)
	check  func(room string) deed.CheckResult
}

func (s scene) decide(t *testing.T) deed.Verdict {
	t.Helper()
	v, err := s.try(t.Context(), t)
	must(t, err)
	return v
}

func (s scene) try(ctx context.Context, t *testing.T) (deed.Verdict, error) {
	t.Helper()
	root := t.TempDir()
	src, base, work := filepath.Join(root, "src"), filepath.Join(root, "base"), filepath.Join(root, "work")
	files := s.base
	if files == nil {
		files = map[string]string{"main.go": "package main\n", "main_test.go": "package main // test\n", "docs/a.md": "a\n"}
	}
	for name, text := range files {
		put(t, src, name, text)
	}
	if _, err := workspace.Seed(ctx, workspace.Source{Dir: src}, base); err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.Clone(ctx, base, work); err != nil {
		t.Fatal(err)
	}
	before, err := workspace.Snapshot(ctx, work, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.work != nil {
		s.work(t, work)
	}
	after, cs, err := workspace.Capture(ctx, workspace.BaseAt(base), work, before)
	if err != nil {
		t.Fatal(err)
	}
	patch := filepath.Join(root, "patch.diff")
	f, err := os.Create(patch)
	if err != nil {
		t.Fatal(err)
	}
	if err := workspace.WritePatch(ctx, base, work, cs, f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	artifacts := filepath.Join(root, "artifacts")
	if err := os.Mkdir(artifacts, 0o700); err != nil {
		t.Fatal(err)
	}
	rooms := filepath.Join(root, "rooms")
	must(t, os.Mkdir(rooms, 0o700))
	managed, err := os.OpenRoot(artifacts)
	must(t, err)
	t.Cleanup(func() { _ = managed.Close() })
	in := Input{
		Claim:   &driver.Claim{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, FileChanges: s.claims},
		Changes: cs, Base: workspace.BaseAt(base), Manifest: before, After: after, Patch: patch, Rooms: rooms,
		Artifacts: managed, Audit: &AuditFacts{Argv: []string{"agent"}, ExitCode: 0},
		Runner: commands(func(_ context.Context, c deed.Check, room string, _ bool) RunResult {
			if s.check == nil {
				return RunResult{Result: deed.CheckResult{Name: CheckName(c), Status: "passed"}}
			}
			r := s.check(room)
			r.Name = CheckName(c)
			return RunResult{Result: r}
		}),
	}
	if s.mute {
		in.Claim = nil
	}
	if s.edit != nil {
		s.edit(&in, artifacts)
	}
	if in.Listed, err = ListArtifacts(managed); err != nil {
		t.Fatal(err)
	}
	return Decide(ctx, in)
}

// A check that was ended for a limit did not end by its own fault alone: the reason names the limit.
func TestTheLimitThatEndedACheckIsAReason(t *testing.T) {
	t.Parallel()
	v := scene{edit: func(in *Input, _ string) {
		in.Spec.Checks = []deed.Check{{Name: "disk", Shell: "x"}}
		in.Runner = commands(func(context.Context, deed.Check, string, bool) RunResult {
			return RunResult{Result: deed.CheckResult{Status: deed.CheckFailed, ExitCode: 137}, Ended: errors.New("limit on disk passed")}
		})
	}}.decide(t)
	if len(v.Reasons) != 1 || v.Reasons[0].Code != CodeCheckFailed || !strings.HasSuffix(v.Reasons[0].Message, "137 in the clean room: it was ended: limit on disk passed") {
		t.Errorf("reasons %+v", v.Reasons)
	}
}

// A decision that is not reached returns the checks up to the one that was running, and none after it.
func TestADecisionThatIsNotReachedHasItsChecks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		at   string // where it is stopped
		ran  RunResult
		want string
	}{
		{"while one runs", "two", RunResult{Result: deed.CheckResult{Status: deed.CheckTimeout, ExitCode: 143, Tail: "printed"}}, "one passed, two timeout printed"},
		{"between two trees", "two", RunResult{Result: deed.CheckResult{Status: deed.CheckPassed}}, "one passed, two error"},
		{"in the first", "one", RunResult{Result: deed.CheckResult{Status: deed.CheckError, ExitCode: -1, Tail: "cancelled"}}, "one error cancelled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			late := errors.New("late")
			v, err := scene{work: change("main.go", "changed"), edit: func(in *Input, _ string) {
				in.Spec.Checks = []deed.Check{{Name: "one", Shell: "x"}, {Name: "two", Shell: "x", Inputs: []string{"main.go"}}, {Name: "three", Shell: "x"}}
				in.Runner = commands(func(_ context.Context, k deed.Check, _ string, base bool) RunResult {
					if k.Name != c.at || base {
						return RunResult{Result: deed.CheckResult{Status: deed.CheckPassed}}
					}
					cancel(late)
					return c.ran
				})
			}}.try(ctx, t)
			var got []string
			for _, r := range v.Checks {
				got = append(got, strings.TrimSpace(r.Name+" "+r.Status+" "+r.Tail))
			}
			if text := strings.Join(got, ", "); !errors.Is(err, late) || v.Accepted || v.Schema != "" || text != c.want {
				t.Errorf("%v, %v: %s, want %s", err, v.Accepted, text, c.want)
			}
		})
	}
}

// commands runs checks by command, and remembers nothing.
type commands func(ctx context.Context, c deed.Check, room string, base bool) RunResult

func (f commands) Run(ctx context.Context, c deed.Check, room string, base bool) RunResult {
	return f(ctx, c, room, base)
}
func (commands) Base(context.Context, deed.Check) (BaseRun, bool) { return BaseRun{}, false }
func (commands) KeepBase(context.Context, deed.Check, BaseRun)    {}
func (commands) KeepCaches(string)                                {}
func (commands) Files(deed.Check) []string                        { return nil }
func (commands) Keep(int, string, *runner.Report) (string, error) { return "", nil }

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func codes(v deed.Verdict) []string {
	var out []string
	for _, r := range v.Reasons {
		s := r.Code
		if r.Path != "" {
			s += ":" + r.Path
		}
		out = append(out, s)
	}
	return out
}

func change(name, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { put(t, dir, name, text) }
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	yes := true
	for _, c := range []struct {
		name string
		scene
		want []string // reasons; none: accepted
	}{
		{"honest work", scene{work: change("main.go", "package main // better\n"), claims: []string{"main.go"}}, nil},
		{"claims are normalised", scene{work: change("main.go", "x"), claims: []string{"./main.go"}}, nil},
		{"a deletion that is claimed", scene{work: func(t *testing.T, d string) { rm(t, d, "docs/a.md") }, claims: []string{"docs/a.md"}}, nil},
		{"nothing done and nothing asked", scene{}, nil},
		{"no claim", scene{mute: true}, []string{CodeNoClaim}},
		{"claimed and untouched", scene{claims: []string{"main.go", "no/such.go"}}, []string{CodeClaimedNotChanged + ":main.go", CodeClaimedNotChanged + ":no/such.go"}},
		{"written again with the same content", scene{work: change("main.go", "package main\n"), claims: []string{"main.go"}}, []string{CodeClaimedNotChanged + ":main.go"}},
		{"changed and not mentioned", scene{
			work:   func(t *testing.T, d string) { put(t, d, "main.go", "x"); put(t, d, "extra.txt", "y") },
			claims: []string{"main.go"},
		}, []string{CodeChangedNotClaimed + ":extra.txt"}},
		{"silence is no claim unless it is asked for", scene{work: change("main.go", "x")}, nil},
		{"silence where a comparison is asked for", scene{work: change("main.go", "x"), edit: func(in *Input, _ string) {
			in.Evidence.RequireFileChangeVerification = true
		}}, []string{CodeChangedNotClaimed + ":main.go"}},
		{"empty change", scene{edit: func(in *Input, _ string) { in.Spec.RequireChanges = &yes }}, []string{CodeEmptyChange}},
		{"outside the scope", scene{
			work: func(t *testing.T, d string) { put(t, d, "main.go", "x"); put(t, d, "ci/run.yml", "y") },
			edit: func(in *Input, _ string) { in.Spec.WriteScope = []string{"*.go", "docs/"} },
		}, []string{CodeOutOfScope + ":ci/run.yml"}},
		{"a protected test deleted", scene{
			work: func(t *testing.T, d string) { rm(t, d, "main_test.go") },
			edit: func(in *Input, _ string) { in.Spec.ProtectedPaths = []string{"**/*_test.go"} },
		}, []string{CodeProtectedPath + ":main_test.go"}},
		{"a new file under a protected glob", scene{
			work: change("other_test.go", "x"),
			edit: func(in *Input, _ string) { in.Spec.ProtectedPaths = []string{"**/*_test.go"} },
		}, []string{CodeProtectedPath + ":other_test.go"}},
		{"only the mode of a protected file", scene{
			work: func(t *testing.T, d string) { must(t, os.Chmod(filepath.Join(d, "main_test.go"), 0o755)) },
			edit: func(in *Input, _ string) { in.Spec.ProtectedPaths = []string{"**/*_test.go"} },
		}, []string{CodeProtectedPath + ":main_test.go"}},
		{"a link inside the workspace", scene{
			work: func(t *testing.T, d string) { must(t, os.Symlink("../main.go", filepath.Join(d, "docs", "link"))) }, claims: []string{"docs/link"},
		}, nil},
		{"a link out of the workspace", scene{
			work: func(t *testing.T, d string) { must(t, os.Symlink("/etc/passwd", filepath.Join(d, "link"))) }, claims: []string{"link"},
		}, []string{CodeLinkOutside + ":link"}},
		{"a file replaced by a link to its work elsewhere", scene{
			work: func(t *testing.T, d string) {
				rm(t, d, "main.go")
				must(t, os.Symlink("../artifacts/main.go", filepath.Join(d, "main.go")))
			}, claims: []string{"main.go"},
		}, []string{CodeLinkOutside + ":main.go"}},
		{"an empty directory is a note", scene{work: func(t *testing.T, d string) { must(t, os.Mkdir(filepath.Join(d, "new"), 0o755)) }}, nil},
		{"a secret in the change", scene{work: change("main.go", "x"), edit: func(in *Input, _ string) { in.SecretHit = true }}, []string{CodeSecretInChange}},
		{"a secret that nobody named", scene{work: change("main.go", "x"), edit: func(in *Input, _ string) {
			in.Leaks = leak.Report{Findings: []leak.Finding{{Rule: "github-pat", Path: "main.go", Line: 1, Head: "ghp_…"}}, Gaps: []leak.Gap{{Path: "main_test.go", Why: "it is too long"}}}
		}}, []string{CodeLeakInChange + ":main.go", CodeLeakNotSearched + ":main_test.go"}},
		{"nothing may be changed", scene{work: change("main.go", "x"), edit: func(in *Input, _ string) { in.ReadOnly = "the provider declares it" }}, []string{CodeOutOfScope + ":main.go"}},
		{"the pinned task was changed", scene{edit: func(in *Input, _ string) { in.PinFault = "changed" }}, []string{CodePinnedInput}},
		{"the base was changed", scene{work: change("main.go", "x"), edit: func(in *Input, _ string) {
			base, err := in.Base.Dir()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(base, "main.go"), []byte("poisoned"), 0o644); err != nil {
				panic(err)
			}
		}}, []string{CodePinnedInput}},
		{"a patch that is not the change", scene{work: change("main.go", "x"), edit: func(in *Input, _ string) {
			if err := os.WriteFile(in.Patch, nil, 0o600); err != nil {
				panic(err)
			}
		}}, []string{CodePatchInapplicable}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := c.decide(t)
			if got := codes(v); !slices.Equal(got, c.want) {
				t.Errorf("reasons %v, want %v", got, c.want)
			}
			if v.Accepted != (len(c.want) == 0) {
				t.Errorf("accepted = %v with reasons %v", v.Accepted, codes(v))
			}
		})
	}
}

func rm(t *testing.T, dir, name string) {
	t.Helper()
	must(t, os.Remove(filepath.Join(dir, name)))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoOpIsAcceptedAndSaid(t *testing.T) {
	t.Parallel()
	if v := (scene{}).decide(t); !v.Accepted || !v.NoOp {
		t.Errorf("an accepted empty change: %+v, want no_op", v)
	}
	if v := (scene{work: change("main.go", "x")}).decide(t); v.NoOp {
		t.Error("a change is a no-op")
	}
}

// A check sees the base plus the patch, with protected files as they were, and never the agent's directory.
func TestChecksRunInACleanRoom(t *testing.T) {
	t.Parallel()
	var seen []string
	v := scene{
		work: func(t *testing.T, d string) {
			put(t, d, "main.go", "package main // better\n")
			rm(t, d, "main_test.go")
			put(t, d, "sneaky_test.go", "always passes")
		},
		edit: func(in *Input, _ string) {
			in.Spec.Checks = []deed.Check{{Name: "look", Shell: "true"}}
			in.Spec.ProtectedPaths = []string{"**/*_test.go"}
		},
		check: func(room string) deed.CheckResult {
			if filepath.Base(room) == "0-"+treeBase {
				return deed.CheckResult{Status: "passed"}
			}
			for _, n := range []string{"main.go", "main_test.go", "sneaky_test.go"} {
				b, err := os.ReadFile(filepath.Join(Tree(room), n))
				if err != nil {
					seen = append(seen, n+" is not there")
					continue
				}
				seen = append(seen, n+": "+strings.TrimSpace(string(b)))
			}
			return deed.CheckResult{Status: "failed", ExitCode: 1}
		},
	}.decide(t)
	want := []string{"main.go: package main // better", "main_test.go: package main // test", "sneaky_test.go is not there"}
	if !slices.Equal(seen, want) {
		t.Errorf("the room holds %q, want %q", seen, want)
	}
	if got := codes(v); !slices.Equal(got, []string{CodeProtectedPath + ":main_test.go", CodeProtectedPath + ":sneaky_test.go", CodeCheckFailed}) {
		t.Errorf("reasons %v: all must be reported, the check's too", got)
	}
}

// What one check's code does to its room, the next check does not see.
func TestEachCheckHasARoomOfItsOwn(t *testing.T) {
	t.Parallel()
	var rooms, seen []string
	v := scene{
		work: change("main.go", "package main // better\n"),
		edit: func(in *Input, _ string) { in.Spec.Checks = []deed.Check{{Shell: "one"}, {Shell: "two"}} },
		check: func(room string) deed.CheckResult {
			file := filepath.Join(Tree(room), "left.txt")
			b, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				panic(err)
			}
			rooms, seen = append(rooms, room), append(seen, string(b))
			if err := os.WriteFile(file, []byte("always passes"), 0o600); err != nil {
				panic(err)
			}
			return deed.CheckResult{Status: "passed"}
		},
	}.decide(t)
	if !v.Accepted || len(seen) != 4 || strings.Join(seen, "") != "" || len(slices.Compact(slices.Clone(rooms))) != 4 {
		t.Errorf("rooms %v saw %q; verdict %+v", rooms, seen, v)
	}
	for _, r := range rooms {
		if _, err := os.Stat(r); err == nil {
			t.Errorf("room %s is left", r)
		}
	}
}

// A check's code that rewrites the patch after it was proven is caught by the next look at it.
func TestAPatchRewrittenByACheck(t *testing.T) {
	t.Parallel()
	var patch string
	v := scene{
		work: change("main.go", "package main // better\n"),
		edit: func(in *Input, _ string) {
			in.Spec.Checks = []deed.Check{{Shell: "one"}, {Shell: "two"}}
			patch = in.Patch
		},
		check: func(string) deed.CheckResult {
			write(filepath.Dir(patch), filepath.Base(patch), "another")
			return deed.CheckResult{Status: "passed"}
		},
	}.decide(t)
	if got := codes(v); !slices.Equal(got, []string{CodePinnedInput}) {
		t.Errorf("reasons %v, want the pinned patch", got)
	}
}

func TestReasonsAreBounded(t *testing.T) {
	t.Parallel()
	var claims []string
	for i := range 5000 {
		claims = append(claims, fmt.Sprintf("invented-%d", i))
	}
	v := scene{claims: claims}.decide(t)
	if v.Accepted || len(v.Reasons) != perCode+1 || !strings.Contains(v.Reasons[perCode].Message, "4900 more") {
		t.Errorf("%d reasons, last %+v", len(v.Reasons), v.Reasons[len(v.Reasons)-1])
	}
}

func TestCheckEnds(t *testing.T) {
	t.Parallel()
	for status, code := range map[string]string{"passed": "", "failed": CodeCheckFailed, "timeout": CodeCheckTimeout, "error": CodeCheckError, "": CodeCheckError} {
		v := scene{
			edit:  func(in *Input, _ string) { in.Spec.Checks = []deed.Check{{Shell: "x"}} },
			check: func(string) deed.CheckResult { return deed.CheckResult{Status: status} },
		}.decide(t)
		var want []string
		if code != "" {
			want = []string{code}
		}
		if got := codes(v); !slices.Equal(got, want) {
			t.Errorf("status %q: reasons %v, want %v", status, got, want)
		}
	}
}

func TestArtifacts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(in *Input, dir string)
		want []string
	}{
		{"there", func(in *Input, d string) {
			write(d, "report.md", "x")
			in.Evidence.RequiredArtifacts = []string{"report.md"}
		}, nil},
		{"an absolute path inside", func(in *Input, d string) {
			write(d, "report.md", "x")
			in.Claim.ArtifactPaths = []string{filepath.Join(d, "report.md")}
		}, nil},
		{"missing", func(in *Input, _ string) { in.Evidence.RequiredArtifacts = []string{"report.md"} }, []string{CodeArtifactMissing + ":report.md"}},
		{"claimed and missing", func(in *Input, _ string) { in.Claim.ArtifactPaths = []string{"x"} }, []string{CodeArtifactMissing + ":x"}},
		{
			"outside", func(in *Input, _ string) { in.Claim.ArtifactPaths = []string{"../x", "/etc/passwd", "a/../../y", ""} },
			[]string{CodeArtifactOutside, CodeArtifactOutside + ":../x", CodeArtifactOutside + ":/etc/passwd", CodeArtifactOutside + ":a/../../y"},
		},
		{"a link", func(in *Input, d string) {
			if err := os.Symlink("/etc/passwd", filepath.Join(d, "l")); err != nil {
				panic(err)
			}
			in.Claim.ArtifactPaths = []string{"l"}
		}, []string{CodeArtifactInvalid + ":l"}},
		{"a directory", func(in *Input, d string) {
			if err := os.Mkdir(filepath.Join(d, "d"), 0o700); err != nil {
				panic(err)
			}
			in.Claim.ArtifactPaths = []string{"d"}
		}, []string{CodeArtifactInvalid + ":d"}},
		{"a name that poses as another", func(_ *Input, d string) { write(d, "a\nb", "x") }, []string{CodeArtifactInvalid + ":a\nb"}},
		{"the directory put aside for another", func(in *Input, d string) {
			in.Evidence.RequiredArtifacts = []string{"report.md"}
			other := filepath.Join(filepath.Dir(d), "elsewhere")
			if err := errors.Join(os.Remove(d), os.Mkdir(other, 0o700), os.Symlink(other, d)); err != nil {
				panic(err)
			}
			write(other, "report.md", "x")
		}, []string{CodeArtifactMissing + ":report.md"}},
		{"a schema that it passes", func(in *Input, d string) {
			write(d, "r.json", `{"n": 1}`)
			in.Claim.ArtifactPaths = []string{"r.json"}
			in.Spec.ArtifactSchemas = map[string]json.RawMessage{"r.json": json.RawMessage(`{"required": ["n"]}`)}
		}, nil},
		{"a schema that it breaks", func(in *Input, d string) {
			write(d, "r.json", `{"m": 1}`)
			in.Claim.ArtifactPaths = []string{"r.json"}
			in.Spec.ArtifactSchemas = map[string]json.RawMessage{"r.json": json.RawMessage(`{"required": ["n"]}`)}
		}, []string{CodeArtifactInvalid + ":r.json"}},
		{"some are required and none is declared", func(in *Input, _ string) { in.Spec.RequireArtifacts = true }, []string{CodeArtifactMissing}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := codes(scene{edit: c.edit}.decide(t)); !slices.Equal(got, c.want) {
				t.Errorf("reasons %v, want %v", got, c.want)
			}
		})
	}
}

func write(dir, name, text string) {
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		panic(err)
	}
}

func TestAdapterAudit(t *testing.T) {
	t.Parallel()
	const good = `{"schema": "deed/adapter-audit/v1", "commands": [{"argv": ["sed"], "exit_code": 0}], "file_changes": ["main.go"], "exit_code": 0}`
	for _, c := range []struct {
		name, audit string
		required    bool
		want        []string
	}{
		{"required and missing", "", true, []string{CodeAuditMissing + ":" + driver.AuditFile}},
		{"not required and missing", "", false, nil},
		{"true", good, true, nil},
		{"false, though not required", strings.Replace(good, "main.go", "other.go", 1), false, []string{CodeAuditMismatch + ":main.go", CodeAuditMismatch + ":other.go"}},
		{"exit code contradicts", strings.Replace(good, `"file_changes": ["main.go"], "exit_code": 0`, `"file_changes": ["main.go"], "exit_code": 7`, 1), true, []string{CodeAuditMismatch + ":" + driver.AuditFile}},
		{"another exit code of what deed started", strings.Replace(good, `{"argv": ["sed"], "exit_code": 0}`, `{"argv": ["agent"], "exit_code": 3}`, 1), true, []string{CodeAuditMismatch + ":" + driver.AuditFile}},
		{"not JSON", "{", true, []string{CodeAuditMismatch + ":" + driver.AuditFile}},
		{"another schema", `{"schema": "x", "file_changes": []}`, true, []string{CodeAuditMismatch + ":" + driver.AuditFile}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := codes(scene{
				work: change("main.go", "x"), claims: []string{"main.go"},
				edit: func(in *Input, dir string) {
					in.Evidence.RequireAdapterAudit = c.required
					if c.audit != "" {
						write(dir, driver.AuditFile, c.audit)
					}
				},
			}.decide(t))
			if !slices.Equal(got, c.want) {
				t.Errorf("reasons %v, want %v", got, c.want)
			}
		})
	}
}

// What an agent leaves in the directory of artifacts does not hold up the gate: neither many files nor many directories
// in one another, which take minutes to list by their whole paths.
func TestListingEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	top, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	at := top
	for range 2000 {
		if err := at.Mkdir("d", 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := at.OpenRoot("d")
		if err != nil {
			t.Fatal(err)
		}
		if at != top {
			at.Close()
		}
		at = next
	}
	put(t, dir, "e/report.txt", "x")
	if err := at.WriteFile("deep.txt", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	at.Close()
	l, err := ListArtifacts(top)
	if err != nil || len(l.Bad) != 1 || !slices.Equal(l.Names, []string{"e/report.txt"}) {
		t.Errorf("listed %d bad, %v, %v", len(l.Bad), l.Names, err)
	}
}

// The stop policy is asked after the checks, and its reasons are added to the others.
func TestTheStopPolicyCanRefuse(t *testing.T) {
	t.Parallel()
	asked := 0
	v := scene{work: func(t *testing.T, dir string) { put(t, dir, "main_test.go", "changed") }, edit: func(in *Input, _ string) {
		in.Spec.ProtectedPaths = []string{"*_test.go"}
		in.Stop = func(context.Context) ([]string, error) {
			asked++
			return []string{"the changelog has no entry"}, nil
		}
	}}.decide(t)
	var got []string
	for _, r := range v.Reasons {
		got = append(got, r.Code)
	}
	if v.Accepted || asked != 1 || !slices.Contains(got, CodeProtectedPath) || got[len(got)-1] != CodeStopPolicy {
		t.Errorf("accepted %v, asked %d times, reasons %v", v.Accepted, asked, got)
	}
}
