package boundary

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidPart(t *testing.T) {
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
		{"deep inside", head + `"goal":"g","workspaces":[{"target":"/a","seed":{"type":"directory","source":"/a","x":1}}]}`, "g", "", "$.workspaces[0]"},
		{"entries of a list", head + `"goal":"g","mounts":[{"x":1,"y":2,"source":1},{"source":"/a","target":"/b"},{"x":1}]}`, "g", "", "$.mounts[2] $.mounts[0]"},
		{"a member of an object", head + `"goal":"g","policy":{"applyBack":"no","sandbox":"required"}}`, "g", "", "$.policy.applyBack"},
		{"an object that lacks something", head + `"goal":"g","agent_bundle":{"slug":"a"}}`, "g", "", "$.agent_bundle"},
		{"twice", head + `"goal":"g","goal":"h"}`, "h", "", ""},
		{"twice inside", head + `"goal":"g","target":{"kind":"repo","kind":"site"}}`, "g", "", "$.target.kind"},
		{"many", head + `"goal":"g",` + many(250) + `}`, "g", "", "many"},
		{"wrapped", wrapper + `"task_id":"t","task_input":` + head + `"goal":"g","x":1}}`, "g", "t", "$.task_input.x"},
		{"wrapped, on both", wrapper + `"task_id":"t","x":1,"task_input":` + head + `"goal":" ","x":1}}`, "", "t", "$.x $.task_input.x $.task_input.goal"},
		{"wrapped around nothing", wrapper + `"task_id":"t","task_input":[1]}`, "", "t", "$.task_input $.task_input.schema $.task_input.goal"},
	} {
		got, ok := ValidPart([]byte(c.request))
		req, without := got.Request, got.Without
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
	for _, text := range []string{"", "null", "[]", `{"schema":`, head + `"goal":"g",` + many(1000) + `}`} {
		if _, ok := ValidPart([]byte(text)); ok {
			t.Errorf("something is left of %.80s", text)
		}
	}
}

// What is found in the rest of a request is named by the place where it was written.
func TestPartialPlaces(t *testing.T) {
	t.Parallel()
	const mounts = `"mounts":[{"x":1},{"source":"/a","target":"/a"},{"x":1},{"source":"/b","target":"/b"}],"runtime_stack_mounts":[{"x":1},{"source":"/c","target":"/c"}],"secret_env":["A","A"]`
	for root, request := range map[string]string{
		"$":            `{"schema":"wp-codebox/task-input/v1","goal":"g",` + mounts + `}`,
		"$.task_input": `{"schema":"wp-codebox/agent-task-run-request/v1","task_input":{"schema":"wp-codebox/task-input/v1","goal":"g",` + mounts + `}}`,
	} {
		s, ok := ValidPart([]byte(request))
		if !ok || len(s.Request.Mounts) != 2 || len(s.Request.RuntimeStackMounts) != 1 || len(s.Request.SecretEnv) != 1 {
			t.Fatalf("%v, %+v", ok, s)
		}
		for path, want := range map[string]string{
			"$.mounts[0].source": ".mounts[1].source", "$.mounts[1]": ".mounts[3]", "$.mounts[7]": ".mounts[7]", "$.agent": ".agent", "$.secret_env[0]": ".secret_env[0]",
			s.Request.Origins.At("runtime_stack_mounts", 0) + ".target": ".runtime_stack_mounts[1].target",
		} {
			if got := s.Place(path); got != root+want {
				t.Errorf("%s: %s", path, got)
			}
		}
		if !s.Lacks("$.mounts") || !s.Lacks("$.secret_env") || s.Lacks("$.agent") || s.Lacks("$.mount") {
			t.Errorf("%v", s.Without)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"secret_env":["A","bad name","A",1,"B"]}`:                  "A B",
		`{"task_input":{"secret_env":["A"],"goal":1},"schema":null}`: "A",
		`{"secret_env":"A"}`: "", `[]`: "", ``: "",
	} {
		if got := strings.Join(Secrets([]byte(text)), " "); got != want {
			t.Errorf("%s: %s", text, got)
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
