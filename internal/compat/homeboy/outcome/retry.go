package outcome

import (
	"encoding/json"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
)

// maxWait bounds the wait that a provider may ask for; policies cap it further.
const maxWait = 24 * time.Hour

// RetryAfter is how long a rate limit lasts, by what the provider says in the retry_hint of its metadata; 0: it does not say.
func RetryAfter(o homeboy.Outcome) time.Duration {
	said, _ := object(o.Metadata) // what is no object hints at nothing
	hint, _ := object(said["retry_hint"])
	longest := 0.0
	for name, unit := range map[string]float64{"retry_after_ms": 0.001, "retry_after_seconds": 1, "retry_after": 1} {
		var n float64
		if json.Unmarshal(hint[name], &n) == nil {
			longest = max(longest, n*unit)
		}
	}
	return time.Duration(min(longest, maxWait.Seconds()) * float64(time.Second))
}
