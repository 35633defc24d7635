package attempt

import (
	"slices"
	"strings"
	"sync"
)

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

func names(env []string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); v != "" {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
