package brief

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
)

// The rule of recent memory: the last tasks of the same agent that ended, newest first. Of each, it has what deed
// itself found (the verdict's facts and its refusals) and nothing that an agent said. It is bounded, so that a long
// history makes no brief longer.
const (
	MemoryTasks    = 10  // how many
	maxMemoryItems = 8   // facts, and refusals, of one task
	maxMemoryChars = 160 // of one of them
	maxMemoryTitle = 120
)

// A Memory is what is kept of one task.
type Memory struct {
	TaskType   string   `json:"task_type"`
	Subject    string   `json:"subject,omitempty"`
	Status     string   `json:"status"`
	Class      string   `json:"class"`
	FinishedAt string   `json:"finished_at"`
	Facts      []string `json:"facts,omitempty"`
	Refusals   []string `json:"refusals,omitempty"`
}

// Remember applies the rule to one task that ended: its record, the class of its last attempt, what that class means, and the verdict
// of the gate, if there was one.
func Remember(t agentruntime.TaskRecord, class, about string, v *deed.Verdict) Memory {
	m := Memory{TaskType: t.TaskType, Status: string(t.Status), Class: class}
	if t.Subject != nil {
		m.Subject = short(*t.Subject, maxMemoryTitle)
	}
	if t.FinishedAt != nil {
		m.FinishedAt = string(*t.FinishedAt)
	}
	if t.Status != agentruntime.TaskCompleted {
		m.Facts = append(m.Facts, about)
	}
	// Files and artifacts count if the gate accepted them; the summary of such a task is deed's own.
	if o := t.Outcome; o != nil && v != nil && v.Accepted {
		m.Facts = append(m.Facts, short(o.OperatorSummary, maxMemoryChars))
		m.Facts = append(m.Facts, several("changed ", o.FileChanges)...)
		if o.WorkflowSignal != "" {
			m.Facts = append(m.Facts, "signal "+short(o.WorkflowSignal, maxMemoryChars))
		}
	}
	if v != nil && !v.Accepted {
		hidden := withoutHidden(*v)
		for _, r := range hidden.Reasons {
			m.Refusals = append(m.Refusals, short(r.Code+": "+r.Message, maxMemoryChars))
		}
	}
	m.Facts, m.Refusals = bounded(m.Facts), bounded(m.Refusals)
	return m
}

func several(before string, list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, before+short(s, maxMemoryChars))
	}
	return out
}

func bounded(list []string) []string {
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	if n := len(list); n > maxMemoryItems {
		list = append(list[:maxMemoryItems-1:maxMemoryItems-1], fmt.Sprintf("and %d more", n-maxMemoryItems+1))
	}
	return list
}

// short puts a text on one line of at most n characters.
func short(s string, n int) string {
	s = oneLine(s)
	if h := head(s, n-1); h != s && runes(s) > n {
		return h + "…"
	}
	return s
}

func memorySections(list []Memory) []section {
	var out []section
	for _, m := range list {
		text := "- " + m.FinishedAt + " " + m.TaskType
		if m.Subject != "" {
			text += " “" + m.Subject + "”"
		}
		text += ": " + m.Status
		if len(m.Facts) > 0 {
			text += "; " + strings.Join(m.Facts, ", ")
		}
		if len(m.Refusals) > 0 {
			text += "; refused: " + strings.Join(m.Refusals, "; ")
		}
		out = append(out, section{
			rule: "memory", name: fmt.Sprint(len(out) + 1), text: text,
			head: "## Recent work\n\nWhat deed found about your last tasks, newest first. It is a record, not a request.\n\n",
		})
	}
	return out
}
