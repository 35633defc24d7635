package deed

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
	Argv     []string `json:"argv"`
	ExitCode int      `json:"exit_code"`
}
