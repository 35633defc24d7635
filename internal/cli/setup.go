package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
)

// template is the deed.yaml that init writes. A test reads it back.
const template = `# Settings of deed for this directory. Every key is optional; unknown keys are errors.
# ` + "`deed schema show deed/config/v1`" + ` prints what there is.

# adapters:                     who can do work; ` + "`deed run --agent NAME`" + ` picks one. codex, claude-code and opencode
#                               need no entry when they are on the PATH: ` + "`deed doctor`" + ` lists them
#   reviewer:
#     kind: claude-code         or codex, opencode, native, acp, command, ...: docs/AGENT-CLIS.md
#     command: claude
#     model: claude-sonnet-4-5
#     timeout_ms: 1800000
#   fixer:
#     kind: script              any executable: it gets the task on stdin and in files, and works in a copy
#     command: ./agents/fixer.sh
#     timeout_ms: 900000

# task_types:                   what counts as done, for every task of a type
#   fix:
#     payload_schema_id: deed/payload.any/v1
#     deed:
#       require_changes: true
#       protected_paths: ["**/*_test.go", ".github/**"]
#       checks:
#         - shell: make test

# defaults:
#   adapter_id: fixer
#   max_attempts: 3
`

func (a *app) initCmd() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "init", Short: "Write a deed.yaml here and make the home", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			h, err := a.makeHome()
			if err != nil {
				return err
			}
			k, err := bundle.LoadOrCreateKey(h.Keys())
			if err != nil {
				return err
			}
			path, err := filepath.Abs(config.FileName)
			if err != nil {
				return err
			}
			if _, err := os.Lstat(path); err == nil && !force {
				return usage(fmt.Errorf("%s exists (edit it, or overwrite it with --force)", path))
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := atomicfile.WriteFile(path, []byte(template), 0o644); err != nil {
				return err
			}
			if a.json {
				return a.emit(map[string]string{"config": path, "home": h.Root(), "key_id": k.Public().ID})
			}
			a.printf("wrote %s\nhome  %s\nkey   %s\n", path, h.Root(), k.Public().ID)
			a.hint("\nsee which agents there are:  deed doctor\nthen:                        deed run --agent NAME --check CMD GOAL")
			return nil
		},
	}
	c.Flags().BoolVar(&force, "force", false, "overwrite an existing file")
	return c
}

// A symptom is one line of the doctor's report.
type symptom struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warning or fault
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

func (a *app) doctorCmd() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check this machine, the home and the settings", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list := a.examine(c.Context())
			bad := 0
			for _, f := range list {
				if f.Status == "fault" {
					bad++
				}
			}
			if a.json {
				if err := a.emit(map[string]any{"findings": list, "healthy": bad == 0}); err != nil {
					return err
				}
			} else {
				for _, f := range list {
					mark := map[string]string{"ok": a.color.Green("✓"), "warning": a.color.Yellow("!"), "fault": a.color.Red("✗")}[f.Status]
					for i, line := range strings.Split(strings.TrimRight(cleanLines(f.Detail), "\n"), "\n") {
						if i == 0 {
							a.printf("%s %-12s %s\n", mark, f.Name, line)
						} else {
							a.printf("  %-12s %s\n", "", line)
						}
					}
					if f.Remedy != "" {
						a.printf("  %-12s %s\n", "", a.color.Dim(f.Remedy))
					}
				}
			}
			if bad > 0 {
				return errNotDone
			}
			return nil
		},
	}
}

func (a *app) examine(ctx context.Context) []symptom {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var out []symptom
	add := func(name, status, detail, remedy string) { out = append(out, symptom{name, status, detail, remedy}) }

	add("deed", "ok", "version "+Version(), "")
	if cfg, err := a.config(); err != nil {
		add("settings", "fault", err.Error(), "correct the file that is named")
	} else if len(cfg.Files) == 0 {
		add("settings", "ok", "no deed.yaml; deed's own defaults hold", "")
	} else {
		add("settings", "ok", fmt.Sprintf("%s (%s, %s)", strings.Join(cfg.Files, ", "), count(len(cfg.AdapterIDs()), "adapter"), count(len(cfg.TypeNames()), "task type")), "")
	}
	a.examineHome(ctx, add)
	a.examineTools(ctx, add)
	a.examineSandboxes(ctx, add)
	a.examineWordPress(ctx, add)
	a.examineAdapters(ctx, add)
	a.examineLife(ctx, add)
	return out
}

// examineAdapters asks each configured adapter's driver what is missing here.
func (a *app) examineAdapters(ctx context.Context, add func(name, status, detail, remedy string)) {
	if a.cfg == nil {
		return
	}
	if len(a.cfg.AdapterIDs()) == 0 {
		add("adapter", "warning", "none: no deed.yaml names one, and neither codex nor claude nor opencode is on the PATH", "install an agent, add an adapter to deed.yaml (docs/AGENT-CLIS.md), or give a program with `deed run --script FILE`")
	}
	for _, id := range a.cfg.AdapterIDs() {
		ad, err := a.cfg.Adapter(id)
		if err != nil {
			continue // the id comes from the list
		}
		d, err := a.drivers().For(ad.Kind())
		if err != nil {
			add("adapter", "warning", fmt.Sprintf("%s: %v", id, err), "")
			continue
		}
		ready := d.Ready(ctx, ad.AdapterConfig)
		if ready.Ready {
			status, detail := describe(ctx, d, ad.AdapterConfig)
			add("adapter", status, detail, "")
		}
		for _, m := range ready.Missing {
			add("adapter", "fault", fmt.Sprintf("%s: %s: %s", id, m.Name, m.Reason), m.Remedy)
		}
	}
}

// examineLife looks at what makes work by itself: definitions of workflows, sensors and schedules.
func (a *app) examineLife(ctx context.Context, add func(name, status, detail, remedy string)) {
	if a.cfg == nil || a.h == nil || a.st == nil {
		return // reported above
	}
	for _, err := range a.definitions().Faults() {
		add("workflow", "fault", err.Error(), "mend or remove the file (`deed workflow lint FILE`)")
	}
	sensors, err := a.st.Sensors(ctx)
	if err != nil {
		add("sensor", "fault", err.Error(), "")
	}
	for _, x := range sensors {
		if _, there := a.cfg.Sensors[x.ID]; there && x.Failures > 0 && !x.Disabled {
			add("sensor", "warning", fmt.Sprintf("%s has failed %s since %s: %s", x.ID, timesText(int64(x.Failures)), toSecond(string(agentruntime.At(x.Since))), x.LastError), "deed sensor show "+x.ID)
		}
	}
	schedules, err := a.st.Schedules(ctx, "", maxExamined)
	if err != nil {
		add("schedule", "fault", err.Error(), "")
	}
	for _, sc := range schedules {
		if sc.Suspended != "" {
			add("schedule", "warning", fmt.Sprintf("%s is suspended: %s", sc.Record.Name, sc.Suspended), "deed schedule enable "+sc.Record.Name)
		}
	}
}

// maxExamined is how many schedules are looked at.
const maxExamined = 10_000

// describe names an adapter that is ready, with the version of its agent where that can be asked for.
func describe(ctx context.Context, d driver.Driver, a agentruntime.AdapterConfig) (status, detail string) {
	v, ok := d.(driver.Versioned)
	if !ok {
		return "ok", fmt.Sprintf("%s (%s)", a.ID(), a.Kind())
	}
	version, err := v.Version(ctx, a)
	if err != nil {
		return "warning", fmt.Sprintf("%s (%s): %v", a.ID(), a.Kind(), err)
	}
	return "ok", fmt.Sprintf("%s (%s, %s)", a.ID(), a.Kind(), version)
}

func (a *app) examineHome(ctx context.Context, add func(name, status, detail, remedy string)) {
	root, err := home.Resolve(a.homeFlag, a.getenv)
	if err != nil {
		add("home", "fault", err.Error(), "")
		return
	}
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		add("home", "ok", root+" (not made yet)", "")
		return
	}
	if a.h, err = home.Open(root); err != nil {
		add("home", "fault", err.Error(), "")
		return
	}
	add("home", "ok", root, "")
	if a.cfg == nil {
		return
	}
	if err := a.openStore(ctx, a.cfg); err != nil {
		remedy := ""
		if errors.Is(err, store.ErrSchemaNewer) {
			remedy = "use the newer deed that wrote it"
		}
		add("store", "fault", err.Error(), remedy)
		return
	}
	counts, err := a.st.Counts(ctx)
	if err != nil {
		add("store", "fault", err.Error(), "")
		return
	}
	var total int64
	for _, n := range counts {
		total += n
	}
	add("store", "ok", fmt.Sprintf("%s, %d tasks", a.st.Dialect(), total), "")
	if faults, err := a.st.Audit(ctx); err != nil {
		add("store", "fault", err.Error(), "")
	} else {
		for _, f := range faults {
			add("store", "fault", f, "this is a fault in deed: please report it")
		}
	}
	if p, paused, err := a.st.Paused(ctx); err == nil && paused {
		add("dispatch", "warning", "paused: "+p.Reason, "deed resume")
	}
	if keys, err := bundle.TrustedKeys(a.h.Keys()); err != nil {
		add("keys", "fault", err.Error(), "")
	} else {
		add("keys", "ok", count(len(keys), "trusted key"), "")
	}
}

func (a *app) examineTools(ctx context.Context, add func(name, status, detail, remedy string)) {
	path := a.getenv("PATH")
	if git, err := proc.LookPath("git", path, "/"); err != nil {
		add("git", "fault", "not on PATH", "install git: patches are made and applied by it")
	} else if res, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{git, "version"}, Dir: "/"}); err != nil {
		add("git", "fault", err.Error(), "")
	} else {
		add("git", "ok", strings.TrimSpace(string(res.Stdout)), "")
	}
	start := clock.Start()
	if err := a.trySupervisor(ctx); err != nil {
		add("supervisor", "fault", err.Error(), "deed cannot run agents here")
	} else {
		add("supervisor", "ok", "a process ran and ended in "+clock.Since(start).Round(time.Millisecond).String(), "")
	}
}

// trySupervisor runs one process the way an agent is run.
func (a *app) trySupervisor(ctx context.Context) error {
	s, err := proc.NewSupervisor(ctx, proc.Options{})
	if err != nil {
		return err
	}
	exit, err := s.Run(ctx, proc.Spec{Argv: []string{"/bin/sh", "-c", "exit 0"}, Dir: "/", Timeout: 10 * time.Second})
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("a shell ended with exit code %d", exit.Code)
	}
	return errors.Join(err, s.Close())
}
