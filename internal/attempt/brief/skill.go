package brief

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A Skill is a capability that the agent has for this task, as resolved at the claim. The caller guarantees the
// digest; nothing here opens a file.
type Skill struct {
	ID          string   `json:"skill_id"`
	Version     string   `json:"skill_version,omitempty"`
	Digest      string   `json:"digest"` // of everything in the skill's folder, "sha256:" and lower-case hex
	Description string   `json:"description"`
	Body        string   `json:"-"`                  // the instructions, without front matter; see skillPart
	Commands    []string `json:"commands,omitempty"` // the names that are on the agent's PATH
}

// skillPart is a skill in the document.
type skillPart struct {
	Skill
	Body frozenText `json:"instructions"`
}

func skillParts(list []Skill) []skillPart {
	var out []skillPart
	for _, s := range list {
		out = append(out, skillPart{s, freezeText(strings.TrimSpace(s.Body))})
	}
	return out
}

// skillIndex names every skill of the task. It is short, and stays when there is no space for the instructions.
func skillIndex(list []skillPart) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("## Skills\n")
	for _, s := range list {
		b.WriteString("\n- " + s.ID)
		if s.Version != "" {
			b.WriteString(" " + s.Version)
		}
		b.WriteString(": " + oneLine(s.Description))
		if len(s.Commands) > 0 {
			b.WriteString(" Commands: " + strings.Join(s.Commands, ", ") + ".")
		}
	}
	return b.String()
}

func skillSections(list []skillPart) []section {
	var out []section
	for _, s := range list {
		if s.Body.Chars > 0 {
			out = append(out, s.Body.section("skill instructions", s.ID, "## Skill "+s.ID+"\n\n", ""))
		}
	}
	return out
}

func textHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}
