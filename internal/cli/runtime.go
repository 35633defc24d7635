package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/agent/runtimepkg/shipped"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/checks/extension"
)

// runtimeFlags say where packages are looked for.
type runtimeFlags struct {
	path string
	dirs []string
}

func (f *runtimeFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.path, "path", "", "the project's `DIR` (default: the one that the current directory belongs to)")
	c.Flags().StringArrayVar(&f.dirs, "runtime-dir", nil, "a `DIR` of packages, or a package, to look at too; repeatable")
}

func (a *app) runtimeCmd() *cobra.Command {
	var f runtimeFlags
	looking := []*cobra.Command{a.runtimeListCmd(&f), a.runtimeShowCmd(&f), a.runtimeLintCmd(&f), a.runtimeSelectCmd(&f), a.runtimeCheckCmd(&f), a.runtimeRunCmd(&f), a.runtimeExecCmd(&f)}
	for _, c := range looking {
		f.register(c)
	}
	c := group("runtime", "Install agent runtime packages, and run requests on their providers",
		append(looking, a.runtimeNewCmd(), a.runtimeInstallCmd(), a.runtimeLinkCmd(), a.runtimeRemoveCmd())...)
	c.Long = `A runtime package is a directory ID with a manifest ID.json that declares provider commands. Packages are looked for in
--runtime-dir, in runtimes.dirs of deed.yaml, in .deed/agent-runtimes and agent-runtimes of the project, and in agent-runtimes
of deed's home. An id that two places have with different files is used from neither; what deed ships gives way to all of
them. docs/RUNTIMES.md has the rules, and docs/PROVIDERS.md says how to write a package.`
	return c
}

// ownProgram is the variable by which the packages that deed ships look for deed itself.
const ownProgram = "DEED_BIN"

// hostEnviron is deed's environment as readiness checks see it: with deed's own program.
func (a *app) hostEnviron() []string {
	exe, err := os.Executable()
	if a.getenv(ownProgram) != "" || err != nil {
		return a.environ
	}
	return append(slices.Clone(a.environ), ownProgram+"="+exe)
}

// runtimes reads every package that is in reach. It makes no home.
func (a *app) runtimes(f runtimeFlags) (*runtimepkg.Catalog, error) {
	root, err := home.Resolve(a.homeFlag, a.getenv)
	if err != nil {
		return nil, usage(err)
	}
	dir := f.path
	if dir == "" {
		dir = componentDir(nil)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, usage(err)
	}
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	c, err := runtimepkg.Find(runtimepkg.PlacesOf(home.At(root), extension.Locate(dir), slices.Concat(f.dirs, cfg.Runtimes.Dirs)...))
	if err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// runtimeList is what `deed runtime list --json` prints.
type runtimeList struct {
	Schema   string               `json:"schema"`
	Version  string               `json:"catalog_version,omitempty"`
	Looked   []string             `json:"looked_in"`
	Packages []runtimeDoc         `json:"packages"`
	Problems []runtimepkg.Problem `json:"problems"`
}

// runtimeDoc is one package; show has all of it, list the first lines.
type runtimeDoc struct {
	Schema     string                 `json:"schema,omitempty"`
	ID         string                 `json:"id"`
	Name       string                 `json:"name,omitempty"`
	Version    string                 `json:"version,omitempty"`
	About      string                 `json:"description,omitempty"`
	Path       string                 `json:"path"`
	Real       string                 `json:"runtime_path"`
	From       string                 `json:"from"`
	Linked     bool                   `json:"linked,omitempty"`
	Also       []string               `json:"also_at,omitempty"`
	Digest     string                 `json:"digest,omitempty"`
	Revision   string                 `json:"revision,omitempty"`
	Deprecated *runtimepkg.Deprecated `json:"deprecated_runtime_alias,omitempty"`
	Providers  []providerDoc          `json:"providers"`
	Findings   []runtimepkg.Finding   `json:"findings"`
	Manifest   json.RawMessage        `json:"manifest,omitempty"`
}

// providerDoc is one provider as a caller sees it.
type providerDoc struct {
	ID          string                       `json:"id"`
	Label       string                       `json:"label,omitempty"`
	Backend     string                       `json:"backend"`
	Status      string                       `json:"status,omitempty"`
	Contract    string                       `json:"integration_contract,omitempty"`
	Command     string                       `json:"command,omitempty"`
	Argv        []string                     `json:"argv,omitempty"`
	Shell       bool                         `json:"shell,omitempty"`
	Can         []string                     `json:"capabilities,omitempty"`
	Diagnostics *homeboy.ProviderDiagnostics `json:"diagnostics,omitempty"`
	Secrets     []runtimepkg.SecretNeed      `json:"secrets,omitempty"`
	Error       string                       `json:"error,omitempty"`
}

func describeRuntime(p *runtimepkg.Package) runtimeDoc {
	m := p.Manifest
	d := runtimeDoc{
		ID: p.ID, Name: m.Name, Version: m.Version, About: m.Description, Path: p.Path, Real: p.Real, From: p.From, Linked: p.Linked, Also: p.Also,
		Providers: []providerDoc{}, Findings: append([]runtimepkg.Finding{}, p.Findings...),
	}
	if d.Name == "" {
		d.Name = m.Label
	}
	for _, x := range m.AgentTaskExecutors {
		pd := providerDoc{
			ID: x.ID, Label: x.Label, Backend: x.Backend, Status: x.Status, Contract: x.IntegrationContract, Can: x.Capabilities,
			Diagnostics: x.Diagnostics, Secrets: runtimepkg.SecretNeeds(x, nil),
		}
		c, err := p.Command(x)
		if err != nil {
			pd.Error = err.Error()
		}
		pd.Command, pd.Argv, pd.Shell = c.Display, c.Argv, c.Shell
		d.Providers = append(d.Providers, pd)
	}
	return d
}

func (a *app) runtimeListCmd(f *runtimeFlags) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the packages, what they provide, and what is wrong with others", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.runtimeList(*f) },
	}
}

func (a *app) runtimeList(f runtimeFlags) error {
	c, err := a.runtimes(f)
	if err != nil {
		return err
	}
	doc := runtimeList{Schema: "deed/runtime.list/v1", Looked: c.Looked(), Packages: []runtimeDoc{}, Problems: append([]runtimepkg.Problem{}, c.Problems...)}
	for _, p := range c.Packages {
		doc.Packages = append(doc.Packages, describeRuntime(p))
	}
	if a.json {
		if doc.Version, err = c.Version(); err != nil {
			return err
		}
		return a.emit(doc)
	}
	var rows [][]string
	for _, d := range doc.Packages {
		for i, p := range d.Providers {
			row := []string{"", "", clean(p.ID), clean(p.Backend), clean(p.Status), ""}
			if i == 0 {
				row[0], row[1], row[5] = clean(d.ID), clean(d.Version), fromOf(d)
			}
			rows = append(rows, row)
		}
		if len(d.Providers) == 0 {
			rows = append(rows, []string{clean(d.ID), clean(d.Version), a.color.Red("none"), "", "", fromOf(d)})
		}
	}
	if len(rows) > 0 {
		a.table([]string{"PACKAGE", "VERSION", "PROVIDER", "BACKEND", "STATUS", "FROM"}, rows)
	} else {
		a.hint("no runtime package in %s (`deed runtime install` or `deed runtime link` adds one)", strings.Join(doc.Looked, ", "))
	}
	a.reportProblems(c)
	return nil
}

func fromOf(d runtimeDoc) string {
	how := d.From
	if d.Linked {
		how += ", linked"
	}
	return how + " " + showPath(d.Path)
}

func (a *app) reportProblems(c *runtimepkg.Catalog) {
	for _, p := range c.Problems {
		a.hint("%s %s", a.errColor.Yellow("problem:"), cleanLines(p.Message))
	}
}

func (a *app) runtimeShowCmd(f *runtimeFlags) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a package: where it is, its providers, their commands and secrets", Args: names("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.runtimes(*f)
			if err != nil {
				return err
			}
			p, alias, err := c.Get(args[0])
			if err != nil {
				return usage(err)
			}
			d := describeRuntime(p)
			d.Schema, d.Deprecated, d.Manifest = "deed/runtime/v1", alias, p.Raw
			if d.Digest, err = p.Digest(); err != nil {
				return err
			}
			rev, err := runtimepkg.Revision(cmd.Context(), p.Real, a.environ)
			if errors.Is(err, runtimepkg.ErrRevisionTimeout) {
				d.Findings = append(d.Findings, runtimepkg.Finding{Severity: runtimepkg.Warning, Path: ".git", Code: runtimepkg.RevisionTimeout, Message: err.Error(), Remedy: "look at the repository that it lies in"})
			}
			d.Revision = rev
			if a.json {
				return a.emit(d)
			}
			a.showRuntime(d)
			return nil
		},
	}
}

func (a *app) showRuntime(d runtimeDoc) {
	line := func(what, value string) {
		if value != "" {
			a.printf("  %-13s %s\n", what, cleanLines(value))
		}
	}
	a.printf("%s  %s %s\n", a.color.Bold(clean(d.ID)), clean(d.Name), clean(d.Version))
	line("about", d.About)
	line("from", fromOf(d))
	for _, also := range d.Also {
		line("also at", showPath(also))
	}
	line("digest", d.Digest)
	line("revision", d.Revision)
	if d.Deprecated != nil {
		line("deprecated", d.Deprecated.String())
	}
	for _, p := range d.Providers {
		a.printf("\n%s  %s\n", a.color.Bold(clean(p.ID)), clean(p.Label))
		line("backend", p.Backend)
		line("status", p.Status)
		line("contract", p.Contract)
		line("command", p.Command)
		line("capabilities", strings.Join(p.Can, ", "))
		if p.Diagnostics != nil {
			line("diagnostics", strings.Join(slices.Concat(p.Diagnostics.OutcomeFields, p.Diagnostics.ArtifactKinds), ", "))
		}
		for _, s := range p.Secrets {
			need := "optional"
			if s.Required {
				need = "required"
			}
			line("secret", s.Name+" ("+need+")")
		}
		line("problem", p.Error)
	}
	a.countFindings(d.ID, d.Findings)
}

// countFindings counts what is wrong: `deed runtime lint` has all of it.
func (a *app) countFindings(id string, list []runtimepkg.Finding) {
	if len(list) > 0 {
		a.hint("%d findings (see `deed runtime lint %s`)", len(list), clean(id))
	}
}

// runtimeLint is what `deed runtime lint --json` prints.
type runtimeLint struct {
	Schema   string               `json:"schema"`
	ID       string               `json:"id"`
	Path     string               `json:"path"`
	Usable   bool                 `json:"usable"`
	Findings []runtimepkg.Finding `json:"findings"`
}

func (a *app) runtimeLintCmd(f *runtimeFlags) *cobra.Command {
	var strict bool
	c := &cobra.Command{
		Use: "lint DIR|ID", Short: "Say what a package lacks against the contract, and what keeps it from being used", Args: names("DIR or ID"),
		RunE: func(_ *cobra.Command, args []string) error { return a.runtimeLint(*f, args[0], strict) },
	}
	c.Flags().BoolVar(&strict, "strict", false, "end with 1 for warnings too")
	return c
}

// runtimeDir is the directory that an argument names: the directory of a package, or that of one found by its id.
func (a *app) runtimeDir(f runtimeFlags, arg string) (string, error) {
	if fi, err := os.Stat(arg); err == nil && fi.IsDir() {
		return arg, nil
	}
	c, err := a.runtimes(f)
	if err != nil {
		return "", err
	}
	p, _, err := c.Get(arg)
	if err != nil {
		return "", usage(err)
	}
	return p.Path, p.Place()
}

func (a *app) runtimeLint(f runtimeFlags, arg string, strict bool) error {
	dir, err := a.runtimeDir(f, arg)
	if err != nil {
		return err
	}
	p, err := runtimepkg.Lint(dir)
	if err != nil {
		return usage(err)
	}
	doc := runtimeLint{Schema: "deed/runtime.lint/v1", ID: p.ID, Path: p.Path, Usable: runtimepkg.Usable(p.Findings), Findings: append([]runtimepkg.Finding{}, p.Findings...)}
	if a.json {
		if err := a.emit(doc); err != nil {
			return err
		}
	} else {
		for _, x := range doc.Findings {
			word := a.color.Yellow(x.Severity)
			if x.Severity == runtimepkg.Error {
				word = a.color.Red(x.Severity)
			}
			a.printf("%s %s\n", word, clean(x.String()))
		}
		a.hint("%s: %d findings", clean(p.ID), len(doc.Findings))
	}
	if !doc.Usable || strict && len(doc.Findings) > 0 {
		return errNotDone
	}
	return nil
}

// runtimeChange is what install, link and remove print with --json.
type runtimeChange struct {
	Schema   string               `json:"schema"`
	Change   string               `json:"change"` // installed, linked, removed or unchanged
	ID       string               `json:"id"`
	Path     string               `json:"path,omitempty"`
	Real     string               `json:"runtime_path,omitempty"`
	Digest   string               `json:"digest,omitempty"`
	Replaced string               `json:"replaced,omitempty"`
	Findings []runtimepkg.Finding `json:"findings,omitempty"`
}

func (a *app) runtimeStore() (runtimepkg.Store, error) {
	h, err := a.makeHome()
	if err != nil {
		return runtimepkg.Store{}, err
	}
	return runtimepkg.Store{Dir: h.AgentRuntimes()}, nil
}

func installFlags(c *cobra.Command, opt *runtimepkg.InstallOptions) {
	c.Flags().StringVar(&opt.ID, "id", "", "the package to take, where there are several")
	c.Flags().BoolVar(&opt.Replace, "replace", false, "take the place of a package of the same id")
}

func (a *app) runtimeInstallCmd() *cobra.Command {
	var opt runtimepkg.InstallOptions
	c := &cobra.Command{
		Use: "install SOURCE", Short: "Copy a package from a directory, a tar.gz or a zip file into deed's home", Args: names("SOURCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.runtimeStore()
			if err != nil {
				return err
			}
			in, err := s.Install(cmd.Context(), args[0], opt)
			return a.reportInstalled("installed", in, err)
		},
	}
	installFlags(c, &opt)
	return c
}

func (a *app) runtimeLinkCmd() *cobra.Command {
	var opt runtimepkg.InstallOptions
	c := &cobra.Command{
		Use: "link DIR", Short: "Use a package where it lies, with all changes that are made to it", Args: names("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.runtimeStore()
			if err != nil {
				return err
			}
			in, err := s.Link(args[0], opt)
			return a.reportInstalled("linked", in, err)
		},
	}
	installFlags(c, &opt)
	return c
}

func (a *app) reportInstalled(change string, in runtimepkg.Installed, err error) error {
	if err != nil {
		if errors.Is(err, runtimepkg.ErrRefused) || errors.Is(err, runtimepkg.ErrTaken) || errors.Is(err, os.ErrNotExist) {
			return usage(err)
		}
		return err
	}
	p := in.Package
	doc := runtimeChange{Schema: "deed/runtime.change/v1", Change: change, ID: p.ID, Path: p.Path, Real: p.Real, Replaced: in.Replaced, Findings: p.Findings}
	if in.Same {
		doc.Change = "unchanged"
	}
	if doc.Digest, err = p.Digest(); err != nil {
		return err
	}
	if a.json {
		return a.emit(doc)
	}
	a.printf("%s %s %s\n", doc.Change, clean(p.ID), showPath(p.Path))
	a.countFindings(p.ID, p.Findings)
	return nil
}

func (a *app) runtimeRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Take a package out of deed's home; a linked one keeps its files", Args: names("ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.runtimeStore()
			if err != nil {
				return err
			}
			was, err := s.Remove(args[0])
			var none *runtimepkg.NotInstalled
			if _, ships := shipped.Manifest(args[0]); ships && errors.As(err, &none) {
				return usage(fmt.Errorf("runtime package %q is part of deed and cannot be removed (a package of yours with that id takes its place)", args[0]))
			}
			if errors.As(err, &none) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.emit(runtimeChange{Schema: "deed/runtime.change/v1", Change: "removed", ID: args[0], Replaced: was})
			}
			a.printf("removed %s\n", clean(args[0]))
			return nil
		},
	}
}
