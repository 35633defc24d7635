package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/compat/homeboy/conform"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

func (a *app) conformCmd() *cobra.Command {
	return group("conform", "Hold somebody's work against a contract", a.conformProviderCmd())
}

func (a *app) conformProviderCmd() *cobra.Command {
	var request, isolation string
	var opt conform.Options
	var f runtimeFlags
	c := &cobra.Command{
		Use: "provider DIR|ID", Short: "Run a runtime package against the provider command contract", Args: names("DIR or ID"),
		Long: `Runs the commands of a package as deed does, with good and with bad requests, and says of each rule of the contract whether
it is kept. The commands run in a sandbox of namespaces where this machine has them, without a network; the report says
which isolation they had. Nothing of the package is changed; workspaces, homes and secrets are made up. It ends with 1 when a rule of level
must is broken, and with 2 when there is no package. A provider that needs a model may answer that it is not set up: that is
conformant. The report names every rule; docs/PROVIDERS.md has the contract.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := a.runtimeDir(f, args[0])
			if err != nil {
				return err
			}
			if request != "" {
				data, err := a.readDocument(cmd.Context(), request, maxRequest)
				if err != nil {
					return usage(err)
				}
				if opt.Request, err = runtimepkg.ReadDocument(data); err != nil {
					return usage(err)
				}
			}
			opt.Environ = a.hostEnviron()
			switch opt.Isolation = sandbox.Kind(isolation); opt.Isolation {
			case "", sandbox.Process, sandbox.Namespace:
			default:
				return usage(fmt.Errorf("--isolation %q is not one that conform has (use namespace or process)", isolation))
			}
			r, err := conform.Run(cmd.Context(), dir, opt)
			if errors.Is(err, conform.ErrNotPackage) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			return a.reportConform(r)
		},
	}
	c.Flags().StringVar(&opt.Provider, "provider", "", "the `ID` of the provider to look at (default: all)")
	c.Flags().StringVar(&request, "request", "", "a `FILE` with the request that valid ones are made of (default: say hello)")
	c.Flags().StringVar(&isolation, "isolation", "", "what its commands run behind: namespace, or process (default: namespace where this machine has it)")
	f.register(c)
	return c
}

func (a *app) reportConform(r deed.ConformReport) error {
	if a.json {
		if err := a.emit(r); err != nil {
			return err
		}
	} else {
		a.showConform(r)
	}
	if !r.Passed {
		return errNotDone
	}
	return nil
}

// showConform prints the report: rules by what they are about, and why one is broken below it.
func (a *app) showConform(r deed.ConformReport) {
	marks := map[string]string{
		deed.ConformPass: a.color.Green("✓"), deed.ConformWarn: a.color.Yellow("!"), deed.ConformFail: a.color.Red("✗"), deed.ConformSkip: a.color.Dim("-"),
	}
	a.printf("%s  %s\n", a.color.Bold(clean(r.Package+" "+r.Version)), showPath(r.Path))
	group := ""
	for _, c := range r.Checks {
		about, _, _ := strings.Cut(c.ID, ".")
		if c.Provider != "" {
			about = c.Provider + " " + about
		}
		if about != group {
			group = about
			a.printf("\n%s\n", a.color.Bold(clean(about)))
		}
		a.printf("  %s %-26s %s\n", marks[c.Result], clean(c.ID), c.Rule)
		if c.Result == deed.ConformPass {
			continue
		}
		level := ""
		if c.Result == deed.ConformFail {
			level = c.Level + ": "
		}
		a.indented(level + c.Reason)
		if c.Result != deed.ConformSkip {
			a.indented(c.Evidence)
		}
	}
	a.printf("\n")
	verdict := a.color.Green("conforms")
	if !r.Passed {
		verdict = a.color.Red("does not conform")
	}
	a.printf("%s %s: %d passed, %d failed, %d warnings, %d skipped\n", clean(r.Package), verdict, r.Totals.Pass, r.Totals.Fail, r.Totals.Warn, r.Totals.Skip)
	if r.Walls == string(sandbox.Process) {
		a.hint("its commands ran as your user, without isolation")
	} else {
		a.hint("its commands ran in a %s sandbox", r.Walls)
	}
}

// indented prints lines below a rule.
func (a *app) indented(text string) {
	if text == "" {
		return
	}
	for _, line := range strings.Split(cleanLines(text), "\n") {
		a.printf("      %s\n", shorten(line, 400))
	}
}
