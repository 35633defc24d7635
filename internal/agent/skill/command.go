package skill

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/checks/extension"
)

// reserved are names that a skill's command may not have. The directory of commands comes last on the PATH, so that none of them could
// take the place of a program that is there; but where one of these is missing, whatever calls it must not get something else.
var reserved = []string{
	"awk", "bash", "busybox", "bwrap", "cat", "chmod", "chown", "cp", "curl", "dash", "deed", "docker", "doas", "env", "find", "git", "go",
	"gpg", "grep", "kill", "ln", "login", "ls", "make", "mkdir", "mount", "mv", "node", "npm", "npx", "perl", "php", "pip", "podman", "python",
	"python3", "rm", "ruby", "sed", "sh", "ssh", "su", "sudo", "tar", "test", "touch", "wget", "which", "xargs", "zsh",
}

// commands resolves what the skill offers to files of it.
func (p *parser) commands() {
	list := p.s.Manifest.CLICommands
	if list == nil {
		for _, f := range p.tree {
			if path.Dir(f.Path) == CommandDir && f.Exec {
				list = append(list, agentruntime.CLICommand{Name: path.Base(f.Path), Command: f.Path})
			}
		}
		p.s.Manifest.CLICommands = list
	}
	if len(list) > maxCommands {
		p.l.Add("$.cli_commands", fault.OutOfRange, fmt.Sprintf("has %d commands, more than %d", len(list), maxCommands), "")
		return
	}
	for i, c := range list {
		at := fault.Index("$.cli_commands", i)
		if why := commandName(c.Name); why != "" {
			p.l.Add(at+".name", fault.BadFormat, why, "use at most 64 of a-z, 0-9, ., _ and -, and a name of its own such as "+p.dir+"-check")
		}
		words := strings.Fields(c.Command)
		if len(words) == 0 {
			continue // the contract's own rule reports it
		}
		file := path.Clean(words[0])
		f, ok := p.tree.Get(file)
		switch {
		case !ok:
			p.l.Add(at+".command", fault.Dangling, fmt.Sprintf("%.100q is not a file of the skill", words[0]), "name a file below the skill's folder, then its arguments")
		case !f.Exec:
			p.l.Add(at+".command", fault.BadFormat, fmt.Sprintf("%.100q is not executable", words[0]), "chmod +x "+words[0])
		}
		p.s.Commands = append(p.s.Commands, Command{Name: c.Name, Path: file, Args: words[1:], Description: c.Description})
	}
}

func commandName(name string) string {
	switch {
	case name == "" || len(name) > MaxName:
		return fmt.Sprintf("has %d characters, not 1 to %d", len(name), MaxName)
	case slices.Contains(reserved, name):
		return fmt.Sprintf("%q is the name of a program that others rely on", name)
	case name[0] == '-' || name[0] == '.':
		return fmt.Sprintf("%q begins with %q", name, name[0])
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r) {
			return fmt.Sprintf("%.100q has characters other than a-z, 0-9, ., _ and -", name)
		}
	}
	return ""
}

// Launchers returns one program for each command of the skills, for a directory at the end of the PATH. at says where a skill's
// folder is seen by who runs them. A name that two skills have is refused.
func Launchers(skills []*Skill, at func(id string) string) (filetree.Tree, error) {
	var files []filetree.File
	by := map[string]string{}
	for _, s := range skills {
		for _, c := range s.Commands {
			if other, taken := by[c.Name]; taken {
				return nil, fmt.Errorf("the command %s is in skill %s and in skill %s (use one of them, or rename it)", c.Name, other, s.ID())
			}
			by[c.Name] = s.ID()
			var b bytes.Buffer
			fmt.Fprintf(&b, "#!/bin/sh\nexec %s", extension.Quote(path.Join(at(s.ID()), c.Path)))
			for _, arg := range c.Args {
				b.WriteString(" " + extension.Quote(arg))
			}
			b.WriteString(" \"$@\"\n")
			files = append(files, filetree.File{Path: c.Name, Exec: true, Data: b.Bytes()})
		}
	}
	return filetree.Of(files...)
}

// linesOf returns the faults of a YAML file with their lines.
func linesOf(err error) []config.LineFault {
	var e *config.Error
	if !errors.As(err, &e) {
		return nil
	}
	return e.Faults
}
