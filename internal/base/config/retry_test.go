package config

import (
	"testing"
	"time"
)

func TestWait(t *testing.T) {
	t.Parallel()
	r := Retry{Base: 10 * time.Second, Max: time.Minute, RetryAfterCap: time.Hour, Jitter: 0.5}
	for _, c := range []struct {
		n     int
		asked time.Duration
		rnd   float64
		want  time.Duration
	}{
		{1, 0, 0.5, 10 * time.Second},
		{2, 0, 0.5, 20 * time.Second},
		{3, 0, 0.5, 40 * time.Second},
		{4, 0, 0.5, time.Minute},
		{5000, 0, 0.5, time.Minute},
		{1, 0, 0, 5 * time.Second},
		{1, 0, 1, 15 * time.Second},
		{0, 0, 0.5, 10 * time.Second},
		{1, 30 * time.Second, 0.5, 30 * time.Second},
		{1, 5 * time.Second, 0.5, 10 * time.Second},
		{1, 48 * time.Hour, 0.5, time.Hour},
	} {
		if got := r.wait(c.n, c.asked, c.rnd); got != c.want {
			t.Errorf("wait after attempt %d, asked %s, random %v = %s, want %s", c.n, c.asked, c.rnd, got, c.want)
		}
	}
}
