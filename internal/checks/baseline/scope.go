package baseline

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/deedrun/deed/internal/base/canonjson"
)

// A Scope is what a run was narrowed to. The zero value is a run of everything.
type Scope struct {
	Files         []string `json:"files,omitempty"` // paths and globs
	Tools         []string `json:"tools,omitempty"` // the steps that were asked for
	Skipped       []string `json:"skipped,omitempty"`
	Scope         string   `json:"scope,omitempty"` // changed, or what else selected the files
	Category      string   `json:"category,omitempty"`
	ErrorsOnly    bool     `json:"errors_only,omitempty"`
	Sniffs        string   `json:"sniffs,omitempty"`
	ExcludeSniffs string   `json:"exclude_sniffs,omitempty"`
	Extensions    []string `json:"extensions,omitempty"` // that were asked for instead of the component's own
	Settings      []string `json:"settings,omitempty"`   // in place of the component's own
	Args          []string `json:"args,omitempty"`       // given to the script as they are
}

// Key returns the key that the baseline of a run is saved under: the capability for a run of everything, which other
// programs know, and one of its own for each scope. What a narrowed run did not look at is not resolved, and what it
// found is no measure for a run of everything.
func (s Scope) Key(capability string) (string, error) {
	for _, list := range []*[]string{&s.Files, &s.Tools, &s.Skipped, &s.Extensions} {
		*list = slices.Clone(*list)
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	text, err := canonjson.Marshal(s)
	if err != nil {
		return "", err
	}
	if string(text) == "{}" {
		return capability, nil
	}
	sum := sha256.Sum256(text)
	return capability + ":" + hex.EncodeToString(sum[:]), nil
}
