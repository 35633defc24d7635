package runtimepkg

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// A Command is what is started for a provider or a probe, with the package's path filled in.
type Command struct {
	Argv    []string                // the first is a program of the PATH, or a path
	Shell   bool                    // Argv is sh -c and a line
	Dir     string                  // what the invocation asks for, absolute; empty: it does not say
	Env     []homeboy.InvocationEnv // values filled in
	Allow   []string                // names of variables that it may see
	Display string                  // for people; parts that the manifest calls secret are replaced

	hide *redact.Redactor // what a probe's output may not show
}

// Command makes the command of a provider. invocation wins over command_argv, and that over command.
func (p *Package) Command(x homeboy.ExecutorProvider) (Command, error) {
	if x.Invocation != nil && len(x.Invocation.Words()) > 0 {
		return p.invocation(*x.Invocation), nil
	}
	if argv := x.Argv(); len(argv) > 0 {
		return p.invocation(homeboy.CommandInvocation{Argv: argv}), nil
	}
	argv, shell, err := shellCommand(x.Command, p.Real)
	if err != nil {
		return Command{}, fmt.Errorf("provider %s: %w", x.ID, err)
	}
	return Command{Argv: argv, Shell: shell, Display: display(argv, shell, nil)}, nil
}

func (p *Package) invocation(v homeboy.CommandInvocation) Command {
	c := Command{Allow: slices.Clone(v.EnvAllowlist), Display: fill(v.Display, p.Real)}
	for _, word := range v.Words() {
		c.Argv = append(c.Argv, fill(word, p.Real))
	}
	if v.Cwd != "" {
		if c.Dir = fill(v.Cwd, p.Real); !filepath.IsAbs(c.Dir) {
			c.Dir = filepath.Join(p.Real, c.Dir)
		}
	}
	for _, e := range v.Env {
		e.Value = fill(e.Value, p.Real)
		c.Env = append(c.Env, e)
	}
	if c.Display == "" {
		c.Display = display(c.Argv, false, v.Redaction)
	}
	return c
}

// display writes an argv for people.
func display(argv []string, shell bool, r *homeboy.InvocationRedaction) string {
	if shell {
		return argv[len(argv)-1]
	}
	words := make([]string, len(argv))
	for i, w := range argv {
		if words[i] = w; !harmless(w) {
			words[i] = fmt.Sprintf("%q", w)
		}
		if r != nil && slices.Contains(r.ArgvIndices, int64(i)) {
			if words[i] = r.Replacement; words[i] == "" {
				words[i] = "[redacted]"
			}
		}
	}
	return strings.Join(words, " ")
}

// ownFiles lists the files of the package that a command names, as paths below it.
func (p *Package) ownFiles(c Command) []string {
	var list []string
	words := c.Argv
	if c.Shell {
		words = strings.FieldsFunc(c.Argv[2], func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>\"'`=", r) })
	}
	for _, w := range words {
		if rel, ok := strings.CutPrefix(w, p.Real+"/"); ok && rel != "" && !strings.ContainsAny(rel, "*?[$") {
			list = append(list, rel)
		}
	}
	return list
}
