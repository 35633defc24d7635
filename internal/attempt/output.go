package attempt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

func lookup(environ []string, name string) string {
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
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

// absoluteCommand resolves a bare command name on the given PATH, never on deed's own, and a relative one against
// the directory it runs in.
func absoluteCommand(argv []string, dir, path string) ([]string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("the check has no command")
	}
	out := slices.Clone(argv)
	if filepath.IsAbs(argv[0]) {
		return out, nil
	}
	if strings.Contains(argv[0], "/") {
		out[0] = filepath.Join(dir, argv[0])
		return out, nil
	}
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			continue
		}
		p := filepath.Join(d, argv[0])
		if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0 {
			out[0] = p
			return out, nil
		}
	}
	return nil, fmt.Errorf("command %q is not on PATH (%s)", argv[0], path)
}
