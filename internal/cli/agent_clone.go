package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/engine/clone"
	"github.com/deedrun/deed/internal/web/server"
)

func (a *app) agentExportCmd() *cobra.Command {
	return &cobra.Command{
		Use: "export NAME FILE", Short: "Write an agent, with everything but secrets, into one archive", Args: names("NAME", "FILE"),
		Long: `Write an agent into one tar.gz file: who it is, its wallets' public parts, every version of its constitution, the home's settings, skills,
workflow definitions and schedules. Secrets stay: keys, env files, variables that look like credentials, and where secrets are
looked up; what was left out is listed. When a secret that this home knows of is found in what would be written, nothing is.
The same agent gives the same bytes.`,
		Example: "  deed agent export loom loom.tar.gz",
		RunE:    func(c *cobra.Command, args []string) error { return a.agentExport(c.Context(), args[0], args[1]) },
	}
}

func (a *app) agentExport(ctx context.Context, name, file string) error {
	g, err := a.oneAgent(ctx, name)
	if err != nil {
		return err
	}
	x, err := clone.Source{Home: a.h, Store: a.st, Config: a.cfg, Environ: a.environ}.Export(ctx, g.Record.AgentID)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(file, 0o600, x.Tree.Pack); err != nil {
		return err
	}
	if a.json {
		return a.emit(map[string]any{"schema": "deed/agent-export/v1", "agent_id": g.Record.AgentID, "file": file, "digest": x.Tree.Digest(), "files": len(x.Tree), "left_out": append([]string{}, x.Left...)})
	}
	a.hint("agent %s is in %s: %s", clean(g.Record.AgentID), showPath(file), contents(x.Archive))
	for _, l := range x.Left {
		a.hint("  left out: %s", clean(l))
	}
	return nil
}

// contents counts what an archive has.
func contents(x *clone.Archive) string {
	var out []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{len(x.Versions), "version of its constitution"}, {len(x.Wallets), "wallet"}, {len(x.Skills), "skill"}, {len(x.Workflows), "workflow"}, {len(x.Schedules), "schedule"},
	} {
		if p.n > 0 {
			out = append(out, plural(p.n, p.what))
		}
	}
	if len(out) == 0 {
		return "its identity"
	}
	return strings.Join(out, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if first, rest, ok := strings.Cut(what, " "); ok {
		return fmt.Sprintf("%d %ss %s", n, first, rest)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (a *app) agentImportCmd() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use: "import FILE|DIR", Short: "Take an agent in from an archive, or from a directory of the same form", Args: names("FILE or DIR"),
		Long: `Take an agent in. An archive is held against its manifest, and everything in it against this home, before anything is written: what is
here already and is another is listed with both values, and nothing is changed. It is taken in whole or not at all, also when deed is
killed in the middle. Settings that this home has not are added with --merge-settings, or left out with --keep-settings. Settings name commands that deed serve runs as its own user: import
what you trust, and look first (--dry-run).`,
		Example: "  deed agent import loom.tar.gz --dry-run\n  deed agent import loom.tar.gz --merge-settings\n  deed agent import examples/caretaker --as keeper",
		RunE:    func(c *cobra.Command, args []string) error { return a.agentImport(c.Context(), args[0], f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.as, "as", "", "import it under this internal `NAME`")
	fl.BoolVar(&f.keep, "keep-settings", false, "leave the home's deed.yaml as it is")
	fl.BoolVar(&f.merge, "merge-settings", false, "add to the home's deed.yaml what it has not; what it has otherwise is refused")
	fl.BoolVar(&f.dry, "dry-run", false, "say what would be written, and what is in the way")
	c.MarkFlagsMutuallyExclusive("keep-settings", "merge-settings")
	return c
}

type importFlags struct {
	as               string
	keep, merge, dry bool
}

func (a *app) agentImport(ctx context.Context, source string, f importFlags) error {
	x, err := clone.Read(source)
	if err == nil && f.as != "" {
		err = x.Rename(f.as)
	}
	if err != nil {
		if fault.Of(err) != nil || errors.Is(err, clone.ErrDamaged) || errors.Is(err, filetree.ErrRefused) || errors.Is(err, fs.ErrNotExist) {
			return usage(fmt.Errorf("%s: %w", showPath(source), err))
		}
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	t := clone.Target{Home: a.h, Store: a.st, Config: a.cfg, Drivers: a.drivers(), Clock: clock.System, Path: a.getenv("PATH"), By: a.operator(), KeepSettings: f.keep, MergeSettings: f.merge}
	do := t.Import
	if f.dry {
		do = t.Check
	}
	plan, err := do(ctx, x)
	if err != nil {
		if fault.Of(err) != nil {
			return usage(fmt.Errorf("nothing was imported: %w", err))
		}
		return err
	}
	if a.json {
		return a.emit(map[string]any{"schema": "deed/agent-import/v1", "agent_id": x.Identity.AgentID, "home": a.h.Root(), "dry_run": f.dry, "written": newImportDoc(plan)})
	}
	if !plan.Writes() {
		a.hint("agent %s is in this home already, and the same: nothing is to be imported", clean(x.Identity.AgentID))
		return nil
	}
	word := "is imported"
	if f.dry {
		word = "would be imported"
	}
	a.hint("agent %s %s: %s", clean(x.Identity.AgentID), word, contents(x))
	for _, line := range planLines(plan) {
		a.hint("  %s", clean(line))
	}
	if !f.dry {
		if _, err := server.Find(a.h); err == nil {
			a.hint("deed serve runs with the settings from before; have it take these over:  deed reload")
			return nil
		}
		a.hint("start it:  deed serve")
	}
	return nil
}

// importDoc is what an import writes, as --json shows it.
type importDoc struct {
	Identity  bool              `json:"identity"`
	Wallets   int               `json:"wallets"`
	Versions  int               `json:"versions"`
	Skills    []string          `json:"skills"`
	Workflows []string          `json:"workflows"`
	Schedules []string          `json:"schedules"`
	Whole     bool              `json:"settings_whole"`
	Settings  []settingAddition `json:"settings_added"`
}

type settingAddition struct {
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

func newImportDoc(p clone.Plan) importDoc {
	d := importDoc{
		Identity: p.Identity, Wallets: p.Wallets, Versions: p.Versions, Whole: p.Whole, Settings: []settingAddition{},
		Skills: append([]string{}, p.Skills...), Workflows: append([]string{}, p.Workflows...), Schedules: append([]string{}, p.Schedules...),
	}
	for _, a := range p.Settings {
		d.Settings = append(d.Settings, settingAddition{a.Path(), a.Value})
	}
	return d
}

// planLines says what an import adds to settings that are there.
func planLines(p clone.Plan) []string {
	var out []string
	for _, a := range p.Settings {
		out = append(out, "deed.yaml is given "+a.Path()+": "+shorten(string(a.Value), 120))
	}
	return out
}
