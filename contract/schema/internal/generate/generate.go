// Package generate makes the published JSON Schemas and the TypeScript types from the Go types in the catalog. It
// belongs to `go generate` and to the drift test and must never be linked into the binary.
package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/contract/schema/internal/catalog"
)

const module = "github.com/deedrun/deed"

// Files returns every generated file by its path below contract/schema. Root is the module's directory, where the
// doc comments are read that become descriptions.
func Files(root string) (map[string][]byte, error) {
	comments, err := readComments(root)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	var schemas []*jsonschema.Schema
	for _, r := range catalog.Records {
		s, err := record(r, comments)
		if err != nil {
			return nil, fmt.Errorf("generate %s: %w", r.ID, err)
		}
		schemas = append(schemas, s)
		data, err := encode(s)
		if err != nil {
			return nil, fmt.Errorf("generate %s: %w", r.ID, err)
		}
		files["json/"+r.ID+".json"] = data
	}
	ts, err := typeScript(schemas)
	if err != nil {
		return nil, err
	}
	files["types.ts"] = ts
	return files, nil
}

func encode(s *jsonschema.Schema) ([]byte, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// readComments returns the doc comments of the contract packages, by type and field.
func readComments(root string) (map[string]string, error) {
	all := map[string]string{}
	for _, pkg := range []string{"agentruntime", "deed", "codebox", "evidence", "homeboy", "settings"} {
		dir := filepath.Join(root, "contract", pkg)
		var r jsonschema.Reflector
		if err := r.AddGoComments("", dir, jsonschema.WithFullComment()); err != nil {
			return nil, fmt.Errorf("read comments of %s: %w", pkg, err)
		}
		for key, text := range r.CommentMap {
			// The key begins with the directory as it was walked; what counts is the last part of it.
			if _, name, ok := strings.Cut(key, "/contract/"+pkg+"."); ok {
				all[module+"/contract/"+pkg+"."+name] = strings.Join(strings.Fields(text), " ")
			}
		}
	}
	return all, nil
}

// record makes the schema of one record. It stands alone: what it refers to is in its own $defs.
func record(r catalog.Record, comments map[string]string) (*jsonschema.Schema, error) {
	g := &generator{comments: comments, defs: jsonschema.Definitions{}, asks: r.Type == reflect.TypeFor[codebox.Request]() || r.Type == reflect.TypeFor[codebox.AbilityRunRequest]()}
	root, err := g.define(r.Type)
	if err != nil {
		return nil, err
	}
	if !g.refersTo(Name(r.Type)) {
		delete(g.defs, Name(r.Type))
	}
	out := *root
	out.Version = jsonschema.Version
	out.ID = jsonschema.ID(r.ID)
	out.Title = Name(r.Type)
	if len(g.defs) > 0 {
		out.Definitions = g.defs
	}
	return &out, nil
}

// Name returns the name of a type in $defs and in TypeScript. The agent-runtime records have the names that their
// contract gives them; the others carry their vocabulary, so that no two are the same.
func Name(t reflect.Type) string {
	switch {
	case strings.HasSuffix(t.PkgPath(), "/contract/deed"):
		return "Deed" + t.Name()
	case strings.HasSuffix(t.PkgPath(), "/contract/settings"):
		return "DeedConfig" + strings.TrimPrefix(t.Name(), "Config")
	case strings.HasSuffix(t.PkgPath(), "/contract/codebox"), strings.HasSuffix(t.PkgPath(), "/contract/evidence"):
		return "Codebox" + t.Name()
	case strings.HasSuffix(t.PkgPath(), "/contract/homeboy"):
		return "Homeboy" + t.Name()
	}
	return t.Name()
}

type generator struct {
	comments map[string]string
	defs     jsonschema.Definitions
	asks     bool // the record is a request for a run
}

// define adds the definition of a type and of all that it refers to, and returns it.
func (g *generator) define(t reflect.Type) (*jsonschema.Schema, error) {
	if d := g.defs[Name(t)]; d != nil {
		return d, nil
	}
	if u := catalog.UnionOf(t); u != nil {
		return g.defineUnion(u)
	}
	r := jsonschema.Reflector{
		Anonymous:  true,
		Namer:      Name,
		Mapper:     mapped,
		CommentMap: g.comments,
	}
	s := r.ReflectFromType(t)
	for name, d := range s.Definitions {
		if g.defs[name] == nil {
			g.defs[name] = d
		}
	}
	done := map[reflect.Type]bool{}
	if err := g.complete(t, done); err != nil {
		return nil, err
	}
	d := g.defs[Name(t)]
	if d == nil {
		return nil, fmt.Errorf("%s has no definition", t)
	}
	return d, nil
}

func (g *generator) defineUnion(u *catalog.Union) (*jsonschema.Schema, error) {
	d := &jsonschema.Schema{Description: g.comments[u.Type.PkgPath()+"."+u.Type.Name()]}
	g.defs[Name(u.Type)] = d
	for _, m := range u.Members {
		if _, err := g.define(m.Type); err != nil {
			return nil, err
		}
		d.OneOf = append(d.OneOf, ref(m.Type))
	}
	return d, nil
}

func ref(t reflect.Type) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/$defs/" + Name(t)}
}

// mapped gives the schemas of types that reflection would take for something else.
func mapped(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[agentruntime.Timestamp]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[map[string]any]():
		return &jsonschema.Schema{Type: "object"}
	case reflect.TypeFor[agentruntime.RuntimeEvent]():
		var named []any
		for _, e := range agentruntime.RuntimeEvents {
			named = append(named, string(e))
		}
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string", Enum: named},
			{Type: "string", Pattern: "^[a-z][a-z0-9]*(_[a-z0-9]+)*$"},
		}}
	case reflect.TypeFor[evidence.Value]():
		return &jsonschema.Schema{} // any JSON
	case reflect.TypeFor[homeboy.Texts]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: &jsonschema.Schema{Type: "string"}}}}
	}
	if catalog.UnionOf(t) != nil {
		return ref(t)
	}
	if words := catalog.Words(t); words != nil {
		return &jsonschema.Schema{Type: "string", Enum: anys(words)}
	}
	return nil
}

func anys(in []string) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = s
	}
	return out
}

// complete adds to a type's definition, and to those below it, what the reflector does not know: null, the schema
// id, openness, the types behind raw members, and the rules between members.
func (g *generator) complete(t reflect.Type, done map[reflect.Type]bool) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return g.complete(t.Elem(), done)
	}
	if catalog.UnionOf(t) != nil {
		_, err := g.define(t)
		return err
	}
	if t.Kind() != reflect.Struct || done[t] {
		return nil
	}
	done[t] = true
	d := g.defs[Name(t)]
	if d == nil {
		return fmt.Errorf("%s has no definition", t)
	}
	if catalog.Open(t) {
		d.AdditionalProperties = nil
	}
	for _, f := range catalog.Fields(t) {
		if err := g.complete(f.Type, done); err != nil {
			return err
		}
		p, ok := d.Properties.Get(f.Name)
		if !ok {
			return fmt.Errorf("%s.%s has no property", t, f.Name)
		}
		if held := catalog.Raw(t, f.Name); held != nil {
			if _, err := g.define(held); err != nil {
				return err
			}
			described := ref(held)
			described.Description = p.Description
			p = described
			d.Properties.Set(f.Name, p)
		}
		if f.Name == "schema" {
			if id := catalog.SchemaID(t); id != "" {
				d.Properties.Set(f.Name, &jsonschema.Schema{Const: id, Type: "string"})
				continue
			}
		}
		inner := *p
		if f.Nullable && len(p.OneOf) == 2 { // the reflector's own reading of the nullable tag
			inner = *p.OneOf[0]
		}
		inner.Description = ""
		words(&inner, f.Rules.Enum)
		if !f.Nullable {
			inner.Description = p.Description
			d.Properties.Set(f.Name, &inner)
			continue
		}
		d.Properties.Set(f.Name, &jsonschema.Schema{
			AnyOf:       []*jsonschema.Schema{&inner, {Type: "null"}},
			Description: p.Description,
		})
	}
	between(t, d)
	if g.asks {
		texts(t, d)
	}
	return nil
}

// words sets the closed set of a text, or of the entries of a list. A tag narrows what the type allows.
func words(s *jsonschema.Schema, enum []string) {
	if s.Type == "array" && s.Items != nil {
		items := *s.Items
		words(&items, enum)
		s.Items = &items
		return
	}
	if len(enum) == 0 || s.Type != "string" {
		return
	}
	if len(enum) == 1 {
		s.Enum, s.Const = nil, enum[0]
		return
	}
	s.Enum = anys(enum)
}

// refersTo reports whether any definition refers to a name.
func (g *generator) refersTo(name string) bool {
	for _, d := range g.defs {
		raw, err := json.Marshal(d)
		if err == nil && bytes.Contains(raw, []byte(`"#/$defs/`+name+`"`)) {
			return true
		}
	}
	return false
}
