package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ got, want string }{
		{Field(Root, "a"), "$.a"},
		{Field("$.a", "b-1"), "$.a.b-1"},
		{Field("$.a", "été"), "$.a.été"},
		{Field("$.a", "x.y"), `$.a["x.y"]`},
		{Field("$.a", "0"), `$.a["0"]`},
		{Field("$.a", ""), `$.a[""]`},
		{Field("$.a", "-b"), `$.a["-b"]`},
		{Field("$.a", "q\"\n"), `$.a["q\"\n"]`},
		{Index("$.a", 3), "$.a[3]"},
		{Join("$.deed", "$.checks[0]"), "$.deed.checks[0]"},
		{Join("$.deed", "$"), "$.deed"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s, want %s", tc.got, tc.want)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		path, name, rest string
		ok               bool
	}{
		{"$.a", "a", "$", true},
		{"$.a.b[0].c", "a", "$.b[0].c", true},
		{"$.a[0]", "a", "$[0]", true},
		{"$.b-1.c", "b-1", "$.c", true},
		{Field(Field(Root, "x.y]"), "z"), "x.y]", "$.z", true},
		{Field(Root, "q\"\n"), "q\"\n", "$", true},
		{Root, "", "", false},
		{"$[0]", "", "", false},
		{"$.", "", "$", false},
		{"a", "", "", false},
		{`a["b"]`, "", "", false},
		{"", "", "", false},
	} {
		if name, rest, ok := Head(tc.path); ok != tc.ok || ok && (name != tc.name || rest != tc.rest) {
			t.Errorf("%s: %q, %q, %v", tc.path, name, rest, ok)
		}
	}
}

func TestListCollects(t *testing.T) {
	t.Parallel()
	var inner, l List
	if l.Err() != nil || Faults(nil).Err() != nil {
		t.Error("nothing found is not nil")
	}
	inner.Add("$.a", Blank, "is blank", "say it")
	inner.Add("$.a", Blank, "is blank", "say it")
	l.Within("$.x[1]", inner.Err())
	l.Within("$.y", nil)
	l.Within("$.z", errors.New("broken"))
	want := "$.x[1].a: is blank (say it)\n$.z: broken"
	if got := l.Err().Error(); got != want {
		t.Errorf("%q", got)
	}
	if fs := Of(fmt.Errorf("read: %w", l.Err())); len(fs) != 2 || fs[0].Code != Blank {
		t.Errorf("%v", fs)
	}
	if Of(errors.New("other")) != nil || Of(nil) != nil {
		t.Error("faults out of nothing")
	}
	raw, err := json.Marshal(l.Faults()[:1])
	if err != nil || string(raw) != `[{"path":"$.x[1].a","code":"blank","message":"is blank","remedy":"say it"}]` {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestListIsBounded(t *testing.T) {
	t.Parallel()
	var l List
	for i := range 5000 {
		l.Add(Index("$", i), Blank, "is blank", "")
	}
	fs := l.Faults()
	if len(fs) != maxKept+1 || l.Len() != 5000 || fs[maxKept].Message != "has 4900 more faults" || fs[maxKept].Code != More {
		t.Errorf("%d kept, last %v", len(fs), fs[len(fs)-1])
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"task_type", "source", "requested_profile_id", "prompt_parts", "deed", "payload", "schema", "expected_result_schema"}
	for wrong, want := range map[string]string{
		"taskType": "task_type", "TASK-TYPE": "task_type", "tsak_type": "task_type", "souce": "source", "requested_profile": "requested_profile_id",
		"system_prompt_parts": "prompt_parts", "paylod": "payload", "ded": "deed", "": "", "zzz": "", "x": "", strings.Repeat("task_type", 50): "",
		"cron": "", "é": "", "expected_schema": "expected_result_schema", "expectedSchema": "expected_result_schema", "schema_expected": "schema", "result_schema": "expected_result_schema",
	} {
		if got := Nearest(wrong, known); got != want {
			t.Errorf("%.40q finds %q, want %q", wrong, got, want)
		}
	}
}

func codes(rule func(l *List)) string {
	var l List
	rule(&l)
	var out []string
	for _, f := range l.Faults() {
		out = append(out, f.Code)
	}
	return strings.Join(out, " ")
}

func TestRelativePathAndGlob(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("d/", 2048) + "x"
	for _, p := range []string{"a", "a/b.go", "..a/b", "a..b", "été/x y", "-x", `a\b`} {
		if got := codes(func(l *List) { l.RelativePath("$", p); l.Glob("$", p) }); got != "" {
			t.Errorf("%q: %s", p, got)
		}
	}
	if got := codes(func(l *List) { l.RelativePath("$", "a/") }); got != BadFormat {
		t.Errorf("path a/: %q", got)
	}
	for _, p := range []string{"", " ", "/", "//", "/a", "..", "../", "../a", "a/..", "a/../../b", "a/../b", "./a", "a//", "a//b", ".", "./", "a\x00b", "a\xffb", long} {
		if got := codes(func(l *List) { l.RelativePath("$", p) }); got != BadFormat {
			t.Errorf("path %.20q: %q", p, got)
		}
		if got := codes(func(l *List) { l.Glob("$", p) }); got != BadFormat {
			t.Errorf("glob %.20q: %q", p, got)
		}
	}
	for _, p := range []string{"**", "**/*.go", "src/**", "src/", "**/", "a/**/b/?.[ch]", "[!a]x", "[^a]x", `\*`, `\!a`, "[a-a]", `[!a-b]-[c]`, `[\--b]`, "b-a", strings.Repeat("a", MaxGlob)} {
		if got := codes(func(l *List) { l.Glob("$", p) }); got != "" {
			t.Errorf("glob %q: %s", p, got)
		}
	}
	for _, p := range []string{"[", "a[", "!a", "{a,b}", "a**", "**a/b", `a\`, "src/*/../x", "[!]", "[^]", "[!]a", "[]", "[a/b]", "[b-a]", `x[^ab-\a]`, `[!z-ab]`, strings.Repeat("a", MaxGlob+1)} {
		if got := codes(func(l *List) { l.Glob("$", p) }); got != BadFormat {
			t.Errorf("glob %q: %q", p, got)
		}
	}
}

func TestSmallRules(t *testing.T) {
	t.Parallel()
	type word string
	for _, tc := range []struct {
		name, want string
		rule       func(l *List)
	}{
		{"name", "", func(l *List) { l.Name("$", "a b/é:1") }},
		{"blank name", Blank, func(l *List) { l.Name("$", "\u00a0") }},
		{"long name", OutOfRange, func(l *List) { l.Name("$", strings.Repeat("x", MaxName+1)) }},
		{"control in name", BadFormat, func(l *List) { l.Name("$", "a\nb") }},
		{"name not UTF-8", BadFormat, func(l *List) { l.Name("$", "a\xff") }},
		{"names", Blank + " " + Duplicate, func(l *List) { l.Names("$", []string{"a", "", "a"}) }},
		{"text", "", func(l *List) { l.Text("$", "a\n\tb") }},
		{"bad text", BadFormat + " " + BadFormat, func(l *List) { l.Text("$", "\xff\x00") }},
		{"say", Blank, func(l *List) { l.Say("$", " \n") }},
		{"word", "", func(l *List) { OneOf(l, "$", word("a"), "a", "b") }},
		{"other word", NotAllowed, func(l *List) { OneOf(l, "$", word("c"), "a", "b") }},
		{"between", "", func(l *List) { l.Between("$", 1, 1, 1) }},
		{"not between", OutOfRange + " " + OutOfRange, func(l *List) { l.Between("$.a", 0, 1, 2); l.Between("$.b", 3, 1, 2) }},
		{"env", "", func(l *List) { l.Env("$", map[string]string{"A_1": "", "_": "x=y"}) }},
		{"bad env", BadFormat + " " + BadFormat + " " + BadFormat, func(l *List) { l.Env("$", map[string]string{"": "x", "A B": "x", "C": "\x00"}) }},
		{"url", "", func(l *List) { l.HTTPURL("$", "https://h:1/p") }},
		{"bad url", BadFormat, func(l *List) { l.HTTPURL("$", "http:///p") }},
		{"object", "", func(l *List) { l.Object("$", []byte(" {\"a\":[1]} ")) }},
		{"no object", MissingField, func(l *List) { l.Object("$", nil) }},
		{"other JSON", WrongType, func(l *List) { l.Object("$", []byte("[]")) }},
		{"half an object", WrongType, func(l *List) { l.Object("$", []byte("{")) }},
		{"optional", "", func(l *List) {
			l.OptionalName("$", "")
			l.OptionalPath("$", "")
			l.OptionalRelativePath("$", "")
			l.OptionalObject("$", nil)
		}},
		{"path", Blank, func(l *List) { l.Path("$", "") }},
		{"long path", OutOfRange, func(l *List) { l.Path("$", strings.Repeat("x", MaxPath+1)) }},
	} {
		if got := codes(tc.rule); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// A long hostile value must not fill the message with itself.
func TestMessagesStayShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 5000)
	var l List
	OneOf(&l, "$", long, "a")
	l.EnvName("$", long)
	l.HTTPURL("$", long)
	l.RelativePath("$", "/"+long[:3000])
	for _, f := range l.Faults() {
		if len(f.String()) > 400 {
			t.Errorf("%d bytes: %.100s", len(f.String()), f)
		}
	}
	if l.Len() != 4 || !slices.ContainsFunc(l.Faults(), func(f Fault) bool { return strings.Contains(f.Message, "…") }) {
		t.Errorf("%v", l.Faults())
	}
}
