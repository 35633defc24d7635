package canonjson_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/canonjson"
)

func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"b":1,"a":[true,null,"x"]}`:                   `{"a":[true,null,"x"],"b":1}`,
		"{ \"\u20ac\":1, \"\\r\":2, \"1\":3 }":          "{\"\\r\":2,\"1\":3,\"\u20ac\":1}",
		"{\"\U0001f600\":1,\"\ufb33\":2,\"\\u0080\":3}": "{\"\u0080\":3,\"\U0001f600\":1,\"\ufb33\":2}", // by UTF-16 code unit
		`"a\/b<>&\u2028é"`:                              "\"a/b<>&\u2028é\"",
		`[1.0,1e2,-0,0.1,1e21]`:                         `[1,100,0,0.1,1e+21]`,
	} {
		got, err := canonjson.Canonicalize([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
}

func TestRefusesWhatTwoReadersReadDifferently(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`{"a":1,"a":2}`, `"\ud800"`, `1e999`, `{} x`, ``, "\"\xff\"", `{"a":1,}`, strings.Repeat("[", 100_000)} {
		if got, err := canonjson.Canonicalize([]byte(in)); err == nil {
			t.Errorf("%.20s: got %s", in, got)
		}
	}
}

func TestMarshalWritesCharactersAsTheyAre(t *testing.T) {
	t.Parallel()
	type record struct {
		Z string `json:"z"`
		A any    `json:"a,omitempty"`
	}
	got, err := canonjson.Marshal(record{Z: "<é>&"})
	if err != nil || string(got) != `{"z":"<é>&"}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := canonjson.Marshal(func() {}); err == nil {
		t.Error("a function has a form")
	}
	h, err := canonjson.Hash(map[string]int{})
	if err != nil || h != "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" {
		t.Errorf("got %s, %v", h, err)
	}
}

// The manifest of a bundle made elsewhere holds the hash of its own canonical form: the two forms are the same.
func TestGoldenManifestHash(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	sum := m["files"].([]any)[0].(map[string]any)["sha256"].(map[string]any)
	want := sum["value"]
	sum["value"] = strings.Repeat("0", 64)
	got, err := canonjson.HashIn("wp-codebox/artifact-manifest-self/v1", m)
	if err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func FuzzCanonicalFormIsStable(f *testing.F) {
	f.Add([]byte(`{"b":[1.50,"x"],"a":{"\u00e9":null}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := canonjson.Canonicalize(in)
		if err != nil {
			return
		}
		twice, err := canonjson.Canonicalize(once)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%q became %q, %v", once, twice, err)
		}
		if !json.Valid(once) {
			t.Fatalf("%q is no JSON", once)
		}
	})
}
