package attempt

import (
	"encoding/json"
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/bundle"
	"github.com/deedrun/deed/internal/store"
)

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
		codebox.RunRegistryEntry{},
		codebox.AgentTranscript{},
		bundle.Statement{},
		store.Settlement{},
		deed.Verdict{},
		agentruntime.TaskOutcome{},
		agentruntime.CompletionAttempt{},
		command{},
		observation{},
	} {
		_, _ = json.Marshal(doc) // most of them are not whole; that they have encoders then is all that is wanted
	}
})
