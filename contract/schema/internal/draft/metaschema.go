package draft

import "sync"

// metaschema says what a schema of the draft 2020-12 may look like: its rules in one document, without the vocabularies.
const metaschema = `{
  "type": ["object", "boolean"],
  "properties": {
    "$id": {"type": "string", "format": "uri-reference", "pattern": "^[^#]*#?$"},
    "$schema": {"type": "string", "format": "uri"},
    "$ref": {"$ref": "#/$defs/address"}, "$dynamicRef": {"$ref": "#/$defs/address"},
    "$anchor": {"$ref": "#/$defs/anchor"}, "$dynamicAnchor": {"$ref": "#/$defs/anchor"},
    "$vocabulary": {"type": "object", "propertyNames": {"type": "string", "format": "uri"}, "additionalProperties": {"type": "boolean"}},
    "$comment": {"type": "string"}, "$defs": {"$ref": "#/$defs/named"}, "definitions": {"$ref": "#/$defs/named"},

    "allOf": {"$ref": "#/$defs/schemas"}, "anyOf": {"$ref": "#/$defs/schemas"}, "oneOf": {"$ref": "#/$defs/schemas"}, "prefixItems": {"$ref": "#/$defs/schemas"},
    "not": {"$ref": "#"}, "if": {"$ref": "#"}, "then": {"$ref": "#"}, "else": {"$ref": "#"},
    "items": {"$ref": "#"}, "contains": {"$ref": "#"}, "unevaluatedItems": {"$ref": "#"},
    "additionalProperties": {"$ref": "#"}, "propertyNames": {"$ref": "#"}, "unevaluatedProperties": {"$ref": "#"}, "contentSchema": {"$ref": "#"},
    "properties": {"$ref": "#/$defs/named"}, "dependentSchemas": {"$ref": "#/$defs/named"},
    "patternProperties": {"type": "object", "propertyNames": {"format": "regex"}, "additionalProperties": {"$ref": "#"}},
    "dependencies": {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/names"}]}},

    "type": {"anyOf": [{"$ref": "#/$defs/type"}, {"type": "array", "items": {"$ref": "#/$defs/type"}, "minItems": 1, "uniqueItems": true}]},
    "enum": {"type": "array"},
    "multipleOf": {"type": "number", "exclusiveMinimum": 0},
    "minimum": {"type": "number"}, "maximum": {"type": "number"}, "exclusiveMinimum": {"type": "number"}, "exclusiveMaximum": {"type": "number"},
    "minLength": {"$ref": "#/$defs/count"}, "maxLength": {"$ref": "#/$defs/count"}, "minItems": {"$ref": "#/$defs/count"}, "maxItems": {"$ref": "#/$defs/count"},
    "minContains": {"$ref": "#/$defs/count"}, "maxContains": {"$ref": "#/$defs/count"}, "minProperties": {"$ref": "#/$defs/count"}, "maxProperties": {"$ref": "#/$defs/count"},
    "pattern": {"type": "string", "format": "regex"}, "uniqueItems": {"type": "boolean"},
    "required": {"$ref": "#/$defs/names"}, "dependentRequired": {"type": "object", "additionalProperties": {"$ref": "#/$defs/names"}},

    "format": {"type": "string"}, "title": {"type": "string"}, "description": {"type": "string"},
    "contentEncoding": {"type": "string"}, "contentMediaType": {"type": "string"},
    "deprecated": {"type": "boolean"}, "readOnly": {"type": "boolean"}, "writeOnly": {"type": "boolean"}, "examples": {"type": "array"}
  },
  "$defs": {
    "address": {"type": "string", "format": "uri-reference"},
    "anchor": {"type": "string", "pattern": "^[A-Za-z_][-A-Za-z0-9._]*$"},
    "count": {"type": "integer", "minimum": 0},
    "named": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "names": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
    "schemas": {"type": "array", "minItems": 1, "items": {"$ref": "#"}},
    "type": {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]}
  }
}`

// meta is the metaschema, compiled when the first schema is.
var meta = sync.OnceValue(func() *node {
	doc, _, err := parse([]byte(metaschema), nil)
	if err != nil {
		panic(err)
	}
	n, err := build(doc, nil, nil)
	if err != nil {
		panic(err)
	}
	return n
})
