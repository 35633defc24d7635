package brief

import (
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
)

// An Agent is who works, and what it wrote about itself. All that an attempt does is done by one version of it.
type Agent struct {
	Identity     agentruntime.AgentIdentity
	Constitution *agentruntime.AgentConstitution // nil: it has none
	Soul         string                          // the text of SOUL.md
	Purpose      string                          // the text of PURPOSE.md
}

// identityPart has nothing of the machine, so that an agent has one hash everywhere.
type identityPart struct {
	AgentID      string `json:"agent_id"`
	InternalName string `json:"internal_name"`
	DisplayName  string `json:"display_name"`
	ExternalName string `json:"external_name,omitempty"`
}

// constitutionPart pins the documents by their hashes, also when their text did not fit.
type constitutionPart struct {
	Version     string `json:"version"`
	SoulHash    string `json:"soul_hash"`
	PurposeHash string `json:"purpose_hash"`
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
	return &constitutionPart{Version: a.Constitution.Version, SoulHash: a.Constitution.SoulHash, PurposeHash: a.Constitution.PurposeHash}
}

func identityText(a *Agent) string {
	p := a.identity()
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
	if c := a.constitution(); c != nil {
		text += fmt.Sprintf(" Your constitution is version %s: SOUL.md %s, PURPOSE.md %s.", c.Version, c.SoulHash, c.PurposeHash)
	}
	return text
}

func constitutionText(a *Agent) string {
	if a == nil || a.Constitution == nil {
		return ""
	}
	return "## SOUL.md\n\n" + strings.TrimSpace(a.Soul) + "\n\n## PURPOSE.md\n\n" + strings.TrimSpace(a.Purpose)
}
