// Package changed owns the question which files of a component changed since a commit, and which tests that selects.
package changed
