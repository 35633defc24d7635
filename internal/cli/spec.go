package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/isolate/egress"
)

// specFlags are the flags that say what a task may do and what counts as done. `run` and `task add` share them.
type specFlags struct {
	checks                             checkSpecFlags
	scope, protect, secrets, artifacts []string
	allowSecrets                       []string
	timeout                            time.Duration
	attempts, recoveries               int
	isolation, ref, history, dedupe    string
	hosts, mounts, toolchains          []string
	allowEmpty                         bool
	budget                             deed.Budget
	maxTurns                           int
}

func (f *specFlags) register(c *cobra.Command) {
	fl := c.Flags()
	f.checks.register(c)
	fl.StringArrayVar(&f.scope, "scope", nil, "`GLOB` that may change; repeatable (default: everything)")
	fl.StringArrayVar(&f.protect, "protect", nil, "`GLOB` that must not change; repeatable")
	fl.StringArrayVar(&f.allowSecrets, "allow-secret", nil, "`GLOB` of files in which a private key or a token may be added; repeatable (default: none)")
	fl.StringArrayVar(&f.artifacts, "artifact", nil, "`FILE` that the agent must leave in $DEED_ARTIFACTS; repeatable")
	fl.BoolVar(&f.allowEmpty, "allow-empty", false, "accept an attempt that changes nothing")
	fl.StringArrayVar(&f.secrets, "secret", nil, "`NAME` of an environment variable whose value the agent gets; repeatable")
	fl.DurationVar(&f.timeout, "timeout", 0, "time limit of the agent, checks not included (default: the adapter's)")
	fl.StringVar(&f.isolation, "isolation", "", "`KIND`: none, process, namespace or container (default: the configured one, else process for a script and namespace for an agent)")
	fl.StringArrayVar(&f.hosts, "allow-host", nil, "`HOST[:PORT]` that a contained agent may reach; repeatable (default: no network)")
	fl.StringArrayVar(&f.mounts, "mount", nil, "`PATH[:TARGET]` that a contained agent and its checks may read; repeatable")
	fl.StringArrayVar(&f.toolchains, "toolchain", nil, "`NAME` of a toolchain to show in the sandbox: "+strings.Join(deed.Toolchains, ", ")+"; repeatable (default: what the workspace's files call for)")
	fl.Float64Var(&f.budget.CostUSD, "budget-usd", 0, "`DOLLARS` that all attempts together may cost (default: the configured budget)")
	fl.Int64Var(&f.budget.Tokens, "budget-tokens", 0, "tokens that all attempts together may use")
	fl.IntVar(&f.budget.Turns, "budget-turns", 0, "answers of the model that all attempts together may take")
	fl.IntVar(&f.maxTurns, "max-turns", 0, "answers of the model in one attempt (default: as many as the agent takes)")
	fl.IntVar(&f.recoveries, "max-recoveries", -1, "how often the agent is told why its work was refused, and goes on")
	fl.Lookup("max-recoveries").DefValue = "3" // -1 only says that none was given
	fl.StringVar(&f.ref, "ref", "", "with a git workspace: this `COMMIT` instead of the files as they stand")
	fl.StringVar(&f.history, "history", "", "with a git workspace: `HOW` much of it the agent gets: full, what its commit reaches, or none, one commit (default full)")
	fl.StringVar(&f.dedupe, "dedupe", "", "refuse a second task with this `KEY` while the first lives")
}

// spec turns the flags into the task's own fields; workspace is "" for none.
func (a *app) spec(f *specFlags, workspace string) (*deed.TaskSpec, error) {
	for name, d := range map[string]time.Duration{"--timeout": f.timeout, "--check-timeout": f.checks.timeout} {
		if d < 0 || (d > 0 && d < time.Second) {
			return nil, usage(fmt.Errorf("%s %s is less than a second", name, d))
		}
	}
	for name, list := range map[string][]string{"--scope": f.scope, "--protect": f.protect, "--secret": f.secrets, "--allow-secret": f.allowSecrets, "--artifact": f.artifacts, "--check": f.checks.visible, "--hidden-check": f.checks.hidden, "--check-input": f.checks.inputs, "--allow-host": f.hosts, "--mount": f.mounts, "--toolchain": f.toolchains} {
		for _, v := range list {
			if strings.TrimSpace(v) == "" {
				return nil, usage(fmt.Errorf("%s is empty (is a variable unset?)", name))
			}
		}
	}
	s := &deed.TaskSpec{
		WriteScope: f.scope, ProtectedPaths: f.protect, AllowSecrets: f.allowSecrets, SecretEnv: f.secrets, MaxAttempts: f.attempts, DedupeKey: f.dedupe,
		TimeoutSeconds: int64(f.timeout / time.Second), Isolation: f.isolation,
	}
	s.MaxTurns, s.RequireGrade, s.AllowBrokenBase = f.maxTurns, f.checks.requireGrade, f.checks.brokenBase
	if g := s.RequireGrade; g != "" && g != deed.GradePassing && g != deed.GradeFixed {
		return nil, usage(fmt.Errorf("--require-grade %q is no grade (give passing or fixed)", g))
	}
	if !f.budget.IsZero() {
		s.Budget = &f.budget
	}
	if f.recoveries >= 0 {
		s.MaxRecoveries = &f.recoveries
	}
	var err error
	if s.Checks, err = f.checks.checks(); err != nil {
		return nil, usage(err)
	}
	if f.allowEmpty {
		no := false
		s.RequireChanges = &no
	}
	if s.Sandbox, err = f.sandbox(); err != nil {
		return nil, usage(err)
	}
	if workspace == "" {
		if f.ref != "" {
			return nil, usage(errors.New("--ref needs a workspace"))
		}
		if f.history != "" {
			return nil, usage(errors.New("--history needs a workspace"))
		}
		return s, nil
	}
	dir, err := a.workspace(workspace)
	if err != nil {
		return nil, usage(err)
	}
	switch f.history {
	case "", deed.HistoryFull, deed.HistoryNone:
	default:
		return nil, usage(fmt.Errorf("--history %q is not full or none", f.history))
	}
	s.Workspace = &deed.Workspace{Source: dir, Ref: f.ref, History: f.history}
	return s, nil
}

// sandbox turns the flags into what an isolated agent is given, or nil.
func (f *specFlags) sandbox() (*deed.Sandbox, error) {
	if len(f.hosts)+len(f.mounts)+len(f.toolchains) == 0 {
		return nil, nil
	}
	s := &deed.Sandbox{Network: f.hosts}
	if len(f.toolchains) > 0 {
		s.Toolchains = &f.toolchains
	}
	for _, m := range f.mounts {
		source, target, _ := strings.Cut(m, ":")
		abs, err := filepath.Abs(source)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err != nil {
			return nil, fmt.Errorf("--mount %s: %w", m, err)
		}
		if target == "" {
			if target, err = filepath.Abs(source); err != nil {
				return nil, fmt.Errorf("--mount %s: %w", m, err)
			}
		}
		s.Mounts = append(s.Mounts, deed.Mount{Source: abs, Target: target})
	}
	if _, err := egress.ParseRules(f.hosts); err != nil {
		return nil, fmt.Errorf("--allow-host: %w", err)
	}
	return s, s.Validate()
}

// workspace makes a source absolute and refuses what cannot be one.
func (a *app) workspace(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("--workspace: %w", err)
	}
	if fi, err := os.Stat(abs); err != nil || !fi.IsDir() {
		return "", fmt.Errorf("--workspace %s is not a directory", dir)
	}
	root, err := home.Resolve(a.homeFlag, a.getenv)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("home: %w", err)
	}
	if within(abs, root) {
		return "", fmt.Errorf("the home %s lies in the workspace %s (choose another home with --home or DEED_HOME)", root, abs)
	}
	if within(root, abs) {
		return "", fmt.Errorf("the workspace %s lies in the home %s (choose another)", abs, root)
	}
	return abs, nil
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// evidence turns the flags into evidence requirements, or nil.
func (f *specFlags) evidence() *agentruntime.EvidenceRequirements {
	if len(f.artifacts) == 0 {
		return nil
	}
	return &agentruntime.EvidenceRequirements{RequiredArtifacts: f.artifacts}
}

// refuseSecrets refuses an intent whose own text holds the value of a secret that it names: the queue keeps that text.
func (a *app) refuseSecrets(in agentruntime.TaskIntent) error {
	if err := task.RefuseSecrets(in, a.getenv); err != nil {
		return usage(err)
	}
	return nil
}
