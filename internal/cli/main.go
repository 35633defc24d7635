// Package cli owns the command line: commands, flags, output, progress and exit codes. Standard output carries data,
// standard error carries messages for people. It composes the packages below and decides nothing about a task.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/terminal"
)

// Stdio is what a command reads and writes.
type Stdio struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Main runs one command line and returns its exit code. It reads nothing of the process except its arguments, so that
// a test can run it as a user would.
func Main(args, environ []string, stdio Stdio) int {
	out := &sink{w: stdio.Out}
	a := &app{Stdio: Stdio{In: stdio.In, Out: out, Err: stdio.Err}, environ: environ}
	a.color = colorFor(stdio.Out, a.getenv)
	a.errColor = colorFor(stdio.Err, a.getenv)
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM}
	// SIGQUIT would end the process with a dump, with the exit code of invalid input, and with a run that is never
	// settled.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) { // nohup
			stops = append(stops, sig)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), stops...)
	defer stop()
	a.unhook = stop

	root := a.root(args)
	root.SetArgs(args)
	root.SetIn(stdio.In)
	root.SetOut(out)
	root.SetErr(stdio.Err)
	err := together(root.ExecuteContext(ctx))
	if cerr := a.close(); err == nil {
		err = cerr
	}
	if err == nil && out.err != nil {
		err = fmt.Errorf("write to standard output: %w", out.err)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = &exitError{code: ExitInterrupted, err: errors.New("interrupted")}
	}
	code := exitCode(err)
	if err != nil && !errors.Is(err, errSilent) {
		a.report(err, code)
	}
	return code
}

// together turns cobra's text about flags that exclude each other into a usage error.
func together(err error) error {
	if err == nil || !strings.HasPrefix(err.Error(), "if any flags in the group [") {
		return err
	}
	_, names, _ := strings.Cut(err.Error(), "; [")
	names, _, _ = strings.Cut(names, "]")
	return usage(fmt.Errorf("--%s cannot be given together (leave all but one out)", strings.Join(strings.Fields(names), " and --")))
}

// root makes the tree of commands.
func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "deed",
		Short: "Run coding agents that nobody has to trust",
		Long: `deed queues a task, runs an agent on it in a workspace of deed's own, decides by itself whether the
work is done, and leaves a signed bundle that anybody can verify offline.

Begin with:   deed demo          see agents lie and work, and deed believe only what it sees
              deed init          write a deed.yaml for this directory
              deed doctor        see what there is on this machine, agents too
              deed run --agent codex --secret OPENAI_API_KEY --check "make test" "make the failing test pass"

Exit codes:   0 done   1 not done, or findings   2 usage or invalid input, nothing changed
              3 infrastructure   4 another process dispatches in this home   130 interrupted`,
		Version:       Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          alone,
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		a.json = asksJSON(c, args) // the flags after the wrong one were not read
		if _, rest, ferr := root.Find(args); ferr == nil && c.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
			err = fmt.Errorf("unknown command %q for %q%s", rest[0], c.CommandPath(), meant(c, rest[0])) // whose flags are unknown
		}
		if strings.Contains(err.Error(), "time: missing unit in duration") {
			return usage(fmt.Errorf("%w (say of what: 90s, 10m or 24h)", err))
		}
		return usage(fmt.Errorf("%w (see `%s --help`)", err, c.CommandPath()))
	})
	f := root.PersistentFlags()
	f.StringVar(&a.homeFlag, "home", "", "directory of deed's state (default $DEED_HOME, else the XDG state directory)")
	f.StringVar(&a.configFlag, "config", "", "configuration file (default $DEED_CONFIG, else the home's and the nearest deed.yaml)")
	f.BoolVar(&a.json, "json", false, "write one JSON document to standard output")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress and no hints on standard error")

	root.AddGroup(
		&cobra.Group{ID: "work", Title: "Work:"},
		&cobra.Group{ID: "check", Title: "Checks:"},
		&cobra.Group{ID: "queue", Title: "Queue:"},
		&cobra.Group{ID: "evidence", Title: "Evidence:"},
		&cobra.Group{ID: "setup", Title: "Set-up:"},
	)
	for _, c := range a.commands() {
		c.GroupID = c.group
		root.AddCommand(c.Command)
	}
	root.SetHelpCommand(helpCmd(root))
	root.SetHelpCommandGroupID("setup")
	root.SetCompletionCommandGroupID("setup")
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Short = "Print a completion script for a shell"
		c.RunE = alone
	}
	wrapArgs(root)
	return root
}

// asksJSON reports whether --json is among arguments that could not be parsed to their end. The value of another flag does not
// count.
func asksJSON(c *cobra.Command, args []string) bool {
	asked := false
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, value, given := strings.Cut(args[i], "=")
		long, isLong := strings.CutPrefix(name, "--")
		switch {
		case long == "json" && isLong:
			on, err := strconv.ParseBool(value)
			asked = !given || on && err == nil
		case isLong && !given:
			if f := c.Flags().Lookup(long); f != nil && f.NoOptDefVal == "" {
				i++
			}
		}
	}
	return asked
}

// helpCmd is cobra's, except that help for an unknown command is an error.
func helpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Show the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usage(fmt.Errorf("unknown command %q (`deed --help` lists them)", strings.Join(args, " ")))
			}
			return c.Help()
		},
	}
}

// wrapArgs makes every complaint about arguments a usage error.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				if len(args) > 0 && c.HasSubCommands() {
					err = fmt.Errorf("%w%s", err, meant(c, args[0]))
				}
				return usage(fmt.Errorf("%w (see `%s --help`)", err, c.CommandPath()))
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// meant suggests the commands that somebody may have meant: those with a similar spelling, and those of that name one level below. There
// may be many of those, so the one of tasks comes first: it is used most.
func meant(c *cobra.Command, word string) string {
	c.SuggestionsMinimumDistance = 2
	near := c.SuggestionsFor(word)
	var below []string
	for _, group := range c.Commands() {
		for _, sub := range group.Commands() {
			switch {
			case sub.Hidden || sub.Name() != word:
			case group.Name() == "task":
				near = append(near, group.Name()+" "+word)
			default:
				below = append(below, group.Name()+" "+word)
			}
		}
	}
	near = append(near, below[:min(len(below), 3)]...)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
}

// sink remembers the first failed write, so that a full disk behind a pipe is not a success.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil && s.err == nil {
		s.err = err
	}
	return n, err
}

// group makes a command that only holds others: alone it shows its help, or with --json fails, and an unknown word is an error, not
// help with exit code 0.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: alone}
	c.AddCommand(subs...)
	return c
}

// alone is a group command that was called without a subcommand. A program that asked for a document gets one, not help.
func alone(c *cobra.Command, _ []string) error {
	if asked, err := c.Flags().GetBool("json"); err != nil || !asked {
		return c.Help()
	}
	var subs []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			subs = append(subs, sub.Name())
		}
	}
	return usage(fmt.Errorf("`%s` needs a command after it: %s (see `%[1]s --help`)", c.CommandPath(), strings.Join(subs, ", ")))
}

// report prints what went wrong: as JSON on standard output when that was asked for, as text otherwise.
func (a *app) report(err error, code int) {
	if a.json {
		doc := deed.Error{Schema: deed.SchemaError, Error: deed.ErrorReason{Message: err.Error(), ExitCode: code, Kind: exitName(code)}}
		doc.Error.Faults = fault.Of(err)
		var ce *config.Error
		if errors.As(err, &ce) {
			for _, f := range ce.Faults {
				doc.Error.Faults = append(doc.Error.Faults, f.Fault)
			}
		}
		b, merr := json.Marshal(doc)
		if !a.lines {
			b, merr = json.MarshalIndent(doc, "", "  ")
		}
		if merr == nil {
			if _, werr := fmt.Fprintf(a.Out, "%s\n", terminal.SafeJSON(b)); werr == nil {
				return
			}
		}
	}
	lines := strings.Split(strings.TrimRight(cleanLines(err.Error()), "\n"), "\n") // it can quote what an agent wrote
	fmt.Fprintf(a.Err, "%s %s\n", a.errColor.Red("deed:"), lines[0])
	for _, l := range lines[1:] {
		fmt.Fprintf(a.Err, "      %s\n", l)
	}
}

// names requires exactly these arguments and names the one that is missing.
func names(want ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(want) {
			return fmt.Errorf("%s is missing", want[len(args)])
		}
		if len(args) > len(want) {
			return fmt.Errorf("%q is one argument too many", args[len(want)])
		}
		return nil
	}
}

// some asks for at least one argument of this name.
func some(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s is missing", name)
		}
		return nil
	}
}
