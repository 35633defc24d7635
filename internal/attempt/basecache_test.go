package attempt

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// What is kept of a base is found again for the same base, check and machine, and only with the key.
func TestBaseRecords(t *testing.T) {
	t.Parallel()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := bundle.LoadOrCreateKey(h.Keys())
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "a"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := workspace.Snapshot(t.Context(), tree, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := checker{&run{Runner: &Runner{Home: h, Key: key, Version: "v1", Clock: clock.System}, prepared: prepared{before: m}}}
	c := deed.Check{Capability: runner.Audit, Settings: []byte(`{"x": 1}`)}
	want := gate.BaseRun{Status: "failed", Report: &runner.Report{Schema: runner.SchemaReport, Status: "failed", TestCases: []runner.TestCase{{Name: "T", Status: "failed"}}}, Sites: []string{"0:."}, Control: true}
	if _, ok := a.Base(t.Context(), c); ok {
		t.Fatal("found what nobody kept")
	}
	a.KeepBase(t.Context(), c, want)
	got, ok := a.Base(t.Context(), c)
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Fatalf("%v %s", ok, diff)
	}
	judged := c
	judged.Name, judged.OnChangedInputs, judged.Hidden, judged.Inputs = "n", deed.InputsAsk, true, []string{"x"}
	if _, ok := a.Base(t.Context(), judged); !ok {
		t.Error("how a check is judged has no part in what it gives")
	}
	for name, edit := range map[string]func(*run, *deed.Check){
		"another version of deed": func(a *run, _ *deed.Check) { a.Version = "v2" },
		"another base":            func(a *run, _ *deed.Check) { a.before = &workspace.Manifest{} },
		"another setting":         func(_ *run, c *deed.Check) { c.Settings = []byte(`{"x": 2}`) },
		"another step":            func(_ *run, c *deed.Check) { c.Steps = []string{"s"} },
		"another containment":     func(a *run, _ *deed.Check) { a.plan.kind = "none" },
		"other hidden files":      func(_ *run, c *deed.Check) { c.FilesDigest = strings.Repeat("0", 64) },
	} {
		runner := *a.Runner
		other := run{Runner: &runner, prepared: prepared{before: m}}
		check := c
		edit(&other, &check)
		if _, ok := (checker{&other}).Base(t.Context(), check); ok {
			t.Errorf("%s finds the record", name)
		}
	}
	files, err := filepath.Glob(filepath.Join(a.basesDir(), "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	strange, err := bundle.LoadOrCreateKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := bytes.Cut(whole, []byte("\n"))
	for name, data := range map[string][]byte{
		"an edited result":  bytes.Replace(whole, []byte(`"failed"`), []byte(`"passed"`), 1),
		"another's key":     append([]byte(hexOf(strange.MAC(basePurpose, text))+"\n"), text...),
		"another purpose":   append([]byte(hexOf(key.MAC("x", text))+"\n"), text...),
		"no code":           text,
		"half of it":        whole[:len(whole)/2],
		"nothing":           nil,
		"not what it seems": []byte(strings.Repeat("00", 32) + "\n{}"),
	} {
		if err := os.WriteFile(files[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := a.Base(t.Context(), c); ok {
			t.Errorf("%s is believed", name)
		}
	}
	// The record of one check is not that of another.
	other := c
	other.Steps = []string{"s"}
	name, err := a.baseKey(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.basesDir(), name+".json"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := a.Base(t.Context(), other); ok {
		t.Error("a record under another name is believed")
	}
	a.KeepBase(t.Context(), c, want)
	if _, ok := a.Base(t.Context(), c); !ok {
		t.Error("a broken record is not replaced")
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, n := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prune(dir, 2)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }
