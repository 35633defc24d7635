package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMalformedArgumentsSurvive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arguments string
		malformed bool
	}{
		{`{"path":"a"}`, false},
		{``, false},
		{` {} `, false},
		{`{"path":`, true},
		{`[1]`, true},
		{`null`, true},
		{`"text"`, true},
		{"\xff\x00", true},
	} {
		call := Call{ID: "1", Name: "read", Input: wrapInput(c.arguments)}
		if !json.Valid(call.Input) {
			t.Errorf("%q: the input %s is not JSON", c.arguments, call.Input)
		}
		if _, got := call.Malformed(); got != c.malformed {
			t.Errorf("%q: malformed is %t", c.arguments, got)
		}
	}
	raw, _ := Call{Input: wrapInput(`{"path":`)}.Malformed()
	if raw != `{"path":` {
		t.Errorf("the text of the model is %q", raw)
	}
}

func TestErrorsCompareByKind(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("turn 3: %w", &Error{Kind: KindContextTooLong, Status: 400, Message: "prompt is too long"})
	if !errors.Is(err, &Error{Kind: KindContextTooLong}) || errors.Is(err, &Error{Kind: KindAuth}) {
		t.Error("errors.Is does not go by the kind")
	}
	if KindOf(err) != KindContextTooLong || KindOf(errors.New("other")) != "" {
		t.Error("KindOf is wrong")
	}
	if got, want := err.Error(), "turn 3: model: context too long (HTTP 400): prompt is too long"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if (&Error{Kind: KindServer, Final: true}).Retryable() || !(&Error{Kind: KindServer}).Retryable() || (&Error{Kind: KindAuth}).Retryable() {
		t.Error("Retryable is wrong")
	}
}

// TestConversationIsKeptAsJSON: what is checkpointed is what goes on.
func TestConversationIsKeptAsJSON(t *testing.T) {
	t.Parallel()
	conversation := []Message{
		{Role: RoleUser, Blocks: []Block{{Text: "fix <it> & go"}}},
		{Role: RoleAssistant, Blocks: []Block{
			{Opaque: json.RawMessage(`{"type":"thinking","thinking":"a<b","signature":"c2ln"}`), OpaqueKind: "anthropic"},
			{Call: &Call{ID: "c1", Name: "read", Input: json.RawMessage(`{"path":"a.go"}`)}},
		}},
		{Role: RoleUser, Blocks: []Block{{Result: &Result{CallID: "c1", Output: "no such file", Failed: true}}}},
	}
	data, err := json.Marshal(conversation)
	if err != nil {
		t.Fatal(err)
	}
	var back []Message
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(conversation, back, cmp.Transformer("decoded", func(r json.RawMessage) (v any) {
		if len(r) > 0 && json.Unmarshal(r, &v) != nil {
			return string(r)
		}
		return v
	})); diff != "" {
		t.Error(diff)
	}
}

func TestSetMember(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ object, name, value, want string }{
		{`{}`, "a", `1`, `{"a":1}`},
		{` { } `, "a", `1`, ` { "a":1} `},
		{`{"a":0}`, "a", `1`, `{"a":1}`},
		{`{"b":{"a":2},"a" : [0, 1] ,"c":"a"}`, "a", `"x"`, `{"b":{"a":2},"a" : "x" ,"c":"a"}`},
		{`{"b":{"a":2} }`, "a", `1`, `{"b":{"a":2} ,"a":1}`},
		{`{"b":"\"a\":0"}`, "a", `1`, `{"b":"\"a\":0","a":1}`},
		{`{"\u0061":0}`, "a", `1`, `{"\u0061":1}`},
		{`[0]`, "a", `1`, `[0]`},
		{`7`, "a", `1`, `7`},
		{``, "a", `1`, ``},
	} {
		if got := string(setMember([]byte(c.object), c.name, []byte(c.value))); got != c.want {
			t.Errorf("%s in %s: %s", c.name, c.object, got)
		}
	}
}

// TestLooseTypes reads what services write where they should write something else.
func TestLooseTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw  string
		text looseText
		n    looseInt
	}{
		{`"12"`, "12", 12},
		{`12`, "12", 12},
		{`-3`, "-3", -3},
		{`2.9`, "2.9", 2},
		{`1e3`, "1e3", 1000},
		{`1e999`, "1e999", 1 << 62},
		{`"Inf"`, "Inf", 1 << 62},
		{`"NaN"`, "NaN", 0},
		{`-99999999999999999999`, "-99999999999999999999", -1 << 62},
		{`null`, "", 0},
		{`true`, "true", 0},
		{`{"a":1}`, `{"a":1}`, 0},
		{`[1]`, `[1]`, 0},
		{`""`, "", 0},
		{`"\u00e9\ud83d"`, "é\ufffd", 0},
	} {
		var got struct {
			Text looseText `json:"text"`
			N    looseInt  `json:"n"`
			Next looseText `json:"next"`
		}
		if err := decode([]byte(`{"text":`+c.raw+`,"n":`+c.raw+`,"next":"x"}`), &got); err != nil || got.Text != c.text || got.N != c.n || got.Next != "x" {
			t.Errorf("%s: %+v, %v", c.raw, got, err)
		}
	}
	if err := decode([]byte(`{"text":"`), &struct{}{}); err == nil {
		t.Error("half a piece is read")
	}
}
