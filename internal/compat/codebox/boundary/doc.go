// Package boundary owns the two ends of a run for an orchestrator of WP Codebox: it reads the request, and builds the envelope
// that answers it from the account of the attempt. How the attempt ended is decided in attempt/ending. The package is pure: it
// does no I/O, starts nothing and reads no clock. Whether a source is there, and what a link makes of a path, is for whoever
// opens it.
package boundary
