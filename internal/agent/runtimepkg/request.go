package runtimepkg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
)

// A Document is a request as JSON. Manifests speak of requests by paths, also of members that no record knows.
type Document map[string]any

// ReadDocument reads one JSON object and keeps its numbers as they are written.
func ReadDocument(data []byte) (Document, error) {
	var doc Document
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("the request is not a JSON object: %w", err)
	}
	if doc == nil || d.More() {
		return nil, fmt.Errorf("the request is not one JSON object")
	}
	return doc, nil
}

// At returns what is at a dotted path, such as executor.config.provider. A list has its entries by number.
func (d Document) At(path string) (any, bool) { return homeboy.Lookup(d, path) }

// text returns the first of some paths that holds a text.
func (d Document) text(paths ...string) string {
	for _, p := range paths {
		if v, _ := d.At(p); v != nil {
			if s, ok := v.(string); ok && strings.TrimSpace(s) != "" {
				return s
			}
		}
	}
	return ""
}

func (d Document) texts(path string) []string {
	v, _ := d.At(path)
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// Ask says what a request wants of a provider, in all the spellings of the wild.
func (d Document) Ask() Ask {
	return Ask{
		Backend:  d.text("executor.backend"),
		Selector: d.text("executor.selector", "executor.runtime_selection.executor_provider_id", "executor.runtime_selection.selector", "executor.runtime.executor_provider_id", "executor.runtime.selector"),
		Runtime:  d.text("executor.runtime_selection.runtime_id", "executor.runtime.runtime_id", "executor.runtime"),
		Capabilities: slices.Concat(
			d.texts("executor.required_capabilities"), d.texts("metadata.capability_requirements.provider")),
		Model:      d.text("executor.model", "executor.runtime_selection.model", "executor.config.model"),
		AIProvider: d.text("executor.config.provider", "executor.runtime_selection.ai_provider_id", "executor.runtime_selection.provider"),
	}
}

// An Applied is a value that a request did not have, and where it is from.
type Applied struct {
	Path  string `json:"path"`
	Value any    `json:"value"`
	From  string `json:"from"`
}

// Complete returns the request as the provider gets it, and tells what was added: the defaults of the AI provider that the
// request names, and what the host knows by itself. The document given is not changed.
func (s *Selection) Complete(doc Document) (Document, []Applied) {
	out := Document(clone(map[string]any(doc)).(map[string]any))
	var added []Applied
	set := func(path string, value any, from string) {
		parts := strings.Split(path, ".")
		at := map[string]any(out)
		for _, name := range parts[:len(parts)-1] {
			next, ok := at[name].(map[string]any)
			if !ok {
				if at[name] != nil {
					return // something else is there: it is the request's, and its check is another's
				}
				next = map[string]any{}
				at[name] = next
			}
			at = next
		}
		if at[parts[len(parts)-1]] == nil {
			at[parts[len(parts)-1]] = value
			added = append(added, Applied{path, value, from})
		}
	}
	set("schema", homeboy.SchemaRequest, "host")
	set("executor.config", map[string]any{}, "host")
	if slices.Contains(s.Provider.RequestRequiredFields, "executor.runtime") {
		set("executor.runtime", s.Package.ID, "host")
	}
	ai := out.text("executor.config.provider")
	d, ok := s.Provider.ProviderDefaults[ai]
	if !ok {
		return out, added
	}
	from := "provider_defaults." + ai
	if d.Model != "" && out.Ask().Model == "" {
		set("executor.config.model", d.Model, from)
	}
	if d.Command != "" && out.text("executor.config.command") == "" {
		set("executor.config.command", d.Command, from)
		if d.CommandArgs != nil && out.text("executor.config.args") == "" {
			set("executor.config.command_args", list(d.CommandArgs), from)
		}
	}
	return out, added
}

func list(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := maps.Clone(v)
		for k := range m {
			m[k] = clone(m[k])
		}
		return m
	case []any:
		l := slices.Clone(v)
		for i := range l {
			l[i] = clone(l[i])
		}
		return l
	}
	return v
}

// CheckRequest holds a request to the fields that the provider requires: they are there and say something. The error is a
// fault.Faults.
func CheckRequest(x homeboy.ExecutorProvider, doc Document) error { return x.CheckRequest(doc) }
