package scripted

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// A made call is a tool call in the agent's own vocabulary.
type made struct {
	id        string
	name      string
	namespace string
	freeform  bool
	arguments string // JSON, unless freeform or scripted otherwise
}

// names are what agents call the tools that scripts name in general, first the ones that are preferred.
var names = map[string][]string{
	"shell":       {"shell", "exec_command", "Bash", "bash", "run_shell_command", "terminal", "shell_command", "local_shell", "execute"},
	"read":        {"read", "Read", "read_file", "view"},
	"write":       {"write", "Write", "write_file", "create_file"},
	"edit":        {"edit", "Edit", "replace", "edit_file", "str_replace"},
	"apply_patch": {"apply_patch", "patch"},
	"complete":    {"task_complete", "complete", "attempt_completion"},
	"ask":         {"ask", "AskUserQuestion", "ask_user"},
}

// members are what agents call the arguments of these tools.
var members = map[string][]string{
	"command":  {"command", "cmd"},
	"path":     {"path", "file_path", "filePath", "filename"},
	"content":  {"content", "contents", "text"},
	"old":      {"old", "old_string", "oldString", "old_text"},
	"new":      {"new", "new_string", "newString", "new_text"},
	"patch":    {"patch", "input"},
	"summary":  {"summary", "result", "message"},
	"question": {"question", "prompt"},
}

// codeTool is the tool of agents that let their model write a program which calls the others.
const codeTool = "exec"

// translate turns a scripted call into one that the agent offers. Without such a tool, what the call is for is done by
// shell where that is possible; otherwise ok is false.
func (a *ask) translate(c Call, workdir string) (made, bool) {
	if c.Arguments != "" {
		t, _ := a.find(c.Tool)
		return made{name: orDefault(t.name, c.Tool), namespace: t.namespace, freeform: t.freeform, arguments: c.Arguments}, true
	}
	t, offered := a.find(c.Tool)
	switch {
	case offered && t.freeform && c.Tool == "apply_patch":
		return made{name: t.name, namespace: t.namespace, freeform: true, arguments: c.Patch}, true
	case offered:
		return made{name: t.name, namespace: t.namespace, arguments: encode(t.arguments(c, workdir))}, true
	}
	if code, ok := a.named(codeTool); ok && code.freeform {
		if program, ok := c.program(); ok {
			return made{name: code.name, namespace: code.namespace, freeform: true, arguments: program}, true
		}
	}
	if patch, ok := a.find("apply_patch"); ok && c.Tool == "write" && patch.freeform {
		return made{name: patch.name, namespace: patch.namespace, freeform: true, arguments: c.asPatch()}, true
	}
	if command := c.asCommand(); command != "" && c.Tool != "shell" {
		return a.translate(Call{Tool: "shell", Command: command}, workdir)
	}
	if _, general := names[c.Tool]; general {
		return made{}, false
	}
	// A tool that the request does not offer is called all the same: agents have to survive that.
	return made{name: c.Tool, arguments: encode(c.Input)}, true
}

// find returns the tool that the agent offers for a scripted name: NAMESPACE/NAME, a general name, or the name itself.
func (a *ask) find(name string) (tool, bool) {
	for _, candidate := range names[name] {
		if t, ok := a.named(candidate); ok {
			return t, true
		}
	}
	return a.named(name)
}

func (a *ask) named(name string) (tool, bool) {
	space, bare, spaced := strings.Cut(name, "/")
	i := slices.IndexFunc(a.tools, func(t tool) bool {
		return t.name == name || spaced && t.namespace == space && t.name == bare
	})
	if i < 0 {
		return tool{}, false
	}
	return a.tools[i], true
}

// arguments fills in what the tool's own schema asks for.
func (t tool) arguments(c Call, workdir string) map[string]any {
	args := map[string]any{}
	set := func(general, value string) {
		if value == "" && general != "content" && general != "new" {
			return
		}
		name := members[general][0]
		for _, m := range members[general] {
			if _, ok := t.schema.Properties[m]; ok {
				name = m
				break
			}
		}
		args[name] = value
		if general == "command" && fmt.Sprint(t.schema.Properties[name].Type) == "array" {
			args[name] = []string{"bash", "-lc", value}
		}
	}
	switch c.Tool {
	case "shell":
		set("command", c.Command)
	case "read":
		set("path", absolute(workdir, c.Path))
	case "write":
		set("path", absolute(workdir, c.Path))
		set("content", c.Content)
	case "edit":
		set("path", absolute(workdir, c.Path))
		set("old", c.Old)
		set("new", c.New)
	case "apply_patch":
		set("patch", c.Patch)
	case "complete":
		set("summary", c.Summary)
	case "ask":
		set("question", c.Question)
	}
	if slices.Contains(t.schema.Required, "description") {
		args["description"] = "a step of the script"
	}
	maps.Copy(args, c.Input)
	return args
}

func absolute(workdir, p string) string {
	if workdir == "" || path.IsAbs(p) {
		return p
	}
	return path.Join(workdir, p)
}

// asCommand does with a shell what the call is for.
func (c Call) asCommand() string {
	switch c.Tool {
	case "shell":
		return c.Command
	case "read":
		return "cat " + quote(c.Path)
	case "write":
		command := "printf '%s' " + quote(c.Content) + " > " + quote(c.Path)
		if dir := path.Dir(c.Path); dir != "." && dir != "/" {
			command = "mkdir -p " + quote(dir) + " && " + command
		}
		return command
	}
	return ""
}

// program does it in the JavaScript that such agents run.
func (c Call) program() (string, bool) {
	switch {
	case c.Tool == "apply_patch":
		return "text(await tools.apply_patch(" + encode(c.Patch) + "));", true
	case c.asCommand() != "":
		return "text(await tools.exec_command(" + encode(map[string]string{"cmd": c.asCommand()}) + "));", true
	}
	return "", false
}

// asPatch writes a file by the patch format of agents that have no other way.
func (c Call) asPatch() string {
	var b strings.Builder
	b.WriteString("*** Begin Patch\n*** Add File: " + c.Path + "\n")
	for line := range strings.Lines(c.Content) {
		b.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
	}
	b.WriteString("*** End Patch\n")
	return b.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// encode writes JSON without escaping what HTML would want escaped.
func encode(v any) string {
	if m, ok := v.(map[string]any); ok && m == nil {
		return "{}"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // scripts hold only what JSON can
		return "{}"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func orDefault(text, fallback string) string {
	if text != "" {
		return text
	}
	return fallback
}
