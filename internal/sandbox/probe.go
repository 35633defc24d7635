package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/failure"
	"github.com/deedrun/deed/internal/proc"
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

// Probe says of each kind whether it is available, by using it: it builds a sandbox with all walls, and asks an
// engine for an answer.
func Probe(ctx context.Context) []Availability {
	list := []Availability{{Kind: None, Available: true}, {Kind: Process, Available: true}}
	ns := Availability{Kind: Namespace}
	if b, err := findBubblewrap(ctx); err == nil {
		ns.Available, ns.Version = true, b.version
	} else {
		ns.Reason = err.Error()
		var f *failure.Error
		if errors.As(err, &f) {
			ns.Reason, ns.Remedy = f.Err.Error(), f.Remedy
		}
	}
	return append(list, ns, probeContainer(ctx))
}

// probeContainer asks the engines whether they live. None is used yet.
func probeContainer(ctx context.Context) Availability {
	c := Availability{Kind: Container, Reason: "not built yet", Remedy: "use kind namespace"}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var said []string
	for _, engine := range []string{"podman", "docker"} {
		res, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{engine, "info"}, Env: toolEnv()})
		switch {
		case err != nil:
			said = append(said, engine+" is not there")
		case res.ExitCode != 0:
			said = append(said, engine+" does not answer")
		default:
			said = append(said, engine+" answers")
		}
	}
	c.Reason = fmt.Sprintf("%s (%s)", c.Reason, strings.Join(said, ", "))
	return c
}

// toolEnv is what an engine's client needs to find its engine.
func toolEnv() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
