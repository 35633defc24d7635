package claudecode

import (
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/agent/driver/agentcli/agentclitest"
	"github.com/deedrun/deed/internal/base/failure"
)

var adapter = agentruntime.AdapterConfig{ClaudeCode: &agentruntime.ClaudeCodeAdapter{AdapterID: "claude", Kind: "claude-code", Command: "claude", TimeoutMS: 1000, Model: "claude-sonnet-4-5"}}

func TestRecordedStreams(t *testing.T) { agentclitest.Golden(t, Dialect{}, adapter) }

func FuzzStream(f *testing.F) { agentclitest.Fuzz(f, Dialect{}, adapter) }

func read(t *testing.T, lines ...string) agentclitest.Reading {
	t.Helper()
	r := agentclitest.Read(t, Dialect{}, adapter, agentcli.State{}, []byte(strings.Join(lines, "\n")))
	r.Check(t)
	return r
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	retry := `{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":7000,"error_status":429,"error":"rate_limit"}`
	for name, tc := range map[string]struct {
		lines []string
		ok    bool
		class failure.Class
		after string
	}{
		"nothing":                {nil, false, failure.None, "0s"},
		"success":                {[]string{`{"type":"result","subtype":"success","is_error":false,"result":"done"}`}, true, failure.None, "0s"},
		"an unknown subtype":     {[]string{`{"type":"result","subtype":"finished","is_error":false}`}, false, failure.AgentFailed, "0s"},
		"success with is_error":  {[]string{`{"type":"result","subtype":"success","is_error":true,"result":"API Error: Connection refused"}`}, false, failure.Provider, "0s"},
		"a refused key":          {[]string{`{"type":"result","subtype":"success","is_error":true,"api_error_status":401}`}, false, failure.Config, "0s"},
		"rate limited":           {[]string{retry, `{"type":"result","subtype":"success","is_error":true,"api_error_status":429}`}, false, failure.RateLimited, "7s"},
		"overloaded":             {[]string{`{"type":"result","subtype":"success","is_error":true,"api_error_status":529}`}, false, failure.RateLimited, "0s"},
		"a server's error":       {[]string{retry, `{"type":"result","subtype":"success","is_error":true,"api_error_status":500}`}, false, failure.Provider, "0s"},
		"turns":                  {[]string{`{"type":"result","subtype":"error_max_turns","is_error":true}`}, false, failure.Turns, "0s"},
		"interrupted":            {[]string{`{"type":"result","subtype":"error_during_execution","is_error":true}`}, false, failure.AgentFailed, "0s"},
		"the last result counts": {[]string{`{"type":"result","subtype":"success","is_error":false}`, `{"type":"result","subtype":"error_during_execution","is_error":true}`}, false, failure.AgentFailed, "0s"},
	} {
		r := read(t, tc.lines...)
		class, after := failure.None, "0s"
		if f := r.Outcome.Failure; f != nil {
			class, after = f.Class, f.RetryAfter.String()
		}
		if r.Outcome.Succeeded != tc.ok || class != tc.class || after != tc.after {
			t.Errorf("%s: %v, %s after %s: %v", name, r.Outcome.Succeeded, class, after, r.Outcome.Failure)
		}
	}
}

// What a version that is not recorded may write.
// TestAnIDThatIsAnOption: what the program calls its conversation comes back to it on a command line.
func TestAnIDThatIsAnOption(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "--dangerously-skip-permissions", "-p", "a b"} {
		r := read(t, `{"type":"system","subtype":"init","session_id":"`+id+`"}`, `{"type":"result","subtype":"success","session_id":"`+id+`","result":"x"}`)
		if r.State.ID != "" || !r.Outcome.Succeeded {
			t.Errorf("%q: %+v", id, r)
		}
	}
}

func TestStrangeLinesAreSurvived(t *testing.T) {
	t.Parallel()
	r := read(t, `hello`, `{"type":"system","subtype":7}`, `{"type":"system"}`, `{"type":"assistant"}`, `{"type":"assistant","message":"text"}`,
		`{"type":"assistant","message":{"id":"m1","content":"a bare text"}}`, `{"type":"assistant","message":{"id":"m2","content":[7,{"type":"tool_use"},{"type":"new"}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"image"}]}]}}`,
		`{"type":"user"}`, `{"type":"control_request"}`, `{"type":"control_request","request_id":"x","request":{"subtype":"later"}}`, `{"type":"telemetry"}`, `{"type":"result"`,
		`{"type":"result","subtype":"success","is_error":false,"result":"ok","usage":{"input_tokens":-5,"output_tokens":"x"},"total_cost_usd":"free","permission_denials":"none"}`)
	if !r.Outcome.Succeeded || r.Outcome.Message != "ok" {
		t.Errorf("%+v", r.Outcome)
	}
	text := r.String()
	for _, want := range []string{"a bare text", `"output":"a[image]"`, driver.EventStrange} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// Counts that a model's service made up neither wrap around nor go below zero: a budget holds.
func TestCountsThatAreMadeUp(t *testing.T) {
	t.Parallel()
	huge := `{"input_tokens":9223372036854775807,"cache_creation_input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807,"output_tokens":-5}`
	r := read(t, `{"type":"assistant","message":{"id":"a","model":"m","usage":`+huge+`,"content":[]}}`,
		`{"type":"assistant","message":{"id":"b","model":"m","usage":`+huge+`,"content":[]}}`,
		`{"type":"result","subtype":"success","total_cost_usd":-1e300,"usage":`+huge+`}`)
	total := int64(0)
	for _, e := range r.Events {
		if u, ok := e.Detail.(agentruntime.Usage); ok {
			if u.InputTokens < 0 || u.OutputTokens < 0 || u.CachedInputTokens < 0 || u.CostMicroUSD != nil && *u.CostMicroUSD < 0 {
				t.Errorf("%+v", u)
			}
			total += u.InputTokens
		}
	}
	if total < 1e12 {
		t.Errorf("%d tokens are told", total)
	}
}
