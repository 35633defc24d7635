// Package clock owns the reading of time: the only place that asks the system what time it is. Code that
// compares or stores instants takes a Clock; timers come from package time, which testing/synctest can fake.
package clock

import "time"

// A Clock returns the present instant in UTC.
type Clock func() time.Time

// System reads the machine's clock. Instants are cut to microseconds, which is what the store keeps, so that an
// instant read back equals the one written.
func System() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Since returns the time passed since a monotonic start made by Start.
func Since(start time.Time) time.Duration { return time.Since(start) }

// Start begins a measurement; unlike System it keeps the monotonic reading.
func Start() time.Time { return time.Now() }
