package sandbox

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/deedrun/deed/internal/base/failure"
)

// probeTimeout bounds each question of Probe.
const probeTimeout = 10 * time.Second

// An Availability says whether a kind can be used here.
type Availability struct {
	Kind      Kind   `json:"kind"`
	Available bool   `json:"available"`
	Version   string `json:"version,omitempty"` // of the tool that it needs
	Reason    string `json:"reason,omitempty"`  // why it is not available
	Remedy    string `json:"remedy,omitempty"`  // what to do about it
}

// Probe reports for each kind whether it is available, by using it: it builds a sandbox with full isolation, and runs a
// container.
func Probe(ctx context.Context) []Availability {
	list := []Availability{{Kind: None, Available: true}, {Kind: Process, Available: true}}
	b, err := findBubblewrap(ctx)
	list = append(list, availability(Namespace, b.version, err))
	e, err := findEngine(ctx)
	return append(list, availability(Container, e.version, err))
}

func availability(k Kind, version string, err error) Availability {
	a := Availability{Kind: k, Available: err == nil, Version: version}
	if err == nil {
		return a
	}
	a.Reason = err.Error()
	var f *failure.Error
	if errors.As(err, &f) {
		a.Reason, a.Remedy = f.Err.Error(), f.Remedy
	}
	return a
}

// toolEnv is what an engine's client needs to find its engine.
func toolEnv() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "XDG_RUNTIME_DIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
