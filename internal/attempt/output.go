package attempt

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// capped writes to a file up to a limit, then counts, and states the truncation at the end.
type capped struct {
	f       *os.File
	left    int64
	dropped int64
}

func newCapped(path string, limit int64) (*capped, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &capped{f: f, left: limit}, nil
}

func (c *capped) Write(p []byte) (int, error) {
	keep := p
	if int64(len(keep)) > c.left {
		keep = keep[:c.left]
	}
	c.dropped += int64(len(p) - len(keep))
	c.left -= int64(len(keep))
	if _, err := c.f.Write(keep); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *capped) Close() error {
	var err error
	if c.dropped > 0 {
		_, err = fmt.Fprintf(c.f, "\n[deed: %d more bytes were not kept]\n", c.dropped)
	}
	return errors.Join(err, c.f.Close())
}

// locked lets standard output and standard error share one writer.
type locked struct {
	mu sync.Mutex
	w  interface{ Write([]byte) (int, error) } // guarded by mu
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func environ(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for k, v := range env {
		if v != "" {
			out = append(out, k+"="+v)
		}
	}
	slices.Sort(out)
	return out
}

func names(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for k, v := range env {
		if v != "" {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
