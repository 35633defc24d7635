package tool

import (
	"encoding/json"
	"slices"
	"sync"
)

// The names of the tools.
const (
	Read         = "read"
	List         = "list"
	Search       = "search"
	Edit         = "edit"
	Write        = "write"
	Shell        = "shell"
	ApplyPatch   = "apply_patch"
	Todo         = "todo"
	TaskComplete = "task_complete"
	Ask          = "ask"
	Delegate     = "delegate"
)

// A Spec describes a tool to a model.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage // of the input, a JSON Schema of type object
	Inside      bool            // carried out by a Host; the others are the loop's own
	Effects     bool            // may change something, so that it is never repeated without a word
	Writes      bool            // changes files of the workspace and does nothing else
}

// Specs are all tools, in the order in which a model gets them.
var Specs = sync.OnceValue(func() []Spec {
	return []Spec{
		{
			Name: Read, Inside: true,
			Description: "Read a text file. Lines come with their numbers. Without offset and limit: the first 2000 lines.",
			Schema: object(`"path"`, `
			"path": {"type": "string", "description": "relative to the workspace"},
			"offset": {"type": "integer", "minimum": 1, "description": "number of the first line"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 20000, "description": "how many lines"}`),
		},
		{
			Name: List, Inside: true,
			Description: "List a directory. Directories end in /, links show where they lead.",
			Schema: object("", `
			"path": {"type": "string", "description": "a directory, relative to the workspace; default: its top"},
			"depth": {"type": "integer", "minimum": 1, "maximum": 8, "description": "how many levels; default 1"}`),
		},
		{
			Name: Search, Inside: true,
			Description: "Search files for lines that match a regular expression (RE2). Skips .git, binary files, and what .gitignore names.",
			Schema: object(`"pattern"`, `
			"pattern": {"type": "string", "minLength": 1},
			"path": {"type": "string", "description": "a file or directory, relative to the workspace; default: all of it"},
			"glob": {"type": "string", "description": "only files whose path below the workspace matches, for example **/*.go"},
			"ignore_case": {"type": "boolean"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "matches to return; default 100"}`),
		},
		{
			Name: Edit, Inside: true, Effects: true, Writes: true,
			Description: "Replace text in a file. old must occur exactly once, with its white space, unless all is true.",
			Schema: object(`"path", "old", "new"`, `
			"path": {"type": "string"},
			"old": {"type": "string", "minLength": 1, "description": "the text as it is in the file, without line numbers"},
			"new": {"type": "string"},
			"all": {"type": "boolean", "description": "replace every occurrence"}`),
		},
		{
			Name: Write, Inside: true, Effects: true, Writes: true,
			Description: "Write a whole file. Replaces what is there and makes missing directories.",
			Schema: object(`"path", "content"`, `
			"path": {"type": "string"},
			"content": {"type": "string"}`),
		},
		{
			Name: Shell, Inside: true, Effects: true,
			Description: "Run a shell command. Everything that it starts is ended when it ends. There is no terminal and no input.",
			Schema: object(`"command"`, `
			"command": {"type": "string", "minLength": 1},
			"cwd": {"type": "string", "description": "a directory, relative to the workspace; default: its top"},
			"timeout_ms": {"type": "integer", "minimum": 1, "maximum": 1800000, "description": "default 120000"}`),
		},
		{
			Name: ApplyPatch, Inside: true, Effects: true, Writes: true,
			Description: "Change several files at once, all or nothing. Takes a patch between *** Begin Patch and *** End Patch with " +
				"*** Add File:, *** Update File:, *** Delete File: and *** Move to: lines, or a unified diff.",
			Schema: object(`"patch"`, `"patch": {"type": "string", "minLength": 1}`),
		},
		{
			Name:        Todo,
			Description: "Write down the plan. Each call gives the whole list; it stays known when the conversation is shortened.",
			Schema: object(`"items"`, `
			"items": {"type": "array", "maxItems": 100, "items": {
				"type": "object", "required": ["text", "status"], "additionalProperties": false, "properties": {
					"text": {"type": "string", "minLength": 1},
					"status": {"type": "string", "enum": ["pending", "in_progress", "done"]}}}}`),
		},
		{
			Name:        TaskComplete,
			Description: "Say that the task is done. It is then checked; when something is missing, the reasons come back as the result.",
			Schema: object(`"summary"`, `
			"summary": {"type": "string", "minLength": 1, "description": "what was changed and how it was checked"},
			"files": {"type": "array", "maxItems": 10000, "items": {"type": "string"}, "description": "every file that was changed, by the paths that the other tools take"}`),
		},
		{
			Name:        Ask,
			Description: "Ask a person, when the work cannot go on without an answer. It may take long, and there may be none.",
			Schema:      object(`"question"`, `"question": {"type": "string", "minLength": 1}`),
		},
		{
			Name: Delegate, Effects: true,
			Description: "Have a helper with a conversation of its own do a part of the work in the same workspace. Its last message is the result.",
			Schema: object(`"goal"`, `
			"goal": {"type": "string", "minLength": 1, "description": "everything that the helper has to know"},
			"tools": {"type": "array", "items": {"type": "string"}, "description": "the tools that it may use; default: yours"},
			"max_turns": {"type": "integer", "minimum": 1, "description": "answers that it may give"}`),
		},
	}
})

// object makes the schema of an input. Both arguments are JSON without the outer brackets.
func object(required, properties string) json.RawMessage {
	var v any
	text := `{"type": "object", "additionalProperties": false, "required": [` + required + `], "properties": {` + properties + `}}`
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic("tool: schema: " + err.Error())
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic("tool: schema: " + err.Error())
	}
	return out
}

// Find returns the tool of a name.
func Find(name string) (Spec, bool) {
	i := slices.IndexFunc(Specs(), func(s Spec) bool { return s.Name == name })
	if i < 0 {
		return Spec{}, false
	}
	return Specs()[i], true
}

// Names are the names of all tools.
func Names() []string {
	out := make([]string, len(Specs()))
	for i, s := range Specs() {
		out[i] = s.Name
	}
	return out
}
