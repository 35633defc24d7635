package top

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/engine/view"
)

// Lines are the lines of a screen of the given size.
func (m *Model) Lines(width, height int) []string {
	head := m.header(width)
	body, chosen := m.body(width)
	room := max(height-len(head)-1, 1)
	if m.mode == browsing || m.mode != looking && m.before == browsing {
		m.top = scrolled(m.top, chosen, room, len(body))
	} else {
		m.top = max(min(m.top, len(body)-room), 0)
	}
	out := append([]string{}, head...)
	shown := body[m.top:min(m.top+room, len(body))]
	out = append(out, shown...)
	for len(out) < height-1 {
		out = append(out, "")
	}
	out = append(out[:max(height-1, 0)], m.footer(width, len(body)-m.top-len(shown)))
	for i := range out {
		out[i] = terminal.Fit(out[i], width)
	}
	return out
}

// scrolled is the first line that is shown so that the chosen one is among them.
func scrolled(top, chosen, room, lines int) int {
	top = min(top, max(lines-room, 0))
	if chosen <= 1 {
		return 0
	}
	return max(min(top, chosen-1), chosen-room+1, 0)
}

// Snapshot is the home as text, for what is no terminal.
func (m *Model) Snapshot(ctx context.Context, width int) ([]string, error) {
	h, err := m.desk.Home(ctx)
	if err != nil {
		return nil, err
	}
	m.home = h
	m.rows, m.chosen = m.rowsOf(), -1
	body, _ := m.homeLines(width)
	return append(m.header(width), body...), nil
}

func (m *Model) header(width int) []string {
	h := m.home
	state := m.Color.Green("dispatch on")
	if !slices.ContainsFunc(h.Runners, func(x view.Runner) bool { return x.Alive }) {
		state = m.Color.Yellow("no dispatcher runs")
	}
	if h.Paused != nil {
		state = m.Color.Yellow("paused")
		if h.Paused.Reason != "" {
			state += " " + terminal.Clean(h.Paused.Reason)
		}
	}
	money := "$" + usage.USD(h.Today.CountedMicroUSD) + " today"
	if h.Today.BudgetMicroUSD > 0 {
		money = "$" + usage.USD(h.Today.CountedMicroUSD) + " of $" + usage.USD(h.Today.BudgetMicroUSD) + " today"
	}
	c := h.Counts
	first := m.Color.Bold("deed") + "  " + state + "  " + money + "  " + m.Color.Dim(terminal.Clean(m.Title))
	second := fmt.Sprintf("%d running  %d queued  %d waiting  %d done  %d failed", c[string(agentruntime.TaskRunning)], h.Queue.Ready+h.Queue.Later,
		len(h.Waiting)+h.More["waiting"], c[string(agentruntime.TaskCompleted)], c[string(agentruntime.TaskPermanentFailure)])
	second += "  " + m.Color.Dim("24 h ") + plot(h.Hours) + m.success()
	return []string{terminal.Fit(first, width), terminal.Fit(second, width)}
}

// success is how much of what ended in the last day got through.
func (m *Model) success() string {
	var done, all int64
	for _, b := range m.home.Hours {
		done, all = done+b.Completed, all+b.Completed+b.Failed
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf(" %d %% done", done*100/all)
}

// plot draws what ended, hour by hour.
func plot(list []view.Bucket) string {
	const bars = "▁▂▃▄▅▆▇█"
	most := int64(1)
	for _, b := range list {
		most = max(most, b.Completed+b.Failed)
	}
	var out strings.Builder
	for _, b := range list {
		n := b.Completed + b.Failed
		if n == 0 {
			out.WriteRune('·')
			continue
		}
		out.WriteRune([]rune(bars)[min((n*8-1)/most, 7)])
	}
	return out.String()
}

func (m *Model) body(width int) (lines []string, chosen int) {
	at := m.mode
	if at == typing || at == deciding {
		at = m.before
	}
	switch at {
	case helping:
		return help, 0
	case looking:
		return m.taskLines(width), 0
	}
	return m.homeLines(width)
}

// help is what the keys do.
var help = []string{
	"",
	"  up, down, j, k      choose a line         page up, page down, g, G   further",
	"  enter               look at its task      esc, q                     back",
	"  a                   approve what is asked, or answer it",
	"  d                   deny it, with a reason that the agent is told",
	"  c                   cancel the task, after a question",
	"  r                   give the task another attempt now",
	"  p                   pause dispatch, or let it go on",
	"  q, Ctrl-C           quit",
	"",
	"  Any key goes back.",
}

// homeLines is the home, section by section, and the line of what is chosen.
func (m *Model) homeLines(width int) (lines []string, chosen int) {
	i := 0
	section := func(title, empty string, n, more int) {
		if n == 0 {
			if empty != "" {
				lines = append(lines, "", m.Color.Bold(title)+"  "+m.Color.Dim(empty))
			}
			return
		}
		lines = append(lines, "", m.Color.Bold(title))
		for range n {
			text := m.rows[i].text(width - 2)
			if i == m.chosen {
				chosen = len(lines)
				lines = append(lines, m.Color.Reverse("> "+terminal.Column(text, width-2)))
			} else {
				lines = append(lines, "  "+text)
			}
			i++
		}
		if more > 0 {
			lines = append(lines, m.Color.Dim(fmt.Sprintf("  and %d more", more)))
		}
	}
	h := m.home
	section("RUNNING", "nothing", len(h.Running), h.More["running"])
	section("WAITS FOR YOU", "", len(h.Waiting), h.More["waiting"])
	section("REFUSED", "", len(h.Refused), 0)
	section("ACCEPTED", "", len(h.Accepted), 0)
	if len(m.rows) == 0 {
		lines = append(lines, "", m.Color.Dim("  Add work with `deed task add`, run it with `deed serve`, and look here."))
	}
	return lines, chosen
}

func (m *Model) runningLine(r view.Running, width int) string {
	what := r.Phase
	switch {
	case r.Phase == view.PhaseWaiting:
		what = m.Color.Yellow("waits for you")
	case r.Phase == view.PhaseGone:
		what = m.Color.Yellow("its process is gone")
	case r.Phase == view.PhaseAgent && r.Tool != nil:
		what = terminal.Clean(r.Tool.Name) + " " + terminal.Clean(r.Tool.Subject)
	case r.Phase == view.PhaseAgent && r.Said != "":
		what = "“" + terminal.Clean(r.Said) + "”"
	}
	if r.Canceled {
		what = m.Color.Yellow("stopping")
	}
	took := clockTime(r.ElapsedMS)
	if r.TimeoutMS > 0 {
		took += " of " + clockTime(r.TimeoutMS)
	}
	cost := ""
	if r.CostMicroUSD > 0 || r.BudgetMicroUSD > 0 {
		cost = "  $" + usage.USD(r.CostMicroUSD)
		if r.BudgetMicroUSD > 0 {
			cost += " of $" + usage.USD(r.BudgetMicroUSD)
		}
	}
	tail := fmt.Sprintf("  turn %d  %s%s", r.Turn, took, cost)
	if r.Refusals > 0 {
		tail = m.Color.Yellow(fmt.Sprintf("  refused %d times", r.Refusals)) + tail
	}
	name := terminal.Clean(r.Agent)
	room := max(width-2-terminal.Width(name)-terminal.Width(tail), 12)
	subject := max(room*2/5, 6)
	return terminal.Fit(terminal.Column(terminal.Clean(r.Subject), subject)+"  "+name+"  "+terminal.Column(what, max(room-subject-2, 4))+tail, width)
}

func (m *Model) waitingLine(w view.Waiting, width int) string {
	key := m.Color.Dim("  " + w.Command)
	if w.Action != nil || w.Kind == view.KindApply {
		key = m.Color.Dim("  a, d")
	}
	room := max(width-terminal.Width(key), 10)
	return terminal.Fit(terminal.Column(m.Color.Yellow("? ")+terminal.Clean(w.About), room)+key, width)
}

func (m *Model) refusedLine(x view.Refused, width int) string {
	why := terminal.Clean(x.Error)
	if len(x.Reasons) > 0 {
		why = terminal.Clean(x.Reasons[0].Code + ": " + x.Reasons[0].Message)
		if n := len(x.Reasons) - 1 + x.MoreWhy; n > 0 {
			why += fmt.Sprintf(" (and %d more)", n)
		}
	}
	subject := max(width/3, 10)
	return terminal.Fit(m.Color.Red("✗ ")+terminal.Column(terminal.Clean(x.Subject), subject)+"  "+x.Class+"  "+m.Color.Dim(why), width)
}

func (m *Model) acceptedLine(p view.Accepted, width int) string {
	proof := plural(int64(len(p.ChecksPassed)), "check")
	if n := len(p.ChecksPassed); n > 0 {
		proof = "checks " + terminal.Clean(strings.Join(p.ChecksPassed, ", "))
	}
	if p.Grade != "" {
		proof = p.Grade + ", " + proof
	}
	if p.NoOp {
		proof += ", nothing changed"
	} else {
		proof += ", " + plural(int64(p.FilesChanged), "file")
	}
	if p.CostMicroUSD > 0 {
		proof += ", $" + usage.USD(p.CostMicroUSD)
	}
	subject := max(width/2, 10)
	return terminal.Fit(m.Color.Green("✓ ")+terminal.Column(terminal.Clean(p.Subject), subject)+"  "+m.Color.Dim(proof), width)
}

// footer says what can be done, or what is asked, or what was done.
func (m *Model) footer(width, below int) string {
	switch {
	case m.mode == typing:
		return terminal.Fit(m.Color.Bold(m.ask)+tail(string(m.typed), width-len(m.ask)-2)+"█", width)
	case m.mode == deciding:
		return m.Color.Bold(m.ask) + " y or n"
	case m.message != "" && m.fault:
		return terminal.Fit(m.Color.Red(m.message), width)
	case m.message != "":
		return terminal.Fit(m.Color.Yellow(m.message), width)
	}
	keys := "enter look  a approve  d deny  c cancel  r retry  p pause  ? help  q quit"
	if m.mode == looking {
		keys = "j k scroll  a approve  d deny  c cancel  r retry  esc back  ? help"
	}
	if below > 0 {
		keys += fmt.Sprintf("  (%d more below)", below)
	}
	return m.Color.Dim(terminal.Fit(keys, width))
}

// tail is the end of a text that fits.
func tail(s string, width int) string {
	r := []rune(s)
	return string(r[max(len(r)-max(width, 0), 0):])
}

// taskLines are a task with all that is known of it.
func (m *Model) taskLines(width int) []string {
	t := m.task
	var out []string
	add := func(name, text string) {
		if text != "" {
			out = append(out, terminal.Fit(m.Color.Dim(terminal.Pad(name, 10))+text, width))
		}
	}
	out = append(out, "", terminal.Fit(m.Color.Bold(terminal.Clean(t.Subject)), width))
	add("task", t.Task.TaskID)
	add("status", string(t.Task.Status))
	add("path", m.path(t.Path))
	if t.Task.LastError != nil {
		add("error", terminal.Clean(*t.Task.LastError))
	}
	if u := t.Usage; u.Turns > 0 || u.CountedMicroUSD > 0 {
		add("used", fmt.Sprintf("%s, %d tokens in, %d out, $%s", plural(u.Turns, "turn"), u.InputTokens, u.OutputTokens, usage.USD(u.CountedMicroUSD)))
	}
	for _, x := range t.Actions {
		if x.State == "open" {
			add("asks you", m.Color.Yellow(terminal.Clean(x.Prompt)))
			add("", terminal.Clean(x.Why))
		}
	}
	for _, at := range t.Attempts {
		out = append(out, "")
		out = append(out, m.attemptLines(at, width)...)
	}
	if len(m.items) > 0 {
		out = append(out, "", m.Color.Bold("what it did"))
		for _, it := range m.items {
			if line := m.itemLine(it); line != "" {
				out = append(out, terminal.Fit("  "+line, width))
			}
		}
	}
	return out
}

// path draws where the task stands.
func (m *Model) path(steps []view.Step) string {
	var parts []string
	for _, s := range steps {
		switch s.State {
		case view.StepDone:
			parts = append(parts, m.Color.Green("✓ "+s.Name))
		case view.StepNow:
			parts = append(parts, m.Color.Bold("● "+s.Name))
		case view.StepWaiting:
			parts = append(parts, m.Color.Yellow("? "+s.Name))
		case view.StepFailed:
			parts = append(parts, m.Color.Red("✗ "+s.Name))
		default:
			parts = append(parts, m.Color.Dim("· "+s.Name))
		}
	}
	return strings.Join(parts, " ")
}

func (m *Model) attemptLines(at view.Attempt, width int) []string {
	var out []string
	add := func(text string) { out = append(out, terminal.Fit(text, width)) }
	add(m.Color.Bold(fmt.Sprintf("attempt %d", at.Number)) + "  " + terminal.Clean(at.AdapterID) + "  " + at.State + "  " + at.Class)
	if c := at.Claim; c != nil {
		add("  claims   " + c.Status + " “" + terminal.Clean(c.Summary) + "”")
	}
	if c := at.Changes; c != nil {
		text := plural(int64(c.Total), "file")
		for i, f := range c.Files[:min(len(c.Files), 3)] {
			text += map[bool]string{true: ": ", false: ", "}[i == 0] + terminal.Clean(f.Path)
		}
		add("  changed  " + text)
	}
	if v := at.Verdict; v != nil {
		word := m.Color.Red("refused")
		if v.Accepted {
			word = m.Color.Green("accepted")
		}
		add("  verdict  " + word)
		for _, r := range v.Reasons {
			add("    " + m.Color.Red("✗ ") + terminal.Clean(r.Code+"  "+r.Message))
		}
		for _, c := range v.Checks {
			mark := m.Color.Green("✓ ")
			if c.Status != deed.CheckPassed {
				mark = m.Color.Red("✗ ")
			}
			add("    " + mark + terminal.Clean("check "+c.Name+": "+c.Status))
		}
	} else if at.Error != "" {
		add("  error    " + m.Color.Red(terminal.Clean(at.Error)))
	}
	if at.Progress != nil {
		add("  now      " + m.runningLine(*at.Progress, width-11))
	}
	return out
}

// itemLine is an entry of a journal in one line; empty for an entry that is not worth one.
func (m *Model) itemLine(it view.Item) string {
	switch it.Kind {
	case "agent_text":
		return m.Color.Dim("says  ") + terminal.Clean(it.Text)
	case "tool_call":
		return m.Color.Dim("calls ") + terminal.Clean(it.Text)
	case "tool_result":
		if it.Tool != nil && it.Tool.Status != string(agentruntime.ToolSuccess) {
			return m.Color.Red("      " + terminal.Clean(it.Text))
		}
		return ""
	case "completion_attempt", "recovery_attempt", "required_action", "policy_decision", "bound_reached", "provider_fault":
		return m.Color.Yellow(terminal.Pad(strings.Split(it.Kind, "_")[0], 11)) + terminal.Clean(it.Text)
	}
	return ""
}

// clockTime is a time that something takes, as a person reads it.
func clockTime(ms int64) string {
	d := (time.Duration(ms) * time.Millisecond).Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}
