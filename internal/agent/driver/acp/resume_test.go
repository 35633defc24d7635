package acp

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestResumeMethods(t *testing.T) {
	t.Parallel()
	for can, want := range map[string]string{
		`{}`:                   "[]",
		`{"loadSession":true}`: "[session/load]",
		`{"loadSession":false,"sessionCapabilities":{"resume":null}}`:      "[]",
		`{"loadSession":true,"sessionCapabilities":{"resume":{}}}`:         "[session/resume session/load]",
		`{"sessionCapabilities":{"load":{}}}`:                              "[session/load]",
		`{"loadSession":true,"sessionCapabilities":{"resume":false}}`:      "[session/load]",
		`{"loadSession":{},"sessionCapabilities":{"resume":true}}`:         "[session/resume session/load]",
		`{"loadSession":null,"sessionCapabilities":{"list":{},"fork":{}}}`: "[]",
	} {
		var init initialized
		if err := json.Unmarshal([]byte(`{"agentCapabilities":`+can+`}`), &init); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(init.resumeMethods()); got != want {
			t.Errorf("%s: %s, want %s", can, got, want)
		}
	}
}
