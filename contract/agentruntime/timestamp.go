package agentruntime

import (
	"fmt"
	"time"
)

// A Timestamp is an RFC 3339 instant kept as the text that was written, so that a record read and written again
// is the same record.
type Timestamp string

// timestampLayout has six fixed digits, so that the texts sort as the instants do.
const timestampLayout = "2006-01-02T15:04:05.000000Z"

// At returns the instant as deed writes it: UTC, microseconds.
func At(t time.Time) Timestamp { return Timestamp(t.UTC().Format(timestampLayout)) }

// Time parses the text.
func (t Timestamp) Time() (time.Time, error) {
	v, err := time.Parse(time.RFC3339Nano, string(t))
	if err != nil {
		return time.Time{}, fmt.Errorf("timestamp %q is not RFC 3339 (for example 2026-01-31T08:00:00Z)", string(t))
	}
	return v.UTC(), nil
}
