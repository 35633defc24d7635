package extension

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/project"
)

// A Command is what is run for a capability: a line for sh -c, in the component's directory.
type Command struct {
	Line   string
	Script string // the file that it runs, absolute; empty: a template that names none
}

// Command makes the line for a capability, with the arguments behind it. The error is a *NoScript.
func (e Extension) Command(c project.Component, capability string, args []string) (Command, error) {
	switch {
	case capability == runner.Lint && e.Manifest.Has(capability):
		return e.direct(capability, e.Manifest.Lint.Script, args)
	case capability == runner.Test && e.Manifest.Has(capability):
		return e.direct(capability, e.Manifest.Test.Script, args)
	case capability == runner.Build && e.Manifest.Has(capability):
		return e.build(c, *e.Manifest.Build, args)
	}
	return Command{}, &NoScript{ID: e.ID, Capability: capability, Reason: "its manifest does not have the capability", Remedy: "choose another extension"}
}

// direct runs a script of the extension by its first line.
func (e Extension) direct(capability, rel string, args []string) (Command, error) {
	script, fi, err := e.script(capability, rel)
	if err != nil {
		return Command{}, err
	}
	if fi.Mode()&0o111 == 0 {
		return Command{}, &NoScript{ID: e.ID, Capability: capability, Script: script, Reason: script + " is not executable", Remedy: "chmod +x it"}
	}
	return Command{Line: line(Quote(script), args), Script: script}, nil
}

func (e Extension) script(capability, rel string) (string, fs.FileInfo, error) {
	script := filepath.Join(e.Path, rel)
	fi, err := os.Stat(script)
	if err != nil {
		return "", nil, &NoScript{ID: e.ID, Capability: capability, Script: script, Reason: fmt.Sprintf("%s.extension_script is %s: %v", capability, rel, err), Remedy: "correct the manifest, or put the script there"}
	}
	if !fi.Mode().IsRegular() {
		return "", nil, &NoScript{ID: e.ID, Capability: capability, Script: script, Reason: script + " is not a file", Remedy: "name a file in the manifest"}
	}
	return script, fi, nil
}

// build runs the extension's own script, else the first of script_names that the component has, by the template.
func (e Extension) build(c project.Component, b BuildSpec, args []string) (Command, error) {
	if b.Script != "" {
		script, _, err := e.script(runner.Build, b.Script)
		if err != nil {
			return Command{}, err
		}
		return Command{Line: line(b.fill(script), args), Script: script}, nil
	}
	for _, name := range b.ScriptNames {
		if !filepath.IsLocal(name) {
			continue
		}
		if fi, err := os.Stat(filepath.Join(c.Path, name)); err == nil && fi.Mode().IsRegular() {
			return Command{Line: line(b.fill(name), args), Script: filepath.Join(c.Path, name)}, nil
		}
	}
	if b.CommandTemplate != "" && !strings.Contains(b.CommandTemplate, scriptMark) {
		return Command{Line: line(b.CommandTemplate, args)}, nil
	}
	why := "build.extension_script is missing"
	if len(b.ScriptNames) > 0 {
		why += fmt.Sprintf(", and %s has none of %s", c.Path, strings.Join(b.ScriptNames, ", "))
	}
	return Command{}, &NoScript{ID: e.ID, Capability: runner.Build, Reason: why, Remedy: "add a script to the extension or to the component, or give the component scripts: {build: [...]}"}
}

const scriptMark = "{{script}}"

// fill puts a quoted path into the template.
func (b BuildSpec) fill(script string) string {
	template := b.CommandTemplate
	if template == "" {
		template = "sh " + scriptMark
	}
	if strings.HasPrefix(script, "-") {
		script = "./" + script // it is a file, and no option of the shell
	}
	return strings.ReplaceAll(template, scriptMark, Quote(script))
}

// PreBuild is the script that runs before a build, as a line for sh -c; empty: there is none.
func (e Extension) PreBuild() (Command, error) {
	if e.Manifest.Build == nil || e.Manifest.Build.PreBuildScript == "" {
		return Command{}, nil
	}
	return e.direct(runner.Build, e.Manifest.Build.PreBuildScript, nil)
}

// Steps lists the steps that the manifest names for a capability; nil: it does not say.
func (e Extension) Steps(capability string) []string {
	switch {
	case capability == runner.Lint && e.Manifest.Lint != nil:
		return e.Manifest.Lint.Steps
	case capability == runner.Test && e.Manifest.Test != nil:
		return e.Manifest.Test.Steps
	case capability == runner.Build && e.Manifest.Build != nil:
		return e.Manifest.Build.Steps
	}
	return nil
}

func line(command string, args []string) string {
	words := []string{command}
	for _, a := range args {
		words = append(words, Quote(a))
	}
	return strings.Join(words, " ")
}

// Quote makes one word of a text for a POSIX shell.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// A Hook is a command that runs at an event.
type Hook struct {
	Event   string
	Source  string // the extension's id; empty: the component
	Command string // for sh -c in the component's directory
	Fatal   bool   // its failure ends what it belongs to
}

// Hooks lists what runs at an event, as in pre:test or post:lint: those of the plan's extensions, then the component's. What
// comes before a capability is fatal, what comes after it is only reported; post:version:bump is fatal, too, since a release
// without it would be wrong.
func (p Plan) Hooks(c project.Component, event string) []Hook {
	fatal := strings.HasPrefix(event, "pre:") || event == "post:version:bump"
	var hooks []Hook
	add := func(source string, commands []string) {
		for _, command := range commands {
			hooks = append(hooks, Hook{Event: event, Source: source, Command: command, Fatal: fatal})
		}
	}
	for _, e := range slices.SortedFunc(slices.Values(p.Extensions), func(a, b Extension) int { return strings.Compare(a.ID, b.ID) }) {
		add(e.ID, e.Manifest.Hooks[event])
	}
	add("", c.Hooks[event])
	return hooks
}
