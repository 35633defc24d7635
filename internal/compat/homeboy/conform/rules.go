package conform

import "github.com/deedrun/deed/contract/deed"

// A rule is one demand of the contract.
type rule struct{ id, level, text string }

const (
	must   = deed.ConformMust
	should = deed.ConformShould
)

// The rules, in the order in which a report has them. An id never changes its meaning.
var (
	ruleUsable    = rule{"manifest.usable", must, "The manifest has an id and providers, each with an id, a backend and a command that is there."}
	ruleLint      = rule{"manifest.complete", should, "The manifest declares every field of the contract."}
	ruleUnchanged = rule{"package.unchanged", should, "The commands write nothing into the package."}

	ruleCommand     = rule{"command.found", must, "The command can be started."}
	ruleReady       = rule{"command.ready", should, "What runner_readiness lists is there."}
	ruleDeclaration = rule{"command.declaration", should, "With --provider-contract the command prints its declaration and ends with 0."}

	ruleDocument  = rule{"outcome.document", must, "Standard output holds one JSON outcome."}
	ruleAlone     = rule{"outcome.alone", must, "Standard output holds nothing besides the outcome."}
	ruleSchema    = rule{"outcome.schema", must, "The outcome uses outcome_schema."}
	ruleTask      = rule{"outcome.task_id", must, "task_id is copied from the request."}
	ruleStatus    = rule{"outcome.status", must, "The status is one of outcome_statuses."}
	ruleClass     = rule{"outcome.classification", should, "A failure has one of failure_classifications."}
	ruleStrict    = rule{"outcome.strict", should, "The outcome needs no repair by its reader."}
	ruleExit      = rule{"outcome.exit", must, "The command ends with 0 after an outcome, a failure included."}
	ruleSecrets   = rule{"secrets.hidden", must, "No value of a declared secret is on standard output, on standard error or in an artifact."}
	ruleExist     = rule{"artifacts.exist", must, "Every artifact with a path is a file that is there."}
	ruleInside    = rule{"artifacts.inside", must, "Artifacts lie below artifacts_path or in the workspace."}
	ruleDigest    = rule{"artifacts.digest", must, "Size and digest of an artifact are those of its file."}
	ruleWorkspace = rule{"workspace.scope", must, "Nothing is written outside write_scope."}
	ruleLeft      = rule{"processes.none_left", must, "No process outlives the command."}

	ruleJSON    = rule{"request.not_json", must, "A request that is not JSON is answered with a failure."}
	ruleEmpty   = rule{"request.empty", must, "An empty standard input is answered with a failure."}
	ruleClosed  = rule{"request.none", must, "A standard input that is the null device is answered with a failure."}
	ruleForeign = rule{"request.schema", must, "A request of another schema is answered with a failure."}
	ruleNoTask  = rule{"request.task_id", must, "A request without task_id is answered with a failure."}
	ruleBackend = rule{"request.backend", must, "A request for another backend is answered with a failure."}
	ruleField   = rule{"request.field:", must, "A request without a field of request_required_fields is answered with a failure."}

	ruleExtra   = rule{"request.unknown_members", must, "Members that the command does not know change nothing."}
	ruleLarge   = rule{"request.large", must, "A request of 5 MiB is read."}
	ruleOddDirs = rule{"paths.workspace", must, "Blanks and quotes in the paths of a run change nothing."}
	ruleOddHome = rule{"paths.package", must, "Blanks and quotes in the path of the package change nothing."}

	ruleStop  = rule{"stop.signal", must, "Asked to end with SIGTERM, the command ends."}
	ruleLimit = rule{"stop.limit", must, "The command ends soon after the time limit of its request, or when it is asked to."}
)

// What breaks the contract and what a host can deal with all the same.
const (
	nonZero  = "Exit non-zero only for command-level failures where no valid outcome can be produced: it ended with %d and wrote no outcome"
	vague    = "Diagnostics should distinguish request validation failures: neither failure_classification is invalid_input nor a diagnostic request_validation"
	wasEnded = "it went on after the limit of 1 s, until it was asked to end"
)
