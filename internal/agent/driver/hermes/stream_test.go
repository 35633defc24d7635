package hermes

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
)

func readStream(data string) (turns int, calls, results []string, o agentcli.Outcome, sizes int) {
	state := &agentcli.State{}
	sink := driver.SinkFunc(func(_ string, detail any) {
		switch d := detail.(type) {
		case agentruntime.ToolCall:
			calls = append(calls, d.CallID)
		case agentruntime.ToolResult:
			results = append(results, d.CallID)
		}
		text, _ := json.Marshal(detail)
		sizes = max(sizes, len(text))
	})
	s := &stream{report: agentcli.NewReporter(sink, nil, state), state: state}
	lines := agentcli.Lines{Line: s.line, Long: func([]byte, int64) {}}
	_, _ = lines.Write([]byte(data))
	lines.Close()
	return state.Turns, calls, results, s.outcome(), sizes
}

func TestAnswersAndCallsAreTold(t *testing.T) {
	t.Parallel()
	use, done := `{"type":"tool_use","name":"read"}`+"\n", `{"type":"tool_result","name":"read","output":"x"}`+"\n"
	turns, calls, results, o, _ := readStream(use + use + done + done + use + done + `{"type":"text","text":"so"}` + "\n" + `{"type":"result","exit_code":0,"text":"so"}`)
	if turns != 3 || !o.Succeeded {
		t.Errorf("%d turns, %+v", turns, o)
	}
	if got, want := strings.Join(calls, " "), "call-1-1 call-1-2 call-2-3"; got != want || strings.Join(results, " ") != want {
		t.Errorf("calls %q, results %q", calls, results)
	}
}

func FuzzStream(f *testing.F) {
	f.Add(`{"type":"system","session_id":"--yolo"}` + "\n" + `{"type":"tool_result","name":"x","tool_call_id":"1","is_error":true}`)
	f.Add(`{"type":"text","text":"a"}` + "\n" + `{"type":"result","exit_code":0,"text":"a","tokens":{"total":-1,"output":9e18}}`)
	f.Add(`{"type":"result","exit_code":1,"error":"HTTP 503: no"}` + "\nnull\n[]\n{}")
	f.Fuzz(func(t *testing.T, data string) {
		_, _, _, o, size := readStream(data)
		if o.Succeeded && (o.Message == "" || o.Failure != nil) {
			t.Errorf("%+v", o)
		}
		if size > 8*driver.MaxEventText {
			t.Errorf("an event of %d bytes", size)
		}
	})
}
