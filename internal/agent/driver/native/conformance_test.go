package native_test

import (
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/agent/driver/native"
	"github.com/deedrun/deed/internal/agent/model/scripted"
)

// The model has its shell carry out the suite's script, and lies about it: all is done, whatever came of it.
const conformance = `
schema: deed/model-script/v1
scenarios:
  default:
    on:
      - {contains: "` + drivertest.SilentBrief + `", steps: [{stop: end}]}
      - {contains: Your answer was empty, steps: [{stop: end}]}
    steps:
      - {thinking: "I know ` + drivertest.Secret + `.", text: "I will use ` + drivertest.Secret + `.", tool: shell, command: 'exec "$ADVERSARY" ` + drivertest.Secret + `'}
      - {tool: complete, summary: "All 117 tests pass with ` + drivertest.Secret + `.", input: {files: [never-touched.go]}}
`

func TestConformance(t *testing.T) {
	script, err := scripted.Parse([]byte(conformance))
	if err != nil {
		t.Fatal(err)
	}
	server := scripted.New(script)
	if _, err := server.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	drivertest.Run(t, drivertest.Harness{
		Driver: native.New(), Part: drivertest.Command,
		Prelude: `ended() { :; }; say() { printf '%s\n' "$1"; }; finish() { printf %s "$1" >"$DEED_RESULT_FILE"; }`,
		Adapter: func(path string, timeout time.Duration) agentruntime.AdapterConfig {
			return agentruntime.AdapterConfig{Native: &agentruntime.NativeAdapter{
				AdapterID: "own", Kind: agentruntime.KindNative, Model: "scripted", TimeoutMS: timeout.Milliseconds(), Env: map[string]string{"ADVERSARY": path},
				Provider: agentruntime.NativeProvider{API: agentruntime.APIAnthropic, BaseURL: server.URL("default")},
			}}
		},
	})
}
