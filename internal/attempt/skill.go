package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"

	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/attempt/brief"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// Where a contained agent sees its skills and their commands.
const (
	insideSkills   = "/run/deed/skills"
	insideCommands = "/run/deed/commands"
)

// placeSkills writes the versions that the task was admitted with into the attempt's directory: later changes of an
// installed folder do not affect this attempt. A continued attempt gets fresh copies, since the agent may have
// changed the old ones.
func (a *run) placeSkills() error {
	pins := a.plan.spec.Skills
	if len(pins) == 0 {
		return nil
	}
	catalog := skill.For(a.Home, "")
	for _, pin := range pins {
		s, err := catalog.Load(pin)
		if err != nil {
			return failure.New(failure.Config, "find the skills of the task", err, "")
		}
		a.skills = append(a.skills, s)
	}
	launchers, err := skill.Launchers(a.skills, func(id string) string { return path.Join(a.skillsDir(), id) })
	if err != nil {
		return failure.New(failure.Config, "place the commands of the skills", err, "")
	}
	trees := map[string]filetree.Tree{a.path("commands"): launchers}
	for _, s := range a.skills {
		trees[a.path("skills", s.ID())] = s.Tree
	}
	if err := a.layOut(trees); err != nil {
		return failure.New(failure.Infra, "place the skills of the task", err, "")
	}
	a.note("skills", pins)
	return nil
}

// layOut writes trees into directories of their own, read-only.
func (a *run) layOut(trees map[string]filetree.Tree) error {
	for _, dir := range []string{a.path("skills"), a.path("commands")} {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			if err := workspace.Remove(dir); err != nil {
				return err
			}
		}
	}
	for dir := range maps.Keys(trees) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := trees[dir].Write(dir, true); err != nil {
			return err
		}
	}
	return nil
}

// skillsDir is where the agent sees its skills.
func (a *run) skillsDir() string {
	if a.plan.contained() {
		return insideSkills
	}
	return a.path("skills")
}

// skillDirs returns where the skills and their commands are, for the driver; both are empty if there are none.
func (a *run) skillDirs() (skills, commands string) {
	if len(a.skills) == 0 {
		return "", ""
	}
	return a.path("skills"), a.path("commands")
}

// skillMounts mounts the skills for a contained agent, read-only.
func (a *run) skillMounts() []sandbox.Mount {
	if len(a.skills) == 0 {
		return nil
	}
	return []sandbox.Mount{{Source: a.path("skills"), Target: insideSkills}, {Source: a.path("commands"), Target: insideCommands}}
}

// maxSchemaInBrief bounds an output schema that is put into the brief; a longer one is in the skill's folder.
const maxSchemaInBrief = 4 << 10

// briefSkills returns what the brief says about the skills. If the profile only offers a skill, the agent opens its
// instructions itself.
func (a *run) briefSkills() []brief.Skill {
	var out []brief.Skill
	for i, s := range a.skills {
		b := brief.Skill{ID: s.ID(), Version: s.Version, Digest: s.Digest, Description: s.Manifest.Description}
		for _, c := range s.Commands {
			b.Commands = append(b.Commands, c.Name)
		}
		if !a.plan.spec.Skills[i].Offered {
			b.Body = skillBody(s)
		}
		out = append(out, b)
	}
	return out
}

func skillBody(s *skill.Skill) string {
	var parts []string
	for _, text := range []string{s.Body, strings.TrimSpace(s.Subagent)} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if s.Output != nil {
		text := fmt.Sprintf("Leave your result as JSON in $DEED_ARTIFACTS/%s. It must pass the schema %s", s.OutputFile(), s.Manifest.OutputSchemaID)
		if len(s.Output) <= maxSchemaInBrief {
			text += ":\n\n" + string(s.Output)
		} else {
			text += ", which is among the skill's files."
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

// skillNotes tells the agent where the files are.
func (a *run) skillNotes() []string {
	if len(a.skills) == 0 {
		return nil
	}
	return []string{"The files of each skill are in $DEED_SKILLS/NAME, for reading. Open SKILL.md there before you use a skill whose text is not in this brief."}
}
