package agentruntime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MarshalJSON writes the member that is set.
func (a AdapterConfig) MarshalJSON() ([]byte, error) {
	m, err := a.member()
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads the member that `kind` names. It tolerates unknown fields, as encoding/json does by default;
// schema.Decode refuses them.
func (a *AdapterConfig) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil
	}
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	*a = AdapterConfig{}
	switch head.Kind {
	case KindClaudeCode:
		return json.Unmarshal(data, &a.ClaudeCode)
	case KindCodex:
		return json.Unmarshal(data, &a.Codex)
	case KindHermesAgent:
		return json.Unmarshal(data, &a.HermesAgent)
	case KindOllamaGenerate:
		return json.Unmarshal(data, &a.OllamaGenerate)
	case KindScript:
		return json.Unmarshal(data, &a.Script)
	case KindACP:
		return json.Unmarshal(data, &a.ACP)
	case KindCommand:
		return json.Unmarshal(data, &a.Command)
	case KindNative:
		return json.Unmarshal(data, &a.Native)
	case KindOpencode:
		return json.Unmarshal(data, &a.Opencode)
	case KindPackaged:
		return json.Unmarshal(data, &a.Packaged)
	}
	return fmt.Errorf("adapter kind %q is not one of %s", clip(head.Kind), strings.Join(Kinds, ", "))
}

var errNotOneAdapter = errors.New("adapter config must have exactly one member set")

// member returns the one member that is set.
func (a AdapterConfig) member() (any, error) {
	var m any
	n := 0
	for _, c := range []struct {
		set bool
		v   any
	}{
		{a.ClaudeCode != nil, a.ClaudeCode},
		{a.Codex != nil, a.Codex},
		{a.HermesAgent != nil, a.HermesAgent},
		{a.OllamaGenerate != nil, a.OllamaGenerate},
		{a.Script != nil, a.Script},
		{a.ACP != nil, a.ACP},
		{a.Command != nil, a.Command},
		{a.Native != nil, a.Native},
		{a.Opencode != nil, a.Opencode},
		{a.Packaged != nil, a.Packaged},
	} {
		if c.set {
			m = c.v
			n++
		}
	}
	if n != 1 {
		return nil, errNotOneAdapter
	}
	return m, nil
}
