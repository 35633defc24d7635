package jsonschema

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// home is the base of a schema that does not name itself.
const home = "deed:///schema"

// An index knows where the identifiers of a schema document are.
type index struct {
	baseAt  map[string]string   // path of a subschema that has an $id to the base that holds in it
	targets map[string]location // absolute URI, with the fragment of an anchor, to a subschema
}

type location struct {
	value any
	at    string
	base  string
}

func newIndex(doc any) *index {
	x := &index{baseAt: map[string]string{}, targets: map[string]location{}}
	x.targets[home] = location{doc, fault.Root, home}
	x.walk(doc, fault.Root, home)
	return x
}

// Where schemas are inside of a schema. What is in other places, such as the values of enum, is data.
var (
	schemaKeywords = []string{
		"items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "unevaluatedProperties",
		"not", "if", "then", "else",
	}
	listKeywords = []string{"prefixItems", "allOf", "anyOf", "oneOf"}
	mapKeywords  = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

func (x *index) walk(v any, at, base string) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if id, ok := m["$id"].(string); ok {
		if abs, ok := resolve(base, id); ok {
			base, _, _ = strings.Cut(abs, "#")
			x.baseAt[at] = base
			x.targets[base] = location{v, at, base}
		}
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := m[key].(string); ok {
			x.targets[base+"#"+name] = location{v, at, base}
		}
	}
	for _, key := range schemaKeywords {
		if sub, ok := m[key]; ok {
			x.walk(sub, fault.Field(at, key), base)
		}
	}
	for _, key := range listKeywords {
		list, _ := m[key].([]any)
		for i, sub := range list {
			x.walk(sub, fault.Index(fault.Field(at, key), i), base)
		}
	}
	for _, key := range mapKeywords {
		subs, _ := m[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(subs)) {
			x.walk(subs[name], fault.Field(fault.Field(at, key), name), base)
		}
	}
}

func resolve(base, ref string) (string, bool) {
	b, err := url.Parse(base)
	if err != nil {
		return "", false
	}
	r, err := url.Parse(ref)
	if err != nil {
		return "", false
	}
	if b.Opaque != "" && strings.HasPrefix(ref, "#") { // urn:… has no path to resolve against
		return base + ref, true
	}
	return b.ResolveReference(r).String(), true
}

// refer resolves a reference and sets the node that it stands for.
func (c *compiler) refer(n *node, ref, at, base string) {
	abs, ok := resolve(base, ref)
	if !ok {
		c.wrong(at, fmt.Sprintf("%s is not a reference", show(ref)))
		return
	}
	uri, fragment, _ := strings.Cut(abs, "#")
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	var t location
	if fragment == "" || strings.HasPrefix(fragment, "/") {
		if t, ok = c.index.targets[uri]; ok {
			t, ok = c.follow(t, fragment)
		}
	} else {
		t, ok = c.index.targets[uri+"#"+fragment]
	}
	if ok {
		n.ref = c.compile(t.value, t.at, t.base)
		return
	}
	if _, here := c.index.targets[uri]; here {
		c.faults.Add(at, fault.Dangling, show(ref)+" refers to nothing in this schema", "define it in $defs")
		return
	}
	c.faults.Add(at, fault.Dangling, show(ref)+" is outside this schema, and a schema must stand alone", "copy it into $defs")
}

// follow walks a JSON pointer. The base changes where a schema on the way has its own $id.
func (c *compiler) follow(t location, pointer string) (location, bool) {
	if pointer == "" {
		return t, true
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := t.value.(type) {
		case map[string]any:
			sub, ok := v[part]
			if !ok {
				return t, false
			}
			t.value, t.at = sub, fault.Field(t.at, part)
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return t, false
			}
			t.value, t.at = v[i], fault.Index(t.at, i)
		default:
			return t, false
		}
		if b, ok := c.index.baseAt[t.at]; ok {
			t.base = b
		}
	}
	return t, true
}
