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

// Time parses the text. It is as strict as RFC 3339: every part has its full number of digits, and an offset is
// there. An instant without an offset means something else on every machine.
func (t Timestamp) Time() (time.Time, error) {
	v, err := time.Parse(time.RFC3339Nano, string(t))
	if err != nil || !strictRFC3339(string(t)) {
		return time.Time{}, fmt.Errorf("timestamp %q is not RFC 3339 (for example 2026-01-31T08:00:00Z)", clip(string(t)))
	}
	return v.UTC(), nil
}

// strictRFC3339 refuses what time.Parse takes beyond RFC 3339: an hour of one digit, a comma before the fraction,
// and an offset of more than a day.
func strictRFC3339(s string) bool {
	if len(s) < len("2006-01-02T15:04:05Z") || s[13] != ':' {
		return false
	}
	for i := 19; i < len(s); i++ {
		switch c := s[i]; c {
		case ',':
			return false
		case '+', '-':
			return len(s) == i+6 && s[i+1:i+3] <= "23" && s[i+4:] <= "59"
		}
	}
	return true
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
func nullableInstant(l *fault.List, at string, t *Timestamp) {
	if t != nil {
		instant(l, at, *t)
	}
}

func clip(s string) string {
	if len(s) > 64 {
		return s[:64]
	}
	return s
}
