package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	wire "github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/helper"
)

// helperCmd is for the shell helpers of extension scripts, which find this binary in DEED_BIN: it does what they
// would need a JSON parser for. It is not meant to be typed.
func (a *app) helperCmd() *cobra.Command {
	c := group("helper", "For the shell helpers of extension scripts", a.helperSidecarCmd(), a.helperFindingsCmd())
	c.Hidden = true
	return c
}

func (a *app) helperSidecarCmd() *cobra.Command {
	return &cobra.Command{
		Use: "sidecar array|object|append|merge FILE", Short: "Write a sidecar from standard input",
		Long: `Writes FILE in one step: "array" and "object" replace it, "append" and "merge" add to the array in it. The items come
from standard input: each ended by NUL, for "merge" as a JSON array.`,
		Args: cobra.ExactArgs(2), ValidArgs: []string{"array", "object", "append", "merge"},
		RunE: func(_ *cobra.Command, args []string) error {
			in, err := io.ReadAll(a.In)
			if err != nil {
				return fmt.Errorf("read the items: %w", err)
			}
			if err := writeSidecar(args[0], args[1], in); err != nil {
				return &exitError{code: ExitNotDone, err: err}
			}
			return nil
		},
	}
}

func writeSidecar(how, path string, in []byte) error {
	if how == "merge" {
		items, err := helper.Items(in)
		if err != nil {
			return fmt.Errorf("what is to be merged into %s has to be a JSON array: %w", path, err)
		}
		return helper.Append(path, items...)
	}
	var items []json.RawMessage
	for item := range bytes.SplitSeq(bytes.TrimSuffix(in, []byte{0}), []byte{0}) {
		if len(in) > 0 {
			items = append(items, json.RawMessage(item))
		}
	}
	switch how {
	case "array":
		return helper.WriteArray(path, items...)
	case "append":
		return helper.Append(path, items...)
	case "object":
		if len(items) != 1 {
			return fmt.Errorf("%d objects are given for %s: it holds one", len(items), path)
		}
		return helper.WriteObject(path, items[0])
	}
	return fmt.Errorf("%q is no way to write a sidecar (use array, object, append or merge)", how)
}

func (a *app) helperFindingsCmd() *cobra.Command {
	var (
		from       helper.LintReport
		into, only string
		errorsOnly bool
	)
	c := &cobra.Command{
		Use: "findings FORMAT", Short: "Read what a linter wrote on standard input",
		Long: `Reads what a linter wrote, prints each finding on a line and adds them to the file of --into. Exit codes: 0 no finding,
1 findings, 2 the report cannot be read, 3 findings, and none in the files that are asked for.`,
		Args: cobra.ExactArgs(1), ValidArgs: helper.LintFormats(),
		RunE: func(_ *cobra.Command, args []string) error {
			from.Format = args[0]
			all, err := helper.ReadLintReport(from, a.In)
			if err != nil {
				return usage(err)
			}
			kept, err := wanted(all, only, errorsOnly)
			if err != nil {
				return usage(err)
			}
			if err := a.reportFindings(kept, into); err != nil {
				return usage(err)
			}
			switch {
			case len(kept) > 0:
				return errNotDone
			case len(all) > 0:
				return &exitError{code: ExitInfra, err: errSilent}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&from.Tool, "tool", "", "`NAME` of the linter")
	f.StringVar(&from.Root, "root", "", "`DIR` of the component")
	f.StringVar(&from.Rule, "rule", "", "`RULE` of findings that name none")
	f.StringVar(&from.Category, "category", "", "`CATEGORY` of findings that name none")
	f.StringVar(&from.Message, "message", "", "`TEXT` of findings that have none")
	f.BoolVar(&from.Fixable, "fixable", false, "all of them can be fixed by the linter")
	f.StringVar(&into, "into", "", "`FILE` with the findings so far")
	f.StringVar(&only, "only", "", "`FILE` with the paths that are asked for, one in a line")
	f.BoolVar(&errorsOnly, "errors-only", false, "leave out what is less than an error")
	return c
}

// wanted are the findings in the files that are asked for.
func wanted(all []wire.LintFinding, only string, errorsOnly bool) ([]wire.LintFinding, error) {
	var paths map[string]bool
	if only != "" {
		list, err := os.ReadFile(only)
		if err != nil {
			return nil, fmt.Errorf("read the paths that are asked for: %w", err)
		}
		paths = map[string]bool{}
		for p := range strings.SplitSeq(string(list), "\n") {
			paths[p] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(f wire.LintFinding) bool {
		return paths != nil && !paths[f.File] || errorsOnly && f.Severity != "error"
	}), nil
}

func (a *app) reportFindings(fs []wire.LintFinding, into string) error {
	items := make([]json.RawMessage, len(fs))
	for i, f := range fs {
		fmt.Fprintf(a.Out, "%s: %s (%s)\n", place(f), f.Message, f.Rule)
		var err error
		if items[i], err = json.Marshal(f); err != nil {
			return fmt.Errorf("write finding %s: %w", f.ID, err)
		}
	}
	if into == "" {
		return nil
	}
	if err := helper.Append(into, items...); err != nil {
		return errors.Join(errors.New("add to the findings"), err)
	}
	return nil
}
