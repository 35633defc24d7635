package outcome

import (
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/redact"
)

// Read makes one outcome of how a provider's process ended and of what it printed. The outcome can always be written,
// and names the task of the request. It holds no form of a secret that r knows.
func Read(p homeboy.ExecutorProvider, q homeboy.Request, f Facts, r *redact.Redactor) Answer {
	a := Answer{redactor: r}
	data := make([]byte, f.StdoutSize)
	if f.Stdout != nil {
		_, _ = f.Stdout.ReadAt(data, 0)
	}
	var err error
	if a.Outcome, a.Warnings, err = homeboy.ReadOutcome(data, q.TaskID); err != nil {
		a.Outcome = Refused("agent_task.provider_malformed_json", err.Error(), "", homeboy.ClassProvider, q.TaskID)
	}
	_ = p
	return a
}
