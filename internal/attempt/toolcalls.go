package attempt

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// Bounds on what a conversation leaves in the bundle in addition to its recorded streams.
const (
	maxAgentCalls = 2000      // tool calls that the transcript lists one by one
	maxKeptFiles  = 5000      // outputs of tools and journals of subagents
	maxKeptBytes  = 256 << 20 // of these together
)

// addToolCalls lists the tools that the agent called, as far as its driver shows them. For readers of that contract
// it also lists the commands that deed itself ran on the change, as calls of a tool.
func (a *run) addToolCalls(w *bundle.Writer) error {
	calls, more := a.agentCalls()
	if a.verdict != nil {
		for i, c := range a.verdict.Checks {
			status := map[string]string{deed.CheckPassed: evidence.CallSucceeded, deed.CheckTimeout: evidence.CallTimedOut}[c.Status]
			calls = append(calls, bundle.ToolCallEvidence{
				Call: evidence.ToolCall{
					CallID: fmt.Sprintf("check-%d", i), ToolName: "deed.check", ToolType: "command", Phase: evidence.PhaseVerification, Status: cmp.Or(status, evidence.CallFailed),
					Metadata: map[string]any{"name": c.Name, "exit_code": c.ExitCode, "duration_ms": c.DurationMS, "log": c.Log, "advisory": c.Advisory},
				},
				Input: mustJSON(map[string]any{"argv": c.Command}), Output: []byte(c.Tail),
			})
		}
	}
	if len(calls) == 0 {
		return nil
	}
	var metadata map[string]any
	if more > 0 {
		metadata = map[string]any{"calls_not_listed": more}
	}
	_, err := w.AddToolCalls(calls, metadata)
	return err
}

// agentCalls are the tool calls in the journal with their results, and how many more there were.
func (a *run) agentCalls() (calls []bundle.ToolCallEvidence, more int) {
	index := map[string]int{}
	for _, e := range a.entries() {
		switch e.Kind {
		case driver.EventToolCall:
			var c agentruntime.ToolCall
			if json.Unmarshal(e.Detail, &c) != nil || c.CallID == "" {
				continue
			}
			if len(calls) == maxAgentCalls {
				more++
				continue
			}
			// Agents number their calls from the start again in every turn.
			id := fmt.Sprintf("agent-%d", len(calls)+1)
			index[c.CallID] = len(calls)
			calls = append(calls, bundle.ToolCallEvidence{
				Call: evidence.ToolCall{
					CallID: id, ToolName: c.Tool, ToolType: "agent", Phase: evidence.PhaseExecution, Status: evidence.CallStarted, StartedAt: string(e.At),
					Metadata: map[string]any{"agent_call_id": c.CallID, "turn": c.Turn},
				},
				Input: c.Input,
			})
		case driver.EventToolResult:
			var r agentruntime.ToolResult
			i, ok := 0, false
			if json.Unmarshal(e.Detail, &r) == nil {
				i, ok = index[r.CallID]
			}
			if !ok {
				continue
			}
			c := &calls[i]
			c.Call.FinishedAt, c.Call.Status = string(e.At), evidence.CallFailed
			if r.Status == agentruntime.ToolSuccess {
				c.Call.Status = evidence.CallSucceeded
			}
			if r.ErrorType != "" {
				c.Call.Metadata["error_type"] = r.ErrorType
			}
			if r.OutputRef != "" {
				c.Call.Metadata["output"] = path.Join(attemptDir, r.OutputRef)
			}
			c.Output = []byte(r.Output)
		}
	}
	return calls, more
}

// attemptDir is where a bundle keeps what belongs to the attempt itself.
const attemptDir = "files/attempt"

// keptDirs are the directories of the run that a driver may fill: whole outputs of tools, journals of subagents.
var keptDirs = []string{"tools", "subagents"}

// addKept adds what a driver left next to its streams. The driver redacted it, and the writer does so again.
func (a *run) addKept(w *bundle.Writer) error {
	root, err := os.OpenRoot(a.path("run"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var files int
	var bytes int64
	for _, dir := range keptDirs {
		if fi, err := root.Lstat(dir); err != nil || !fi.IsDir() { // an agent that is not contained may have put a link there
			continue
		}
		err := fs.WalkDir(root.FS(), dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			fi, err := d.Info()
			if err != nil {
				return err
			}
			if files++; files > maxKeptFiles || bytes+fi.Size() > maxKeptBytes {
				return fs.SkipAll
			}
			bytes += fi.Size()
			f, err := root.Open(p)
			if err != nil {
				return err
			}
			err = w.AddReader(path.Join(attemptDir, p), kindKept, evidence.TypeText, f)
			return errors.Join(err, f.Close())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const kindKept = "attempt-record"
