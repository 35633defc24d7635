package redact_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/isolate/redact"
)

type inner struct{ Promoted string }

type record struct {
	inner
	Name    string            `json:"name"`
	Token   *string           `json:"token"`
	Labels  map[string]string `json:"labels"`
	List    [][]string        `json:"list"`
	Pair    [2]string         `json:"pair"`
	Blob    []byte            `json:"blob"`
	Raw     json.RawMessage   `json:"raw"`
	RawPtr  *json.RawMessage  `json:"raw_ptr,omitempty"`
	Any     any               `json:"any"`
	At      time.Time         `json:"at"`
	Number  json.Number       `json:"number"`
	Count   int64             `json:"count"`
	Hidden  string            `json:"-"`
	private string
}

func TestValueRedactsEveryString(t *testing.T) {
	t.Parallel()
	const secret = "sw0rdf1sh-Token"
	const label = "[REDACTED:TOKEN]"
	r := redact.New(map[string]string{"TOKEN": secret, "FIELD": "labels", "DIGITS": "1234567890123456789"})
	escaped := strings.ReplaceAll(secret, "0", `\u0030`)
	token := secret
	raw := json.RawMessage(`["` + escaped + `"]`)
	shared := map[string]string{"k-" + secret: "v", "plain": secret}
	list := [][]string{{"a", secret}, nil}
	at := time.Date(2024, 1, 2, 3, 4, 5, 6, time.UTC)
	v := record{
		inner: inner{"p " + secret}, Name: "x" + secret + "y", Token: &token, Labels: shared, List: list,
		Pair: [2]string{"", secret}, Blob: []byte("b:" + secret),
		Raw:    json.RawMessage(`{"` + escaped + `": 1234567890123456789.50, "b": [1e400, "\"` + escaped + `\\"]}`),
		RawPtr: &raw, Any: map[string]any{secret: []any{1.5, secret, nil, &token}}, At: at,
		Number: "1234567890123456789", Count: 1234567890123456789, private: secret,
	}
	if err := r.Value(&v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret) || strings.Contains(string(text), escaped) {
		t.Errorf("a secret is left in %s", text)
	}
	if got, want := v.Any, any(map[string]any{label: []any{1.5, label, nil, &[]string{label}[0]}}); !cmp.Equal(got, want) {
		t.Errorf("any member: %s", cmp.Diff(want, got))
	}
	if got, want := string(v.Raw), `{"[REDACTED:TOKEN]":1234567890123456789.50,"b":[1e400,"\"[REDACTED:TOKEN]\\"]}`; got != want {
		t.Errorf("raw member is %s, want %s", got, want)
	}
	if v.Promoted != "p "+label || *v.Token != label || string(v.Blob) != "b:"+label || v.Pair[1] != label || string(*v.RawPtr) != `["`+label+`"]` {
		t.Errorf("members: %+v", v)
	}
	if v.Number != "1234567890123456789" || v.Count != 1234567890123456789 || !v.At.Equal(at) || v.private != secret {
		t.Errorf("what is no string has changed: %+v", v)
	}
	if v.Labels["k-"+label] != "v" || v.Labels["plain"] != label || v.List[0][1] != label {
		t.Errorf("map and list: %v %v", v.Labels, v.List)
	}
	if token != secret || shared["plain"] != secret || list[0][1] != secret || !strings.Contains(string(raw), escaped) {
		t.Error("a value shared with the caller was changed in place")
	}
	if n := r.Report()["TOKEN"]; n != 14 {
		t.Errorf("%d replacements reported, want 14", n)
	}
}

func TestValueLeavesWhatHoldsNoSecret(t *testing.T) {
	t.Parallel()
	active := redact.New(map[string]string{"TOKEN": "sw0rdf1sh-Token"})
	for name, r := range map[string]*redact.Redactor{"nil": nil, "empty": redact.New(nil), "active": active} {
		raw := json.RawMessage("{ \"a\" : 1.0 }")
		if err := r.Value(&raw); err != nil || string(raw) != "{ \"a\" : 1.0 }" {
			t.Errorf("%s: %s, %v", name, raw, err)
		}
		var none any
		if err := r.Value(&none); err != nil || none != nil {
			t.Errorf("%s: %v, %v", name, none, err)
		}
	}
}

func TestValueOfAnIdleRedactorCostsNothing(t *testing.T) { // not parallel: it counts allocations
	v := map[string]any{"a": "b"}
	var none *redact.Redactor
	if n := testing.AllocsPerRun(10, func() { _ = none.Value(&v) }); n != 0 {
		t.Errorf("a nil redactor allocates %v times", n)
	}
}

func TestValueRefuses(t *testing.T) {
	t.Parallel()
	const secret = "sw0rdf1sh-Token"
	r := redact.New(map[string]string{"TOKEN": secret, "YEAR": "2024-01"})
	if err := r.Value(secret); err == nil {
		t.Error("a value that is no pointer was taken")
	}
	if err := r.Value((*string)(nil)); err == nil {
		t.Error("a nil pointer was taken")
	}
	broken := record{Name: secret, Raw: json.RawMessage(`{`)}
	if err := r.Value(&broken); err == nil || broken.Name != secret {
		t.Errorf("a broken raw message: %v, %+v", err, broken)
	}
	date := record{Name: secret, At: time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)}
	if err := r.Value(&date); err == nil || date.Name != secret {
		t.Errorf("a time that no longer reads back: %v, %+v", err, date)
	}
}
