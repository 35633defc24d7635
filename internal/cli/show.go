package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/store"
)

func (a *app) taskShowCmd() *cobra.Command {
	return &cobra.Command{
		Use: "show TASK", Short: "Show a task, its attempts and why it stands where it stands", Args: names("TASK"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			t, err := a.oneTask(ctx, args[0])
			if err != nil {
				return err
			}
			m, err := a.models().Task(ctx, t.ID())
			if err != nil {
				return err
			}
			if a.json {
				return a.emit(m)
			}
			a.showTask(t)
			a.showUsage(t, m.Usage)
			for _, at := range m.Attempts {
				a.printf("\n")
				a.showAttempt(at)
				if err := a.showFailedRun(ctx, at); err != nil {
					return err
				}
				if p := at.Progress; p != nil && p.Phase == view.PhaseGone {
					a.hint("the process that ran it is gone; `deed serve` or `deed dispatch` settles it")
				}
			}
			return nil
		},
	}
}

func (a *app) field(name, value string) {
	if value != "" {
		a.printf("%s %s\n", a.color.Dim(fmt.Sprintf("%-10s", name)), value)
	}
}

func (a *app) showTask(t store.Task) {
	r := t.Record
	a.field("task", a.color.Bold(t.ID()))
	a.field("about", clean(title(t)))
	a.field("type", r.TaskType)
	if t.WorkflowID != "" {
		a.field("workflow", fmt.Sprintf("%s  (%s)", t.WorkflowID, clean(workflowPlace(t))))
	}
	a.field("status", a.status(r.Status))
	a.field("adapter", deref(r.RequestedAdapterID))
	a.field("priority", fmt.Sprint(r.Priority))
	a.field("attempts", fmt.Sprintf("%d of %d", r.AttemptCount, r.MaxAttempts))
	a.field("created", string(r.CreatedAt))
	if r.Status == agentruntime.TaskPending || r.Status == agentruntime.TaskRetryableFailure {
		a.field("due", string(r.AvailableAt))
	}
	if r.Outcome != nil {
		a.field("outcome", clean(r.Outcome.OperatorSummary))
	}
	a.field("last error", clean(deref(r.LastError)))
	if t.CancelRequested {
		a.field("cancel", "requested")
	}
}

// workflowPlace says at which state of its workflow a task stands.
func workflowPlace(t store.Task) string {
	if r := t.Intent.WorkflowRef; r != nil {
		return "state " + r.StateID + " of " + r.InstanceKey
	}
	return ""
}

func deref[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}

// models reads what is shown. It is closed with the home.
func (a *app) models() *view.Reader {
	if a.seen == nil {
		a.seen = view.New(view.Source{Store: a.st, Home: a.h, Config: a.cfg})
	}
	return a.seen
}

func (a *app) showAttempt(at view.Attempt) {
	a.field("attempt", a.color.Bold(at.AttemptID))
	a.field("adapter", at.AdapterID+" ("+at.AdapterKind+")")
	a.field("state", at.State)
	a.field("runner", at.RunnerID)
	a.field("started", string(at.StartedAt))
	a.field("ended", deref(at.EndedAt))
	if !at.Live {
		a.field("exit", string(at.ExitStatus))
		a.field("class", at.Class)
	}
	if at.Claim != nil {
		a.showClaim(at.Claim.Status, at.Claim.Summary)
	}
	if at.Verdict != nil {
		a.showVerdict(*at.Verdict)
	} else {
		a.field("error", clean(at.Error))
	}
	a.field("bundle", at.Bundle)
}

// showFailedRun says that the run of an accepted attempt did not succeed: what came after the verdict failed, and the task stays completed.
func (a *app) showFailedRun(ctx context.Context, at view.Attempt) error {
	if at.Verdict == nil || !at.Verdict.Accepted {
		return nil
	}
	runs, err := a.st.Runs(ctx, store.RunFilter{AttemptID: at.AttemptID, Limit: 1})
	if err != nil || len(runs) == 0 || runs[0].Live || runs[0].Record.Status == evidence.RunSucceeded {
		return err
	}
	text := runs[0].ID() + " " + string(runs[0].Record.Status)
	if e := runs[0].Record.Error; e != nil {
		text += ": " + clean(e.Message)
	}
	a.field("run", text)
	return nil
}

// showClaim prints what the agent said, as a claim.
func (a *app) showClaim(status, summary string) {
	if summary == "" {
		a.field("claim", status)
		return
	}
	a.field("claim", status+" “"+shorten(clean(summary), 100)+"”")
}

// showVerdict prints the decision and every reason for it.
func (a *app) showVerdict(v deed.Verdict) {
	word := a.color.Red("rejected")
	if v.Accepted {
		word = a.color.Green("accepted")
		if v.NoOp {
			word += " (nothing changed)"
		}
	}
	a.field("verdict", word)
	if p := v.Proof(); p != "" {
		if v.Grade == deed.GradeUnchecked {
			p += " (give one: --check test, or --check 'make test')"
		}
		a.field("proof", p)
	}
	for _, r := range v.Reasons {
		a.printf("           %s %s  %s\n", a.color.Red("✗"), r.Code, clean(r.Message))
	}
	for _, c := range v.Checks {
		mark := a.color.Green("✓")
		if c.Status != "passed" {
			mark = a.color.Red("✗")
		}
		a.printf("           %s check %s: %s in %s%s\n", mark, clean(c.Name), c.Status, (time.Duration(c.DurationMS) * time.Millisecond).Round(time.Millisecond), compared(c))
		if m := c.Comparison; m != nil {
			a.showNames("fixed", m.Fixed, m.Counts["fixed"])
			a.showNames("new", m.New, m.Counts["new"])
		}
	}
	for _, r := range v.Notes {
		a.printf("           %s %s  %s\n", a.color.Dim("·"), r.Code, clean(r.Message))
	}
}

// compared says in figures what a check by capability saw.
func compared(c deed.CheckResult) string {
	m := c.Comparison
	if m == nil {
		return ""
	}
	if t := m.After; t != nil {
		s := fmt.Sprintf("; %d tests, %d passed, %d failed, %d skipped", t.Total, t.Passed, t.Failed, t.Skipped)
		if b := m.Base; b != nil {
			s += fmt.Sprintf(" (on the base %d, %d, %d, %d)", b.Total, b.Passed, b.Failed, b.Skipped)
		}
		return s
	}
	return fmt.Sprintf("; findings: %d introduced, %d resolved, %d unchanged", m.Counts["introduced"], m.Counts["resolved"], m.Counts["unchanged"])
}

// showNames names a few of some tests, and says how many there are.
func (a *app) showNames(what string, list []string, count int) {
	const most = 5
	if len(list) == 0 {
		return
	}
	names := strings.Join(list[:min(len(list), most)], ", ")
	if count > most {
		names += fmt.Sprintf(" and %d more", count-most)
	}
	a.printf("             %s: %s\n", what, clean(names))
}

func (a *app) taskLogsCmd() *cobra.Command {
	var stderr bool
	c := &cobra.Command{
		Use: "logs TASK", Short: "Print what the task's newest attempt wrote", Args: names("TASK"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			t, err := a.oneTask(ctx, args[0])
			if err != nil {
				return err
			}
			attempts, err := a.st.Attempts(ctx, t.ID())
			if err != nil {
				return err
			}
			if len(attempts) == 0 {
				return usage(fmt.Errorf("task %s has no attempt yet", t.ID()))
			}
			at := attempts[len(attempts)-1]
			stream := view.Stdout
			if stderr {
				stream = view.Stderr
			}
			path, err := a.models().LogPath(at, stream)
			if errors.Is(err, fs.ErrNotExist) {
				return usage(fmt.Errorf("attempt %s has written nothing", at.Record.AttemptID))
			}
			if err != nil {
				return err
			}
			return a.copyLog(path)
		},
	}
	c.Flags().BoolVar(&stderr, "stderr", false, "standard error instead of standard output")
	return c
}

func (a *app) copyLog(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	defer func() { _ = f.Close() }()
	if a.json {
		data, err := io.ReadAll(io.LimitReader(f, 64<<20))
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		return a.emit(map[string]any{"path": path, "text": string(data)})
	}
	if !isTerminal(a.Out) {
		_, err = io.Copy(a.Out, f)
		return err
	}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() { // what an agent wrote must not drive the terminal
		a.printf("%s\n", cleanLines(sc.Text()))
	}
	return sc.Err()
}
