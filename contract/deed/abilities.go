package deed

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaAbilities is the id of Abilities.
const SchemaAbilities = "deed/abilities/v1"

// Abilities is deed-abilities.json at the top of a runtime component: what it can be asked to do.
type Abilities struct {
	Schema    string    `json:"schema"`
	Abilities []Ability `json:"abilities"`
}

// An Ability is one thing that a component can be asked to do: a command, or a PHP file that runs with WordPress
// loaded. It gets its input as JSON and gives its result as JSON.
//
// A command reads its input from standard input and prints its result on standard output, alone. A PHP file returns a
// function of the input.
type Ability struct {
	Name         string          `json:"name" jsonschema:"minLength=1,maxLength=512"`
	Description  string          `json:"description,omitempty"`
	Command      []string        `json:"command,omitempty"` // a first item with a slash, as in ./run.sh, is a file of the component
	PHP          string          `json:"php,omitempty"`     // a file of the component
	TokenEnv     string          `json:"token_env,omitempty"`
	TokenSHA256  string          `json:"token_sha256,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
}

// Validate returns every fault of the record. Whether the schemas are valid is for a validator to say.
func (a Abilities) Validate() error {
	var l fault.List
	if a.Schema != SchemaAbilities {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(a.Schema)), fmt.Sprintf("write %q", SchemaAbilities))
	}
	names := map[string]bool{}
	for i, b := range a.Abilities {
		at := fault.Index("$.abilities", i)
		b.check(&l, at)
		if names[b.Name] {
			l.Add(at+".name", fault.Duplicate, fmt.Sprintf("%q is there twice", clip(b.Name)), "give each ability a name of its own")
		}
		names[b.Name] = true
	}
	return l.Err()
}

func (a Ability) check(l *fault.List, at string) {
	l.Name(at+".name", a.Name)
	switch {
	case len(a.Command) == 0 && a.PHP == "":
		l.Add(at, fault.Conflict, "has neither command nor php", "give the one that does the work")
	case len(a.Command) > 0 && a.PHP != "":
		l.Add(at, fault.Conflict, "has command and php", "give one of them")
	}
	for i, arg := range a.Command {
		l.Text(fault.Index(at+".command", i), arg)
	}
	if len(a.Command) > 0 {
		first := fault.Index(at+".command", 0)
		switch {
		case strings.TrimSpace(a.Command[0]) == "":
			l.Add(first, fault.Blank, "is blank", "name the program to run")
		case strings.Contains(a.Command[0], "/"):
			l.RelativePath(first, strings.TrimPrefix(a.Command[0], "./"))
		}
	}
	l.OptionalRelativePath(at+".php", a.PHP)
	if a.TokenEnv != "" {
		l.EnvName(at+".token_env", a.TokenEnv)
	}
	if a.TokenSHA256 != "" && !isSHA256(a.TokenSHA256) {
		l.Add(at+".token_sha256", fault.BadFormat, fmt.Sprintf("%q is not a SHA-256 digest", clip(a.TokenSHA256)), "write the 64 lower-case hex digits of the token's digest")
	}
	l.OptionalObject(at+".input_schema", a.InputSchema)
	l.OptionalObject(at+".output_schema", a.OutputSchema)
}

func isSHA256(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }
