package model

import (
	"encoding/json"
	"fmt"
)

// deliver passes on a delta that is not empty.
func deliver(on func(Delta), d Delta) {
	if on != nil && (d.Text != "" || d.Thinking != "" || d.Call != nil) {
		on(d)
	}
}

// count bounds a number of tokens that a service reports, which may be nonsense.
func count(n int64) int64 { return min(max(n, 0), 1<<40) }

// schema reads the schema of a tool. One that cannot be read is an error of deed itself, reported before anything is sent.
func (t Tool) schema() (map[string]any, error) {
	var s map[string]any
	if err := json.Unmarshal(t.Schema, &s); err != nil || s == nil {
		return nil, &Error{Kind: KindBadRequest, Message: fmt.Sprintf("the schema of tool %s is not a JSON object", t.Name)}
	}
	return s, nil
}
