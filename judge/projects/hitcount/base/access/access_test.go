package access

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	got, err := Parse("2024-05-01T09:30:00+02:00 GET /a/b?x=1 200 512")
	if err != nil {
		t.Fatal(err)
	}
	want := Hit{time.Date(2024, 5, 1, 7, 30, 0, 0, time.UTC), "GET", "/a/b", 200, 512}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseNoBytes(t *testing.T) {
	got, err := Parse("2024-05-01T09:30:00Z HEAD / 304 -")
	if err != nil {
		t.Fatal(err)
	}
	if got.Bytes != 0 {
		t.Errorf("bytes %d, want 0", got.Bytes)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{
		"",
		"2024-05-01 GET / 200 1",
		"2024-05-01T09:30:00Z GET / 700 1",
		"2024-05-01T09:30:00Z GET / 200 -5",
		"2024-05-01T09:30:00Z GET / 200",
	} {
		if _, err := Parse(line); err == nil {
			t.Errorf("no error for %q", line)
		}
	}
}
