package page

import (
	"fmt"
	"html/template"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/store"
)

// functions are what templates can call. Each is about how a thing looks.
func functions() template.FuncMap {
	return template.FuncMap{
		"asset": assetURL, "text": func(v any) string { return plain(fmt.Sprint(v)) }, "line": func(most int, v any) string { return line(most, fmt.Sprint(v)) },
		"ago": func(v any) string { return ago(fmt.Sprint(v), clock.System()) }, "short": short, "money": money, "count": count, "plural": plural,
		"elapsed": elapsed, "bytes": size, "clockTime": clockTime, "stamp": stamp, "deref": func(s *string) string { return *s },
		"statusClass": statusClass, "statusWord": statusWord, "phaseClass": phaseClass, "phaseWord": phaseWord, "stepWord": stepWord, "flowClass": flowClass,
		"outboxClass": outboxClass, "letter": letter, "sign": sign, "more": more, "took": took, "claimed": claimed, "unclaimed": unclaimed, "firstFew": firstFew,
	}
}

// more is a count, and what a bounded list lacks on top of it.
func more(lacks, n int) int { return n + lacks }

// short is enough of an id to distinguish it from others and to give it to a command. Ids begin with the millisecond, and what
// distinguishes those of one millisecond comes after it, so the beginning is long.
func short(id string) string {
	if len(id) == 36 && strings.Count(id, "-") == 4 {
		return id[:18]
	}
	return id[:min(len(id), 12)]
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return string(agentruntime.At(t))
}

// ago is a time as people say it; the script says it the same way and keeps it current.
func ago(at string, now time.Time) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return ""
	}
	d := now.Sub(t)
	switch {
	case d < -time.Second:
		return "in " + about(-d)
	case d < 5*time.Second:
		return "now"
	}
	return about(d) + " ago"
}

func about(d time.Duration) string {
	s := int64(d / time.Second)
	switch {
	case s >= 86400:
		return two(s/86400, "d", s%86400/3600, "h")
	case s >= 3600:
		return two(s/3600, "h", s%3600/60, "m")
	case s >= 60:
		return fmt.Sprintf("%dm", s/60)
	}
	return fmt.Sprintf("%ds", s)
}

func two(a int64, u string, b int64, v string) string {
	if b == 0 {
		return fmt.Sprintf("%d%s", a, u)
	}
	return fmt.Sprintf("%d%s %d%s", a, u, b, v)
}

// elapsed is a duration in milliseconds.
func elapsed(v any) string {
	ms := number(v)
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

// clockTime is the time of day of an instant, to the tenth of a second.
func clockTime(at any) string {
	t, err := time.Parse(time.RFC3339Nano, fmt.Sprint(at))
	if err != nil {
		return ""
	}
	return t.UTC().Format("15:04:05.0")
}

func number(v any) int64 {
	n, _ := strconv.ParseInt(fmt.Sprint(v), 10, 64) // of another form it is 0
	return n
}

// money is an amount in millionths of a dollar: cents where that says enough, more digits for less.
func money(v any) string {
	micro := number(v)
	d := float64(micro) / 1e6
	switch {
	case micro == 0:
		return "$0"
	case d < 0.01:
		return fmt.Sprintf("$%.4f", d)
	case d < 1000:
		return fmt.Sprintf("$%.2f", d)
	}
	return "$" + count(micro/1_000_000)
}

// count is a number with its thousands apart, or in thousands and millions when it is large.
func count(v any) string {
	n := number(v)
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%.0f M", float64(n)/1e6)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.0f k", float64(n)/1e3)
	case n >= 1000:
		return fmt.Sprintf("%d %03d", n/1000, n%1000)
	}
	return strconv.FormatInt(n, 10)
}

func plural(v any, noun string) string {
	n := number(v)
	if n == 1 {
		return "1 " + noun
	}
	if s, ok := strings.CutSuffix(noun, "y"); ok {
		noun = s + "ie"
	}
	return count(n) + " " + noun + "s"
}

func size(v any) string {
	n := float64(number(v))
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", n/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f kB", n/(1<<10))
	}
	return fmt.Sprintf("%.0f B", n)
}

func statusClass(v any) string {
	switch agentruntime.TaskStatus(fmt.Sprint(v)) {
	case agentruntime.TaskRunning:
		return "live"
	case agentruntime.TaskCompleted:
		return "good"
	case agentruntime.TaskPermanentFailure:
		return "bad"
	case agentruntime.TaskBlocked, agentruntime.TaskRetryableFailure:
		return "wait"
	}
	return ""
}

func statusWord(v any) string {
	s := fmt.Sprint(v)
	switch agentruntime.TaskStatus(s) {
	case agentruntime.TaskPending:
		return "queued"
	case agentruntime.TaskRunning:
		return "running"
	case agentruntime.TaskCompleted:
		return "accepted"
	case agentruntime.TaskRetryableFailure:
		return "to retry"
	case agentruntime.TaskPermanentFailure:
		return "failed"
	case agentruntime.TaskBlocked:
		return "waits for you"
	case agentruntime.TaskOperatorCanceled:
		return "cancelled"
	}
	return s
}

func phaseClass(phase string) string {
	switch phase {
	case view.PhaseWaiting, view.PhaseGone:
		return "wait"
	case view.PhaseAgent:
		return "live"
	}
	return ""
}

func phaseWord(phase string) string {
	switch phase {
	case view.PhaseAgent:
		return "works"
	case view.PhaseWaiting:
		return "waits for you"
	case view.PhaseJudging:
		return "is judged"
	case view.PhaseGone:
		return "its process is gone"
	}
	return phase
}

func stepWord(state string) string {
	return map[string]string{
		view.StepDone: "done", view.StepNow: "it stands here", view.StepWaiting: "it waits here", view.StepFailed: "failed", view.StepAhead: "not reached", view.StepNone: "nothing to do",
	}[state]
}

func flowClass(v any) string {
	switch agentruntime.WorkflowStatus(fmt.Sprint(v)) {
	case agentruntime.WorkflowBlocked:
		return "wait"
	case agentruntime.WorkflowCompleted:
		return "good"
	case agentruntime.WorkflowActive:
		return "live"
	}
	return ""
}

func outboxClass(state string) string {
	switch state {
	case store.OutboxFailed:
		return "bad"
	case store.OutboxHeld:
		return "wait"
	case store.OutboxDelivered:
		return "good"
	}
	return ""
}

func letter(status string) string {
	switch status {
	case "added":
		return "A"
	case "deleted":
		return "D"
	case "modified":
		return "M"
	case "renamed":
		return "R"
	}
	return strings.ToUpper(status[:min(len(status), 1)])
}

func sign(kind string) string {
	switch kind {
	case "add":
		return "+"
	case "del":
		return "−"
	}
	return ""
}

// took is how long an attempt lasted, or lasts.
func took(a view.Attempt) string {
	from, err := a.StartedAt.Time()
	if err != nil {
		return ""
	}
	to := clock.System()
	if a.EndedAt != nil {
		if t, err := a.EndedAt.Time(); err == nil {
			to = t
		}
	}
	return elapsed(to.Sub(from).Milliseconds())
}

// A finding is what deed found of something that was claimed.
type finding struct{ Class, Word string }

// claimed compares a file that an agent names with what deed found.
func claimed(a view.Attempt, name string) *finding {
	if a.Changes == nil || a.Live {
		return nil
	}
	for _, f := range a.Changes.Files {
		if sameFile(f.Path, name) {
			return &finding{"good", "changed"}
		}
	}
	if a.Changes.Total > len(a.Changes.Files) {
		return nil // the list is not whole
	}
	return &finding{"bad", "not changed"}
}

// unclaimed reports that a file was changed and the agent names others.
func unclaimed(a view.Attempt, name string) bool {
	if a.Claim == nil || len(a.Claim.FileChanges) == 0 {
		return false
	}
	for _, f := range a.Claim.FileChanges {
		if sameFile(name, f) {
			return false
		}
	}
	return true
}

// sameFile reports that a claim can mean a changed file: an agent names it from the sandbox's root, from where it starts or from the top of
// the tree, and the list names it from its workspace. What the claim did mean is for the verdict to say.
func sameFile(changed, claim string) bool {
	claim = "/" + path.Clean(strings.TrimSpace(claim))
	return strings.HasSuffix("/"+changed, claim) || strings.HasSuffix(claim, "/"+changed)
}

// firstFew bounds a list of files on the first view; the change has all of them.
func firstFew(list []view.Changed) []view.Changed { return list[:min(len(list), 12)] }
