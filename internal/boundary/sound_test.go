package boundary

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSound(t *testing.T) {
	t.Parallel()
	const head, wrapper = `{"schema":"wp-codebox/task-input/v1",`, `{"schema":"wp-codebox/agent-task-run-request/v1",`
	for _, c := range []struct {
		name, request string
		goal, session string // of what is left
		without       string
	}{
		{"nothing wrong", head + `"goal":"g","sandbox_session_id":"s"}`, "g", "s", ""},
		{"no such member", head + `"goal":"g","sandbox_session_id":"s","x":1}`, "g", "s", "$.x"},
		{"a name that is no name", head + `"goal":"g","a b":1}`, "g", "", `$["a b"]`},
		{"no goal", head + `"sandbox_session_id":"s"}`, "", "s", "$.goal"},
		{"another schema", `{"schema":"x","goal":"g"}`, "g", "", "$.schema"},
		{"deep inside", head + `"goal":"g","workspaces":[{"target":"/a","seed":{"type":"directory","source":"/a","x":1}}]}`, "g", "", "$.workspaces"},
		{"twice", head + `"goal":"g","goal":"h"}`, "h", "", ""},
		{"twice inside", head + `"goal":"g","target":{"kind":"repo","kind":"site"}}`, "g", "", "$.target"},
		{"many", head + `"goal":"g",` + many(250) + `}`, "g", "", "many"},
		{"wrapped", wrapper + `"task_id":"t","task_input":` + head + `"goal":"g","x":1}}`, "g", "t", "$.task_input.x"},
		{"wrapped, on both", wrapper + `"task_id":"t","x":1,"task_input":` + head + `"goal":" ","x":1}}`, "", "t", "$.x $.task_input.x $.task_input.goal"},
	} {
		req, without, ok := Sound([]byte(c.request))
		if c.without == "many" {
			if len(without) != 250 {
				t.Errorf("%s: %d", c.name, len(without))
			}
		} else if diff := cmp.Diff(c.without, strings.Join(without, " ")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if !ok || req.Goal != c.goal || req.SandboxSessionID != c.session || req.Mode == "" {
			t.Errorf("%s: %v, %+v", c.name, ok, req)
		}
	}
	for _, text := range []string{"", "null", "[]", `{"schema":`, wrapper + `"task_input":null}`, wrapper + `"task_input":[]}`, head + `"goal":"g",` + many(1000) + `}`} {
		if _, _, ok := Sound([]byte(text)); ok {
			t.Errorf("something is left of %.80s", text)
		}
	}
}

// many are members that no request has.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"x` + strings.Repeat("y", i) + `":1`)
	}
	return b.String()
}

// Faults name what the caller wrote: in the wrapper or in the task input inside it.
func TestOriginsOfAWrapper(t *testing.T) {
	t.Parallel()
	const inner = `{"schema":"wp-codebox/task-input/v1","goal":"g","runtime_stack_mounts":[{"source":"/a","target":"/b"}]`
	for _, c := range []struct{ request, path, want string }{
		{inner + `}`, "$.artifacts_path", "$.artifacts_path"},
		{`{"schema":"wp-codebox/agent-task-run-request/v1","artifacts_path":"/x","task_input":` + inner + `}}`, "$.artifacts_path", "$.artifacts_path"},
		{`{"schema":"wp-codebox/agent-task-run-request/v1","task_input":` + inner + `,"artifacts_path":"/x"}}`, "$.artifacts_path", "$.task_input.artifacts_path"},
		{`{"schema":"wp-codebox/agent-task-run-request/v1","task_input":` + inner + `}}`, "$.mounts[0].source", "$.task_input.mounts[0].source"},
		{`{"schema":"wp-codebox/agent-task-run-request/v1","task_input":` + inner + `}}`, "$", "$"},
	} {
		req, err := Read([]byte(c.request))
		if err != nil {
			t.Fatal(err)
		}
		if got := req.Origins.Place(c.path); got != c.want {
			t.Errorf("%s in %s: %s", c.path, c.request, got)
		}
		at, root := req.Origins.At("runtime_stack_mounts", 0), req.Origins.Root()
		if at != root+".runtime_stack_mounts[0]" || req.Origins.Place(at) != at {
			t.Errorf("%s: %s", c.request, at)
		}
	}
}
