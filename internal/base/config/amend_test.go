package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAmend(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	tests := []struct {
		name, text string
		add        []Addition
		want       string // what the file says, as JSON
		keeps      []string
	}{
		{"an empty file", "", []Addition{{"", "name", raw(`"x"`)}}, `{"name":"x"}`, nil},
		{
			"a member at the top and one below, with comments",
			"# mine\nadapters:\n  # the usual one\n  usual: {kind: script}\nname: x # short\n",
			[]Addition{{"", "agent", raw(`"loom"`)}, {"adapters", "other", raw(`{"kind":"script","timeout_ms":1000}`)}},
			`{"adapters":{"usual":{"kind":"script"},"other":{"kind":"script","timeout_ms":1000}},"agent":"loom","name":"x"}`,
			[]string{"# mine", "# the usual one", "# short"},
		},
		{"no end of line", "name: x", []Addition{{"", "agent", raw(`"a"`)}}, `{"agent":"a","name":"x"}`, nil},
		{"JSON", `{"adapters": {"a": {"kind": "script"}}, "name": "x"}`, []Addition{{"adapters", "b", raw(`{}`)}, {"", "agent", raw(`"y"`)}}, `{"adapters":{"a":{"kind":"script"},"b":{}},"agent":"y","name":"x"}`, nil},
		{"flow inside", "adapters: {a: {kind: script}}\n", []Addition{{"adapters", "b", raw(`{"n":[1,{"m":"x: y"}]}`)}}, `{"adapters":{"a":{"kind":"script"},"b":{"n":[1,{"m":"x: y"}]}}}`, nil},
		{"odd names", "adapters:\n  a: {}\n", []Addition{{"adapters", "x.y: #z", raw(`"\n# no\n"`)}}, `{"adapters":{"a":{},"x.y: #z":"\n# no\n"}}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := Amend("deed.yaml", []byte(tt.text), tt.add)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := ReadYAML("deed.yaml", out)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var x, y any
			if json.Unmarshal(got, &x) != nil || json.Unmarshal([]byte(tt.want), &y) != nil {
				t.Fatal("no JSON")
			}
			if d := cmp.Diff(y, x); d != "" {
				t.Errorf("it says something else (-want +got):\n%s\n%s", d, out)
			}
			for _, k := range tt.keeps {
				if !strings.Contains(string(out), k) {
					t.Errorf("%q is gone from\n%s", k, out)
				}
			}
		})
	}
	for _, bad := range []struct {
		text string
		add  Addition
	}{{"name: x\n", Addition{"", "name", raw(`"y"`)}}, {"adapters: 3\n", Addition{"adapters", "a", raw(`{}`)}}, {"a: [", Addition{"", "b", raw(`1`)}}} {
		if out, err := Amend("deed.yaml", []byte(bad.text), []Addition{bad.add}); err == nil {
			t.Errorf("%q became %q", bad.text, out)
		}
	}
}
