package canonjson

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

type (
	inner struct {
		B    string `json:"b"`
		Same string `json:"same"`
		Gone string `json:"-"`
		Deep
	}
	Deep  struct{ X, Y int }
	Other struct{ X int }
	outer struct {
		inner
		Z      int64             `json:"z,omitempty"`
		Same   *string           `json:"same"`
		Euro   uint8             `json:"€,omitempty"` // a name that is not usual
		List   []outer           `json:"list,omitempty"`
		Array  [2]bool           `json:"array,omitempty"`
		Map    map[string]any    `json:"map"`
		Names  map[word]*float64 `json:"names,omitempty"`
		Raw    json.RawMessage   `json:"raw,omitempty"`
		Bytes  []byte            `json:"bytes,omitempty"`
		When   time.Time         `json:"when"`
		Method byPointer         `json:"method"`
		Empty  struct{}          `json:"empty,omitempty"`
		Any    any               `json:"any,omitempty"`
		hidden int
	}
	word      string
	byPointer struct{ N int }
	asText    struct{ S string }
	self      struct {
		Next *self `json:"next"`
	}
	rareTags struct {
		N    int       `json:"n,string"`
		Zero time.Time `json:"zero,omitzero"`
	}
	twice struct {
		Deep
		Other
	}
	tagged struct {
		Deep `json:"deep"`
	}
	byReference struct {
		*Deep
		A int
	}
	dash struct {
		A int `json:"-,"` //nolint:staticcheck // that is the name of it
		B int `json:","`  //nolint:staticcheck // as if there were no tag
		C int `json:"a b"`
	}
	plainEnds struct {
		B float32 `json:"b"`
		A float64 `json:"a"`
		C complex64
	}
)

func (b *byPointer) MarshalJSON() ([]byte, error) {
	if b.N < 0 {
		return nil, errors.New("below zero")
	}
	return json.Marshal(map[string]int{"z": b.N, "a": 1})
}

func (a asText) MarshalText() ([]byte, error) { return []byte("text " + a.S), nil }

// What is written straight away is what encoding/json writes, put in order, and what it refuses is refused.
func TestDirectIsThroughText(t *testing.T) {
	t.Parallel()
	s, f := "s", 1.5
	loop := &self{}
	loop.Next = loop
	deep := any(1)
	for range 2 * maxDepth {
		deep = []any{deep}
	}
	full := outer{
		inner: inner{B: "<b>\u2028\u007f\x00\x1f\"\\/é\U0001f600", Same: "hidden", Gone: "x", Deep: Deep{1, 2}}, Z: 1 << 53, Same: &s, Euro: 7,
		Map: map[string]any{"\ufb33": 1, "\U0001f600": nil, "é": 2.0, "": []any{}, "a": math.Copysign(0, -1), "b": json.Number("1.50")}, Names: map[word]*float64{"w": &f, "n": nil},
		Raw: json.RawMessage(`{"b" : 1e2, "a":"\u00e9"}`), Bytes: []byte("bytes"), When: time.Unix(0, 0).UTC(), Method: byPointer{3}, Any: asText{"x"}, hidden: 1,
	}
	full.List = []outer{full, {}}
	for name, v := range map[string]any{
		"nil": nil, "a struct": full, "its address": &full, "in a list": []outer{full}, "in a map": map[string]outer{"x": full}, "nothing": outer{},
		"bad text": []string{"\xff", "a\xc3", "\xed\xa0\x80", "\xf0\x9f\x98"}, "names that are no text": map[string]int{"\xff": 1, "a\xc3": 2}, "two of them": map[string]int{"\xff": 1, "\xfe": 2},
		"integers": []any{int64(1<<53 + 1), uint64(math.MaxUint64), int64(math.MinInt64), -1 << 53, int8(-3), uintptr(9)},
		"floats":   []float64{0, math.Copysign(0, -1), 1e21, 1e-7, 123456789, math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1}, "short floats": []float32{0.1, 16777216},
		"no number": math.NaN(), "no end": math.Inf(1), "beyond the range": json.RawMessage(`[1e999]`), "twice": json.RawMessage(`{"a":1,"a":2}`), "half a character": json.RawMessage(`"\ud800"`),
		"no JSON": json.RawMessage(`{`), "a method that fails": []byPointer{{-1}}, "a method of the pointer, without it": map[string]byPointer{"a": {-1}},
		"rare tags": rareTags{N: 3}, "members of two structs": twice{Deep{1, 2}, Other{3}}, "a struct with a name": tagged{Deep{1, 2}}, "a struct by reference": byReference{A: 1}, "names by dash": dash{1, 2, 3},
		"complex": plainEnds{}, "a function": func() {}, "numbers as keys": map[int]string{10: "a", 9: "b"}, "text": asText{"y"}, "a list of it": []*asText{nil, {"z"}},
		"an array of bytes": [3]byte{1, 2, 3}, "itself": loop, "deep": deep, "the largest as text": []any{math.MaxFloat64, "1.7976931348623157e+308"},
	} {
		want, wantErr := throughText(v)
		got, err := Marshal(v)
		if (err == nil) != (wantErr == nil) || err == nil && string(got) != string(want) {
			t.Errorf("%s: got %.300s, %v\nwant %.300s, %v", name, got, err, want, wantErr)
		}
	}
}

func FuzzDirectIsThroughText(f *testing.F) {
	for _, in := range []string{
		`{"b":"x","z":12345678901234567,"same":"\u2028","list":[{"any":[1,1.5,null]}],"map":{"\u00e9":1,"\ud83d\ude00":2,"\ufb33":3},"names":{"b":1e3,"a":-0},"raw":[ 1.50 ]}`,
		`{"any":{"a":1.7976931348623157e308,"b":"1.7976931348623157e+308"},"raw":{"a":1,"a":2},"method":{"N":-1},"bytes":"YWJj"}`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var o outer
		var a any
		_, _ = json.Unmarshal(in, &o), json.Unmarshal(in, &a)
		for _, v := range []any{o, &o, a, string(in), map[string]string{string(in): "a", strings.ToUpper(string(in)) + "b": string(in)}} {
			want, wantErr := throughText(v)
			got, err := Marshal(v)
			if (err == nil) != (wantErr == nil) || err == nil && string(got) != string(want) {
				t.Fatalf("%#v: got %s, %v, want %s, %v", v, got, err, want, wantErr)
			}
		}
	})
}
