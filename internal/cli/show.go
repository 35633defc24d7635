package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/driver"
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
			attempts, err := a.st.Attempts(ctx, t.ID())
			if err != nil {
				return err
			}
			arts, err := a.st.Artifacts(ctx, t.ID())
			if err != nil {
				return err
			}
			used, err := a.st.UsageOfTask(ctx, t.ID())
			if err != nil {
				return err
			}
			if arts == nil {
				arts = []agentruntime.ArtifactRecord{}
			}
			if a.json {
				docs := make([]attemptDoc, len(attempts))
				for i, at := range attempts {
					docs[i] = a.attemptDoc(at)
				}
				return a.emit(map[string]any{"task": t.Record, "intent": t.Intent, "attempts": docs, "artifacts": arts, "workflow_id": t.WorkflowID, "cancel_requested": t.CancelRequested, "usage": store.SumUsage(used)})
			}
			a.showTask(t)
			a.showUsage(t, store.SumUsage(used))
			for _, at := range attempts {
				a.printf("\n")
				a.showAttempt(at)
			}
			return nil
		},
	}
}

func (a *app) field(name, value string) {
	if value != "" {
		a.printf("%s %s\n", a.color.dim(fmt.Sprintf("%-10s", name)), value)
	}
}

func (a *app) showTask(t store.Task) {
	r := t.Record
	a.field("task", a.color.bold(t.ID()))
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

// attemptDoc is an attempt as --json shows it.
type attemptDoc struct {
	agentruntime.TaskAttempt
	State     string          `json:"state"`
	Class     string          `json:"class"`
	Fence     int64           `json:"fence"`
	BriefHash string          `json:"brief_hash"`
	SpecHash  string          `json:"spec_hash"`
	BundleID  string          `json:"bundle_id"`
	Bundle    string          `json:"bundle"`
	Verdict   json.RawMessage `json:"verdict"`
}

func (a *app) attemptDoc(at store.Attempt) attemptDoc {
	d := attemptDoc{
		TaskAttempt: at.Record, State: at.State, Class: at.Class, Fence: at.Fence,
		BriefHash: at.BriefHash, SpecHash: at.SpecHash, BundleID: at.BundleID, Verdict: at.Verdict,
	}
	if at.BundleDir != "" {
		d.Bundle = filepath.Join(a.h.Root(), at.BundleDir)
	}
	if len(d.Verdict) == 0 {
		d.Verdict = json.RawMessage("null")
	}
	return d
}

func (a *app) showAttempt(at store.Attempt) {
	r := at.Record
	a.field("attempt", a.color.bold(r.AttemptID))
	a.field("adapter", r.AdapterID+" ("+r.AdapterKind+")")
	a.field("state", at.State)
	a.field("runner", r.RunnerID)
	a.field("started", string(r.StartedAt))
	a.field("ended", deref(r.EndedAt))
	if !at.Live {
		a.field("exit", string(r.ExitStatus))
		a.field("class", at.Class)
	}
	var d struct {
		Error string `json:"error"`
		Claim *struct {
			Status  string `json:"status"`
			Summary string `json:"summary"`
		} `json:"claim"`
	}
	if len(r.Diagnostics) > 0 && json.Unmarshal(r.Diagnostics, &d) == nil {
		if d.Claim != nil {
			a.showClaim(d.Claim.Status, d.Claim.Summary)
		}
		if len(at.Verdict) == 0 {
			a.field("error", clean(d.Error))
		}
	}
	if len(at.Verdict) > 0 {
		var v deed.Verdict
		if json.Unmarshal(at.Verdict, &v) == nil && v.Schema != "" {
			a.showVerdict(v)
		}
	}
	if at.BundleDir != "" {
		a.field("bundle", filepath.Join(a.h.Root(), at.BundleDir))
	}
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
	word := a.color.red("rejected")
	if v.Accepted {
		word = a.color.green("accepted")
		if v.NoOp {
			word += " (nothing changed)"
		}
	}
	a.field("verdict", word)
	for _, r := range v.Reasons {
		a.printf("           %s %s  %s\n", a.color.red("✗"), r.Code, clean(r.Message))
	}
	for _, c := range v.Checks {
		mark := a.color.green("✓")
		if c.Status != "passed" {
			mark = a.color.red("✗")
		}
		a.printf("           %s check %s: %s in %s%s\n", mark, clean(c.Name), c.Status, (time.Duration(c.DurationMS) * time.Millisecond).Round(time.Millisecond), compared(c))
		if m := c.Comparison; m != nil {
			a.showNames("mended", m.Fixed, m.Counts["fixed"])
			a.showNames("new", m.New, m.Counts["new"])
		}
	}
	for _, r := range v.Notes {
		a.printf("           %s %s  %s\n", a.color.dim("·"), r.Code, clean(r.Message))
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
			path, err := a.logPath(at, stderr)
			if err != nil {
				return err
			}
			return a.copyLog(path)
		},
	}
	c.Flags().BoolVar(&stderr, "stderr", false, "standard error instead of standard output")
	return c
}

// logPath finds an attempt's output: in its bundle, or in its directory while it runs.
func (a *app) logPath(at store.Attempt, stderr bool) (string, error) {
	name, rel := driver.StdoutFile, at.Record.StdoutPath
	if stderr {
		name, rel = driver.StderrFile, at.Record.StderrPath
	}
	if at.BundleDir != "" && rel != "" {
		return filepath.Join(a.h.Root(), at.BundleDir, rel), nil
	}
	live := filepath.Join(a.h.Attempt(at.Record.AttemptID), "run", name)
	if _, err := os.Stat(live); errors.Is(err, fs.ErrNotExist) {
		return "", usage(fmt.Errorf("attempt %s has written nothing", at.Record.AttemptID))
	}
	return live, nil
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
