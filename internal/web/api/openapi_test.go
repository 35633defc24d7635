package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/web/httperror"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// The document that is served is the one that the operations and their types give.
func TestDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	doc, err := describe(New(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(doc); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(have), text.String()); d != "" {
		t.Errorf("openapi.json is not current (go test ./internal/web/api -run TestDocumentIsCurrent -update):\n%s", d)
	}
}

type object = map[string]any

// describe makes the OpenAPI document of the operations.
func describe(a *API) (object, error) {
	g := &generator{schemas: object{}, docs: map[string]map[string]string{}}
	paths := object{}
	for _, op := range a.operations {
		item, _ := paths[Prefix+op.path].(object)
		if item == nil {
			item = object{}
			paths[Prefix+op.path] = item
		}
		o, err := g.operation(op)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op.id, err)
		}
		item[strings.ToLower(op.method)] = o
	}
	problems := g.of(reflect.TypeFor[httperror.Problem](), false)
	return object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info": object{
			"title": "deed", "version": "1", "summary": "Queue, follow, steer and check the work of agents.",
			"description": "Every write takes an Idempotency-Key. Every read has an ETag. Errors are application/problem+json with a code that never changes its meaning and, " +
				"for documents, every fault with its path. Lists are pages with an opaque cursor.",
		},
		"servers":  []any{object{"url": "/"}},
		"security": []any{object{"token": []any{}}, object{"session": []any{}}},
		"paths":    paths,
		"components": object{
			"schemas": g.schemas,
			"securitySchemes": object{
				"token":   object{"type": "http", "scheme": "bearer", "description": "made by `deed token add`"},
				"session": object{"type": "apiKey", "in": "cookie", "name": "deed_session", "description": "a browser's, begun by `deed open`"},
			},
			"responses": object{
				"Problem": object{"description": "why it was refused", "content": object{httperror.ContentType: object{"schema": problems}}},
			},
		},
	}, nil
}

type generator struct {
	schemas object
	docs    map[string]map[string]string // by package: of types and fields
	err     error
}

func (g *generator) operation(op *operation) (object, error) {
	o := object{"operationId": op.id, "summary": op.summary, "tags": []any{op.tag}, "x-deed-role": op.need.String()}
	if op.detail != "" {
		o["description"] = op.detail
	}
	params := []any{}
	for _, p := range parameters(op.input) {
		params = append(params, g.parameter(p))
	}
	if op.write() && !op.unnamed {
		params = append(params, object{
			"in": "header", "name": "Idempotency-Key", "description": "the same key with the same request is done once and gets the same answer for 24 hours",
			"schema": object{"type": "string", "minLength": 1, "maxLength": 255},
		})
	}
	if op.of != "" {
		params = append(params, object{"in": "header", "name": "If-Match", "description": "do it only while the answer of " + op.of + " has this entity tag", "schema": object{"type": "string"}})
	}
	if !op.write() && op.media == "" {
		params = append(params, object{"in": "header", "name": "If-None-Match", "description": "answer 304 when the entity tag is this", "schema": object{"type": "string"}})
	}
	if len(params) > 0 {
		o["parameters"] = params
	}
	if op.body != nil {
		o["requestBody"] = object{"required": !op.optional, "content": object{"application/json": object{"schema": g.of(op.body, true)}}}
	} else if len(op.accepts) > 0 {
		content := object{}
		for _, m := range op.accepts {
			content[m] = object{"schema": object{}}
		}
		o["requestBody"] = object{"required": true, "content": content}
	}
	done := object{"description": "done"}
	switch {
	case op.answer != nil:
		done["content"] = object{"application/json": object{"schema": g.of(op.answer, false)}}
	case op.media != "":
		done["content"] = object{op.media: object{"schema": object{}}}
	}
	answers := object{strconv.Itoa(op.success()): done, "default": object{"$ref": "#/components/responses/Problem"}}
	if !op.write() && !op.stream {
		answers["304"] = object{"description": "you have it already"}
	}
	o["responses"] = answers
	return o, g.err
}

func (g *generator) parameter(p parameter) object {
	var s object
	switch p.typ.Kind() {
	case reflect.Int:
		s = object{"type": "integer", "minimum": p.min, "maximum": p.max}
	case reflect.Bool:
		s = object{"type": "boolean"}
	case reflect.Slice:
		s = object{"type": "array", "items": p.text()}
	default:
		s = p.text()
	}
	if p.fallback != "" {
		var v any = p.fallback
		_ = json.Unmarshal([]byte(p.fallback), &v)
		s["default"] = v
	}
	out := object{"in": p.in, "name": p.name, "schema": s}
	if p.doc != "" {
		out["description"] = p.doc
	}
	if p.in == "path" {
		out["required"] = true
	}
	if p.typ.Kind() == reflect.Slice {
		out["style"], out["explode"] = "form", false
	}
	return out
}

func (p parameter) text() object {
	s := object{"type": "string", "maxLength": p.max}
	if len(p.enum) > 0 {
		s = object{"type": "string", "enum": p.enum}
	}
	if p.format != "" {
		s["format"] = p.format
	}
	return s
}

// of returns the schema of a type. Records of the contract are what they are published as.
func (g *generator) of(t reflect.Type, strict bool) object {
	switch t {
	case reflect.TypeFor[agentruntime.Timestamp](), reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[evidence.Value]():
		return object{}
	case reflect.TypeFor[json.RawMessage]():
		if strict {
			return object{"type": "object"}
		}
		return object{}
	}
	if id := schema.IDOf(t); id != "" {
		return g.published(id)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem(), strict)
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": g.of(t.Elem(), strict)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": g.of(t.Elem(), strict)}
	case reflect.Interface:
		return object{}
	case reflect.Struct:
		return g.structure(t, strict)
	}
	g.err = fmt.Errorf("%s cannot be described", t)
	return nil
}

func (g *generator) structure(t reflect.Type, strict bool) object {
	name := nameOf(t)
	ref := object{"$ref": "#/components/schemas/" + name}
	if g.schemas[name] != nil {
		return ref
	}
	s := object{"type": "object"}
	g.schemas[name] = s // before its members: it may hold itself
	props := object{}
	var required []string
	g.members(t, strict, props, &required)
	if len(props) > 0 {
		s["properties"] = props
	}
	slices.Sort(required)
	if len(required) > 0 {
		s["required"] = required
	}
	if strict {
		s["additionalProperties"] = false
	}
	if d := g.doc(t, ""); d != "" {
		s["description"] = d
	}
	return ref
}

func (g *generator) members(t reflect.Type, strict bool, props object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			g.members(f.Type, strict, props, required)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		p := g.of(f.Type, strict)
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if !optional && (f.Type.Kind() == reflect.Pointer || (!strict && (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map))) && len(p) > 0 {
			p = object{"anyOf": []any{p, object{"type": "null"}}}
		}
		for part := range strings.SplitSeq(f.Tag.Get("jsonschema"), ",") {
			key, value, ok := strings.Cut(part, "=")
			if n, err := strconv.Atoi(value); ok && err == nil && slices.Contains([]string{"minimum", "maximum", "minLength", "maxLength", "minItems"}, key) {
				p[key] = n
			} else if key == "enum" {
				words, _ := p["enum"].([]any)
				p["enum"] = append(words, value)
			}
		}
		if d := g.doc(t, f.Name); d != "" && p["$ref"] == nil {
			p["description"] = d
		}
		props[name] = p
		if !optional && !strings.Contains(f.Tag.Get("jsonschema"), "optional") {
			*required = append(*required, name)
		}
	}
}

// nameOf is the name of a type among the schemas, in the manner of the published ones.
func nameOf(t reflect.Type) string {
	name := t.Name()
	if base, arg, ok := strings.Cut(name, "["); ok { // Page[…/agentruntime.TaskRecord]
		arg = strings.TrimSuffix(arg, "]")
		return arg[strings.LastIndexAny(arg, "./")+1:] + base
	}
	dir := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	switch dir {
	case "api", "agentruntime", "httperror":
		return name
	case "evidence": // the published schemas call these records so
		dir = "codebox"
	}
	return strings.ToUpper(dir[:1]) + dir[1:] + name
}

// published adds the published schema of a record, with what it refers to.
func (g *generator) published(id string) object {
	text, _ := schema.Get(id)
	text = bytes.ReplaceAll(text, []byte(`"#/$defs/`), []byte(`"#/components/schemas/`))
	var doc object
	if err := json.Unmarshal(text, &doc); err != nil {
		g.err = err
		return nil
	}
	name, _ := doc["title"].(string)
	defs, _ := doc["$defs"].(object)
	delete(doc, "$defs")
	delete(doc, "$schema")
	delete(doc, "$id")
	delete(doc, "title")
	for n, d := range defs {
		if g.schemas[n] == nil {
			g.schemas[n] = d
		}
	}
	g.schemas[name] = doc
	return object{"$ref": "#/components/schemas/" + name}
}

// doc returns what the source says about a type or a field of it.
func (g *generator) doc(t reflect.Type, field string) string {
	dir, ok := strings.CutPrefix(t.PkgPath(), "github.com/deedrun/deed/")
	if !ok {
		return ""
	}
	if g.docs[dir] == nil {
		g.docs[dir] = readDocs(filepath.Join("..", "..", "..", filepath.FromSlash(dir)))
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	if field != "" {
		name += "." + field
	}
	return g.docs[dir][name]
}

func readDocs(dir string) map[string]string {
	out := map[string]string{}
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			continue
		}
		for _, d := range f.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, sp := range decl.Specs {
				ts := sp.(*ast.TypeSpec)
				put(out, ts.Name.Name, decl.Doc, ts.Doc)
				if st, ok := ts.Type.(*ast.StructType); ok {
					for _, fl := range st.Fields.List {
						for _, n := range fl.Names {
							put(out, ts.Name.Name+"."+n.Name, fl.Doc, fl.Comment)
						}
					}
				}
			}
		}
	}
	return out
}

func put(out map[string]string, name string, groups ...*ast.CommentGroup) {
	for _, c := range groups {
		if text := strings.Join(strings.Fields(c.Text()), " "); text != "" {
			out[name] = text
			return
		}
	}
}

// Every operation is named once, described, and below the prefix; every reference of the document leads somewhere.
func TestDocumentIsWhole(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths      map[string]map[string]object
		Components struct {
			Schemas, Responses map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(Document(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, op := range New(Options{}).operations {
		o := doc.Paths[Prefix+op.path][strings.ToLower(op.method)]
		if o == nil || op.summary == "" || op.tag == "" {
			t.Errorf("%s %s is not described", op.method, op.path)
		}
		if op.method != http.MethodGet && op.need < 2 && !op.unnamed {
			t.Errorf("%s is a write and needs only the role %s", op.id, op.need)
		}
	}
	for _, part := range bytes.Split(Document(), []byte(`"$ref": "#/components/`))[1:] {
		kind, name, _ := strings.Cut(string(part[:bytes.IndexByte(part, '"')]), "/")
		if (kind == "schemas" && doc.Components.Schemas[name] == nil) || (kind == "responses" && doc.Components.Responses[name] == nil) {
			t.Errorf("a reference leads to %s/%s, which is not there", kind, name)
		}
	}
}
