package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/compat/homeboy/providertask"
)

// askFlags say which provider is wanted, for people who have no request document.
type askFlags struct {
	request, backend, selector, runtime, model string
	require                                    []string
}

func (f *askFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.request, "request", "", "a request to select for: a `FILE`, or - for standard input")
	c.Flags().StringVar(&f.backend, "backend", "", "executor.backend")
	c.Flags().StringVar(&f.selector, "selector", "", "executor.selector: the `ID` of a provider")
	c.Flags().StringVar(&f.runtime, "runtime", "", "the `ID` of a package")
	c.Flags().StringVar(&f.model, "model", "", "executor.model")
	c.Flags().StringArrayVar(&f.require, "require", nil, "a `CAPABILITY` that the provider must declare; repeatable")
}

// request reads the request, with the flags in the place of what it says, and fills in the backend that is configured. It
// returns the file that names it, or "".
func (a *app) request(ctx context.Context, f askFlags) (req runtimepkg.Request, from string, err error) {
	q := homeboy.Request{Schema: homeboy.SchemaRequest, Executor: homeboy.Executor{Config: map[string]homeboy.Value{}}}
	var warnings []homeboy.Warning
	if f.request != "" {
		data, err := a.readDocument(ctx, f.request, maxRequest)
		if err != nil {
			return req, "", usage(err)
		}
		if q, warnings, err = homeboy.ReadRequest(data); err != nil {
			return req, "", usage(err)
		}
	}
	for to, value := range map[*string]string{&q.Executor.Backend: f.backend, &q.Executor.Selector: f.selector, &q.Executor.Runtime: f.runtime, &q.Executor.Model: f.model} {
		if value != "" {
			*to = value
		}
	}
	q.Executor.RequiredCapabilities = slices.Concat(q.Executor.RequiredCapabilities, f.require)
	if req, err = runtimepkg.RequestOf(q); err != nil {
		return req, "", err
	}
	req.Warnings = warnings
	cfg, err := a.config()
	if err != nil {
		return req, "", err
	}
	req, from, err = providertask.Default(req, cfg, "")
	if err != nil {
		return req, "", usage(err)
	}
	return req, from, nil
}

// selectionDoc is what `deed runtime select --json` prints.
type selectionDoc struct {
	Schema     string                 `json:"schema"`
	Package    string                 `json:"package,omitempty"`
	Path       string                 `json:"runtime_path,omitempty"`
	Provider   string                 `json:"provider,omitempty"`
	Backend    string                 `json:"backend,omitempty"`
	From       string                 `json:"backend_from,omitempty"` // the file that names it; absent: the caller did
	Command    string                 `json:"command,omitempty"`
	Contract   string                 `json:"integration_contract,omitempty"`
	Deprecated *runtimepkg.Deprecated `json:"deprecated_runtime_alias,omitempty"`
	Warnings   []string               `json:"warnings"`
	Applied    []runtimepkg.Applied   `json:"applied"`
	Faults     fault.Faults           `json:"request_faults"`
	Error      *selectError           `json:"error,omitempty"`
	Candidates []runtimepkg.Candidate `json:"candidates"`
}

type selectError struct {
	Code    string   `json:"code"`
	Class   string   `json:"failure_classification"`
	Message string   `json:"message"`
	Missing []string `json:"missing_capabilities,omitempty"`
}

func (a *app) runtimeSelectCmd(f *runtimeFlags) *cobra.Command {
	var ask askFlags
	var explain bool
	c := &cobra.Command{
		Use: "select", Short: "Say which provider a request gets; nothing is started", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.runtimeSelect(c.Context(), *f, ask, explain) },
	}
	ask.add(c)
	c.Flags().BoolVar(&explain, "explain", false, "say of every provider why it was chosen or not")
	return c
}

func (a *app) runtimeSelect(ctx context.Context, f runtimeFlags, ask askFlags, explain bool) error {
	c, err := a.runtimes(f)
	if err != nil {
		return err
	}
	req, from, err := a.request(ctx, ask)
	if err != nil {
		return err
	}
	doc := selectionDoc{Schema: "deed/runtime.selection/v1", From: from, Warnings: []string{}, Applied: []runtimepkg.Applied{}, Faults: fault.Faults{}}
	s, err := c.Select(req.Doc.Ask())
	var no *runtimepkg.SelectError
	switch {
	case errors.As(err, &no):
		doc.Error = &selectError{no.Code, string(no.Class()), no.Error(), no.Missing}
		doc.Candidates = append([]runtimepkg.Candidate{}, no.Candidates...)
	case err != nil:
		return err
	default:
		a.describeSelection(&doc, s, req, ask.request != "")
	}
	if a.json {
		if err := a.emit(doc); err != nil {
			return err
		}
	} else {
		a.showSelection(doc, explain)
		a.reportProblems(c)
	}
	if doc.Error != nil || len(doc.Faults) > 0 {
		return errNotDone
	}
	return nil
}

func (a *app) describeSelection(doc *selectionDoc, s *runtimepkg.Selection, req runtimepkg.Request, whole bool) {
	doc.Package, doc.Path, doc.Provider, doc.Backend = s.Package.ID, s.Package.Real, s.Provider.ID, s.Provider.Backend
	doc.Contract, doc.Deprecated, doc.Candidates = s.Provider.IntegrationContract, s.Deprecated, s.Candidates
	doc.Warnings = append(doc.Warnings, s.Warnings...)
	if cmd, err := s.Package.Command(s.Provider); err == nil {
		doc.Command = cmd.Display
	}
	full, applied := s.Complete(req.Doc)
	doc.Applied = append(doc.Applied, applied...)
	if whole { // flags alone are no request
		doc.Faults = append(doc.Faults, fault.Of(runtimepkg.CheckRequest(s.Provider, full))...)
	}
}

func (a *app) showSelection(doc selectionDoc, explain bool) {
	if doc.Error != nil {
		fmt.Fprintf(a.Err, "%s %s: %s\n", a.errColor.Red("deed:"), doc.Error.Code, cleanLines(doc.Error.Message))
	} else {
		a.printf("%s of %s\n", a.color.Bold(clean(doc.Provider)), clean(doc.Package))
		a.printf("  command  %s\n", cleanLines(doc.Command))
		if doc.From != "" {
			a.printf("  backend  %s (by default, from %s)\n", clean(doc.Backend), showPath(doc.From))
		} else if explain {
			a.printf("  backend  %s (as asked for)\n", clean(doc.Backend))
		}
		for _, x := range doc.Applied {
			a.printf("  applied  %s = %s (%s)\n", clean(x.Path), clean(jsonText(x.Value)), clean(x.From))
		}
	}
	for _, w := range doc.Warnings {
		a.hint("%s %s", a.errColor.Yellow("warning:"), clean(w))
	}
	for _, x := range doc.Faults {
		fmt.Fprintf(a.Err, "%s %s\n", a.errColor.Red("request:"), clean(x.String()))
	}
	if !explain {
		return
	}
	var rows [][]string
	for _, x := range doc.Candidates {
		chosen := "no"
		if x.Chosen {
			chosen = a.color.Green("yes")
		}
		rows = append(rows, []string{clean(x.Provider), clean(x.Backend), chosen, clean(x.Why)})
	}
	a.table([]string{"PROVIDER", "BACKEND", "CHOSEN", "BECAUSE"}, rows)
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// readinessDoc is what `deed runtime check --json` prints.
type readinessDoc struct {
	Schema    string                  `json:"schema"`
	Ready     bool                    `json:"ready"`
	Providers []*runtimepkg.Readiness `json:"providers"`
}

func (a *app) runtimeCheckCmd(f *runtimeFlags) *cobra.Command {
	var ask askFlags
	var envFile string
	c := &cobra.Command{
		Use: "check [ID]", Short: "Say whether providers are ready: programs, paths, secrets and probes, with remedies", Args: cobra.MaximumNArgs(1),
		Long: `check looks at the providers of a package, at the one that a request or --backend selects, or at all but those that deed
ships. It runs the probes that manifests declare, with a time limit and a clean environment, and no provider. It never shows the value of a secret.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req, _, err := a.request(cmd.Context(), ask)
			if err != nil {
				return err
			}
			list, err := a.toCheck(*f, ask, req, args)
			if err != nil {
				return err
			}
			checker := &runtimepkg.Checker{Environ: a.hostEnviron(), Secrets: runtimepkg.OwnStores(a.environ, a.cfg.Secrets)}
			if envFile != "" {
				file, err := filepath.Abs(envFile)
				if err != nil {
					return usage(err)
				}
				vars, err := process.Own(process.Config{EnvFile: file})
				if err != nil {
					return usage(err)
				}
				checker.Secrets = append(checker.Secrets, runtimepkg.Values("env_file", vars))
			}
			doc := readinessDoc{Schema: "deed/runtime.readiness/v1", Ready: true, Providers: []*runtimepkg.Readiness{}}
			for _, s := range list {
				r, err := checker.Check(cmd.Context(), s, req.Doc)
				if err != nil {
					return err
				}
				doc.Providers = append(doc.Providers, r)
				doc.Ready = doc.Ready && r.Ready
			}
			return a.reportReadiness(doc)
		},
	}
	ask.add(c)
	c.Flags().StringVar(&envFile, "env-file", "", "a `FILE` of KEY=VALUE lines with secrets")
	return c
}

// shippedIDs names the packages that come with deed.
func shippedIDs(c *runtimepkg.Catalog) string {
	var ids []string
	for _, p := range c.Packages {
		if p.From == runtimepkg.FromDeed {
			ids = append(ids, p.ID)
		}
	}
	return strings.Join(ids, ", ")
}

// toCheck lists the providers that the user means.
func (a *app) toCheck(f runtimeFlags, ask askFlags, req runtimepkg.Request, args []string) ([]*runtimepkg.Selection, error) {
	c, err := a.runtimes(f)
	if err != nil {
		return nil, err
	}
	defer a.reportProblems(c)
	if asked := ask.request != "" || ask.backend != ""; asked && req.Executor.Backend != "" {
		s, err := c.Select(req.Doc.Ask())
		if err != nil {
			return nil, usage(err)
		}
		return []*runtimepkg.Selection{s}, nil
	}
	if ask.request != "" {
		return nil, usage(errors.New("the request has no executor.backend (there is no default)"))
	}
	list := c.Providers()
	if len(args) == 0 {
		list = slices.DeleteFunc(list, func(s *runtimepkg.Selection) bool { return s.Package.From == runtimepkg.FromDeed }) // they were not asked for
		if len(list) == 0 {
			return nil, usage(fmt.Errorf("there is no provider to check in %s (name one that deed ships: %s)", strings.Join(c.Looked(), ", "), shippedIDs(c)))
		}
		return list, nil
	}
	p, _, err := c.Get(args[0])
	if err != nil {
		return nil, usage(err)
	}
	if list = slices.DeleteFunc(list, func(s *runtimepkg.Selection) bool { return s.Package != p }); len(list) == 0 {
		return nil, usage(fmt.Errorf("package %q has no provider that can be used (see `deed runtime lint %s`)", p.ID, p.ID))
	}
	return list, nil
}

func (a *app) reportReadiness(doc readinessDoc) error {
	if a.json {
		if err := a.emit(doc); err != nil {
			return err
		}
	} else {
		for _, r := range doc.Providers {
			a.showReadiness(r)
		}
	}
	if !doc.Ready {
		return errNotDone
	}
	return nil
}

func (a *app) showReadiness(r *runtimepkg.Readiness) {
	word := a.color.Green("ready")
	if !r.Ready {
		word = a.color.Red("not ready")
	}
	a.printf("%s of %s: %s\n", a.color.Bold(clean(r.Provider)), clean(r.Package), word)
	for _, c := range r.Checks {
		status := c.Status
		switch c.Status {
		case runtimepkg.CheckOK:
			status = a.color.Green(status)
		case runtimepkg.CheckFailed:
			status = a.color.Red(status)
		}
		a.printf("  %s %s %s: %s\n", status, c.Kind, clean(c.ID), clean(c.Detail))
		if c.Status == runtimepkg.CheckFailed && c.Remedy != "" {
			a.printf("      %s\n", clean(c.Remedy))
		}
	}
}
