package audit

import (
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// A Kind is a sort of finding.
type Kind struct {
	Name       string
	Severity   string
	Confidence string
	About      string // one line for the documents
}

// The kinds that the detectors of this package report. A requested detector may bring names of its own.
const (
	kindMissingMethod      = "missing_method"
	kindMissingInterface   = "missing_interface"
	kindNaming             = "naming_mismatch"
	kindSignature          = "signature_mismatch"
	kindNamespace          = "namespace_mismatch"
	kindGodFile            = "god_file"
	kindItemCount          = "high_item_count"
	kindSprawl             = "directory_sprawl"
	kindDuplicate          = "duplicate_function"
	kindNearDuplicate      = "near_duplicate"
	kindUnreferencedExport = "unreferenced_export"
	kindTestOnlyExport     = "test_only_export"
	kindTodo               = "todo_marker"
	kindStaleTodo          = "stale_todo"
	kindDeprecation        = "deprecation_age"
	kindMissingTestFile    = "missing_test_file"
	kindMissingTestMethod  = "missing_test_method"
	kindOrphanedTest       = "orphaned_test"
	kindVacuousTest        = "vacuous_test"
	kindLayer              = "layer_ownership_violation"
	kindUndocumented       = "undocumented_feature"
	kindBrokenDoc          = "broken_doc_reference"
	kindStaleDoc           = "stale_doc_reference"
	kindLegacyComment      = "legacy_comment"
	kindRequested          = "requested"
)

const (
	warning = runner.SeverityWarning
	info    = runner.SeverityInfo

	structural = runner.ConfidenceStructural
	graph      = runner.ConfidenceGraph
	heuristic  = runner.ConfidenceHeuristic
)

// Kinds lists every kind of the built-in detectors, in the order of the documents.
var Kinds = []Kind{
	{kindMissingMethod, warning, heuristic, "a file lacks a method that most files of its group have"},
	{kindMissingInterface, warning, heuristic, "a type lacks an interface or base class that most types of its group have"},
	{kindNaming, info, heuristic, "a type does not end in the word that most type names of its group end in"},
	{kindSignature, info, heuristic, "a method has other parameters than most methods of its name in its group"},
	{kindNamespace, info, heuristic, "a file is in another namespace than most files of its directory"},
	{kindGodFile, warning, structural, "a file has too many lines"},
	{kindItemCount, info, structural, "a file declares too many items"},
	{kindSprawl, info, structural, "a directory holds too many source files"},
	{kindDuplicate, warning, structural, "the same function body is in several places"},
	{kindNearDuplicate, info, heuristic, "function bodies differ in names and literals only"},
	{kindUnreferencedExport, warning, graph, "an exported name that nobody outside the module can use is referenced nowhere"},
	{kindTestOnlyExport, info, graph, "such a name is referenced by tests alone"},
	{kindTodo, info, structural, "a comment begins with TODO, FIXME, HACK or XXX"},
	{kindStaleTodo, warning, structural, "such a comment is older than the limit"},
	{kindDeprecation, warning, graph, "something has been deprecated for longer than the limit"},
	{kindMissingTestFile, warning, structural, "a source file or a Go package has no test"},
	{kindMissingTestMethod, info, heuristic, "a public method has no test of its name"},
	{kindOrphanedTest, warning, graph, "a test tests something that is not there"},
	{kindVacuousTest, warning, structural, "a test checks nothing"},
	{kindLayer, warning, graph, "a file imports or names what a layer rule forbids to it"},
	{kindUndocumented, warning, heuristic, "a feature in the code is mentioned in no document"},
	{kindBrokenDoc, warning, structural, "a link of a document leads nowhere"},
	{kindStaleDoc, info, heuristic, "a document names a file that is not there"},
	{kindLegacyComment, info, heuristic, "a requested detector matched (the default kind of comment rules)"},
	{kindRequested, warning, heuristic, "a requested detector matched"},
}

// kindOf finds a kind by its name.
func kindOf(name string) (Kind, bool) {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return Kinds[i], true
}

// pascal is a kind's name as baselines of the runner contract spell it: missing_method is MissingMethod.
func pascal(kind string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(kind, "_") {
		if word == "" {
			continue
		}
		b.WriteString(strings.ToUpper(word[:1]))
		b.WriteString(word[1:])
	}
	return b.String()
}
