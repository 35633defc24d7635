package outcome

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
)

// failedWords say, as the value of a terminal status, that something did not succeed.
var failedWords = []string{"failed", "failure", "error", "errored", "provider_error", "timeout", "timed_out", "cancelled", "canceled", "aborted", "crashed"}

// nested looks into a success for a run that says of itself that it failed. Only keys that end in _status or _state count,
// in objects below outputs and metadata; a list may be about many things that are not this run. // edge case 72
func nested(o *homeboy.Outcome, p homeboy.ExecutorProvider) {
	if !homeboy.IsSuccess(o.Status) {
		return
	}
	where, word := failedIn("$.outputs", o.Outputs, nestedDepth)
	if where == "" {
		where, word = failedBelow("$.metadata", o.Metadata, nestedDepth)
	}
	if n := normalizationOf(p); where == "" && n.StatusPath != "" {
		found, _ := at(encode(*o), n.StatusPath)
		if text, _ := found.Text(); slices.Contains(failedWords, text) {
			where, word = "$."+n.StatusPath, text
		}
	}
	if where == "" {
		return
	}
	o.Metadata = with(o.Metadata, "provider_status", o.Status)
	o.Status, o.FailureClassification = homeboy.Failed, homeboy.ClassExecutionFailed
	addDiagnostic(o, CodeNested, fmt.Sprintf("the outcome says %s, and inside it %s is %q", homeboy.Succeeded, where, word), map[string]any{"phase": PhaseRun, "path": where})
}

// nestedDepth bounds how far down a run's own account is looked for.
const nestedDepth = 8

// failedBelow returns the first terminal status that says failed, by the order of names.
func failedBelow(at string, v homeboy.Value, depth int) (path, word string) {
	// Most values say nothing of the kind, and need not be taken apart. An escape could hide a name.
	if depth == 0 || !bytes.Contains(v, []byte("_stat")) && !bytes.Contains(v, []byte(`\u`)) {
		return "", ""
	}
	members, _ := object(v)
	return failedIn(at, members, depth)
}

func failedIn(at string, members map[string]homeboy.Value, depth int) (path, word string) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		in := at + "." + name
		if text, ok := members[name].Text(); ok {
			if terminal(name) && slices.Contains(failedWords, text) {
				return in, text
			}
			continue
		}
		if path, word := failedBelow(in, members[name], depth-1); path != "" {
			return path, word
		}
	}
	return "", ""
}

func terminal(name string) bool {
	return strings.HasSuffix(name, "_status") || strings.HasSuffix(name, "_state")
}
