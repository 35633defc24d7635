package policy

import (
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
)

// The tools that deed knows.
const (
	toolRead    = "workspace.read"
	toolWrite   = "workspace.write"
	toolEdit    = "workspace.edit"
	toolDelete  = "workspace.delete"
	toolTests   = "tests.run"
	toolCommand = "command.run"
	toolFetch   = "network.fetch"
)

// known lists the tools whose use deed can enforce, with the other names that agents have for them, as
// evidence.ToolName writes them, in lower case.
var known = []struct {
	id      string
	aliases []string
}{
	{toolRead, []string{"read", "read_file", "file_read", "files_read", "fs_read", "view", "list", "ls", "glob", "grep", "search", "workspace_list", "workspace_search"}},
	{toolWrite, []string{"write", "write_file", "file_write", "files_write", "fs_write", "create_file", "workspace_create"}},
	{toolEdit, []string{"edit", "edit_file", "file_edit", "files_edit", "multiedit", "apply_patch", "str_replace", "workspace_patch"}},
	{toolDelete, []string{"delete", "delete_file", "file_delete", "files_delete", "remove_file", "workspace_remove"}},
	{toolTests, []string{"tests", "test", "test_run", "run_tests", "run_test"}},
	{toolCommand, []string{"command", "commands", "commands_run", "run_command", "shell", "shell_run", "shell_exec", "bash", "sh", "exec", "terminal"}},
	{toolFetch, []string{"network", "fetch", "http", "http_fetch", "web", "web_fetch", "webfetch", "web_search", "websearch", "network_request"}},
}

// Known reports whether a name stands for a tool whose use deed can enforce.
func Known(name string) bool { return canonical(name) != "" }

// KnownTools lists the tools whose use deed can enforce.
func KnownTools() []string {
	out := make([]string, len(known))
	for i, k := range known {
		out[i] = k.id
	}
	return out
}

// canonical returns the known tool that a name stands for, or "".
func canonical(name string) string {
	name = strings.ToLower(evidence.ToolName(name))
	for _, k := range known {
		if name == evidence.ToolName(k.id) || slices.Contains(k.aliases, name) {
			return k.id
		}
	}
	return ""
}

// knownAs returns the known tools that a rule speaks of by any of its names.
func knownAs(r codebox.ToolRule) []string {
	var out []string
	for _, n := range append([]string{r.ID, r.RuntimeToolID}, r.Aliases...) {
		if id := canonical(n); id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// enforcer returns what can enforce the decision on a known tool, or "" if nothing can: a workspace that is mounted can be
// read, one that may be edited can be written, and an agent that runs commands can run tests. The sandbox itself bounds what
// is allowed.
func (e Effective) enforcer(t Tool) Enforcer {
	switch t.ID {
	case toolRead:
		if !t.Exposed {
			return ""
		}
		return EnforcerMounts
	case toolWrite, toolEdit, toolDelete:
		if !t.Exposed && e.WriteWorkspace {
			return ""
		}
		return EnforcerMounts
	case toolFetch:
		return EnforcerNetwork
	case toolTests:
		if !t.Exposed && e.RunCommands {
			return ""
		}
	}
	if t.Exposed {
		return EnforcerMounts
	}
	return EnforcerDriver
}
