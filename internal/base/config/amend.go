package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/canonjson"
)

// An Addition is a member that a file is given: $.Name, or $.Within.Name.
type Addition struct {
	Within, Name string
	Value        json.RawMessage
}

// Path names the member.
func (a Addition) Path() string {
	if a.Within == "" {
		return fault.Field(fault.Root, a.Name)
	}
	return fault.Field(fault.Field(fault.Root, a.Within), a.Name)
}

// Amend adds missing members to a YAML file. The rest stays unchanged, with its comments. If the members cannot be inserted into the
// file as it is written, it is rewritten without comments.
func Amend(name string, text []byte, add []Addition) ([]byte, error) {
	want, err := amended(name, text, add)
	if err != nil {
		return nil, err
	}
	if out, err := insert(text, add); err == nil {
		raw, _, err := ReadYAML(name, out)
		if err == nil {
			raw, err = canonjson.Canonicalize(raw)
		}
		if err == nil && bytes.Equal(raw, want) {
			return out, nil
		}
	}
	return WriteYAML(want)
}

// amended is what the file says afterwards, as canonical JSON.
func amended(name string, text []byte, add []Addition) ([]byte, error) {
	raw, _, err := ReadYAML(name, text)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, a := range add {
		in := all
		if a.Within != "" {
			in = map[string]json.RawMessage{}
			if err := json.Unmarshal(all[a.Within], &in); err != nil {
				return nil, fmt.Errorf("%s: $.%s: %w", name, a.Within, err)
			}
		}
		if _, there := in[a.Name]; there {
			return nil, fmt.Errorf("%s has %s already", name, a.Path())
		}
		in[a.Name] = a.Value
		if a.Within == "" {
			continue
		}
		if all[a.Within], err = json.Marshal(in); err != nil {
			return nil, err
		}
	}
	if raw, err = json.Marshal(all); err != nil {
		return nil, err
	}
	return canonjson.Canonicalize(raw)
}

// insert edits the file's own text.
func insert(text []byte, add []Addition) ([]byte, error) {
	for _, a := range add {
		raw, err := json.Marshal(map[string]json.RawMessage{a.Name: a.Value})
		if err != nil {
			return nil, err
		}
		member, err := WriteYAML(raw)
		if err != nil {
			return nil, err
		}
		if a.Within == "" {
			if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
				text = append(text, '\n')
			}
			text = append(bytes.Clone(text), member...)
			continue
		}
		file, err := parser.ParseBytes(text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		path := (&yaml.PathBuilder{}).Root().Child(a.Within).Build()
		if err := path.MergeFromReader(file, bytes.NewReader(member)); err != nil {
			return nil, err
		}
		text = append([]byte(file.String()), '\n')
	}
	return bytes.TrimLeft(text, "\n"), nil
}
