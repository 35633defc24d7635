// Package boundary owns both ends of a run for an orchestrator of WP Codebox: it reads the request, and builds the
// envelope that answers it from the account of the attempt. How the attempt ended is decided in attempt/ending. The
// package is pure: it does no I/O, starts nothing and reads no clock. Whether a source exists, and how links resolve,
// is up to whoever opens it.
package boundary
