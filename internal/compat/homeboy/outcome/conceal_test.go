package outcome

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
)

// FuzzHideKeys holds the walk over the text to what follows from the values.
func FuzzHideKeys(f *testing.F) {
	for _, text := range []string{
		`{"a":{"api_key":"x","n":1.50,"l":[{"token":{"deep":[1]}},2,"t"]},"outputs":{"token":"kept"},"payload":[{"password":"kept"}]}`,
		` { "token" : "" , "secret":true,"cookie":null,"password" : [ ] , "author":"me","t\u006fken":"x" } `,
		`[[],{},"a\"b\\",-1e5,[{"client_secret":"}]"}]]`, `{"token":"[REDACTED]","passwd":12}`, `"token"`, `7`,
	} {
		f.Add(text)
	}
	keys := keyWords(homeboy.ExecutorProvider{})
	f.Fuzz(func(t *testing.T, text string) {
		var in any
		if len(text)-len(strings.Join(strings.Fields(text), "")) > 40 { // so much around nothing counts as something
			t.Skip()
		}
		if tooDeep([]byte(text)) || json.Unmarshal([]byte(text), &in) != nil {
			t.Skip()
		}
		var got any
		out := hideKeys([]byte(text), keys)
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		if want := hiddenIn(in, keys); !reflect.DeepEqual(want, got) {
			t.Errorf("%q became %q", text, out)
		}
	})
}

// hiddenIn is the rule without the speed.
func hiddenIn(v any, keys [][]string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = hiddenIn(v[i], keys)
		}
	case map[string]any:
		for name, member := range v {
			raw := value(member)
			_, truth := member.(bool)
			switch {
			case isHidden(name, keys):
				if substantial(raw) && !truth {
					v[name] = hidden
				}
			case name != "outputs" && name != "payload":
				v[name] = hiddenIn(member, keys)
			}
		}
	}
	return v
}
