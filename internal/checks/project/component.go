package project

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/config"
)

// The files that a component is described in.
const (
	FileName = "homeboy.json"
	deedFile = config.FileName
	stateDir = ".deed"
)

// Limits of what is read.
const (
	maxFile     = 64 << 20 // a homeboy.json holds baselines, and those have a line for every finding
	maxSettings = 1 << 20
	maxID       = 128
)

// noName is the id of a directory whose name has no letter for one.
const noName = "component"

// A Component is a directory with code and what its files say about how it is checked. It is read-only after Load, but a
// caller may give it another ID or move it with At.
type Component struct {
	ID   string
	Path string // absolute; scripts run here

	Origin string // the directory whose files were read; another than Path after At

	Extensions           map[string]Link // by id; empty: the component links none
	CapabilityExtensions map[string]string
	Scripts              map[string][]string // by capability: self-hosted commands
	Hooks                map[string][]string // by event
	BuildArtifact        string
	VersionTargets       []settings.VersionTarget
	Env                  map[string]string // of scripts; the variables of the runner contract win over it
	Scopes               map[string]settings.CheckScope
	TestDrift            *settings.TestDrift
	Audit                json.RawMessage
	AuditRules           json.RawMessage

	Files []string        // the files that said so, absolute
	Notes []string        // what one file says and another overrides
	Raw   json.RawMessage // homeboy.json as it stands, unknown keys included; nil: there is none

	baselines map[string]json.RawMessage
}

// A Link is what a component says about one of its extensions.
type Link struct {
	Version  string                     // a constraint; empty: any
	Settings map[string]json.RawMessage // the object `settings`
	Flat     map[string]json.RawMessage // every other key, which is a setting too, of lower precedence
}

// At returns the component as it would be in another directory: a copy, or a clean room. What its files say stays what was
// read, and Origin where, so that a change to them in that directory has no say.
func (c Component) At(dir string) Component {
	c.Path = dir
	return c
}

// Baseline returns a saved baseline. There is none for a key of JSON null.
func (c Component) Baseline(key string) (json.RawMessage, bool) {
	b, ok := c.baselines[key]
	return b, ok && string(b) != "null"
}

// Slug makes an id from the name of a directory: letters in lower case, digits, and one dash for blanks and underscores.
func Slug(dir string) string {
	var b strings.Builder
	dash := false // one is due before the next letter
	for _, r := range strings.ToLower(filepath.Base(dir)) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(r)
		case r == '-' || r == '_' || unicode.IsSpace(r):
			dash = true
		}
	}
	if b.Len() == 0 {
		return noName
	}
	return b.String()[:min(b.Len(), maxID)]
}
