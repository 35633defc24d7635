package generate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// typeScript writes one exported type for every record and every definition, sorted by name. A name that stands
// for two different things is an error.
func typeScript(schemas []*jsonschema.Schema) ([]byte, error) {
	all := map[string]*jsonschema.Schema{}
	ids := map[string]string{}
	add := func(name string, s *jsonschema.Schema) error {
		old, ok := all[name]
		if !ok {
			all[name] = s
			return nil
		}
		a, b := tsType(old, ""), tsType(s, "")
		if a != b {
			return fmt.Errorf("TypeScript name %s stands for two types:\n%s\n%s", name, a, b)
		}
		return nil
	}
	for _, s := range schemas {
		ids[s.Title] = string(s.ID)
		if err := add(s.Title, s); err != nil {
			return nil, err
		}
		for name, d := range s.Definitions {
			if err := add(name, d); err != nil {
				return nil, err
			}
		}
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("// Code generated from the JSON Schemas of deed's contract. DO NOT EDIT.\n")
	for _, name := range names {
		s := all[name]
		b.WriteString("\n")
		doc := s.Description
		if id := ids[name]; id != "" {
			doc = strings.TrimSpace(doc + " Schema: " + id)
		}
		writeDoc(&b, "", doc)
		fmt.Fprintf(&b, "export type %s = %s;\n", name, tsType(s, ""))
	}
	b.WriteString("\n/** The record of every schema id. */\nexport type Records = {\n")
	titles := make([]string, 0, len(ids))
	for title := range ids {
		titles = append(titles, title)
	}
	slices.SortFunc(titles, func(a, b string) int { return strings.Compare(ids[a], ids[b]) })
	for _, title := range titles {
		fmt.Fprintf(&b, "  %s: %s;\n", strconv.Quote(ids[title]), title)
	}
	b.WriteString("};\n")
	return []byte(b.String()), nil
}

func writeDoc(b *strings.Builder, indent, doc string) {
	if doc == "" {
		return
	}
	doc = strings.ReplaceAll(doc, "*/", "* /")
	fmt.Fprintf(b, "%s/** %s */\n", indent, doc)
}

// tsType writes a schema as a type expression.
func tsType(s *jsonschema.Schema, indent string) string {
	switch {
	case s == nil:
		return "unknown"
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/$defs/")
	case s.Const != nil:
		return literal(s.Const)
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			words[i] = literal(e)
		}
		return strings.Join(words, " | ")
	case len(s.AnyOf) > 0 && s.Properties == nil:
		return alternatives(s.AnyOf, indent)
	case len(s.OneOf) > 0 && s.Properties == nil:
		return alternatives(s.OneOf, indent)
	}
	switch s.Type {
	case "string":
		return "string"
	case "integer", "number":
		return "number"
	case "boolean":
		return "boolean"
	case "null":
		return "null"
	case "array":
		item := tsType(s.Items, indent)
		if strings.Contains(item, " | ") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		if s.Properties != nil && s.Properties.Len() > 0 {
			return members(s, indent)
		}
		if s.AdditionalProperties != nil && !isFalse(s.AdditionalProperties) {
			return "Record<string, " + tsType(s.AdditionalProperties, indent) + ">"
		}
		return "Record<string, unknown>"
	}
	return "unknown"
}

func alternatives(in []*jsonschema.Schema, indent string) string {
	parts := make([]string, len(in))
	for i, s := range in {
		parts[i] = tsType(s, indent)
		if parts[i] == "string" && s.Pattern != "" {
			parts[i] = "(string & {})" // keeps the words beside it visible to an editor
		}
	}
	return strings.Join(parts, " | ")
}

func members(s *jsonschema.Schema, indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		writeDoc(&b, indent+"  ", p.Value.Description)
		mark := "?"
		if slices.Contains(s.Required, p.Key) {
			mark = ""
		}
		fmt.Fprintf(&b, "%s  %s%s: %s;\n", indent, p.Key, mark, tsType(p.Value, indent+"  "))
	}
	b.WriteString(indent + "}")
	return b.String()
}

func isFalse(s *jsonschema.Schema) bool {
	raw, err := json.Marshal(s)
	return err == nil && string(raw) == "false"
}

func literal(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "unknown"
	}
	return string(raw)
}
