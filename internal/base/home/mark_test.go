package home_test

import (
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/home"
)

func TestDue(t *testing.T) {
	t.Parallel()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	if !h.Due("x", now, time.Minute) {
		t.Error("never done, and not due")
	}
	for range 2 {
		if err := h.Done("x", now); err != nil {
			t.Fatal(err)
		}
	}
	for after, want := range map[time.Duration]bool{-time.Second: true, 0: false, 59 * time.Second: false, time.Minute: true} {
		if got := h.Due("x", now.Add(after), time.Minute); got != want {
			t.Errorf("after %v: due %v", after, got)
		}
	}
	if !h.Due("y", now, time.Minute) {
		t.Error("another mark counts")
	}
}
