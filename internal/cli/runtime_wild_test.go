package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// A wild is a repository of packages in the shapes that others publish, and a checkout to work on. See testdata/wild.
type wild struct {
	*site
	repo, pkgs, token string
}

func newWild(t *testing.T) *wild {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("missing tool: node: run scripts/setup.sh")
	}
	s := lab(t, "")
	w := &wild{site: s, repo: filepath.Join(s.dir, "a repository"), token: "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":1900000000}`)) + ".signature"}
	w.pkgs = filepath.Join(w.repo, "agent-runtimes")
	if err := os.CopyFS(w.repo, os.DirFS("testdata/wild")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(s.dir, "user", ".codex", "auth.json"), `{"tokens":{"access_token":"`+w.token+`","refresh_token":"refresh-me-please","account_id":"acct-1234"}}`)
	return w
}

// run runs a request for a backend of the wild.
func (w *wild) run(code int, isolation, backend string, executor, members map[string]any) homeboy.Outcome {
	w.t.Helper()
	e := map[string]any{"backend": backend, "config": map[string]any{}}
	for name, v := range executor {
		e[name] = v
	}
	q := map[string]any{"executor": e}
	for name, v := range members {
		q[name] = v
	}
	return w.parsed(w.deed([]string{"AWS_SECRET_ACCESS_KEY=an-undeclared-key"}, "runtime", "run", w.taskRequest("say hello", q), "--json", "--runtime-dir", w.pkgs, "--isolation", isolation), code)
}

// availableIsolations are the kinds of isolation that this machine has.
func availableIsolations(t *testing.T) []string {
	t.Helper()
	if _, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Namespace}); err != nil {
		return []string{"process"}
	}
	return []string{"process", "namespace"}
}

// Packages as others publish them are found, linted, checked and linked unchanged, whatever they lack and whatever they have in
// addition. The probe of one that asks in node runs (case 36). Other directories next to them are no packages.
func TestRuntimeWildIsFound(t *testing.T) {
	t.Parallel()
	w := newWild(t)
	var list runtimeList
	if err := json.Unmarshal([]byte(w.ok("runtime", "list", "--json", "--runtime-dir", w.pkgs)), &list); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, p := range list.Packages {
		if p.From != "deed" {
			ids = append(ids, p.ID+" "+p.Version)
		}
	}
	if want := []string{"codex 1.1.2", "fake-runtime 1.0.0", "local-shell 1.1.0", "opencode 1.4.0", "wp-codebox 1.5.4"}; !slices.Equal(ids, want) || len(list.Problems) > 0 {
		t.Errorf("found %v, want %v; problems %v", ids, want, list.Problems)
	}
	for _, p := range []string{"codex", "fake-runtime", "local-shell", "opencode", "wp-codebox"} {
		if o := w.deed(nil, "runtime", "lint", filepath.Join(w.pkgs, p)); o.code != ExitDone || strings.Contains(o.stdout, "error ") {
			t.Errorf("lint %s: exit %d\n%s%s", p, o.code, o.stdout, o.stderr)
		}
		var doc runtimeDoc
		if err := json.Unmarshal([]byte(w.ok("runtime", "show", p, "--json", "--runtime-dir", w.pkgs)), &doc); err != nil {
			t.Fatal(err)
		}
		if have, err := os.ReadFile(filepath.Join(w.pkgs, p, p+".json")); err != nil || !sameJSON(t, have, doc.Manifest) {
			t.Errorf("%s: its manifest is shown as another one: %v", p, err)
		}
	}
	out := w.ok("runtime", "check", "--backend", "codex", "--runtime-dir", w.pkgs)
	if !strings.Contains(out, "codex.agent-task of codex: ready") {
		t.Errorf("the probe in node: %s", out)
	}
	if o := w.deed(nil, "runtime", "check", "--backend", "codex", "--model", "no-such-model", "--runtime-dir", w.pkgs); o.code != ExitNotDone || !strings.Contains(o.stdout, "the model no-such-model is not offered") || !strings.Contains(o.stdout, "choose another model") {
		t.Errorf("a model that is not offered: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	// A package that needs its neighbours is used where it is; one that does not is copied.
	if o := w.deed(nil, "runtime", "install", w.repo, "--id", "codex"); o.code != ExitUsage || !strings.Contains(o.stderr, "deed runtime link") {
		t.Errorf("install codex: exit %d\n%s", o.code, o.stderr)
	}
	w.ok("runtime", "link", w.repo, "--id", "codex")
	w.ok("runtime", "install", w.repo, "--id", "fake-runtime")
	if out := w.ok("runtime", "select", "--backend", "codex", "--explain"); !strings.Contains(out, "codex.agent-task of codex") {
		t.Errorf("the linked one does not go before what deed ships:\n%s", out)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// Packages as others publish them run unchanged: with the words, the paths and the environment that they know.
func TestRuntimeWildRuns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: runs the deed binary")
	}
	w := newWild(t)
	cli := filepath.Join(w.pkgs, "codex", "test", "cli.cjs")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "opencode"), []byte("#!/bin/sh\n[ \"$1\" = --version ] && echo 1.2.3 && exit\necho made > made.txt\necho a reply\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "PATH="+os.Getenv("PATH")+":"+bin, "AI_PROVIDER_OPENAI_CODEX_FEDRAMP=false") // no secret, whatever its name suggests
	for _, isolation := range availableIsolations(t) {
		for name, c := range map[string]struct {
			backend           string
			executor, members map[string]any
			code              int
			status            homeboy.OutcomeStatus
			also              func(*testing.T, homeboy.Outcome)
		}{
			"fake-runtime": {"fake-runtime", nil, nil, 0, homeboy.NoOp, func(t *testing.T, o homeboy.Outcome) {
				if o.Summary != "fake work is done" || len(o.Artifacts) != 2 || o.Artifacts[0].SHA256 == "" || o.Artifacts[1].Kind != "transcript" || o.Diagnostics[0].Class != "provider" {
					t.Errorf("%+v", o)
				}
			}},
			"local-shell": {"local-shell", nil, nil, 0, homeboy.NoOp, func(t *testing.T, o homeboy.Outcome) {
				if !slices.ContainsFunc(o.EvidenceRefs, func(e homeboy.EvidenceRef) bool {
					return e.Kind == "preview" && e.URI == "https://example.com/preview"
				}) {
					t.Errorf("%+v", o.EvidenceRefs)
				}
			}},
			"codex": {"codex", map[string]any{"model": "m-1", "config": map[string]any{"provider": "codex", "command": "node", "command_args": []string{cli, "exec"}, "secret_env": []string{"AI_PROVIDER_OPENAI_CODEX_ACCESS_TOKEN", "AI_PROVIDER_OPENAI_CODEX_EXPIRES_AT"}}}, nil, 0, homeboy.Succeeded, func(t *testing.T, o homeboy.Outcome) {
				_, patch := patchOf(t, o)
				if !strings.Contains(string(patch), "+exec --model m-1 say hello") {
					t.Errorf("%s", patch)
				}
				i := slices.IndexFunc(o.Artifacts, func(a homeboy.Artifact) bool { return a.ID == "codex-stdout" })
				if i < 0 {
					t.Fatalf("%+v", o.Artifacts)
				}
				text, err := os.ReadFile(o.Artifacts[i].Path)
				if err != nil || !strings.Contains(string(text), "token [redacted] expires ") || !strings.Contains(string(text), "stray undefined") {
					t.Errorf("%q, %v", text, err)
				}
			}},
			"codex without codex": {"codex", map[string]any{"config": map[string]any{"command": "no-such-codex"}}, nil, 1, homeboy.ProviderError, func(t *testing.T, o homeboy.Outcome) {
				if o.FailureCode != "agent_task.codex_command_not_found" || o.Retryable == nil || *o.Retryable {
					t.Errorf("%+v", o)
				}
			}},
			"opencode": {"opencode", nil, nil, 0, homeboy.Succeeded, func(t *testing.T, o homeboy.Outcome) {
				if !strings.Contains(string(o.Outputs["provider_run_result"]), `"reply": "a reply"`) || !slices.ContainsFunc(o.Artifacts, func(a homeboy.Artifact) bool { return a.ID == "opencode-stdout" && a.Kind == "runtime_log" }) {
					t.Errorf("%s %+v", o.Outputs, o.Artifacts)
				}
			}},
			"wp-codebox by its old name": {"codebox", nil, map[string]any{"runtime_execution": map[string]any{"kind": "ability", "ability": "site/look"}}, 0, homeboy.NoOp, func(t *testing.T, o homeboy.Outcome) {
				if o.Summary != "ran site/look" || !slices.ContainsFunc(o.TypedArtifacts, func(a homeboy.TypedArtifact) bool { return a.Name == "site" }) {
					t.Errorf("%+v", o)
				}
			}},
			"wp-codebox that fails": {"wp-codebox", nil, map[string]any{"runtime_execution": map[string]any{"ability": "site/break"}}, 1, homeboy.Failed, nil},
			"wp-codebox and a bundle": {"wp-codebox", nil, map[string]any{"runtime_execution": map[string]any{"kind": "bundle"}}, 2, homeboy.Failed, func(t *testing.T, o homeboy.Outcome) {
				if o.FailureClassification != homeboy.ClassCapabilityMissing {
					t.Errorf("%+v", o)
				}
			}},
		} {
			t.Run(name+"/"+isolation, func(t *testing.T) {
				t.Parallel()
				w := *w
				s := *w.site
				s.t = t
				w.site = &s
				o := w.run(c.code, isolation, c.backend, c.executor, c.members)
				if o.Status != c.status {
					t.Errorf("%s: %s %+v", o.Status, o.Summary, o.Diagnostics)
				}
				if c.also != nil {
					c.also(t, o)
				}
			})
		}
	}
	t.Cleanup(func() {
		for name, text := range treeOf(t, w.home) {
			if strings.Contains(text, w.token) || strings.Contains(text, "refresh-me-please") || strings.Contains(text, "an-undeclared-key") {
				t.Errorf("a secret is in %s", name)
			}
		}
		if got := treeOf(t, w.repo); len(got) != len(treeOf(t, "testdata/wild")) {
			t.Errorf("the packages were written to: %d files", len(got))
		}
	})
}
