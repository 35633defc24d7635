package config

import (
	"math"
	"math/rand/v2"
	"time"
)

// Retry is the waiting rule between attempts.
type Retry struct {
	Base          time.Duration
	Max           time.Duration
	RetryAfterCap time.Duration
	Jitter        float64
}

// Wait returns how long something waits after its n-th attempt failed: base doubled with each attempt, up to max, spread by
// jitter in both directions so that what failed together does not come back together. A service's own wish is respected up to its
// cap and never shortened.
func (r Retry) Wait(n int, asked time.Duration) time.Duration {
	return r.wait(n, asked, rand.Float64())
}

// wait takes the spread as a number from 0 to 1.
func (r Retry) wait(n int, asked time.Duration, spread float64) time.Duration {
	d := r.Max
	if f := float64(r.Base) * math.Pow(2, float64(max(n, 1)-1)); f < float64(r.Max) {
		d = time.Duration(f)
	}
	d += time.Duration(float64(d) * r.Jitter * (2*spread - 1))
	if asked > 0 {
		d = max(d, min(asked, r.RetryAfterCap))
	}
	return max(d, 0)
}
