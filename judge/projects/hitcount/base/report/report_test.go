package report

import (
	"testing"

	"example.test/hitcount/access"
)

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1.0KiB", 1536: "1.5KiB", 5 << 20: "5.0MiB", 3 << 40: "3072.0GiB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestRowsAreSorted(t *testing.T) {
	s, err := New("path")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/c", "/b", "/a", "/c"} {
		s.Add(access.Hit{Path: path, Status: 200})
	}
	rows := s.Rows(2)
	if len(rows) != 2 || rows[0].Key != "/c" || rows[1].Key != "/a" {
		t.Errorf("got %v", rows)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New("colour"); err == nil {
		t.Error("no error")
	}
}
