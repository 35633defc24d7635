package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/isolate/toolchain"
)

// What a command of a skill may print, and where it is seen inside.
const (
	maxSkillOutput = 8 << 20
	skillInside    = "/run/deed/skill"
	skillWork      = "/workspace"
)

type skillRunFlags struct {
	input, isolation, workspace string
	timeout                     time.Duration
}

func (a *app) skillRunCmd() *cobra.Command {
	var f skillRunFlags
	c := &cobra.Command{
		Use: "run SKILL [COMMAND] [ARG]...", Short: "Run a command of a skill in a sandbox, and print what it prints", Args: cobra.MinimumNArgs(1),
		Long: `Run one command of a skill, in a sandbox without a network. Standard input of the command is the JSON of --input, which must pass the
skill's input schema; standard output must pass its output schema, or nothing is printed and the exit code is 1. COMMAND may be
left out when the skill has one only. Arguments for the command come after --.`,
		Example: "  deed skill run links links-check -- README.md\n  echo '{\"path\": \"docs\"}' | deed skill run links --input -",
		RunE: func(c *cobra.Command, args []string) error {
			return a.skillRun(c.Context(), f, args, c.ArgsLenAtDash())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.input, "input", "", "`FILE` with the JSON that the command reads, - for standard input")
	fl.StringVar(&f.isolation, "isolation", string(sandbox.Namespace), "`KIND`: process, namespace or container")
	fl.StringVarP(&f.workspace, "workspace", "w", "", "directory that the command may read, and starts in (default: an empty one)")
	fl.DurationVar(&f.timeout, "timeout", time.Minute, "time limit")
	return c
}

func (a *app) skillRun(ctx context.Context, f skillRunFlags, args []string, dash int) error {
	found, err := a.oneSkill(args[0])
	if err != nil {
		return err
	}
	s := found.Skill
	cmd, rest, err := pickCommand(s, args[1:], dash-1)
	if err != nil {
		return usage(err)
	}
	if f.timeout < time.Second {
		return usage(fmt.Errorf("--timeout %s is less than a second", f.timeout))
	}
	var input []byte
	if f.input != "" {
		if input, err = a.readDocument(ctx, f.input, maxSkillOutput); err != nil {
			return unread(err)
		}
	}
	if s.Input != nil && f.input == "" {
		return usage(fmt.Errorf("skill %s has an input schema, and there is no input (give --input FILE)", s.ID()))
	}
	if err := passes(s.Input, input); err != nil {
		return usage(fmt.Errorf("the input of skill %s: %w", s.ID(), err))
	}
	out, err := a.inSandbox(ctx, f, s, cmd, rest, input)
	if err != nil {
		return err
	}
	if err := passes(s.Output, out); err != nil {
		return &exitError{code: ExitNotDone, err: fmt.Errorf("%s printed what does not pass the output schema of skill %s: %w", cmd.Name, s.ID(), err)}
	}
	_, err = a.Out.Write(out)
	return err
}

// pickCommand finds the command that is meant; dash is the number of arguments before --, negative without one.
func pickCommand(s *skill.Skill, args []string, dash int) (skill.Command, []string, error) {
	var known []string
	for _, c := range s.Commands {
		known = append(known, c.Name)
	}
	if len(args) == 0 || dash == 0 {
		if len(s.Commands) == 1 {
			return s.Commands[0], args, nil
		}
		return skill.Command{}, nil, fmt.Errorf("COMMAND is missing; skill %s has: %s", s.ID(), or(strings.Join(known, ", "), "none"))
	}
	i := slices.Index(known, args[0])
	if i < 0 {
		return skill.Command{}, nil, fmt.Errorf("skill %s has no command %q; it has: %s", s.ID(), args[0], or(strings.Join(known, ", "), "none"))
	}
	return s.Commands[i], args[1:], nil
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// passes checks a document against a schema; a nil schema accepts everything.
func passes(text, doc []byte) error {
	if text == nil {
		return nil
	}
	p, err := schema.CompilePayload(text)
	if err != nil {
		return err
	}
	return p.Check(bytes.TrimSpace(doc))
}

// inSandbox runs a command on a copy of the skill and returns what it printed. Its standard error is passed through.
func (a *app) inSandbox(ctx context.Context, f skillRunFlags, s *skill.Skill, cmd skill.Command, args []string, input []byte) ([]byte, error) {
	tmp, done, err := atomicfile.Scratch("skill")
	if err != nil {
		return nil, err
	}
	defer done()
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for _, name := range []string{"skill", "home", "work"} {
		dirs[name] = filepath.Join(tmp, name)
		if err := os.Mkdir(dirs[name], 0o755); err != nil {
			return nil, err
		}
	}
	if err := s.Tree.Write(dirs["skill"], true); err != nil {
		return nil, err
	}
	if f.workspace != "" {
		if dirs["work"], err = filepath.EvalSymlinks(f.workspace); err == nil {
			dirs["work"], err = filepath.Abs(dirs["work"])
		}
		if err != nil {
			return nil, usage(fmt.Errorf("--workspace: %w", err))
		}
	}
	spec := sandbox.Spec{Kind: sandbox.Kind(f.isolation)}
	env := []string{"LANG=C.UTF-8", "PATH=" + a.getenv("PATH")}
	if spec.Kind == sandbox.Namespace || spec.Kind == sandbox.Container {
		if a.h.Overlaps(dirs["work"]) {
			return nil, usage(fmt.Errorf("--workspace %s shows deed's home (name a directory apart from it)", f.workspace))
		}
		spec.Mounts = []sandbox.Mount{
			{Source: dirs["skill"], Target: skillInside},
			{Source: dirs["home"], Target: "/home/agent", Writable: true},
			{Source: dirs["work"], Target: skillWork},
		}
		dirs = map[string]string{"skill": skillInside, "home": "/home/agent", "work": skillWork}
		env[1] = "PATH=" + toolchain.Find(a.environ, nil, "/tmp").Env["PATH"]
	}
	box, err := sandbox.New(ctx, spec)
	if failure.ClassOf(err) == failure.Isolation {
		return nil, &exitError{code: ExitInfra, err: err}
	}
	if err != nil {
		return nil, usage(err)
	}
	sup, err := proc.IdleSupervisor(proc.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = sup.Close() }() // the run is over, and nothing of it is left
	var out bytes.Buffer
	exit, err := box.Run(ctx, sup, proc.Spec{
		Argv: slices.Concat([]string{path.Join(dirs["skill"], cmd.Path)}, cmd.Args, args), Dir: dirs["work"],
		Env:   append(env, "HOME="+dirs["home"], "TMPDIR=/tmp", "DEED_SKILL="+dirs["skill"]),
		Stdin: bytes.NewReader(input), Stdout: &limited{to: &out, left: maxSkillOutput}, Stderr: a.Err, Timeout: f.timeout,
	})
	switch {
	case errors.Is(err, errTooMuch):
		return nil, &exitError{code: ExitNotDone, err: fmt.Errorf("%s printed more than %d bytes", cmd.Name, maxSkillOutput)}
	case err != nil:
		return nil, err
	case exit.TimedOut:
		return nil, &exitError{code: ExitNotDone, err: fmt.Errorf("%s ran longer than %s and was ended", cmd.Name, f.timeout)}
	case exit.Canceled:
		return nil, exit.Cause
	case exit.Code != 0:
		return nil, &exitError{code: ExitNotDone, err: fmt.Errorf("%s ended with exit code %d", cmd.Name, exit.Code)}
	}
	return out.Bytes(), nil
}

var errTooMuch = errors.New("too much output")

// limited ends a run that prints more than it may.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errTooMuch
	}
	return l.to.Write(p)
}
