package policy

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// deed's names for what agents call by many names. A rule's tool matches either.
const (
	ToolRead      = "file.read"
	ToolList      = "file.list"
	ToolFind      = "file.search"
	ToolWrite     = "file.write"
	ToolEdit      = "file.edit"
	ToolDelete    = "file.delete"
	ToolMove      = "file.move"
	ToolShell     = "shell"
	ToolWatch     = "shell.output" // looks at a command that runs, or ends it
	ToolFetch     = "fetch"
	ToolWebSearch = "web.search"
	ToolSubagent  = "subagent"
	ToolTodo      = "todo"
	ToolAsk       = "ask"
	ToolComplete  = "complete"
	ToolThink     = "think"
)

// Tools lists deed's names.
var Tools = []string{
	ToolRead, ToolList, ToolFind, ToolWrite, ToolEdit, ToolDelete, ToolMove, ToolShell, ToolWatch, ToolFetch, ToolWebSearch,
	ToolSubagent, ToolTodo, ToolAsk, ToolComplete, ToolThink,
}

// agentNames are the names that agents have for a tool, in lower case: deed's own agent, Claude Code, opencode, codex,
// the kinds of the Agent Client Protocol, and others with the same habits.
var agentNames = map[string][]string{
	ToolRead:      {"read", "read_file", "readfile", "view", "view_image", "notebookread", "read_many_files", "fs/read_text_file", "fs_read"},
	ToolList:      {"list", "ls", "list_dir", "list_directory", "list_files"},
	ToolFind:      {"search", "glob", "grep", "find", "search_file_content", "codesearch", "grep_files"},
	ToolWrite:     {"write", "write_file", "create_file", "fs/write_text_file", "fs_write"},
	ToolEdit:      {"edit", "multiedit", "notebookedit", "apply_patch", "patch", "str_replace", "str_replace_editor", "replace", "edit_file"},
	ToolDelete:    {"delete", "delete_file", "remove_file"},
	ToolMove:      {"move", "move_file", "rename"},
	ToolShell:     {"shell", "bash", "exec_command", "execute", "run_shell_command", "local_shell", "terminal/create", "write_stdin", "shell_command", "run_command"},
	ToolWatch:     {"bashoutput", "killshell", "killbash", "taskoutput", "taskstop", "terminal/output", "terminal/kill"},
	ToolFetch:     {"fetch", "webfetch", "web_fetch", "http"},
	ToolWebSearch: {"websearch", "web_search", "google_web_search"},
	ToolSubagent:  {"task", "agent", "delegate", "spawn_agent"},
	ToolTodo:      {"todo", "todowrite", "todoread", "update_plan", "exitplanmode", "write_todos"},
	ToolAsk:       {"ask", "askuserquestion", "question", "request_user_input"},
	ToolComplete:  {"task_complete", "complete"},
	ToolThink:     {"think"},
}

// claudeNames are the names under which hooks that were written for Claude Code know the tools.
var claudeNames = map[string]string{
	ToolRead: "Read", ToolList: "LS", ToolFind: "Grep", ToolWrite: "Write", ToolEdit: "Edit", ToolShell: "Bash",
	ToolFetch: "WebFetch", ToolWebSearch: "WebSearch", ToolSubagent: "Task", ToolTodo: "TodoWrite", ToolAsk: "AskUserQuestion",
}

var byAgentName = func() map[string]string {
	out := map[string]string{}
	for name, list := range agentNames {
		out[name] = name
		for _, n := range list {
			out[n] = name
		}
	}
	return out
}()

// Where things stand in the input of a tool, whichever agent it belongs to.
var (
	pathKeys = []string{
		"file_path", "filePath", "path", "paths", "notebook_path", "absolute_path", "abs_path", "target_file", "filename", "file", "files",
		"old_path", "new_path", "oldPath", "newPath", "source", "destination", "from", "to", "directory", "dir", "locations", "edits", "uri",
	}
	patchKeys   = []string{"patch", "input", "patchText", "diff"}
	hostKeys    = []string{"url", "urls", "uri", "address", "host"}
	dirKeys     = []string{"workdir", "cwd", "working_directory", "dir"}
	commandKeys = []string{"command", "cmd", "script", "commands", "chars", "cmdline"}
)

// A known is how the calls of a tool are taken apart.
type knownTool struct {
	name string
	read func(c *Call, places Places, readable bool) []part
}

func lookup(tool string) (knownTool, bool) {
	low := lower(tool)
	name, ok := byAgentName[low]
	switch {
	case !ok && strings.HasPrefix(low, "mcp__"):
		return knownTool{strings.ReplaceAll(low, "__", "."), readAny}, false
	case !ok:
		return knownTool{low, readAny}, false
	}
	switch name {
	case ToolRead, ToolWrite, ToolEdit, ToolDelete, ToolMove:
		return knownTool{name, readFiles}, true
	case ToolList, ToolFind:
		return knownTool{name, readTree}, true
	case ToolShell:
		return knownTool{name, readShell}, true
	case ToolFetch:
		return knownTool{name, readFetch}, true
	}
	return knownTool{name, func(*Call, Places, bool) []part { return nil }}, true
}

const unreadable = "the input is not a JSON object, or was cut"

// readFiles is for tools that touch the files that they name.
func readFiles(c *Call, places Places, readable bool) []part {
	if !readable {
		return []part{{kind: partPath, opaque: true, why: unreadable}}
	}
	paths := c.strings(pathKeys...)
	if len(paths) == 0 || lower(c.Tool) == "apply_patch" || lower(c.Tool) == "patch" {
		for _, text := range c.strings(patchKeys...) {
			paths = append(paths, patchPaths(text)...)
		}
		for path := range objectKeys(c.input["changes"]) { // codex describes a patch as a map
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return []part{{kind: partPath, opaque: true, why: "no path was found in the input"}}
	}
	return pathParts(places, paths)
}

// readTree is for tools that look through a directory. They begin at the workspace when they name none.
func readTree(c *Call, places Places, readable bool) []part {
	if !readable {
		return []part{{kind: partPath, opaque: true, why: unreadable}}
	}
	paths := c.strings(pathKeys...)
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for _, pattern := range c.strings("pattern", "glob", "include") {
		// A pattern such as ../other/** or /etc/* leaves the directory that it is searched in.
		fixed, _, _ := strings.Cut(pattern, "*")
		if strings.HasPrefix(fixed, "/") && len(fixed) > 1 || slices.Contains(strings.Split(fixed, "/"), "..") {
			paths = append(paths, fixed)
		}
	}
	return pathParts(places, paths)
}

func readFetch(c *Call, _ Places, readable bool) []part {
	var out []part
	for _, a := range c.strings(hostKeys...) {
		out = append(out, hostPart(a))
	}
	if len(out) == 0 || !readable {
		return []part{{kind: partHost, opaque: true, why: "no address was found in the input"}}
	}
	return out
}

func readShell(c *Call, places Places, readable bool) []part {
	if !readable {
		return []part{{kind: partCommand, opaque: true, why: unreadable}}
	}
	if dir := c.strings(dirKeys...); len(dir) > 0 {
		places.Elsewhere = true
	}
	var out []part
	vars, ok := envVars(c.input["env"])
	if !ok {
		out = append(out, part{kind: partCommand, opaque: true, why: "env is neither an object of texts nor a list of names and values"})
	}
	for _, v := range vars { // as assignments before a command: they can change what it does
		out = append(out, part{kind: partCommand, text: v})
	}
	said := false
	for _, k := range commandKeys {
		raw, ok := c.input[k]
		if !ok {
			continue
		}
		said = true
		var line string
		var argv []string
		switch {
		case json.Unmarshal(raw, &line) == nil:
			if args := texts(c.input["args"], nil, 1); len(args) > 0 {
				line = quoteAll(append([]string{line}, args...))
			}
		case json.Unmarshal(raw, &argv) == nil:
			line = quoteAll(argv)
		default:
			out = append(out, part{kind: partCommand, opaque: true, why: k + " is neither a text nor a list of texts"})
			continue
		}
		c.lines = append(c.lines, line)
		out = append(out, commandParts(line, places)...)
	}
	if !said {
		return []part{{kind: partCommand, opaque: true, why: "no command was found in the input"}}
	}
	return out
}

// envVars are the variables that a call sets, as assignments in the order of names; false when they cannot be read.
func envVars(raw json.RawMessage) ([]string, bool) {
	if len(raw) == 0 {
		return nil, true
	}
	var object map[string]string
	if json.Unmarshal(raw, &object) != nil {
		var list []struct {
			Name  *string `json:"name"`
			Value *string `json:"value"`
		}
		if json.Unmarshal(raw, &list) != nil {
			return nil, false
		}
		object = map[string]string{}
		for _, v := range list {
			if v.Name == nil || v.Value == nil {
				return nil, false
			}
			object[*v.Name] = *v.Value // a later one wins
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		out = append(out, quote(name)+"="+quote(object[name]))
	}
	return out, true
}

// readAny is for tools that deed does not know: what looks like a path, a host or a command is taken for one.
func readAny(c *Call, places Places, _ bool) []part {
	var out []part
	for _, p := range c.strings(pathKeys...) {
		if !strings.Contains(p, "://") {
			out = append(out, pathParts(places, []string{p})...)
		}
	}
	for _, a := range c.strings("url", "urls", "uri", "address") {
		out = append(out, hostPart(a))
	}
	for _, k := range []string{"command", "cmd"} {
		for _, line := range texts(c.input[k], nil, 0) {
			out = append(out, commandParts(line, places)...)
		}
	}
	return out
}

func pathParts(places Places, paths []string) []part {
	var out []part
	for _, p := range paths {
		out = append(out, places.part(p))
	}
	return out
}

func objectKeys(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	_ = json.Unmarshal(raw, &m) // nothing when it is something else
	return m
}

var patchLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |(?:\+\+\+|---) (?:[abciow]/)?|(?:rename|copy) (?:from|to) )([^\t\r\n]+)`)
})

// patchPaths finds the files that a patch names, in the notation of apply_patch or of a unified diff.
func patchPaths(text string) []string {
	var out []string
	for _, m := range patchLine().FindAllStringSubmatch(text, -1) {
		if p := strings.TrimSpace(m[1]); p != "/dev/null" && p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
