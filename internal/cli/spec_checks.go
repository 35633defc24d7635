package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
)

// checkSpecFlags are the flags that say what is checked when an agent says that it is done.
type checkSpecFlags struct {
	visible, hidden []string
	hiddenFiles     string
	onChangedInputs string
	inputs          []string
	requirePass     string
	requireGrade    string
	brokenBase      bool
	timeout         time.Duration
}

func (f *checkSpecFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVar(&f.visible, "check", nil, "test, lint, build or audit: the project's own; or a shell `COMMAND`. Each runs on clean copies of the base and of the change, and the two are compared; repeatable")
	fl.StringArrayVar(&f.hidden, "hidden-check", nil, "a `CHECK` that the agent is not told of; repeatable")
	fl.StringVar(&f.hiddenFiles, "hidden-files", "", "`DIR` that is laid over the clean copy for hidden checks")
	fl.StringVar(&f.onChangedInputs, "on-changed-inputs", "", "when the agent edits what the checks judge by: refuse, rerun_pinned or ask (default rerun_pinned, and a person is asked where only that run fails)")
	fl.StringArrayVar(&f.inputs, "check-input", nil, "`GLOB` of what the checks judge by; repeatable (default: tests, fixtures, configuration, and the scripts that are seen to run)")
	fl.StringVar(&f.requirePass, "require-pass", "", "`BOOL`: true: failures that the base has count as well; false: they never do (default: they count where nothing was fixed)")
	fl.Lookup("require-pass").NoOptDefVal = "true"
	fl.StringVar(&f.requireGrade, "require-grade", "", "accept only work whose checks prove this: passing or fixed")
	fl.BoolVar(&f.brokenBase, "allow-broken-base", false, "start the agent although a check cannot be run on the base")
	fl.DurationVar(&f.timeout, "check-timeout", 0, "time limit of each check (default 10m)")
}

// checks turns the flags into checks.
func (f *checkSpecFlags) checks() ([]deed.Check, error) {
	if err := f.idle(); err != nil {
		return nil, err
	}
	require, err := f.require()
	if err != nil {
		return nil, err
	}
	var out []deed.Check
	for _, text := range f.visible {
		out = append(out, f.check(text, require))
	}
	files := f.hiddenFiles
	if files != "" {
		if files, err = filepath.Abs(files); err == nil {
			files, err = filepath.EvalSymlinks(files)
		}
		if err != nil {
			return nil, fmt.Errorf("--hidden-files: %w", err)
		}
	}
	for _, text := range f.hidden {
		c := f.check(text, require)
		c.Hidden, c.Files = true, files
		out = append(out, c)
	}
	for i, c := range out {
		if err := c.Validate(); err != nil {
			return nil, fmt.Errorf("check %d: %w", i+1, err)
		}
	}
	return out, nil
}

// idle refuses flags that could not act.
func (f *checkSpecFlags) idle() error {
	if f.hiddenFiles != "" && len(f.hidden) == 0 {
		return errors.New("--hidden-files needs a --hidden-check")
	}
	if len(f.visible)+len(f.hidden) > 0 {
		return nil
	}
	for _, x := range []struct {
		flag string
		set  bool
	}{
		{"--on-changed-inputs", f.onChangedInputs != ""},
		{"--check-input", len(f.inputs) > 0},
		{"--require-pass", f.requirePass != ""},
		{"--check-timeout", f.timeout != 0},
		{"--allow-broken-base", f.brokenBase},
	} {
		if x.set {
			return fmt.Errorf("%s has no effect without a check (give one with --check)", x.flag)
		}
	}
	return nil
}

// require reads --require-pass; nil where it was not given.
func (f *checkSpecFlags) require() (*bool, error) {
	if f.requirePass == "" {
		return nil, nil
	}
	b, err := strconv.ParseBool(f.requirePass)
	if err != nil {
		return nil, fmt.Errorf("--require-pass %q is neither true nor false", f.requirePass)
	}
	return &b, nil
}

// check reads one check: a capability by its name, else a line for the shell.
func (f *checkSpecFlags) check(text string, require *bool) deed.Check {
	c := deed.Check{TimeoutSeconds: int64(f.timeout / time.Second), Inputs: f.inputs, OnChangedInputs: f.onChangedInputs, RequirePass: require}
	if slices.Contains(runner.Capabilities, text) {
		c.Capability = text
	} else {
		c.Shell = text
	}
	return c
}
