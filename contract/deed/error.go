package deed

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaError is the id of Error.
const SchemaError = "deed/error/v1"

// An Error is what a command prints under --json instead of its document, when it has none to print: a command line that cannot be read, a
// file that is not there, a database that does not open.
type Error struct {
	Schema string      `json:"schema"`
	Error  ErrorReason `json:"error"`
}

// An ErrorReason says why, in words and for programs.
type ErrorReason struct {
	Message  string        `json:"message" jsonschema:"minLength=1"`
	Kind     string        `json:"kind" jsonschema:"enum=not_done,enum=usage,enum=infrastructure,enum=locked,enum=interrupted"` // what exit_code means
	ExitCode int           `json:"exit_code" jsonschema:"minimum=1,maximum=255"`
	Faults   []fault.Fault `json:"faults,omitempty"` // of the input, where it is that
}

// Validate returns every fault of the document.
func (e Error) Validate() error {
	var l fault.List
	if e.Schema != SchemaError {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(e.Schema)), fmt.Sprintf("write %q", SchemaError))
	}
	if e.Error.Message == "" {
		l.Add("$.error.message", fault.Blank, "is empty", "say what went wrong")
	}
	return l.Err()
}
