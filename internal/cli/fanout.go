package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
)

func (a *app) fanoutCmd() *cobra.Command {
	c := group("fanout", "Make many tasks of one plan, run them, and reconcile what came back",
		a.fanoutPlanCmd(), a.fanoutRunCmd(), a.fanoutStatusCmd(), a.fanoutListCmd(), a.fanoutResumeCmd(), a.fanoutCancelCmd(), a.fanoutReconcileCmd())
	c.Long = `A fanout groups items, or the findings of a check, into tasks by a template, runs them a few at a time, and reconciles the
records that come back with the plan. docs/FANOUT.md has the configuration, the template language and the rules.`
	return c
}

// fanoutPlanFlags say what a plan is made of.
type fanoutPlanFlags struct {
	config, items, findings, output string
	fresh                           bool
	matrix                          []string
	request, id                     string
}

func (a *app) fanoutPlanCmd() *cobra.Command {
	var f fanoutPlanFlags
	c := &cobra.Command{
		Use: "plan", Short: "Make the plan of a fanout; nothing is started",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%q is one argument too many (a configuration is named with --config, a report of a check with --findings)", args[0])
			}
			return nil
		},
		Long: `Make the plan of a fanout. Nothing is started.

  deed fanout plan --config C --items I --output P       items, grouped into tasks
  deed fanout plan --findings REPORT --output P          findings of deed lint|test|check|audit --json, or SARIF
  deed fanout plan --matrix backend=a,b --request R      one task on several backends`,
		RunE: func(*cobra.Command, []string) error { return a.fanoutPlan(f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "the configuration: a `FILE`, or - for standard input")
	fl.StringVar(&f.items, "items", "", "the items in place of the configuration's: a `FILE` with a JSON array or JSON lines, or -")
	fl.StringVar(&f.findings, "findings", "", "a `REPORT` of a check whose findings are the items, or -")
	fl.BoolVar(&f.fresh, "new", false, "leave out findings that the baseline has")
	fl.StringArrayVar(&f.matrix, "matrix", nil, "an `AXIS=VALUE,VALUE` of a matrix; repeatable. AXIS is backend, selector, runtime, model or a dotted path in the request")
	fl.StringVar(&f.request, "request", "", "the task of a matrix: a request `FILE`, or -")
	fl.StringVar(&f.id, "id", "", "the `ID` of a matrix (default: the task_id of its request)")
	fl.StringVar(&f.output, "output", "", "write the plan to `FILE`, or - for standard output")
	return c
}

func (f fanoutPlanFlags) contradiction() error {
	switch matrix := len(f.matrix) > 0; {
	case matrix && (f.config != "" || f.items != "" || f.findings != ""):
		return errors.New("--matrix makes a plan of one request; leave out --config, --items and --findings")
	case matrix && f.request == "":
		return errors.New("--matrix needs the task: name its request with --request")
	case !matrix && (f.request != "" || f.id != ""):
		return errors.New("--request and --id belong to a matrix; name its axes with --matrix backend=a,b")
	case !matrix && f.config == "" && f.findings == "":
		return errors.New("name the configuration with --config, a report with --findings, or a matrix with --matrix")
	case f.items != "" && f.findings != "":
		return errors.New("--items and --findings both name the items; keep one")
	case f.fresh && f.findings == "":
		return errors.New("--new belongs to --findings")
	}
	return onceStdin(f.config, f.items, f.findings, f.request)
}

// onceStdin refuses two inputs that are both standard input.
func onceStdin(names ...string) error {
	if slices.Index(names, "-") != -1 && slices.Contains(names[slices.Index(names, "-")+1:], "-") {
		return errors.New("standard input (-) can be read once; give the other input as a file")
	}
	return nil
}

func (a *app) fanoutPlan(f fanoutPlanFlags) error {
	if err := f.contradiction(); err != nil {
		return usage(err)
	}
	if len(f.matrix) > 0 {
		return a.fanoutMatrix(f)
	}
	config, err := a.fanoutFile(f.config, "{}")
	if err != nil {
		return err
	}
	p, err := a.planOf(f, config)
	if err != nil {
		return err
	}
	return a.reportPlan(p, f.output)
}

// planOf makes the plan of a configuration. It is a plan of findings when the configuration says so or a report is
// given.
func (a *app) planOf(f fanoutPlanFlags, config []byte) (homeboy.FanoutPlan, error) {
	var head struct {
		Schema homeboy.Value `json:"schema"`
		One    homeboy.Value `json:"packets"`
		Two    homeboy.Value `json:"finding_packets"`
		Three  homeboy.Value `json:"findingPackets"`
	}
	_ = json.Unmarshal(config, &head) // the readers report what is wrong with it
	schema, _ := head.Schema.Text()
	if f.findings != "" || schema == homeboy.SchemaFindingFanoutConfig || head.One != nil || head.Two != nil || head.Three != nil {
		return a.planFindings(f, config)
	}
	c, warnings, err := homeboy.ReadFanoutConfig(config)
	if err != nil {
		return homeboy.FanoutPlan{}, inFile(f.config, err)
	}
	a.reportWarnings(f.config, warnings)
	var items []homeboy.Value
	if f.items != "" {
		if items, err = a.fanoutList(f.items, "items"); err != nil {
			return homeboy.FanoutPlan{}, err
		}
	}
	p, err := fanout.Plan(c, items)
	return p, inFile(f.config, err)
}

func (a *app) planFindings(f fanoutPlanFlags, config []byte) (homeboy.FanoutPlan, error) {
	c, warnings, err := homeboy.ReadFindingFanoutConfig(config)
	if err != nil {
		return homeboy.FanoutPlan{}, inFile(f.config, err)
	}
	for _, name := range []string{"items", "groups"} {
		if f.items != "" || !c.Extra[name].Null() {
			return homeboy.FanoutPlan{}, inFile(f.config, fault.Faults{{
				Path: fault.Field(fault.Root, name), Code: fault.Conflict, Message: "stands beside findings, which are the items", Remedy: "keep one of the two",
			}})
		}
	}
	if f.config != "" {
		a.reportWarnings(f.config, warnings)
	}
	if f.findings != "" {
		report, err := a.fanoutFile(f.findings, "")
		if err != nil {
			return homeboy.FanoutPlan{}, err
		}
		packets, err := fanout.Packets(report, f.fresh)
		if err != nil {
			return homeboy.FanoutPlan{}, inFile(f.findings, err)
		}
		c.Packets = append(c.Packets, packets...)
		withoutPackets(&c)
	}
	p, err := fanout.PlanFindings(c)
	return p, inFile(f.config, err)
}

// withoutPackets keeps a report out of each of its findings, unless the policy asks for it: a plan would grow with the
// square of a report.
func withoutPackets(c *homeboy.FindingFanoutConfig) {
	if c.FindingPolicy == nil {
		c.FindingPolicy = &homeboy.FindingPolicy{}
	}
	if c.FindingPolicy.IncludePacket == nil {
		c.FindingPolicy.IncludePacket = new(bool)
	}
}

func (a *app) fanoutMatrix(f fanoutPlanFlags) error {
	axes, err := parseAxes(f.matrix)
	if err != nil {
		return usage(err)
	}
	data, err := a.fanoutFile(f.request, "")
	if err != nil {
		return err
	}
	var task map[string]homeboy.Value
	if _, _, err := homeboy.ReadRequest(data); err != nil {
		return inFile(f.request, err)
	}
	if err := json.Unmarshal(data, &task); err != nil {
		return inFile(f.request, err)
	}
	m, err := fanout.Matrix(f.id, axes, task)
	if err != nil {
		return inFile(f.request, err)
	}
	if done, err := a.fanoutWrite(f.output, m); done || err != nil {
		return err
	}
	rows := [][]string{}
	for _, c := range m.Cells {
		rows = append(rows, []string{clean(c.ID), clean(c.Request.Executor.Backend), clean(c.Request.Executor.Model)})
	}
	a.table([]string{"CELL", "BACKEND", "MODEL"}, rows)
	a.printf("%s%s\n", counted(len(m.Cells), "cell"), writtenTo(f.output))
	return nil
}

// parseAxes reads AXIS=VALUE,VALUE. Values are texts; a JSON array gives others.
func parseAxes(said []string) (map[string][]homeboy.Value, error) {
	axes := map[string][]homeboy.Value{}
	for _, s := range said {
		name, list, ok := strings.Cut(s, "=")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.TrimSpace(list) == "" {
			return nil, fmt.Errorf("--matrix %q: write AXIS=VALUE,VALUE, as in backend=codex,claude-code", s)
		}
		if _, twice := axes[name]; twice {
			return nil, fmt.Errorf("--matrix %s is there twice; give all values of an axis at once", name)
		}
		var values []homeboy.Value
		if strings.HasPrefix(list, "[") {
			if err := json.Unmarshal([]byte(list), &values); err != nil {
				return nil, fmt.Errorf("--matrix %s: %w", name, err)
			}
		} else {
			for word := range strings.SplitSeq(list, ",") {
				v, err := json.Marshal(strings.TrimSpace(word))
				if err != nil {
					return nil, fmt.Errorf("--matrix %s: %w", name, err)
				}
				values = append(values, v)
			}
		}
		axes[name] = values
	}
	return axes, nil
}

func (a *app) fanoutReconcileCmd() *cobra.Command {
	var config, plan, records, output string
	c := &cobra.Command{
		Use: "reconcile --plan P --records R", Short: "Hold records against their plan: what is done, failed, missing, unknown or there twice", Args: cobra.NoArgs,
		Long: `Hold the records that came back against their plan. Every planned task has one record in the result, in the order of the
plan. Records are a JSON array, JSON lines, or a document with a list records. The exit code is 1 when not every task is done.`,
		RunE: func(*cobra.Command, []string) error { return a.fanoutReconcile(config, plan, records, output) },
	}
	fl := c.Flags()
	fl.StringVar(&config, "config", "", "the configuration that the plan was made of: a `FILE`, or -")
	fl.StringVar(&plan, "plan", "", "the plan: a `FILE`, or -")
	fl.StringVar(&records, "records", "", "the records: a `FILE`, or -")
	fl.StringVar(&output, "output", "", "write the result to `FILE`, or - for standard output")
	return c
}

func (a *app) fanoutReconcile(config, plan, records, output string) error {
	if plan == "" || records == "" {
		return usage(errors.New("name the plan with --plan and what came back with --records"))
	}
	if err := onceStdin(config, plan, records); err != nil {
		return usage(err)
	}
	p, err := a.readPlan(plan)
	if err != nil {
		return err
	}
	o, err := a.fanoutOptions(config)
	if err != nil {
		return err
	}
	all, err := a.readRecords(records)
	if err != nil {
		return err
	}
	res := fanout.Reconcile(p, all, o)
	done, err := a.fanoutWrite(output, res)
	if err != nil {
		return err
	}
	if !done {
		a.reportResult(res, output)
	}
	if res.Status != homeboy.FanoutCompleted {
		return errNotDone
	}
	return nil
}

// fanoutWrite writes a document to where it was asked for, and reports whether that was standard output.
func (a *app) fanoutWrite(output string, doc any) (done bool, err error) {
	if output != "" && output != "-" {
		text, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			return false, fmt.Errorf("encode output: %w", err)
		}
		if err := atomicfile.WriteFile(output, append(text, '\n'), 0o644); err != nil {
			err = fmt.Errorf("--output: %w", err)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				err = usage(err) // the caller can fix this; a full disk it cannot
			}
			return false, err
		}
	}
	if a.json || output == "-" {
		return true, a.emit(doc)
	}
	return false, nil
}

func writtenTo(output string) string {
	if output == "" {
		return ""
	}
	return ", written to " + showPath(output)
}

// counted returns a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// shownTasks bounds what people are shown of a plan; programs get all of it.
const shownTasks = 50

func (a *app) reportPlan(p homeboy.FanoutPlan, output string) error {
	if done, err := a.fanoutWrite(output, p); done || err != nil {
		return err
	}
	rows, items := [][]string{}, int64(0)
	for i, g := range p.Groups {
		items += g.ItemCount
		if i < shownTasks {
			rows = append(rows, []string{shorten(clean(p.TaskRequests[i].Name()), 60), shorten(clean(g.Key), 60), strconv.FormatInt(g.ItemCount, 10)})
		}
	}
	if len(rows) > 0 {
		a.table([]string{"TASK", "GROUP", "ITEMS"}, rows)
	}
	if n := len(p.Groups) - len(rows); n > 0 {
		a.printf("… %d more\n", n)
	}
	a.printf("%s of %s%s\n", counted(len(p.TaskRequests), "task"), counted(int(items), "item"), writtenTo(output))
	return nil
}

func (a *app) reportResult(r homeboy.FanoutResult, output string) {
	rows := [][]string{}
	for _, rec := range r.Records {
		if len(rows) == shownTasks {
			break
		}
		rows = append(rows, []string{a.recordMark(rec.Status), shorten(clean(rec.Name()), 60), string(rec.Status), shorten(clean(rec.ErrorMessage), 80)})
	}
	if len(rows) > 0 {
		a.table([]string{"", "TASK", "STATUS", "WHY"}, rows)
	}
	if n := len(r.Records) - len(rows); n > 0 {
		a.printf("… %d more\n", n)
	}
	c := r.Reconciliation
	a.printf("%s: %s, %d completed, %d failed", r.Status, counted(int(c.TaskCount), "task"), c.SuccessCount, c.FailureCount)
	if c.MissingCount > 0 {
		a.printf(" (%d without a record)", c.MissingCount)
	}
	a.printf("%s\n", writtenTo(output))
	for _, odd := range []struct {
		n    int
		what string
	}{{len(r.UnknownRecords), "of no task of the plan"}, {len(r.DuplicateRecords), "of a task that has one already"}} {
		if odd.n > 0 {
			a.printf("%s %s; see --json\n", counted(odd.n, "record"), odd.what)
		}
	}
}

func (a *app) recordMark(s homeboy.RecordStatus) string {
	switch s {
	case homeboy.RecordCompleted:
		return a.color.Green("✓")
	case homeboy.RecordMissing:
		return a.color.Yellow("?")
	}
	return a.color.Red("✗")
}
