package attempt

import (
	"slices"
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
