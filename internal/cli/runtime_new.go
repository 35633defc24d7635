package cli

import (
	"errors"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/internal/compat/homeboy/scaffold"
)

// runtimeNew is what `deed runtime new --json` prints.
type runtimeNew struct {
	Schema   string `json:"schema"`
	ID       string `json:"id"`
	Language string `json:"language"`
	Path     string `json:"path"`
}

func (a *app) runtimeNewCmd() *cobra.Command {
	opt := scaffold.Options{Version: releasedVersion()}
	c := &cobra.Command{
		Use: "new NAME", Short: "Make a package to begin with: a manifest, a command that keeps the contract, and tests", Args: names("NAME"),
		Long: `Makes the directory NAME with a package that works, passes "deed runtime lint --strict" and "deed conform provider", and does
next to nothing. Nothing is overwritten. A package in Go uses the module github.com/deedrun/deed; --replace names a
checkout of it, for work offline and for a deed that is no released version.`,
		RunE: func(_ *cobra.Command, args []string) error {
			opt.Name = args[0]
			dir, err := scaffold.New(opt)
			if errors.Is(err, scaffold.ErrRefused) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.emit(runtimeNew{Schema: "deed/runtime.new/v1", ID: opt.Name, Language: opt.Language, Path: dir})
			}
			a.printf("made %s\n", showPath(dir))
			if opt.Language == "go" {
				a.hint("build it first: go build -C %s -o bin/%s .", showPath(dir), opt.Name)
			}
			a.hint("its README.md says how to try it; `deed conform provider %s` holds it against the contract", showPath(dir))
			return nil
		},
	}
	c.Flags().StringVar(&opt.Language, "lang", "sh", "one of "+strings.Join(scaffold.Languages(), ", "))
	c.Flags().StringVar(&opt.Dir, "dir", ".", "the `DIR` to make it in")
	c.Flags().StringVar(&opt.Replace, "replace", "", "a `DIR` with deed's module, for a package in Go")
	return c
}

// releasedVersion is the version of this module that others can download; empty: it was not released.
func releasedVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path != "github.com/deedrun/deed" || !strings.HasPrefix(info.Main.Version, "v") || strings.Contains(info.Main.Version, "+dirty") {
		return ""
	}
	return info.Main.Version
}
