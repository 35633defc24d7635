// Package boundary owns the two ends of a run for an orchestrator: it reads the request and builds the envelope that
// answers it. Between them stands one table, Decide, from which every field that tells how the run ended is derived, so
// that no two fields of an envelope can contradict each other. It is pure: it does no I/O, starts nothing and reads no
// clock. Whether a source is there, and what a link makes of a path, is for whoever opens it.
package boundary
