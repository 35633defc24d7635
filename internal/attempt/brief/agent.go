package brief

import (
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
)

// An Agent is who works, and what it wrote about itself. One attempt uses one version of it throughout.
type Agent struct {
	Identity     agentruntime.AgentIdentity
	Constitution *agentruntime.AgentConstitution // nil: it has none
	Soul         string                          // the text of SOUL.md
	Purpose      string                          // the text of PURPOSE.md
}

// identityPart has nothing that depends on the machine, so that an agent has the same hash everywhere.
type identityPart struct {
	AgentID      string `json:"agent_id"`
	InternalName string `json:"internal_name"`
	DisplayName  string `json:"display_name"`
	ExternalName string `json:"external_name,omitempty"`
}

// constitutionPart is the version in force, whole: it is never dropped.
type constitutionPart struct {
	Version     string `json:"version"`
	SoulHash    string `json:"soul_hash"`
	PurposeHash string `json:"purpose_hash"`
	Soul        string `json:"soul"`
	Purpose     string `json:"purpose"`
}

func (a *Agent) identity() *identityPart {
	if a == nil {
		return nil
	}
	p := &identityPart{AgentID: a.Identity.AgentID, InternalName: a.Identity.InternalName, DisplayName: a.Identity.DisplayName}
	if e := a.Identity.ExternalName; e != nil {
		p.ExternalName = e.Name
	}
	return p
}

func (a *Agent) constitution() *constitutionPart {
	if a == nil || a.Constitution == nil {
		return nil
	}
	return &constitutionPart{
		Version: a.Constitution.Version, SoulHash: a.Constitution.SoulHash, PurposeHash: a.Constitution.PurposeHash,
		Soul: strings.TrimSpace(a.Soul), Purpose: strings.TrimSpace(a.Purpose),
	}
}

func identityText(p *identityPart, c *constitutionPart) string {
	if p == nil {
		return ""
	}
	text := "You are " + p.InternalName
	var also []string
	if p.DisplayName != p.InternalName {
		also = append(also, "shown as "+p.DisplayName)
	}
	if p.ExternalName != "" {
		also = append(also, "registered as "+p.ExternalName)
	}
	if len(also) > 0 {
		text += " (" + strings.Join(also, ", ") + ")"
	}
	text += "."
	if c != nil {
		text += fmt.Sprintf(" Your constitution is version %s: SOUL.md %s, PURPOSE.md %s.", c.Version, c.SoulHash, c.PurposeHash)
	}
	return text
}

func constitutionText(c *constitutionPart) string {
	if c == nil {
		return ""
	}
	return "## SOUL.md\n\n" + c.Soul + "\n\n## PURPOSE.md\n\n" + c.Purpose
}
