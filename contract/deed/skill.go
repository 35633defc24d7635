package deed

import (
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// A SkillPin names one version of a skill by its content. Admission writes it, so that a task keeps the skill that it was admitted with,
// whatever becomes of the folder.
type SkillPin struct {
	SkillID string `json:"skill_id" jsonschema:"minLength=1,maxLength=512"`
	Version string `json:"version" jsonschema:"minLength=1,maxLength=512"`
	Digest  string `json:"digest" jsonschema:"minLength=1,maxLength=512"` // sha256: and lower-case hex
	Offered bool   `json:"offered,omitempty"`                             // the profile offers it; the task itself did not name it, so its schemas do not bind
}

// Validate returns every fault of the record.
func (s SkillPin) Validate() error {
	var l fault.List
	l.Name("$.skill_id", s.SkillID)
	l.Name("$.version", s.Version)
	l.Name("$.digest", s.Digest)
	if s.Digest != "" && !isDigest(s.Digest) {
		l.Add("$.digest", fault.BadFormat, fmt.Sprintf("%q is no digest", clip(s.Digest)), "write sha256: and 64 hexadecimal digits")
	}
	return l.Err()
}

func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}
