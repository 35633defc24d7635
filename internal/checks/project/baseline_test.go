package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type record map[string]any

func lint(at string, prints ...string) record {
	if prints == nil {
		prints = []string{}
	}
	return record{"created_at": at, "item_count": len(prints), "known_fingerprints": prints}
}

// Edge case 29: how the file looks after a baseline was saved in it.
func TestSaveBaselineKeepsTheLayout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, after string }{
		"blank":         {" \n", "{\n  \"baselines\": {\n    \"lint\": {\n      \"n\": 1\n    }\n  }\n}\n"},
		"no member":     {"{ }\n", "{\n  \"baselines\": {\n    \"lint\": {\n      \"n\": 1\n    }\n  }\n}\n"},
		"no final line": {"{\n  \"id\": \"x\"\n}", "{\n  \"id\": \"x\",\n  \"baselines\": {\n    \"lint\": {\n      \"n\": 1\n    }\n  }\n}"},
		"tabs":          {"{\n\t\"id\": \"x\"\n}\n", "{\n\t\"id\": \"x\",\n\t\"baselines\": {\n\t\t\"lint\": {\n\t\t\t\"n\": 1\n\t\t}\n\t}\n}\n"},
		"CRLF":          {"{\r\n    \"a\": 1.50\r\n}\r\n", "{\r\n    \"a\": 1.50,\r\n    \"baselines\": {\r\n        \"lint\": {\r\n            \"n\": 1\r\n        }\r\n    }\r\n}\r\n"},
		"BOM":           {"\ufeff{\"a\":1}", "\ufeff{\"a\":1,\"baselines\":{\"lint\":{\"n\":1}}}"},
		"one line":      {"{ \"a\": 1, \"b\": 1e+2 }", "{ \"a\": 1, \"b\": 1e+2, \"baselines\": {\"lint\": {\"n\": 1}} }"},
		"in the middle": {"{\n  \"z\": \"\\u00e9\\/\",\n  \"baselines\": {\n    \"test\": {\"n\":  2},\n    \"lint\": {\n      \"n\": 0\n    }\n  },\n  \"a\": [ 1,2 ]\n}\n", "{\n  \"z\": \"\\u00e9\\/\",\n  \"baselines\": {\n    \"test\": {\"n\":  2},\n    \"lint\": {\n      \"n\": 1\n    }\n  },\n  \"a\": [ 1,2 ]\n}\n"},
		"beside others": {"{\n  \"baselines\": {\n    \"test\": 1\n  }\n}\n", "{\n  \"baselines\": {\n    \"test\": 1,\n    \"lint\": {\n      \"n\": 1\n    }\n  }\n}\n"},
		"empty":         {"{\n  \"baselines\": {}\n}\n", "{\n  \"baselines\": {\n    \"lint\": {\n      \"n\": 1\n    }\n  }\n}\n"},
		"flat inside":   {"{\n  \"baselines\": {\"lint\": {\"n\": 7}, \"t\": 1}\n}\n", "{\n  \"baselines\": {\"lint\": {\"n\": 1}, \"t\": 1}\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, map[string]string{FileName: tc.before})
			if err := SaveBaseline(dir, "lint", record{"n": 1}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.after, read(t, dir, FileName)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Edge case 29: the first save makes the file, an unchanged one keeps its time, and text stays text.
func TestSaveBaselineOverTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	save := func(key string, v any) string {
		t.Helper()
		if err := SaveBaseline(dir, key, v); err != nil {
			t.Fatal(err)
		}
		return read(t, dir, FileName)
	}
	first := save("lint", lint("1", "a<b>", "c&"))
	if !strings.Contains(first, `"a<b>"`) || !strings.HasSuffix(first, "}\n") {
		t.Errorf("first = %q", first)
	}
	if again := save("lint", lint("2", "a<b>", "c&")); again != first {
		t.Errorf("the same fingerprints: %s", cmp.Diff(first, again))
	}
	if fewer := save("lint", lint("3", "c&")); !strings.Contains(fewer, `"3"`) || strings.Contains(fewer, "a<b>") {
		t.Errorf("a resolved one: %s", fewer)
	}
	// The same fingerprints with other numbers say nothing new; with deed's own identities they do.
	counted := lint("4", "c&")
	counted["metadata"] = record{"findings_count": 9}
	if after := save("lint", counted); strings.Contains(after, `"4"`) {
		t.Errorf("other numbers: %s", after)
	}
	known := lint("5", "c&")
	known["deed_identities"] = []string{"0a1b c&"}
	if more := save("lint", known); !strings.Contains(more, "0a1b") {
		t.Errorf("identities: %s", more)
	}
	// A baseline of tests has no fingerprints: what it counts decides.
	tests := func(at string, passed int) record {
		return record{"created_at": at, "item_count": 0, "known_fingerprints": []string{}, "metadata": record{"passed": passed}}
	}
	one := save("test", tests("4", 10))
	if two := save("test", tests("5", 10)); two != one {
		t.Errorf("the same counts: %s", cmp.Diff(one, two))
	}
	if three := save("test", tests("6", 11)); three == one || !strings.Contains(three, `"6"`) {
		t.Errorf("other counts: %s", three)
	}
	// A key of a scope has a colon, and one with dots or quotes is a key like any other.
	for _, key := range []string{"lint:0a1b", `a.b"c\`, "é\n"} {
		save(key, lint("7", "x"))
		c, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Baseline(key); !ok {
			t.Errorf("no baseline %q", key)
		}
	}
}

func TestSaveBaselineRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"a list":                     {"[]", "not a JSON object"},
		"baselines is a list":        {"{\n \"baselines\": []}", FileName + ":2:15: baselines is not a JSON object"},
		"baselines is null":          {"{\"baselines\": null}", "baselines is not a JSON object"},
		"malformed":                  {"{\"a\": }", FileName + ":1:7"},
		"malformed behind baselines": {"{\"baselines\": {}, \"a\": tru}", FileName + ":1:"},
		"twice":                      {"{\"baselines\": {}, \"baselines\": {}}", "twice"},
	} {
		dir := write(t, map[string]string{FileName: tc.text})
		if err := SaveBaseline(dir, "lint", lint("1", "x")); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := read(t, dir, FileName); got != tc.text {
			t.Errorf("%s: the file was changed: %q", name, got)
		}
	}
	dir := write(t, map[string]string{"real.json": "{}"})
	if err := os.Symlink("real.json", filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	if err := SaveBaseline(dir, "lint", lint("1", "x")); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a link: %v", err)
	}
	if got := read(t, dir, "real.json"); got != "{}" {
		t.Errorf("the link was followed: %q", got)
	}
	if err := SaveBaseline(t.TempDir(), "lint", func() {}); err == nil {
		t.Error("a function has JSON")
	}
	if err := SaveBaseline(filepath.Join(dir, "gone"), "lint", 1); err == nil {
		t.Error("a directory that is not there was written to")
	}
}

func TestBaselinesOfAProjectWithDeedYaml(t *testing.T) {
	t.Parallel()
	own := filepath.FromSlash(ownBaselines)
	dir := write(t, map[string]string{deedFile: "name: x\n"})
	if err := SaveBaseline(dir, "lint", lint("1", "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, FileName)); err == nil {
		t.Error("a homeboy.json was made")
	}
	if got := read(t, dir, own); !strings.HasPrefix(got, "{\n  \"schema\": \""+SchemaBaselines+"\",\n  \"baselines\": {") {
		t.Errorf("own file: %s", got)
	}
	if err := SaveBaseline(dir, "test", lint("1", "b")); err != nil {
		t.Fatal(err)
	}
	c, err := Load(dir)
	if err != nil || len(c.baselines) != 2 {
		t.Fatalf("baselines = %v, %v", c.baselines, err)
	}
	// A homeboy.json that comes later is written from then on, and what it says wins.
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SaveBaseline(dir, "lint", lint("2", "c")); err != nil {
		t.Fatal(err)
	}
	if c, err = Load(dir); err != nil || !strings.Contains(string(c.baselines["lint"]), `"c"`) || len(c.baselines) != 2 {
		t.Errorf("baselines = %s, %v", c.baselines, err)
	}
	fi, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
}

func TestSaveBaselineByManyAtOnce(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{FileName: "{\n  \"id\": \"x\"\n}\n"})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if err := SaveBaseline(dir, fmt.Sprintf("k%d", i), lint("1", "a")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c, err := Load(dir)
	if err != nil || len(c.baselines) != 16 || c.ID != "x" {
		t.Errorf("%d baselines, %v", len(c.baselines), err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left behind: %v", list)
	}
}

// drawn makes JSON text with blanks wherever JSON allows them.
func drawn(t *rapid.T, depth int) string {
	blank := func() string {
		return rapid.SampledFrom([]string{"", "", " ", "\n", "\r\n", "\t", "\n    "}).Draw(t, "blank")
	}
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 && kind > 4 {
		kind = 0
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"0", "-0", "1.50", "1e+2", "100000000000000000000", "3E-7"}).Draw(t, "number")
	case 1:
		return rapid.SampledFrom([]string{`""`, `"a"`, `"\u0041\/"`, `"é"`, `"}]{["`, `"\"baselines\":"`, `"\ud83d\ude00"`}).Draw(t, "text")
	case 2, 3, 4:
		return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")
	case 5:
		n := rapid.IntRange(0, 3).Draw(t, "items")
		parts := make([]string, n)
		for i := range parts {
			parts[i] = blank() + drawn(t, depth-1) + blank()
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return drawnObject(t, depth, nil)
}

func drawnObject(t *rapid.T, depth int, extra []string) string {
	blank := func() string {
		return rapid.SampledFrom([]string{"", "", " ", "\n", "\r\n  ", "\n\t"}).Draw(t, "blank")
	}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{`"a"`, `"b"`, `"schema"`, `"x y"`, `"\u00e9"`, `"nested"`}), 0, 4, rapid.ID[string]).Draw(t, "names")
	parts := make([]string, 0, len(names)+len(extra))
	for _, n := range names {
		parts = append(parts, blank()+n+blank()+":"+blank()+drawn(t, max(depth-1, 0))+blank())
	}
	for _, e := range extra {
		i := rapid.IntRange(0, len(parts)).Draw(t, "at")
		parts = append(parts[:i], append([]string{blank() + e + blank()}, parts[i:]...)...)
	}
	if len(parts) == 0 {
		return "{" + blank() + "}"
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// Whatever the file looks like: one stretch of it changes, it lies where the baseline stands, and the text that comes out
// says what went in and the new baseline.
func TestSaveBaselineChangesNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var extra []string
		if rapid.Bool().Draw(t, "has baselines") {
			var inner []string
			if rapid.Bool().Draw(t, "has lint") {
				inner = append(inner, `"lint" :`+drawn(t, 2))
			}
			extra = append(extra, `"baselines"`+rapid.SampledFrom([]string{":", ": ", " :\n"}).Draw(t, "colon")+drawnObject(t, 2, inner))
		}
		head := rapid.SampledFrom([]string{"", "\ufeff", "\n", " "}).Draw(t, "head")
		before := head + drawnObject(t, 3, extra) + rapid.SampledFrom([]string{"", "\n", "\r\n\r\n"}).Draw(t, "tail")
		if err := os.WriteFile(filepath.Join(dir, FileName), []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := SaveBaseline(dir, "lint", lint("1", "new<&>", "\u2028")); err != nil {
			t.Fatalf("%q: %v", before, err)
		}
		text, err := os.ReadFile(filepath.Join(dir, FileName))
		if err != nil {
			t.Fatal(err)
		}
		want := meaning(t, before)
		baselines, _ := want["baselines"].(map[string]any)
		if baselines == nil {
			baselines = map[string]any{}
			want["baselines"] = baselines
		}
		baselines["lint"] = meaning(t, `{"created_at":"1","item_count":2,"known_fingerprints":["new<&>","\u2028"]}`)
		if got := meaning(t, string(text)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q", before, text)
		}
		oneStretch(t, before, string(text))
		if err := SaveBaseline(dir, "lint", lint("2", "new<&>", "\u2028")); err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(filepath.Join(dir, FileName)); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("saved again: %q, %v", again, err)
		}
	})
}

func meaning(t *rapid.T, text string) map[string]any {
	d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	d.UseNumber() // 1.50 is not 1.5 here
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// oneStretch takes the new value out again and holds what is left against the text before.
func oneStretch(t *rapid.T, before, after string) {
	old, err := parse("before", []byte(before))
	if err != nil {
		t.Fatal(err)
	}
	now, err := parse("after", []byte(after))
	if err != nil {
		t.Fatal(err)
	}
	outer, ok := old.member("baselines")
	if !ok { // put behind the last member, or between the braces of an object without any
		cut := old.object.end - 1
		if n := len(old.members); n > 0 {
			cut = old.members[n-1].end
		}
		m, _ := now.member("baselines")
		if string(old.text[old.object.end-1:]) != string(now.text[now.object.end-1:]) || len(old.members) > 0 && string(old.text[:cut]) != string(now.text[:cut]) ||
			len(old.members) > 0 && string(old.text[cut:]) != string(now.text[m.end:]) {
			t.Fatalf("%q became %q", before, after)
		}
		return
	}
	m, _ := now.member("baselines")
	if string(old.text[:outer.start]) != string(now.text[:m.start]) || string(old.text[outer.end:]) != string(now.text[m.end:]) {
		t.Fatalf("outside of baselines: %q became %q", before, after)
	}
	_, was, err := members(old.text, outer.start)
	if err != nil {
		t.Fatal(err)
	}
	_, is, err := members(now.text, m.start)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range was {
		if w.name != "lint" && string(old.text[w.nameStart:w.end]) != string(now.text[is[i].nameStart:is[i].end]) {
			t.Fatalf("baselines.%s: %q became %q", w.name, before, after)
		}
	}
}

func FuzzSaveBaseline(f *testing.F) {
	for _, s := range []string{"", "{}", "[1]", "{\"baselines\":{}}", "\ufeff{\n\t\"a\": 1\n}", "{\"baselines\":{\"lint\":{\"known_fingerprints\":[\"x\"]}}}", "{\"a\":{\"a\":1,\"a\":2}}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := parse("f", text)
		if err != nil {
			return
		}
		out, err := doc.setBaseline("lint", []byte(`{"known_fingerprints":["x"]}`))
		if err != nil || out == nil {
			return
		}
		again, err := parse("f", out)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		if more, err := again.setBaseline("lint", []byte(`{"known_fingerprints":["x"]}`)); err != nil || more != nil {
			t.Fatalf("%q is not kept: %q, %v", out, more, err)
		}
	})
}
