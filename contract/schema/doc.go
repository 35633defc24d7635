// Package schema owns the published JSON Schemas of the contract's records, and reading a record strictly: every
// fault at once, each with its path and its remedy. It does not own the records themselves.
package schema
