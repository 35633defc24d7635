package canonjson_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/deedrun/deed/internal/base/canonjson"
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
	if got, err := canonjson.Marshal([]any{math.MaxFloat64, "1.7976931348623157e+308"}); err != nil || string(got) != `[1.7976931348623157e+308,"1.7976931348623157e+308"]` {
		t.Errorf("the largest number: %s, %v", got, err)
	}
	if got, err := canonjson.Marshal(json.RawMessage(`[1e999]`)); err == nil {
		t.Errorf("a number beyond it: %s", got)
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

func TestTheLargestNumber(t *testing.T) {
	t.Parallel()
	for in, ok := range map[string]bool{
		`[1.7976931348623157e308]`: true, `[-1.7976931348623157e308]`: true, `["1.7976931348623157e+308"]`: true,
		`[1.7976931348623159e308]`: false, `[1e309]`: false, `{"a":"1.7976931348623157e+308","b":-1e400}`: false,
	} {
		if _, err := canonjson.Canonicalize([]byte(in)); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// The form is the one that somebody else's implementation gives.
func FuzzAgreesWithAnother(f *testing.F) {
	for _, in := range []string{
		`{"b":[1.50,"x"],"a":{"\u00e9":null}}`, `[1e21,1e-7,123456789012345678901,4.5e-324,-0.0,0.000001,333333333.33333329]`, `"\u0000\u001f\u007f\ud83d\ude00"`,
		`{"\ud83d\ude00":1,"\ufb33":2,"a":{"z":[],"":{}}}`, ` [ true , false , null ] `, `1`, `[1.7976931348623157e308,-1e400]`, `{"a":1,"\u0061":2}`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := canonjson.Canonicalize(in)
		if err != nil {
			return // it is the stricter one
		}
		want, err := jcs.Transform(in)
		if err != nil {
			t.Fatalf("%q: the other one says %v, this %q", in, err, got)
		}
		if string(got) != string(want) {
			t.Fatalf("%q became %q, want %q", in, got, want)
		}
	})
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
