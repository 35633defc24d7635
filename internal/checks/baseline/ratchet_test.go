package baseline

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/finding"
)

var noon = time.Date(2026, 11, 15, 13, 0, 0, 5e8, time.FixedZone("", 3600))

func must[T any](t interface{ Fatal(...any) }, v T, err error) T {
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// saved returns a baseline as it is read after it was saved.
func saved(t interface{ Fatal(...any) }, items ...Item) Baseline {
	b, err := New("site", noon, items, LintMetadata{len(items)})
	must(t, b, err)
	text, err := json.Marshal(b)
	must(t, text, err)
	b, err = Parse(text)
	return must(t, b, err)
}

// items reads "id/fingerprint" texts.
func items(texts ...string) []Item {
	var out []Item
	for _, s := range texts {
		id, fingerprint, _ := strings.Cut(s, "/")
		out = append(out, Item{ID: id, Fingerprint: fingerprint, Description: "d:" + s, Label: "lint:x"})
	}
	return out
}

// Edge case 29: the record is the one that other programs know, with one key more.
func TestRecord(t *testing.T) {
	t.Parallel()
	b := saved(t, items("b/2", "a/1", "b/3", "c")...)
	text, err := json.MarshalIndent(b, "", "  ")
	must(t, text, err)
	want := `{
  "created_at": "2026-11-15T12:00:00Z",
  "context_id": "site",
  "item_count": 4,
  "known_fingerprints": [
    "a",
    "b",
    "b",
    "c"
  ],
  "metadata": {
    "findings_count": 4
  },
  "deed_identities": [
    "1 a",
    "2 b",
    "3 b"
  ]
}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	empty, err := json.Marshal(saved(t))
	must(t, empty, err)
	if !strings.Contains(string(empty), `"known_fingerprints":[]`) {
		t.Errorf("%s", empty)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base, now  []Item
		introduced []string // by description
		resolved   []string
		unchanged  int
	}{
		"nothing":                       {nil, nil, nil, nil, 0},
		"the first run":                 {nil, items("a/1"), []string{"d:a/1"}, nil, 0},
		"the same":                      {items("a/1", "b/2"), items("b/2", "a/1"), nil, nil, 2},
		"resolved only":                 {items("a/1", "b/2"), items("b/2"), nil, []string{"a"}, 1},
		"new and resolved":              {items("a/1", "b/2"), items("b/2", "c/3"), []string{"d:c/3"}, []string{"a"}, 1},
		"a moved line":                  {items("f::r::10/1"), items("f::r::12/1"), nil, nil, 1},
		"an edited line, the same id":   {items("f::r::10/1"), items("f::r::10/9"), nil, nil, 1},
		"one more of the same":          {items("a/1", "a/1-2"), items("a/1", "a/1-2", "a/1-3"), []string{"d:a/1-3"}, nil, 2},
		"one less of the same":          {items("a/1", "a/1-2"), items("a/1"), nil, []string{"a"}, 1},
		"an id twice":                   {items("a/1", "a/2"), items("a/2", "a/8", "a/9"), []string{"d:a/9"}, nil, 2},
		"a new one at the old place":    {items("f::r::10/1", "f::r::12/2"), items("f::r::12/1", "f::r::14/2", "f::r::10/3"), []string{"d:f::r::10/3"}, nil, 2},
		"and the other one is gone":     {items("f::r::10/1", "f::r::12/2"), items("f::r::12/1", "f::r::10/3"), []string{"d:f::r::10/3"}, []string{"f::r::12"}, 1},
		"no second identity now":        {items("a/1", "b/2"), items("a", "c"), []string{"d:c"}, []string{"b"}, 1},
		"a tool that changed its ids":   {items("old1/1", "old2/2"), items("new2/2", "new1/1"), nil, nil, 2},
		"the same second one by chance": {items("a/1", "b/1"), items("x/1", "y/1", "z/1"), []string{"d:z/1"}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, old := Compare(saved(t, c.base...), c.now)
			var introduced []string
			for _, it := range got.Introduced {
				introduced = append(introduced, it.Description)
			}
			if !slices.Equal(introduced, c.introduced) || !slices.Equal(got.Resolved, c.resolved) || got.Unchanged != c.unchanged ||
				got.Delta != len(c.now)-len(c.base) || got.DriftIncrease != (len(c.introduced) > 0) || len(old) != len(c.now) {
				t.Errorf("%+v", got)
			}
			if Better(got) != (len(c.introduced) == 0 && len(c.resolved) > 0) {
				t.Error("the ratchet would write")
			}
		})
	}
}

// A baseline that another program saved: no second identities, ids once or as often as they occur.
func TestCompareWithAnotherProgramsBaseline(t *testing.T) {
	t.Parallel()
	for _, known := range []string{`["a","b","f"]`, `["a","a","b","f"]`} {
		b, err := Parse(json.RawMessage(`{"created_at":"2026-01-01T00:00:00Z","context_id":"c","item_count":3,"known_fingerprints":` + known + `,"metadata":{"findings_count":3},"other":[1]}`))
		must(t, b, err)
		now := append(items("a/1", "a/2", "c/3"), Item{ID: "g", Also: "f", Fingerprint: "4"})
		got, _ := Compare(b, now)
		want := runner.BaselineComparison{Introduced: []runner.BaselineItem{{Fingerprint: "c", Description: "d:c/3", ContextLabel: "lint:x"}}, Resolved: []string{"b"}, Unchanged: 3, Delta: 1, DriftIncrease: true}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// What somebody took out of the known ones by hand is not known any more, also when the order is broken.
func TestKnownHasTheLastWord(t *testing.T) {
	t.Parallel()
	b := saved(t, items("a/1", "b/2", "c/3")...)
	b.Known = []string{"c", "a"}
	slices.Reverse(b.Identities)
	got, old := Compare(b, items("a/1", "b/2", "moved/3"))
	if !slices.Equal(old, []bool{true, false, true}) || len(got.Introduced) != 1 {
		t.Errorf("%v %+v", old, got)
	}
	if b.Known[0] != "c" {
		t.Error("the caller's baseline was sorted")
	}
}

func TestCompareCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Item {
			return Item{
				ID:          rapid.SampledFrom([]string{"a", "b", "c", "d e"}).Draw(t, "id"),
				Fingerprint: rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "6"}).Draw(t, "fingerprint"),
			}
		}), 1, 6, func(it Item) string { return it.Fingerprint }) // package finding makes no two alike
		base, now := gen.Draw(t, "base"), gen.Draw(t, "now")
		b := saved(t, base...)
		got, old := Compare(b, now)
		known := 0
		for _, o := range old {
			if o {
				known++
			}
		}
		if got.Unchanged+len(got.Introduced) != len(now) || got.Unchanged+len(got.Resolved) != len(base) || known != got.Unchanged {
			t.Fatalf("%+v", got)
		}
		if same, _ := Compare(b, base); len(same.Introduced)+len(same.Resolved) != 0 {
			t.Fatalf("against itself: %+v", same)
		}
		shuffled := rapid.Permutation(now).Draw(t, "order")
		if again, _ := Compare(b, shuffled); len(again.Introduced) != len(got.Introduced) {
			t.Fatalf("the order decides: %d new, then %d", len(got.Introduced), len(again.Introduced))
		}
	})
}

// The whole way of a finding whose line moved: its tool's id is another one, and it is known.
func TestFindingsMoved(t *testing.T) {
	t.Parallel()
	read := func(text, source string) []runner.LintFinding {
		fs, err := finding.Read(strings.NewReader(text), "/srv/site")
		must(t, fs, err)
		finding.Identify(fs, "/srv/site", func(string) ([]byte, error) { return []byte(source), nil })
		return fs
	}
	base := read(`[{"id":"a.php::R::2","message":"m","category":"c"},{"id":"eslint:no-var:/srv/site/b.js:1:1","message":"n"}]`, "<?php\necho $x;\n")
	b, err := Lint("site", noon, base)
	must(t, b, err)
	now := read(`[{"id":"eslint:no-var:/srv/site/b.js:1:1","message":"n"},{"id":"a.php::R::4","message":"m","category":"c"},{"id":"a.php::R::3","message":"m","category":"c"}]`, "<?php\n\n$y;\necho $x;\n")
	got := Findings(b, now)
	if len(got.Introduced) != 1 || got.Introduced[0].Fingerprint != "a.php::R::3" || got.Introduced[0].ContextLabel != "lint:c" || len(got.Resolved) != 0 {
		t.Errorf("%+v", got)
	}
	if !now[0].Known || !now[1].Known || now[2].Known {
		t.Errorf("%+v", now)
	}
}

// Edge cases 30 and 31.
func TestTests(t *testing.T) {
	t.Parallel()
	counts := func(total, passed, failed, skipped int) runner.TestResults {
		return runner.TestResults{Total: total, Passed: passed, Failed: failed, Skipped: skipped}
	}
	partial := counts(10, 9, 0, 1)
	partial.Partial = "testdox-fallback"
	base := counts(10, 8, 1, 1)
	for name, c := range map[string]struct {
		now        runner.TestResults
		regression bool
		better     bool
		reasons    []string
	}{
		"the same":                     {counts(10, 8, 1, 1), false, false, nil},
		"one passes less":              {counts(10, 7, 1, 2), true, false, []string{"7 tests passed, 8 in the baseline"}},
		"one fails more":               {counts(11, 8, 2, 1), true, false, []string{"2 tests failed, 1 in the baseline"}},
		"both":                         {counts(10, 7, 2, 1), true, false, []string{"7 tests passed, 8 in the baseline", "2 tests failed, 1 in the baseline"}},
		"more pass, more fail":         {counts(12, 9, 2, 1), true, false, []string{"2 tests failed, 1 in the baseline"}},
		"only skipped ones change":     {counts(13, 8, 1, 4), false, false, nil},
		"a skipped one is gone":        {counts(9, 8, 1, 0), false, false, []string{"9 tests in all, 10 in the baseline: what became of the others?"}},
		"one more passes":              {counts(11, 9, 1, 1), false, true, nil},
		"the failing one was mended":   {counts(10, 9, 0, 1), false, true, nil},
		"the failing one was deleted":  {counts(9, 8, 0, 1), false, false, []string{"9 tests in all, 10 in the baseline: what became of the others?"}},
		"better, and counted in part":  {partial, false, false, []string{"the counts are not complete (testdox-fallback)"}},
		"nothing ran":                  {counts(0, 0, 0, 0), true, false, []string{"0 tests passed, 8 in the baseline", "0 tests in all, 10 in the baseline: what became of the others?"}},
		"one test is left, and passes": {counts(1, 1, 0, 0), true, false, []string{"1 test passed, 8 in the baseline", "1 test in all, 10 in the baseline: what became of the others?"}},
	} {
		got := Tests(base, c.now)
		if got.Regression != c.regression || Better(got) != c.better {
			t.Errorf("%s: regression %v, better %v", name, got.Regression, Better(got))
		}
		if diff := cmp.Diff(c.reasons, got.Reasons); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	b, err := TestCounts("site", noon, base)
	must(t, b, err)
	if got, err := b.Counts(); err != nil || got != base || b.ItemCount != 0 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	b := saved(t, items("a/1")...)
	later := b
	later.CreatedAt = "2027-01-01T00:00:00Z"
	later.Metadata = json.RawMessage("{ \"findings_count\" : 1 }")
	if !b.Same(later) {
		t.Error("a later baseline of the same items is another one")
	}
	for _, other := range []Baseline{saved(t), saved(t, items("b/1")...), saved(t, items("a/2")...), saved(t, items("a/1", "a/2")...)} {
		if b.Same(other) {
			t.Errorf("the same: %+v", other)
		}
	}
	five, err := TestCounts("site", noon, runner.TestResults{Total: 5})
	must(t, five, err)
	six, err := TestCounts("site", noon, runner.TestResults{Total: 6})
	must(t, six, err)
	if five.Same(six) {
		t.Error("other counts are the same")
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	old := saved(t, items("conv::a.go::GodFile/1", "conv::b.go::GodFile/2", "conv::b.go::GodFile/3")...)
	found := saved(t, items("conv::a.go::TodoMarker/4")...)
	got := Merge(old, found, func(id string) bool { return strings.Contains(id, "::a.go::") })
	want := saved(t, items("conv::a.go::TodoMarker/4", "conv::b.go::GodFile/2", "conv::b.go::GodFile/3")...)
	want.Metadata = found.Metadata
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(old.Known) != 3 || len(found.Known) != 1 {
		t.Error("the merged ones were changed")
	}
}

func TestParseMalformed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                             "it is of the wrong type",
		`{"known_fingerprints":{"a":1}}`: "known_fingerprints is of the wrong type",
		`{"item_count":"3"}`:             "item_count is of the wrong type",
		`{`:                              "unexpected EOF",
	} {
		_, err := Parse(json.RawMessage(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--baseline") {
			t.Errorf("%s: %v", text, err)
		}
	}
	b := Baseline{Metadata: json.RawMessage(`"x"`)}
	if _, err := b.Counts(); err == nil {
		t.Error("counts out of a string")
	}
}

// A narrowed run has a key of its own.
func TestKey(t *testing.T) {
	t.Parallel()
	whole, err := Scope{}.Key("lint")
	if must(t, whole, err) != "lint" {
		t.Error(whole)
	}
	seen := map[string]string{}
	for name, s := range map[string]Scope{
		"file": {Files: []string{"a.go"}}, "files": {Files: []string{"a.go", "b.go"}}, "step": {Tools: []string{"a.go"}}, "skip": {Skipped: []string{"a.go"}},
		"errors": {ErrorsOnly: true}, "category": {Category: "x"}, "sniffs": {Sniffs: "x"}, "not": {ExcludeSniffs: "x"}, "changed": {Scope: "changed"}, "args": {Args: []string{"x"}},
	} {
		key, err := s.Key("lint")
		must(t, key, err)
		if !strings.HasPrefix(key, "lint:") || len(key) != len("lint:")+64 || seen[key] != "" {
			t.Errorf("%s: %s is also %s", name, key, seen[key])
		}
		seen[key] = name
	}
	a, _ := Scope{Files: []string{"b", "a", "b"}, Tools: []string{}}.Key("lint")
	b, _ := Scope{Files: []string{"a", "b"}}.Key("lint")
	if a != b {
		t.Error("the order of the files makes another key")
	}
}
