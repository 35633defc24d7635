package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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
	requirePass     bool
	timeout         time.Duration
}

func (f *checkSpecFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVar(&f.visible, "check", nil, "test, lint, build or audit: the project's own, compared with the base; or a shell `COMMAND` that must exit 0. Each on a clean copy with the patch applied; repeatable")
	fl.StringArrayVar(&f.hidden, "hidden-check", nil, "a `CHECK` that the agent is not told of; repeatable")
	fl.StringVar(&f.hiddenFiles, "hidden-files", "", "`DIR` that is laid over the clean copy for hidden checks")
	fl.StringVar(&f.onChangedInputs, "on-changed-inputs", "", "when the agent edits tests or test configuration: refuse, rerun_pinned or ask (default rerun_pinned)")
	fl.StringArrayVar(&f.inputs, "check-input", nil, "`GLOB` of what the checks judge by; repeatable (default: the usual tests and configuration)")
	fl.BoolVar(&f.requirePass, "require-pass", false, "test, lint and build must be clean, old failures included")
	fl.DurationVar(&f.timeout, "check-timeout", 0, "time limit of each check (default 10m)")
}

// checks turns the flags into checks.
func (f *checkSpecFlags) checks() ([]deed.Check, error) {
	var out []deed.Check
	for _, text := range f.visible {
		out = append(out, f.check(text))
	}
	files := f.hiddenFiles
	if files != "" {
		if len(f.hidden) == 0 {
			return nil, errors.New("--hidden-files needs a --hidden-check")
		}
		var err error
		if files, err = filepath.Abs(files); err == nil {
			files, err = filepath.EvalSymlinks(files)
		}
		if err != nil {
			return nil, fmt.Errorf("--hidden-files: %w", err)
		}
	}
	for _, text := range f.hidden {
		c := f.check(text)
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

// check reads one check: a capability by its name, else a line for the shell.
func (f *checkSpecFlags) check(text string) deed.Check {
	c := deed.Check{TimeoutSeconds: int64(f.timeout / time.Second), Inputs: f.inputs}
	if !slices.Contains(runner.Capabilities, text) {
		c.Shell = text
		if len(f.inputs) > 0 {
			c.OnChangedInputs = f.onChangedInputs
		}
		return c
	}
	c.Capability, c.OnChangedInputs = text, f.onChangedInputs
	if f.requirePass {
		c.RequirePass = &f.requirePass
	}
	return c
}
