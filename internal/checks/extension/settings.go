package extension

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/checks/project"
)

// maxSettings is what fits into one variable of an environment on every system that deed runs on.
const maxSettings = 120 << 10

// A Setting is one that a person gave on the command line.
type Setting struct {
	Key   string // dots lead into objects; \. is a dot
	Value string
	JSON  bool // --setting-json: the value is JSON; else it is a text, whatever it looks like
}

// ParseSetting reads key=value.
func ParseSetting(arg string, isJSON bool) (Setting, error) {
	key, value, ok := strings.Cut(arg, "=")
	if !ok || strings.TrimSpace(key) == "" {
		return Setting{}, fmt.Errorf("setting %q is not key=value", arg)
	}
	s := Setting{Key: key, Value: value, JSON: isJSON}
	if isJSON && !json.Valid([]byte(value)) {
		return Setting{}, fmt.Errorf("setting %s: %q is not JSON (a text needs quotes, or --setting)", key, value)
	}
	return s, nil
}

// Settings is what the script gets as HOMEBOY_SETTINGS_JSON: the manifest's defaults, under the flat keys of the
// component's link, under its settings, under --setting, under --setting-json. Values keep their types and their numbers
// their spelling; keys are sorted.
func (e Extension) Settings(c project.Component, set []Setting) (json.RawMessage, error) {
	merged := map[string]json.RawMessage{}
	for _, s := range e.Manifest.Settings {
		if len(s.Default) > 0 {
			merged[s.ID] = s.Default
		}
	}
	link := c.Extensions[e.ID]
	maps.Copy(merged, link.Flat)
	maps.Copy(merged, link.Settings)
	for _, asJSON := range []bool{false, true} {
		for _, s := range set {
			if s.JSON != asJSON {
				continue
			}
			value := json.RawMessage(s.Value)
			if !s.JSON {
				value = text(s.Value)
			}
			path := splitKey(s.Key)
			if slices.Contains(path, "") {
				return nil, fmt.Errorf(`setting %s: a part of the key is empty (write a dot that belongs to a name as \.)`, s.Key)
			}
			if err := put(merged, path, value); err != nil {
				return nil, fmt.Errorf("setting %s: %w", s.Key, err)
			}
		}
	}
	out, err := encode(merged)
	if err != nil {
		return nil, fmt.Errorf("settings of extension %s: %w", e.ID, err)
	}
	if len(out) > maxSettings {
		return nil, fmt.Errorf("settings of extension %s: they have %d bytes, and a variable holds %d (put large values into a file and name it)", e.ID, len(out), maxSettings)
	}
	return out, nil
}

// put sets a value below the keys of a path. What stands in the way and is no object is not thrown away silently.
func put(into map[string]json.RawMessage, path []string, value json.RawMessage) error {
	key := path[0]
	if len(path) == 1 {
		into[key] = value
		return nil
	}
	inner := map[string]json.RawMessage{}
	if was := into[key]; len(was) > 0 && string(was) != "null" {
		if err := json.Unmarshal(was, &inner); err != nil {
			return fmt.Errorf("%s is %s, which has no members (set %s whole with --setting-json)", key, was, key)
		}
	}
	if err := put(inner, path[1:], value); err != nil {
		return err
	}
	out, err := encode(inner)
	into[key] = out
	return err
}

// splitKey splits at dots that no backslash stands before.
func splitKey(key string) []string {
	const hidden = "\x00"
	parts := strings.Split(strings.ReplaceAll(key, `\.`, hidden), ".")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(p, hidden, ".")
	}
	return parts
}

func text(s string) json.RawMessage {
	b, err := encode(s)
	if err != nil {
		panic("extension: a string has no JSON: " + err.Error())
	}
	return b
}

// encode writes compact JSON on one line, with sorted keys.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
