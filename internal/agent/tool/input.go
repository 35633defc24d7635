package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// The types of a Failure. They are the errorType of a ToolResult.
const (
	TypeInput     = "invalid_input"
	TypeUnknown   = "unknown_tool"
	TypeOutside   = "outside_workspace"
	TypeNotFound  = "not_found"
	TypeKind      = "wrong_kind_of_file"
	TypeBinary    = "binary_file"
	TypeTooLarge  = "too_large"
	TypeNoMatch   = "no_match"
	TypeAmbiguous = "ambiguous_match"
	TypePatch     = "patch_does_not_apply"
	TypeExit      = "exit_code"
	TypeTimeout   = "timeout"
	TypeOutput    = "output_limit"
	TypeIO        = "io_error"
	TypeHostLost  = "tool_host_lost"
	TypeLimit     = "limit_exceeded"
)

// A Failure is why a call did not do what was asked. The model gets it as the result.
type Failure struct {
	Type    string
	Message string
}

func (f *Failure) Error() string { return f.Message }

// Failf makes a Failure.
func Failf(kind, format string, args ...any) *Failure {
	return &Failure{Type: kind, Message: fmt.Sprintf(format, args...)}
}

// The inputs of the tools.
type (
	readInput struct {
		Path   string `json:"path"`
		Offset int    `json:"offset"`
		Limit  int    `json:"limit"`
	}
	listInput struct {
		Path  string `json:"path"`
		Depth int    `json:"depth"`
	}
	searchInput struct {
		Pattern    string `json:"pattern"`
		Path       string `json:"path"`
		Glob       string `json:"glob"`
		IgnoreCase bool   `json:"ignore_case"`
		Limit      int    `json:"limit"`
	}
	editInput struct {
		Path string `json:"path"`
		Old  string `json:"old"`
		New  string `json:"new"`
		All  bool   `json:"all"`
	}
	writeInput struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	shellInput struct {
		Command   string `json:"command"`
		Cwd       string `json:"cwd"`
		TimeoutMS int64  `json:"timeout_ms"`
	}
	patchInput struct {
		Patch string `json:"patch"`
	}
)

// A TodoItem is one step of a plan.
type TodoItem struct {
	Text   string `json:"text"`
	Status string `json:"status"` // pending, in_progress or done
}

// A TodoInput is the input of todo, which the loop carries out itself, like the following.
type TodoInput struct {
	Items []TodoItem `json:"items"`
}

// A TaskCompleteInput is the input of task_complete.
type TaskCompleteInput struct {
	Summary string   `json:"summary"`
	Files   []string `json:"files"`
}

// An AskInput is the input of ask.
type AskInput struct {
	Question string `json:"question"`
}

// A DelegateInput is the input of delegate.
type DelegateInput struct {
	Goal     string   `json:"goal"`
	Tools    []string `json:"tools"`
	MaxTurns int      `json:"max_turns"`
}

// Decode reads the input of a tool into v, a pointer to its struct. Anything that the tool's schema does not allow is a
// Failure that names every fault it can and says what is expected.
func Decode(name string, input json.RawMessage, v any) error {
	spec, ok := Find(name)
	if !ok {
		return Failf(TypeUnknown, "there is no tool %q; there are %s", name, strings.Join(Names(), ", "))
	}
	var s schema
	if err := json.Unmarshal(spec.Schema, &s); err != nil {
		return Failf(TypeInput, "schema of %s: %v", name, err)
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	var given any
	err := d.Decode(&given)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more follows after it")
		}
	}
	if err != nil {
		return Failf(TypeInput, "the input of %s is not a JSON object: %v; expected %s", name, err, s.text())
	}
	if faults := s.check("", given); len(faults) > 0 {
		return Failf(TypeInput, "the input of %s: %s; expected %s", name, strings.Join(faults, "; "), s.text())
	}
	if err := json.Unmarshal(input, v); err != nil {
		return Failf(TypeInput, "the input of %s: %v; expected %s", name, err, s.text())
	}
	return nil
}

// A schema is the part of JSON Schema that the tools use.
type schema struct {
	Type       string             `json:"type"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Enum       []string           `json:"enum"`
	Minimum    *int64             `json:"minimum"`
	Maximum    *int64             `json:"maximum"`
	MinLength  int                `json:"minLength"`
	MaxItems   int                `json:"maxItems"`
}

// maxFaults bounds how many faults of one input are reported.
const maxFaults = 8

func (s *schema) check(at string, v any) (faults []string) {
	name := at
	if name == "" {
		name = "it"
	}
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" {
			return []string{name + " is an object, not " + article(s.Type)}
		}
		return s.members(at, v)
	case []any:
		if s.Type != "array" {
			return []string{name + " is a list, not " + article(s.Type)}
		}
		if s.MaxItems > 0 && len(v) > s.MaxItems {
			return []string{fmt.Sprintf("%s has %d items (at most %d)", name, len(v), s.MaxItems)}
		}
		for i, item := range v {
			if faults = append(faults, s.Items.check(fmt.Sprintf("%s[%d]", at, i), item)...); len(faults) > maxFaults {
				return append(faults[:maxFaults], "and more")
			}
		}
	case string:
		switch {
		case s.Type != "string":
			bad("%s is a string, not %s", name, article(s.Type))
		case len(v) < s.MinLength:
			bad("%s is empty", name)
		case len(s.Enum) > 0 && !slices.Contains(s.Enum, v):
			bad("%s is %.60q, not one of %s", name, v, strings.Join(s.Enum, ", "))
		}
	case bool:
		if s.Type != "boolean" {
			bad("%s is a boolean, not %s", name, article(s.Type))
		}
	case json.Number:
		n, err := v.Int64()
		switch {
		case s.Type != "integer" || err != nil:
			bad("%s is the number %.30s, not %s", name, v, article(s.Type))
		case s.Minimum != nil && n < *s.Minimum:
			bad("%s is %d (at least %d)", name, n, *s.Minimum)
		case s.Maximum != nil && n > *s.Maximum:
			bad("%s is %d (at most %d)", name, n, *s.Maximum)
		}
	default:
		bad("%s is null, not %s", name, article(s.Type))
	}
	return faults
}

func (s *schema) members(at string, v map[string]any) (faults []string) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			faults = append(faults, fmt.Sprintf("%s is missing", join(at, name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if p := s.Properties[name]; p == nil {
			faults = append(faults, fmt.Sprintf("%.60q is not known", join(at, name)))
		} else {
			faults = append(faults, p.check(join(at, name), v[name])...)
		}
		if len(faults) > maxFaults {
			return append(faults[:maxFaults], "and more")
		}
	}
	return faults
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func article(kind string) string {
	switch kind {
	case "array":
		return "a list"
	case "integer", "object":
		return "an " + kind
	default:
		return "a " + kind
	}
}

// text says in one line what an object has: {"path": string, "limit"?: integer}.
func (s *schema) text() string {
	switch s.Type {
	case "array":
		return "[" + s.Items.text() + ", …]"
	case "object":
	default:
		if len(s.Enum) > 0 {
			return strings.Join(s.Enum, "|")
		}
		return s.Type
	}
	var parts []string
	for _, name := range s.Required {
		parts = append(parts, fmt.Sprintf("%q: %s", name, s.Properties[name].text()))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(s.Required, name) {
			parts = append(parts, fmt.Sprintf("%q?: %s", name, s.Properties[name].text()))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
