package store

import "context"

type soonKey struct{}

// Soon returns a context whose writes do not wait for the disk. Such a write is atomic, is seen by everybody at once and survives
// the death of this process; only a machine that stops takes it along, and then with all that was written after it. The next write
// that waits takes it to the disk.
//
// It is for the steps of a run that nobody is told of, up to one that waits: a machine that stopped has ended the run, whichever
// of its steps was the last on record.
func Soon(ctx context.Context) context.Context { return context.WithValue(ctx, soonKey{}, true) }

// isSoon reports whether writes need not wait for the disk.
func isSoon(ctx context.Context) bool { return ctx.Value(soonKey{}) != nil }
