package provider_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/deedrun/deed/provider"
)

// A whole provider command. With a manifest, which a package embeds, its required fields, statuses and secrets hold too.
func Example() {
	hello := provider.Provider{ID: "hello.run", Backend: "hello"}
	handler := func(_ context.Context, q provider.Request, _ *provider.Run) (provider.Outcome, error) {
		return provider.Succeeded("Hello, " + q.Instructions), nil
	}
	// A command calls provider.Main(hello, handler).
	const request = `{"schema":"homeboy/agent-task-request/v1","task_id":"t1","executor":{"backend":"hello","config":{}},"instructions":"world"}`
	provider.Serve(context.Background(), hello, handler, provider.Stdio{Dir: os.TempDir(), In: strings.NewReader(request), Out: os.Stdout, Err: os.Stderr})
	// Output: {"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded","summary":"Hello, world"}
}

// A request that is not valid is answered, and is no failure of the command.
func Example_invalidRequest() {
	hello := provider.Provider{ID: "hello.run", Backend: "hello"}
	code := provider.Serve(context.Background(), hello, nil, provider.Stdio{In: strings.NewReader("hello"), Out: os.Stdout, Err: os.Stderr})
	fmt.Println("exit", code)
	// Output:
	// {"schema":"homeboy/agent-task-outcome/v1","task_id":"unknown-task","status":"provider_error","summary":"read request: $: is not JSON: invalid character 'h' looking for beginning of value (write one JSON object and nothing else)","failure_classification":"invalid_input","retryable":false,"diagnostics":[{"class":"request_validation","message":"read request: $: is not JSON: invalid character 'h' looking for beginning of value (write one JSON object and nothing else)","data":{"faults":[{"path":"$","code":"invalid_json","message":"is not JSON: invalid character 'h' looking for beginning of value","remedy":"write one JSON object and nothing else"}]}}]}
	// exit 0
}

// Options of the request, artifacts, outputs and progress.
func ExampleRun() {
	handler := func(_ context.Context, q provider.Request, r *provider.Run) (provider.Outcome, error) {
		var options struct {
			Times int `json:"times"`
		}
		if err := q.Config(&options); err != nil {
			return provider.Outcome{}, err
		}
		r.Progress("saying it %d times", options.Times)
		text := strings.Repeat(q.Instructions+"\n", options.Times)
		if err := r.Artifact("report", "said.txt", []byte(text)); err != nil {
			return provider.Outcome{}, err
		}
		return provider.Succeeded("said it"), r.Output("times", options.Times)
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	request := fmt.Sprintf(`{"schema":"homeboy/agent-task-request/v1","task_id":"t1","artifacts_path":%q,
		"executor":{"backend":"hello","config":{"times":2}},"instructions":"hello"}`, dir)
	var out strings.Builder
	provider.Serve(context.Background(), provider.Provider{ID: "hello.run", Backend: "hello"}, handler,
		provider.Stdio{Dir: dir, In: strings.NewReader(request), Out: &out, Err: os.Stdout})
	fmt.Println(strings.Contains(out.String(), `"outputs":{"times":2}`))
	text, err := os.ReadFile(dir + "/said.txt")
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// HOMEBOY_PROGRESS saying it 2 times
	// true
	// hello
	// hello
	// <nil>
}
