// Package skill owns capabilities that are folders. It reads a folder by the conventions of Agent Skills (SKILL.md with front
// matter), and an additional manifest of deed for commands, sensors and schemas. It finds the folder that an id means, and keeps the
// version that a task was admitted with. It does not decide who may use a skill, and it runs nothing.
package skill

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/filetree"
)

// The files of a skill that have a meaning.
const (
	InstructionFile = "SKILL.md"
	SubagentFile    = "AGENT.md"
	CommandDir      = "bin"     // where there is no list of commands, its executables are the commands
	SchemaDir       = "schemas" // JSON Schemas, found by their $id or their path
)

// manifestFiles are the names of deed's manifest; a skill has at most one of them, and most have none.
var manifestFiles = []string{"skill.yaml", "skill.yml", "skill.json"}

// Bounds of a skill.
const (
	MaxName          = 64
	MaxDescription   = 1024
	MaxCompatibility = 500
	maxText          = 256 << 10 // of each file that is read as text
	maxFrontMatter   = 32 << 10
	maxCommands      = 64
)

// Bounds is how large a skill may be.
var Bounds = filetree.Limits{Files: 1000, Bytes: 16 << 20}

// A Skill is one version of a skill, whole.
type Skill struct {
	Manifest      agentruntime.SkillManifest
	License       string
	Compatibility string
	Metadata      map[string]string
	AllowedTools  []string // what its author expects; it grants nothing
	Version       string   // of the author, else the beginning of the digest
	Digest        string
	Body          string // SKILL.md without its front matter
	Subagent      string // AGENT.md; may be empty
	Commands      []Command
	Sensors       map[string]settings.Sensor
	Input         json.RawMessage // JSON Schema of the payload of tasks that name the skill; nil: any
	Output        json.RawMessage // JSON Schema of what such tasks leave in OutputFile; nil: they leave nothing
	Tree          filetree.Tree
	Notes         []fault.Fault // what is odd and does no harm
}

// A Command is a program that the skill offers, by its name on the PATH.
type Command struct {
	Name        string
	Path        string   // below the skill
	Args        []string // that always come first
	Description string
}

// ID is the skill's name.
func (s *Skill) ID() string { return s.Manifest.SkillID }

// OutputFile is the artifact in which a task that names the skill leaves what its output schema describes.
func (s *Skill) OutputFile() string { return s.ID() + ".output.json" }

// Pin names this version, for a task to carry.
func (s *Skill) Pin(named bool) deed.SkillPin {
	return deed.SkillPin{SkillID: s.ID(), Version: s.Version, Digest: s.Digest, Offered: !named}
}

// An Error is every fault of a skill, each with the file that it is in.
type Error struct {
	Skill  string
	Faults fault.Faults
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = e.Skill + ": " + f.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the faults to fault.Of.
func (e *Error) Unwrap() error { return e.Faults }

// CheckName says what is wrong with the name of a skill, or nothing.
func CheckName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > MaxName:
		return fmt.Sprintf("has %d characters, more than %d", len(name), MaxName)
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--"):
		return fmt.Sprintf("%q begins or ends with a hyphen, or has two in a row", name)
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return fmt.Sprintf("%q has characters other than a-z, 0-9 and -", name)
		}
	}
	return ""
}
