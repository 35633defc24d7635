package schema

import (
	"embed"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema/internal/catalog"
	"github.com/deedrun/deed/contract/schema/internal/draft"
)

//go:generate go run ./internal/schemagen

//go:embed json
var documents embed.FS

//go:embed types.ts
var typeScript []byte

// IDs returns the ids of all published schemas, sorted.
func IDs() []string {
	ids := make([]string, len(catalog.Records))
	for i, r := range catalog.Records {
		ids[i] = r.ID
	}
	slices.Sort(ids)
	return ids
}

// Get returns the JSON Schema of an id, as JSON text that stands alone.
func Get(id string) ([]byte, bool) {
	data, err := documents.ReadFile("json/" + id + ".json")
	return data, err == nil
}

// TypeScript returns the TypeScript types of all published records.
func TypeScript() ([]byte, error) { return slices.Clone(typeScript), nil }

// Validate checks a document against a published schema and against the rules of its record, and returns every
// fault as fault.Faults. An id that is not published is an ErrUnknownSchema that names the nearest one.
func Validate(id string, data []byte) error {
	s, err := compiled(id)
	if err != nil {
		return err
	}
	found := fault.Faults{}
	for _, r := range catalog.Records {
		if r.ID == id {
			found = append(found, fault.Of(decode(id, data, reflect.New(r.Type).Elem()))...)
		}
	}
	if slices.ContainsFunc(found, func(f fault.Fault) bool { return f.Code == fault.InvalidJSON || f.Code == fault.TrailingData }) {
		return found
	}
	doc, err := draft.Parse(data)
	if err != nil {
		return found
	}
	return merge(found, s.Validate(doc)).Err()
}

var compiledSchemas sync.Map // id to a func() (*draft.Schema, error) that works once

// compiled returns the compiled schema of an id. Nothing is compiled before it is asked for.
func compiled(id string) (*draft.Schema, error) {
	if once, ok := compiledSchemas.Load(id); ok {
		return once.(func() (*draft.Schema, error))()
	}
	doc, ok := Get(id)
	if !ok {
		return nil, unknownID(id)
	}
	once, _ := compiledSchemas.LoadOrStore(id, sync.OnceValues(func() (*draft.Schema, error) {
		s, err := draft.Compile(doc)
		if err != nil {
			return nil, fmt.Errorf("compile schema %s: %w", id, err)
		}
		return s, nil
	}))
	return once.(func() (*draft.Schema, error))()
}

func unknownID(id string) error {
	ids := IDs()
	if near := fault.Nearest(id, ids); near != "" {
		return fmt.Errorf("%w %q; did you mean %q?", ErrUnknownSchema, id, near)
	}
	for _, known := range ids {
		// Half an id, such as task.intent, is the most common slip.
		if id != "" && strings.Contains(known, id) {
			return fmt.Errorf("%w %q; did you mean %q?", ErrUnknownSchema, id, known)
		}
	}
	return fmt.Errorf("%w %q; known are %s", ErrUnknownSchema, id, strings.Join(ids, ", "))
}

// IDOf returns the id of the published schema that a Go type stands for, or "".
func IDOf(t reflect.Type) string {
	for _, r := range catalog.Records {
		if r.Type == t {
			return r.ID
		}
	}
	return ""
}
