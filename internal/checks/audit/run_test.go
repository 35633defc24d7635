package audit

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/runner"
)

const small = `
-- a.go --
package a

// TODO: one
var x = 1

// TODO: two
var y = 2
-- doc.md --
[gone](gone.md)
`

// edge case 44: a clean tree passes; --exclude wins over --only; a kind that does not exist is named with all that do.
func TestEdgeCase44Kinds(t *testing.T) {
	t.Parallel()
	clean := run(t, Config{Root: plant(t, "-- a.go --\npackage a\n")})
	if !clean.Passed || clean.ExitCode != 0 || len(clean.Findings) != 0 || clean.Phase.Status != runner.StatusPassed {
		t.Errorf("a clean tree: %+v", clean)
	}
	dir := plant(t, small)
	all := run(t, Config{Root: dir})
	if all.Passed || all.ExitCode != 1 || len(all.Findings) != 3 {
		t.Errorf("passed %v, exit %d, %v", all.Passed, all.ExitCode, lines(all))
	}
	only := run(t, Config{Root: dir, Only: []string{kindTodo, kindBrokenDoc}, Exclude: []string{kindBrokenDoc}})
	want := []string{"a.go:3 todo_marker info structural TODO: one", "a.go:6 todo_marker info structural TODO: two"}
	if diff := cmp.Diff(want, lines(only)); diff != "" || !only.Passed {
		t.Errorf("passed %v\n%s", only.Passed, diff)
	}
	_, err := Run(t.Context(), Config{Root: dir, Only: []string{"todo_maker"}, Exclude: []string{"todo_marker", "x"}})
	var unknown *KindError
	if !errors.As(err, &unknown) || !cmp.Equal(unknown.Unknown, []string{"todo_maker", "x"}) || !strings.Contains(err.Error(), kindVacuousTest) {
		t.Errorf("an unknown kind: %v", err)
	}
}

// edge case 44: without a baseline a run over a change never blocks; a finding on a changed line is introduced, another one
// in the same file is not, and one in another file is not told.
func TestEdgeCase44ChangedSince(t *testing.T) {
	t.Parallel()
	dir := plant(t, small+"-- new.md --\n[none](none.md)\n")
	r := run(t, Config{Root: dir, ChangedSince: "main", Changed: map[string][][2]int{"a.go": {{5, 6}}, "new.md": {{1, 1}}}})
	got := map[string]bool{}
	for _, f := range r.Findings {
		got[f.Subject] = *f.Introduced
	}
	if diff := cmp.Diff(map[string]bool{"TODO: one": false, "TODO: two": true, "none.md": true}, got); diff != "" {
		t.Error(diff)
	}
	if !r.Passed || r.ExitCode != 0 || r.ChangedSince.IntroducedFindings != 2 || r.ChangedSince.ContextualFindings != 1 {
		t.Errorf("%+v %+v", r.Phase, r.ChangedSince)
	}
	r.Baseline = &runner.BaselineComparison{}
	if Judge(&r); r.Passed {
		t.Error("with a baseline a new warning passed")
	}
	for i := range r.Findings {
		r.Findings[i].Known = true
	}
	if Judge(&r); !r.Passed {
		t.Error("a known warning failed")
	}
}

// edge case 44: the fingerprint is of the kind in the file, without the description; the identity is of the finding, and
// does not know its line.
func TestEdgeCase44Identity(t *testing.T) {
	t.Parallel()
	dir := plant(t, small)
	before := run(t, Config{Root: dir})
	if f := before.Findings; f[0].Fingerprint != "comments::a.go::TodoMarker" || f[0].Fingerprint != f[1].Fingerprint || f[0].Identity == f[1].Identity {
		t.Errorf("%+v", f)
	}
	write(t, filepath.Join(dir, "a.go"), "package a\n\n\n\n\n// TODO: two\nvar y = 2\n\n// TODO: one\nvar x = 1\n")
	after := run(t, Config{Root: dir})
	if after.Findings[0].Identity != before.Findings[1].Identity || after.Findings[1].Identity != before.Findings[0].Identity {
		t.Errorf("the identities moved with their lines:\n%+v\n%+v", before.Findings, after.Findings)
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	dir := plant(t, `
-- a.go --
package a
-- vendor/v.go --
package v
-- deep/node_modules/n.js --
n
-- dist/d.js --
d
-- deep/dist/kept.js --
let kept
-- testdata/t.go --
package t
-- big.go --
package big // and longer than the limit
-- picture.bin --
x
`)
	if err := os.Symlink("a.go", filepath.Join(dir, "link.go")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(dir, "deep", "loop")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "nul.go"), "package \x00")
	r := run(t, Config{Root: dir, Component: raw(`{"limits": {"max_file_bytes": 30}}`)})
	if r.Summary.FilesScanned != 3 || r.Summary.FilesSkipped != 1 {
		t.Errorf("%+v", r.Summary)
	}
	if _, err := Run(t.Context(), Config{Root: filepath.Join(dir, "a.go")}); !errors.Is(err, ErrRoot) {
		t.Errorf("a file as the root: %v", err)
	}
}

func git(t *testing.T, dir string, env []string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("missing tool: git: install git")
	}
	c := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@x", "-C", dir}, args...)...)
	c.Env = append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// In a repository the ignored files are left out, and comments have the age of their commit; a component below its top
// sees itself alone.
func TestGitTree(t *testing.T) {
	t.Parallel()
	dir := plant(t, `
-- .gitignore --
*.log.go
/out/
-- c/a.go --
package a

// TODO: old
var x = 1

// F is on its way out.
//
// Deprecated: use G.
func F() {}
-- c/x.log.go --
package a // TODO: ignored
-- out/b.go --
package b
-- c/new.go --
package a
`)
	git(t, dir, nil, "init", "-q")
	git(t, dir, nil, "add", "c/a.go", ".gitignore")
	git(t, dir, []string{"GIT_COMMITTER_DATE=2025-01-10T12:00:00Z"}, "commit", "-qm", "one")
	write(t, filepath.Join(dir, "c", "new.go"), "package a\n\n// TODO: young\n")
	cfg := Config{Root: filepath.Join(dir, "c"), Cache: t.TempDir(), Now: time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)}
	for _, round := range []string{"first", "second"} {
		r := run(t, cfg)
		want := []string{
			"a.go:3 stale_todo warning structural TODO: old",
			"a.go:8 deprecation_age warning graph Deprecated: use G.",
			"new.go:3 todo_marker info structural TODO: young",
		}
		if diff := cmp.Diff(want, lines(r)); diff != "" {
			t.Errorf("%s run: %s", round, diff)
		}
		if !strings.Contains(r.Findings[0].Description, "375 days") {
			t.Errorf("%s run: %s", round, r.Findings[0].Description)
		}
	}
	cfg.Now = time.Date(2025, 2, 1, 0, 0, 0, 0, time.UTC)
	if got := of(lines(run(t, cfg)), kindStaleTodo, kindDeprecation); len(got) != 0 {
		t.Errorf("young comments: %v", got)
	}
}

func same(t *testing.T, a, b Report) {
	t.Helper()
	a.Summary.FilesCached, b.Summary.FilesCached = 0, 0
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if diff := cmp.Diff(string(x), string(y)); diff != "" {
		t.Errorf("the reports differ: %s", diff)
	}
}

// A second run reads no file and says the same; whatever happens to the files or to the cache, a run with it says what one
// without it says.
func TestCache(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("missing tool: linux: other systems read every file")
	}
	dir, cacheDir := plant(t, goTree+small), t.TempDir()
	past := time.Now().Add(-time.Hour)
	age := func() {
		// The stamp of the change cannot be set: wait until that of every file is old enough to be believed.
		var newest int64
		err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			fi, err := e.Info()
			if err == nil {
				_, ctime := stamp(fi)
				newest = max(newest, ctime)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for time.Now().UnixNano()-newest <= int64(2*racy) {
			runtime.Gosched()
		}
	}
	cfg := Config{Root: dir, Cache: cacheDir}
	plain := func() Report { return run(t, Config{Root: dir}) }
	age()
	first := run(t, cfg)
	same(t, first, plain())
	second := run(t, cfg)
	same(t, first, second)
	if n := second.Summary; n.FilesCached != n.FilesScanned || n.FilesScanned == 0 {
		t.Errorf("second run: %d of %d from the cache", n.FilesCached, n.FilesScanned)
	}

	file := filepath.Join(dir, "a.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, past, past); err != nil {
		t.Fatal(err)
	}
	run(t, cfg)
	write(t, file, strings.Replace(string(text), "TODO: one", "FIXME one", 1)) // the same size, and then the same time
	if err := os.Chtimes(file, past, past); err != nil {
		t.Fatal(err)
	}
	third := run(t, cfg)
	same(t, third, plain())
	if third.Findings[0].Subject != "FIXME one" {
		t.Errorf("a change under the same size and time was not seen: %v", lines(third))
	}

	if err := os.Remove(filepath.Join(dir, "doc.md")); err != nil {
		t.Fatal(err)
	}
	same(t, run(t, cfg), plain())
	with := cfg
	with.Component = raw(`{"requested_detectors": [{"id": "x", "pattern": "package"}]}`)
	if got := of(lines(run(t, with)), kindRequested); len(got) == 0 {
		t.Error("a new rule found nothing in files that are in the cache")
	}

	caches, err := filepath.Glob(filepath.Join(cacheDir, "*.facts"))
	if err != nil || len(caches) != 1 {
		t.Fatalf("%v %v", caches, err)
	}
	good, err := os.ReadFile(caches[0])
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{}, good...)
	flipped[len(flipped)/2] ^= 0x20
	for name, bad := range map[string][]byte{"empty": {}, "cut": good[:len(good)/2], "flipped": flipped, "other": []byte("deed-audit-facts/0\n" + strings.Repeat("x", 100))} {
		if err := os.WriteFile(caches[0], bad, 0o600); err != nil {
			t.Fatal(err)
		}
		r := run(t, cfg)
		same(t, r, plain())
		if r.Summary.FilesCached != 0 {
			t.Errorf("%s: %d files from a broken cache", name, r.Summary.FilesCached)
		}
		if now := run(t, cfg); now.Summary.FilesCached == 0 {
			t.Errorf("%s: it was not written anew", name)
		}
	}
}

func TestTwoAuditsAtOnce(t *testing.T) {
	t.Parallel()
	cfg := Config{Root: plant(t, goTree+small), Cache: t.TempDir()}
	want := run(t, Config{Root: cfg.Root})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r, err := Run(t.Context(), cfg)
			if err != nil {
				t.Error(err)
				return
			}
			same(t, want, r)
		})
	}
	wg.Wait()
}

// All faults of the project's own settings are reported at once, and nothing is read. A fault of a manifest is reported, and the
// rest of the manifest is used.
func TestSettingsFaults(t *testing.T) {
	t.Parallel()
	dir := plant(t, small)
	_, err := Run(t.Context(), Config{
		Root:      dir,
		Component: raw(`{"feature_patterns": ["("], "severity": {"todo_marker": "error"}, "limits": {"max_items": -1}, "requested_detectors": [{"id": " ", "pattern": "(?=x)", "type": "perl"}, {"id": "d", "type": "derived_literal", "pattern": "x"}]}`),
		Rules:     raw(`{"layer_rules": [{"name": "", "forbid": {"glob": "[a"}}]}`),
	})
	var got []string
	for _, f := range fault.Of(err) {
		got = append(got, f.Path)
	}
	want := []string{
		"$.audit.feature_patterns[0]", "$.audit.requested_detectors[0].id", "$.audit.requested_detectors[0].pattern", "$.audit.requested_detectors[0].type",
		"$.audit.requested_detectors[1].pattern", "$.audit.severity.todo_marker", "$.audit.limits.max_items",
		"$.audit_rules.layer_rules[0].name", "$.audit_rules.layer_rules[0].forbid", "$.audit_rules.layer_rules[0].forbid.glob",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Run(t.Context(), Config{Root: dir, Component: raw(`{"ignore": "x"}`)}); fault.Of(err) == nil {
		t.Errorf("a text in place of a list: %v", err)
	}
	r := run(t, Config{Root: dir, Component: raw(`{"ignor": ["a.go"], "feature_context": {}}`), Manifests: []Manifest{
		{"php", raw(`{"feature_patterns": ["(?!x)"], "severity": {"todo_marker": "off"}, "detector_rules": {"a": 1}}`)}, {"bad", raw(`[1]`)},
	}})
	if len(r.Warnings) != 3 || !strings.Contains(r.Warnings[0], `did you mean "ignore`) {
		t.Errorf("warnings: %q", r.Warnings)
	}
	if got := of(lines(r), kindTodo); len(got) != 0 {
		t.Errorf("the severity of the manifest has no effect: %v", got)
	}
}

// A script of an extension gives a language its structure; one that fails is reported and not used again.
func TestFingerprintScript(t *testing.T) {
	t.Parallel()
	tree := ""
	for _, name := range []string{"A", "B", "C", "D"} {
		tree += "-- src/" + name + ".php --\n<?php class " + name + " {}\n"
	}
	tree += "-- src/E.php --\n<?php // odd\n"
	dir := plant(t, tree)
	script := filepath.Join(t.TempDir(), "fingerprint.sh")
	write(t, script, `#!/bin/sh
in=$(cat)
case $in in
*odd*) printf '%s\n' '{"type_name":"E","methods":["other"],"namespace":"App\\Else"}' ;;
*) printf '%s\n' '{"type_name":"X","extends":"Base","methods":["run"],"method_hashes":{"run":"abc"},"namespace":"App","imports":["Forbidden\\Thing"],"unknown":[1]}' ;;
esac
`)
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Root: dir, Scripts: []Script{{Path: script, Extensions: []string{"php"}, Env: os.Environ()}},
		Rules: raw(`{"layer_rules": [{"name": "l", "forbid": {"imports": ["Forbidden*"]}}]}`),
	}
	r := run(t, cfg)
	got := of(lines(r), kindMissingMethod, kindMissingInterface, kindNamespace)
	want := []string{
		"src/E.php:0 missing_interface warning heuristic Base",
		"src/E.php:0 missing_method warning heuristic run",
		`src/E.php:0 namespace_mismatch info heuristic App\Else`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(of(lines(r), kindDuplicate)) != 4 || len(of(lines(r), kindLayer)) != 4 || r.Summary.FilesParsed != 5 {
		t.Errorf("%v\n%+v", lines(r), r.Summary)
	}

	write(t, script, "#!/bin/sh\necho oops >&2\nexit 3\n")
	cfg.Cache = t.TempDir()
	r = run(t, cfg)
	if len(r.Unparsed) != 1 || r.Unparsed[0].Count != 5 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "oops") {
		t.Errorf("unparsed %+v, warnings %q", r.Unparsed, r.Warnings)
	}
	if again := run(t, cfg); again.Summary.FilesCached != 0 {
		t.Error("what a failing script did not say was kept")
	}
}

// docs/AUDIT.md names every kind and every key.
func TestDocumentNamesEverything(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/AUDIT.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds {
		if !strings.Contains(string(text), "| `"+k.Name+"` | "+k.Severity+" | "+k.Confidence+" |") {
			t.Errorf("docs/AUDIT.md has no row for %s, %s, %s", k.Name, k.Severity, k.Confidence)
		}
	}
	for _, key := range settingKeys() {
		if !strings.Contains(string(text), "`"+key) {
			t.Errorf("docs/AUDIT.md does not name the key %s", key)
		}
	}
	var limits map[string]any
	b, _ := json.Marshal(defaultLimits)
	if err := json.Unmarshal(b, &limits); err != nil {
		t.Fatal(err)
	}
	for key := range limits {
		if !strings.Contains(string(text), "`"+key+"`") {
			t.Errorf("docs/AUDIT.md does not name the limit %s", key)
		}
	}
}
