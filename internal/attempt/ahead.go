package attempt

import (
	"encoding/json"
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/attempt/brief"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/store"
)

// Warm makes the encoders of what is written before an agent, for a process that makes one attempt and is in a hurry: beside whatever it
// has to open first.
func Warm() {
	for _, doc := range []any{
		&agentruntime.TaskIntent{},
		codebox.RunRegistryEntry{},
		deed.Progress{},
		journal.Entry{},
		workspace.SeededPart{},
	} {
		_, _ = json.Marshal(doc)
	}
	_, _ = canonjson.Hash(deed.TaskSpec{})
	_, _ = canonjson.Hash(brief.Document{})
}

// ahead makes the encoders of what is written after an agent, once in the life of a process and while its first agent works. Made when
// they are needed first, they would keep whoever waits for a short run for a twentieth of it.
var ahead = sync.OnceFunc(func() {
	for _, doc := range []any{
		codebox.AgentTaskRun{},
		codebox.ChangedFiles{},
		codebox.TestResults{},
		codebox.Review{},
		codebox.Metadata{},
		codebox.Manifest{},
		codebox.RuntimeReferenceManifest{},
		codebox.AgentTranscript{},
		codebox.RunResourceEvidence{},
		bundle.Statement{},
		settlementDoc{Settlement: &store.Settlement{}},
		deed.Verdict{},
		agentruntime.TaskOutcome{},
		agentruntime.CompletionAttempt{},
		command{},
		observation{},
	} {
		_, _ = json.Marshal(doc) // most of them are not whole; that they have encoders then is all that is wanted
	}
	for _, doc := range []any{codebox.Manifest{Files: make([]codebox.ManifestFile, 1)}, codebox.RuntimeReferenceManifest{}, bundle.Predicate{}} {
		_, _ = canonjson.Hash(doc)
	}
	_ = codebox.MaskCredentials("")
})
