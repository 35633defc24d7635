package attempt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

// An agent names files as it sees them, whatever holds it and however many workspaces it has. None of these words makes a file changed.
func TestClaimsAreReadAsTheAgentSeesThem(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	for _, name := range []string{"a.txt", "sub/b.txt"} {
		file := filepath.Join(source, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("a\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	claim := func(files string) string {
		return `echo "{\"status\": \"completed\", \"operator_summary\": \"done\", \"file_changes\": [` + strings.ReplaceAll(files, `"`, `\"`) + `]}"`
	}
	one := func(d *deed.TaskSpec) { d.Workspace = &deed.Workspace{Source: source, Target: "/srv/app"} }
	two := func(d *deed.TaskSpec) {
		d.Workspaces = []deed.Workspace{{Source: source, Target: "/workspace/one"}, {Source: source, Target: "/data/two"}}
	}
	below := func(d *deed.TaskSpec) {
		one(d)
		var c agentruntime.AdapterConfig
		if err := json.Unmarshal(d.Adapter, &c); err != nil {
			t.Error(err)
		}
		c.Script.WorkingDir = "sub"
		d.Adapter = mustJSON(c)
	}
	for _, kind := range []sandbox.Kind{sandbox.None, sandbox.Process, sandbox.Namespace} {
		for _, c := range []struct {
			name   string
			edit   func(*deed.TaskSpec)
			script string
			lie    string // in the verdict; none: it is accepted
		}{
			{"the path that it sees", one, `echo x >>a.txt; ` + claim(`"$(pwd)/a.txt"`), ""},
			{"the variable", one, `echo x >>a.txt; ` + claim(`"$DEED_WORKSPACE/./a.txt"`), ""},
			{"from where it starts", below, `echo x >>b.txt; ` + claim(`"b.txt"`), ""},
			{"from the top", below, `echo x >>b.txt; ` + claim(`"sub/b.txt"`), ""},
			{"of two, from where it starts", two, `echo x >>a.txt; ` + claim(`"a.txt"`), ""},
			{"of two, the path that it sees", two, `echo x >>a.txt; ` + claim(`"$(pwd)/a.txt"`), ""},
			{"of two, from the top", two, `echo x >>a.txt; ` + claim(`"workspace/one/a.txt"`), ""},
			{"of two, the other", two, `echo x >>../../data/two/a.txt; ` + claim(`"../../data/two/a.txt"`), ""},
			{"an artifact", one, `echo x >"$DEED_ARTIFACTS/r.md"; echo "{\"status\": \"completed\", \"artifact_paths\": [\"$DEED_ARTIFACTS/r.md\"]}"`, ""},

			{"outside", one, `echo x >>a.txt; ` + claim(`"a.txt", "../a.txt"`), "to have changed ../a.txt, and there is no such change"},
			{"of two, not the one that changed", two, `echo x >>a.txt; ` + claim(`"$(cd ../../data/two && pwd)/a.txt"`), "data/two/a.txt, and its content is as it was"},
			{"of two, one for both", two, `echo x >>a.txt; echo x >>../../data/two/a.txt; ` + claim(`"a.txt", "$(pwd)/a.txt"`), "data/two/a.txt was modified, and the agent does not mention it"},
		} {
			t.Run(fmt.Sprintf("%s/%s", kind, c.name), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				edit := func(n *store.NewTask) {
					n.Intent.Deed.Isolation = string(kind)
					c.edit(n.Intent.Deed)
				}
				if kind == sandbox.Namespace {
					edit = contained(t, c.edit)
				}
				res, err := b.Run(t.Context(), b.sup, b.claim(c.script, edit))
				if err != nil {
					t.Fatal(err)
				}
				switch s := res.Settlement; {
				case c.lie == "" && s.Status != agentruntime.TaskCompleted:
					t.Errorf("%s: %s\n%s", s.Class, s.LastError, read(t, res, "files/attempt/stdout.log"))
				case c.lie != "" && (s.Class != "gate_rejected" || !strings.Contains(s.LastError, c.lie)):
					t.Errorf("%s: %s, want %q\n%s", s.Class, s.LastError, c.lie, read(t, res, "files/attempt/stdout.log"))
				}
			})
		}
	}
}
