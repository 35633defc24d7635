package runner

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaAudit is the id of AuditReport.
const SchemaAudit = "deed/audit.report/v1"

// The severities of a finding of the audit. A warning fails the run unless the baseline knows it; info never does.
const (
	SeverityWarning = "warning"
	SeverityInfo    = "info"
)

// AuditSeverities lists every severity of the audit.
var AuditSeverities = []string{SeverityWarning, SeverityInfo}

// What a finding of the audit rests on.
const (
	ConfidenceStructural = "structural" // on the syntax of one file, or on what is and is not there
	ConfidenceGraph      = "graph"      // on references between files, resolved without types
	ConfidenceHeuristic  = "heuristic"  // on a rule of thumb
)

// AuditConfidences lists what a finding can rest on.
var AuditConfidences = []string{ConfidenceStructural, ConfidenceGraph, ConfidenceHeuristic}

// An AuditReport is what `deed audit` found in one component.
type AuditReport struct {
	Schema      string       `json:"schema"`
	Command     string       `json:"command" jsonschema:"enum=audit,enum=audit.compared,enum=audit.conventions,enum=audit.baseline"`
	ComponentID string       `json:"component_id"`
	SourcePath  string       `json:"source_path"`
	Passed      bool         `json:"passed"`
	ExitCode    int          `json:"exit_code"`
	Phase       Phase        `json:"phase"`
	Summary     AuditSummary `json:"summary"`

	Conventions     []AuditConvention    `json:"conventions,omitempty"`
	Findings        []AuditFinding       `json:"findings"`
	DuplicateGroups []AuditDuplicate     `json:"duplicate_groups,omitempty"`
	Unparsed        []AuditUnparsed      `json:"unparsed,omitempty"`
	ChangedSince    *AuditChanged        `json:"changed_since,omitempty"`
	Baseline        *BaselineComparison  `json:"baseline_comparison,omitempty"`
	BaselineSaved   *AuditBaselineRecord `json:"baseline_saved,omitempty"`
	Warnings        []string             `json:"warnings,omitempty"`
}

// AuditCommands lists what a report of the audit can be about.
var AuditCommands = []string{"audit", "audit.compared", "audit.conventions", "audit.baseline"}

// Validate returns every fault of the record: what passed has exit code 0, and every finding has a severity, a confidence
// and both of its names.
func (r AuditReport) Validate() error {
	var l fault.List
	if r.Schema != SchemaAudit {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", r.Schema), fmt.Sprintf("write %q", SchemaAudit))
	}
	fault.OneOf(&l, "$.command", r.Command, AuditCommands...)
	if r.Passed != (r.ExitCode == 0) || r.Passed != (r.Phase.Status == StatusPassed) {
		l.Add("$.passed", fault.Conflict, fmt.Sprintf("is %v with exit code %d and status %q", r.Passed, r.ExitCode, r.Phase.Status), "only what passed has exit code 0 and the status passed")
	}
	for i, f := range r.Findings {
		at := fault.Index("$.findings", i)
		fault.OneOf(&l, at+".severity", f.Severity, AuditSeverities...)
		fault.OneOf(&l, at+".confidence", f.Confidence, AuditConfidences...)
		l.Say(at+".kind", f.Kind)
		l.Say(at+".fingerprint", f.Fingerprint)
		l.Say(at+".identity", f.Identity)
	}
	return l.Err()
}

// An AuditSummary is the report in figures.
type AuditSummary struct {
	FilesScanned        int            `json:"files_scanned"`
	FilesParsed         int            `json:"files_parsed"`  // whose structure is known
	FilesSkipped        int            `json:"files_skipped"` // too large, unreadable, or not text
	FilesCached         int            `json:"files_cached"`  // whose facts an earlier run has left
	Lines               int            `json:"lines"`
	ConventionsDetected int            `json:"conventions_detected"`
	OutliersFound       int            `json:"outliers_found"`            // files that break a convention
	AlignmentScore      *float64       `json:"alignment_score,omitempty"` // share of conforming files, 0 to 1; absent: no convention
	WarningCount        int            `json:"warning_count"`
	InfoCount           int            `json:"info_count"`
	Kinds               map[string]int `json:"kinds,omitempty"`
}

// An AuditConvention is a rule that the files of a group keep by themselves.
type AuditConvention struct {
	Name       string   `json:"name"` // the name of the group: its directory and language
	Directory  string   `json:"directory"`
	Language   string   `json:"language"`
	Status     string   `json:"status" jsonschema:"enum=clean,enum=drift,enum=fragmented"`
	Files      int      `json:"files"`
	Conforming int      `json:"conforming"`
	Confidence float64  `json:"confidence"` // share of conforming files, 0 to 1
	Methods    []string `json:"expected_methods,omitempty"`
	Interfaces []string `json:"expected_interfaces,omitempty"`
	Naming     string   `json:"naming_suffix,omitempty"` // the word that the type names end in
	Outliers   []string `json:"outliers,omitempty"`
}

// An AuditFinding is one finding. Fingerprint names the kind of finding in a file, as baselines of the runner contract
// do; Identity names this finding, wherever its line has moved to.
type AuditFinding struct {
	Convention  string `json:"convention"`
	Kind        string `json:"kind"`
	Severity    string `json:"severity" jsonschema:"enum=warning,enum=info"`
	Confidence  string `json:"confidence" jsonschema:"enum=structural,enum=graph,enum=heuristic"`
	File        string `json:"file"`
	Line        int    `json:"line,omitempty"`
	Subject     string `json:"subject,omitempty"` // the symbol, link or rule that it is about
	Description string `json:"description"`
	Suggestion  string `json:"suggestion"`
	Fingerprint string `json:"fingerprint"`
	Identity    string `json:"identity"`
	Introduced  *bool  `json:"introduced,omitempty"` // with --changed-since: by the change, or only beside it
	Known       bool   `json:"known,omitempty"`      // the baseline has it
}

// An AuditDuplicate is one piece of code in several places.
type AuditDuplicate struct {
	Kind      string          `json:"kind"`
	Name      string          `json:"name"`
	Lines     int             `json:"lines"`
	Locations []AuditLocation `json:"locations"`
}

// An AuditLocation is a place in the tree.
type AuditLocation struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Name string `json:"name,omitempty"`
}

// AuditUnparsed tells for which files only the text was looked at, and why.
type AuditUnparsed struct {
	Reason string   `json:"reason"`
	Count  int      `json:"count"`
	Files  []string `json:"files"` // the first of them
}

// AuditChanged tells what a change has to do with the findings.
type AuditChanged struct {
	Ref                string   `json:"ref"`
	Paths              []string `json:"paths"` // the files that changed and are there
	IntroducedFindings int      `json:"introduced_findings"`
	ContextualFindings int      `json:"contextual_findings"`
}

// An AuditBaselineRecord tells of a baseline that was written.
type AuditBaselineRecord struct {
	Path           string   `json:"path"`
	FindingsCount  int      `json:"findings_count"`
	OutliersCount  int      `json:"outliers_count"`
	AlignmentScore *float64 `json:"alignment_score,omitempty"`
}
