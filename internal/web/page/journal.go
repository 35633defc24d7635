package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
)

// perTimeline is how many entries of a journal are shown at once.
const perTimeline = 400

// An entry is a line of the timeline. A tool call has its result with it.
type entry struct {
	Seq         int64
	At          string
	Class, Word string
	Summary     string
	Fold, Open  bool
	Result      *finding
	Parts       []part
	call        string
}

// A part is a text below an entry that is folded.
type part struct{ Name, Text string }

type journalBody struct {
	taskFrame
	Entries            []entry
	Total              int
	All                bool
	Before, After, URL string
	Cut, Empty         string
}

// journal shows what an attempt did, newest page first while it runs and from the beginning afterwards.
func (s *Site) journal(r *http.Request) (screen, error) {
	f, err := s.taskFrame(r, "journal")
	if err != nil {
		return screen{}, err
	}
	q := r.URL.Query()
	b := journalBody{taskFrame: f, All: q.Get("all") == "1", Empty: "Nothing is noted yet.", URL: fmt.Sprintf("/tasks/%s/journal?attempt=%s", f.Task.Task.TaskID, f.At.AttemptID)}
	if f.At.AttemptID == "" {
		return f.screen("journal", b), nil
	}
	at, err := s.Store.Attempt(r.Context(), f.At.AttemptID)
	if err != nil {
		return screen{}, err
	}
	from, err := strconv.Atoi(or(q.Get("from"), "-1"))
	if err != nil {
		return screen{}, misuse("from is the number of an entry")
	}
	all, err := s.timeline(at, b.All)
	if err != nil {
		return screen{}, err
	}
	b.Total = len(all)
	if from < 0 { // no place was asked for
		from = 0
		if f.At.Live {
			from = max(len(all)-perTimeline, 0)
		}
	}
	from = min(from, len(all))
	to := min(from+perTimeline, len(all))
	b.Entries = all[from:to]
	link := func(n int) string {
		u := fmt.Sprintf("%s&from=%d", b.URL, n)
		if b.All {
			u += "&all=1"
		}
		return u
	}
	if from > 0 {
		b.Before = link(max(from-perTimeline, 0))
	}
	if to < len(all) {
		b.After = link(to)
	}
	if from > 0 || to < len(all) {
		b.Cut = fmt.Sprintf("%d to %d are shown", from+1, to)
	}
	return f.screen("journal", b), nil
}

// maxEntries bounds the lines of a timeline that are kept of one journal.
const maxEntries = 20_000

// timeline reads a journal into lines: a result is put with its call, and entries that only machines need are left out unless all is
// set.
func (s *Site) timeline(at store.Attempt, all bool) ([]entry, error) {
	t, err := s.View.OpenJournal(at)
	if err != nil || t == nil {
		return nil, err
	}
	defer func() { _ = t.Close() }()
	var out []entry
	calls := map[string]int{}
	err = view.Drain(t, func(e journal.Entry) error {
		if e.Kind == history.KindToolResult && !all {
			var v agentruntime.ToolResult
			if json.Unmarshal(e.Detail, &v) == nil {
				if i, ok := calls[v.CallID]; ok {
					out[i].ended(v)
					return nil
				}
			}
		}
		if !all && quiet[e.Kind] || len(out) >= maxEntries {
			return nil
		}
		x := entryOf(e)
		if x.call != "" {
			calls[x.call] = len(out)
		}
		out = append(out, x)
		return nil
	})
	return out, err
}

// quiet are the kinds that say nothing to a person who follows the story.
var quiet = map[string]bool{
	history.KindUsage: true, history.KindState: true, history.KindSession: true, history.KindPolicy: true, history.KindVerdict: true, history.KindEnded: true,
	"claim": true, "process_started": true,
}

// shownText bounds a text of an entry; the bundle has the whole.
const shownText = 16 << 10

func entryOf(e journal.Entry) entry {
	x := entry{Seq: e.Seq, At: string(e.At), Word: wordOf(e.Kind), Summary: cutText(history.Summary(e))}
	switch e.Kind {
	case history.KindTurn:
		x.Class, x.Word = "turn quiet", ""
	case history.KindText:
		x.Class = "text"
	case history.KindToolCall:
		var v agentruntime.ToolCall
		if json.Unmarshal(e.Detail, &v) == nil {
			x.call, x.Word, x.Summary, x.Fold = v.CallID, v.Tool, history.Subject(v), true
			x.Parts = append(x.Parts, part{"input", cutText(pretty(v.Input))})
		}
	case history.KindToolResult:
		x.Fold = true
		x.Parts = append(x.Parts, part{"result", cutText(pretty(e.Detail))})
	case history.KindCompletion:
		x.completion(e.Detail)
	case history.KindRecovery:
		x.Class = "refused"
	case history.KindAction:
		x.Class = "person"
	case history.KindFault, history.KindStrange, history.KindLost:
		x.Class = "fault"
	default:
		x.Class, x.Fold, x.Summary = "quiet", len(e.Detail) > 2, ""
		if x.Fold {
			x.Parts = append(x.Parts, part{"detail", cutText(pretty(e.Detail))})
		}
	}
	return x
}

// completion shows what the agent stated when it said that it was done, and how the gate answered.
func (x *entry) completion(detail json.RawMessage) {
	var v agentruntime.CompletionAttempt
	if json.Unmarshal(detail, &v) != nil {
		return
	}
	x.Fold, x.Open, x.Summary = true, true, v.Claim
	x.Word, x.Class = "says it is done", "turn"
	if d := v.Decision; d != nil {
		x.Result = &finding{"good", "accepted"}
		x.Class = "turn accepted"
		if !d.Accepted {
			x.Result, x.Class = &finding{"bad", "refused"}, "turn refused"
			x.Parts = append(x.Parts, part{"because", "• " + strings.Join(d.Reasons, "\n• ")})
		}
	}
	if len(x.Parts) == 0 {
		x.Fold = false
	}
}

// ended sets the result of a call.
func (x *entry) ended(v agentruntime.ToolResult) {
	word := string(v.Status)
	if v.DurationMS > 0 {
		word += ", " + elapsed(v.DurationMS)
	}
	x.Result = &finding{"dim", word}
	if v.Status != agentruntime.ToolSuccess {
		x.Result.Class = "bad"
	}
	x.Parts = append(x.Parts, part{or(v.ErrorType, "output"), cutText(v.Output)})
}

func cutText(s string) string {
	if len(s) <= shownText {
		return s
	}
	return strings.ToValidUTF8(s[:shownText], "") + "\n… " + size(len(s)-shownText) + " more in the bundle"
}

func wordOf(kind string) string {
	if w, ok := map[string]string{
		history.KindText: "says", history.KindTurn: "turn", history.KindRecovery: "is told why", history.KindAction: "asks a person", history.KindFault: "service fault",
		history.KindStrange: "strange output", history.KindCompaction: "compacts its context", history.KindSubagent: "subagent", history.KindBudget: "budget", history.KindBound: "bound reached",
		history.KindClaimed: "claimed", history.KindBegun: "begun", history.KindSettling: "settles", history.KindResumed: "goes on", history.KindEnded: "turn ended", history.KindLost: "lost",
	}[kind]; ok {
		return w
	}
	return kind
}
