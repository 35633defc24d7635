// Package draft owns JSON Schema, draft 2020-12, as deed uses it: reading JSON text for validation, compiling a schema that stands
// alone, bounding what the schemas and values of strangers may cost, and saying every fault in deed's words. The rules of the draft
// are those of santhosh-tekuri/jsonschema. Nothing is loaded from outside.
package draft
