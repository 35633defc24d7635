// Package schema owns the published JSON Schemas of the contract's records, and reading a record strictly: every
// fault at once, each with its path and its remedy. It does not own the records themselves.
//
// Decode is for Go callers: it reads a record into its type. Validate is for people who have a file and a schema id.
// CompilePayload is for the payload schemas that authors of task types write. All three report fault.Faults.
//
// The schemas and the TypeScript types are generated from the Go types by `go generate`, committed, and embedded;
// a test fails when they are not current. A new record is one line in internal/catalog and its fixtures in testdata.
// Three things hold for every document, and are tested on many thousands: what Decode accepts its schema accepts,
// what the schema accepts Decode does not refuse for its structure, and what was read is written again unchanged.
//
// No schema of the contract is compiled before it is asked for, and then once. The validator behind Validate and
// CompilePayload is internal/draft, which loads nothing from outside.
package schema
