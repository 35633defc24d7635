package deed

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaAdapterAudit is the id of AdapterAudit.
const SchemaAdapterAudit = "deed/adapter-audit/v1"

// An AdapterAudit is an adapter's own account of what it ran and changed. The gate compares it with what deed
// saw; by itself it proves nothing.
type AdapterAudit struct {
	Schema      string         `json:"schema"`
	Commands    []AuditCommand `json:"commands,omitempty"`
	FileChanges []string       `json:"file_changes"`
	ExitCode    *int           `json:"exit_code,omitempty"`
}

// An AuditCommand is one command that the adapter says it ran.
type AuditCommand struct {
	Argv     []string `json:"argv" jsonschema:"minItems=1"`
	ExitCode int      `json:"exit_code"`
}

// Validate returns every fault of the record.
func (a AdapterAudit) Validate() error {
	var l fault.List
	if a.Schema != SchemaAdapterAudit {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(a.Schema)), fmt.Sprintf("write %q", SchemaAdapterAudit))
	}
	for i, c := range a.Commands {
		at := fault.Index("$.commands", i) + ".argv"
		if len(c.Argv) == 0 {
			l.Add(at, fault.Blank, "is empty", "name the program that ran")
		}
		for j, arg := range c.Argv {
			l.Text(fault.Index(at, j), arg)
		}
	}
	for i, p := range a.FileChanges {
		l.RelativePath(fault.Index("$.file_changes", i), p)
	}
	return l.Err()
}
