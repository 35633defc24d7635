package attempt

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/deedrun/deed/internal/config"
)

// backoff returns how long a task waits after its n-th attempt failed: base doubled with each attempt, up to max,
// spread by jitter in both directions so that tasks which failed together do not come back together. A service's
// own wish is respected up to its cap and never shortened.
func backoff(r config.Retry, n int, asked time.Duration, spread func() float64) time.Duration {
	d := r.Max
	if f := float64(r.Base) * math.Pow(2, float64(max(n, 1)-1)); f < float64(r.Max) {
		d = time.Duration(f)
	}
	d += time.Duration(float64(d) * r.Jitter * (2*spread() - 1))
	if asked > 0 {
		d = max(d, min(asked, r.RetryAfterCap))
	}
	return max(d, 0)
}

func spread() float64 { return rand.Float64() }
