package runner

import (
	"encoding/json"
	"maps"
	"slices"
)

// plainFinding is a LintFinding without its methods.
type plainFinding LintFinding

// findingKeys are the keys that a LintFinding has fields for.
var findingKeys = []string{"id", "message", "category", "tool", "rule", "file", "line", "column", "severity", "fixable", "fingerprint", "known"}

// MarshalJSON writes the fields, then every other key as it came.
func (f LintFinding) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(plainFinding(f))
	if err != nil || len(f.Extra) == 0 {
		return head, err
	}
	out := head[:len(head)-1]
	for _, k := range slices.Sorted(maps.Keys(f.Extra)) {
		key, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.Extra[k]) // compact, and valid or an error
		if err != nil {
			return nil, err
		}
		out = append(append(append(append(out, ','), key...), ':'), value...)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON keeps the keys that have no field in Extra.
func (f *LintFinding) UnmarshalJSON(data []byte) error {
	var p plainFinding
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &p.Extra); err != nil {
		return err
	}
	for _, k := range findingKeys {
		delete(p.Extra, k)
	}
	if len(p.Extra) == 0 {
		p.Extra = nil
	}
	*f = LintFinding(p)
	return nil
}
