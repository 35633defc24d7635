package agentruntime

import (
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/fault"
)

// A Timestamp is an RFC 3339 instant kept as the text that was written, so that a record read and written again
// is the same record.
type Timestamp string

// timestampLayout has six fixed digits, so that the texts sort as the instants do.
const timestampLayout = "2006-01-02T15:04:05.000000Z"

// At returns the instant as deed writes it: UTC, microseconds.
func At(t time.Time) Timestamp { return Timestamp(t.UTC().Format(timestampLayout)) }

// Time parses the text. It is as strict as RFC 3339: four digits for the year, two for the hour, an offset.
func (t Timestamp) Time() (time.Time, error) {
	var v time.Time
	if err := v.UnmarshalText([]byte(t)); err != nil {
		return time.Time{}, fmt.Errorf("timestamp %q is not RFC 3339 (for example 2026-01-31T08:00:00Z)", string(t))
	}
	return v.UTC(), nil
}

// instant demands a timestamp and returns its instant.
func instant(l *fault.List, at string, t Timestamp) (time.Time, bool) {
	if t == "" {
		l.Add(at, fault.Blank, "is blank", "write an instant such as 2026-01-31T08:00:00Z")
		return time.Time{}, false
	}
	v, err := t.Time()
	if err != nil {
		l.Add(at, fault.BadFormat, fmt.Sprintf("%q is not an RFC 3339 timestamp", clip(string(t))), "write an instant such as 2026-01-31T08:00:00Z")
		return time.Time{}, false
	}
	return v, true
}

// optionalInstant is instant for a member that may be absent.
func optionalInstant(l *fault.List, at string, t Timestamp) (time.Time, bool) {
	if t == "" {
		return time.Time{}, false
	}
	return instant(l, at, t)
}

// nullableInstant is instant for a member that may be null.
func nullableInstant(l *fault.List, at string, t *Timestamp) (time.Time, bool) {
	if t == nil {
		return time.Time{}, false
	}
	return instant(l, at, *t)
}

func clip(s string) string {
	if len(s) > 64 {
		return s[:64]
	}
	return s
}
