//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
)

const containerRemedy = "install podman and runc, and run deed as root; or use kind namespace"

// An engine is a podman with the runtime that works on this machine.
type engine struct{ path, runtime, version string }

// knownEngine remembers the engine that worked.
var knownEngine struct {
	sync.Mutex
	engine
}

// findEngine finds podman on deed's own PATH, and runs a container with it.
func findEngine(ctx context.Context) (engine, error) {
	knownEngine.Lock()
	defer knownEngine.Unlock()
	if knownEngine.path != "" {
		return knownEngine.engine, nil
	}
	unavailable := func(err error) (engine, error) {
		if ctx.Err() != nil {
			return engine{}, fmt.Errorf("%s: %w", op, err)
		}
		return engine{}, failure.New(failure.Isolation, op, err, containerRemedy)
	}
	path, err := proc.LookPath("podman", os.Getenv("PATH"), "/")
	if err != nil {
		return unavailable(err)
	}
	if os.Getuid() != 0 {
		return unavailable(errors.New("podman: without root its containers have no limits that hold"))
	}
	e, err := tryEngine(ctx, path, installed)
	if err != nil {
		return unavailable(err)
	}
	knownEngine.engine = e
	return e, nil
}

// runtimeDirs are where podman looks for a runtime, besides the PATH.
const runtimeDirs = "/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin:/sbin:/bin:/run/current-system/sw/bin"

// installed reports whether podman finds a runtime without a configuration of its own.
func installed(runtime string) bool {
	_, err := proc.LookPath(runtime, os.Getenv("PATH")+":"+runtimeDirs, "/")
	return err == nil
}

// tryEngine finds out with which runtime a podman makes containers.
func tryEngine(ctx context.Context, path string, installed func(runtime string) bool) (engine, error) {
	var faults []string
	for _, runtime := range []string{"crun", "runc"} {
		e := engine{path: path, runtime: runtime}
		err := e.try(ctx)
		hangs := errors.Is(err, context.DeadlineExceeded)
		if err != nil && !hangs && installed(runtime) {
			// Processes that make the first containers of a machine at the same time can disturb each other, so try again. A missing
			// runtime is not tried again; it is tried once because podman's configuration can name another path for it.
			err = e.try(ctx)
		}
		if err == nil {
			version, err := e.do(ctx, "version", "--format", "{{.Client.Version}}")
			e.version = version + " with " + runtime
			return e, err
		}
		faults = append(faults, fmt.Sprintf("podman with %s: %v", runtime, err))
		if hangs {
			break
		}
	}
	// On one line, since the first fault alone is often that of a runtime that is not installed.
	return engine{}, errors.New(strings.Join(faults, "; "))
}

// try runs a command in a container as Run does.
func (e engine) try(ctx context.Context) error {
	s := &Sandbox{kind: Container, engine: e, limits: Limits{}.resolve(Container)}
	s.mounts = []mount{{target: "/tmp", writable: true, dir: true, parent: -1}}
	ctx, cancel := context.WithTimeout(ctx, engineTime) // its first container takes it seconds, and a busy machine many
	defer cancel()
	c, err := s.pack(ctx, proc.Spec{Argv: []string{"/usr/bin/env", "true"}, Dir: "/tmp"})
	if f, ok := errors.AsType[*failure.Error](err); ok {
		return f.Err // who tries has the remedy
	}
	if err != nil {
		return err
	}
	defer c.remove()
	_, err = e.do(ctx, "start", "--attach", c.name)
	return err
}

// do asks the engine something and returns its answer.
func (e engine) do(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	res, err := proc.Tool(ctx, proc.ToolSpec{Argv: append(e.argv(), args...), Dir: "/", Env: toolEnv()})
	if err == nil {
		err = res.Check()
	}
	return strings.TrimSpace(string(res.Stdout)), err
}

func (e engine) argv() []string {
	argv := []string{e.path, "--log-level", "error"}
	if e.runtime != "" {
		argv = append(argv, "--runtime", e.runtime)
	}
	return argv
}

// InUse reports whether the engine still has a container on a root that Scratch made. Its owner is dead then, and Reclaim ends it.
func InUse(ctx context.Context, root string) (bool, error) {
	path, err := proc.LookPath("podman", os.Getenv("PATH"), "/")
	if err != nil || os.Getuid() != 0 {
		return false, nil //nolint:nilerr // without an engine there are no containers
	}
	names, err := engine{path: path}.do(ctx, "ps", "--all", "--filter", "label="+labelRoot+"="+root, "--format", "{{.Names}}")
	if err != nil {
		return true, fmt.Errorf("ask for the container on %s: %w", root, err)
	}
	return names != "", nil
}

// Reclaim removes what the engine still has of the containers of an attempt whose processes are gone.
func Reclaim(ctx context.Context, attemptID string) error {
	path, err := proc.LookPath("podman", os.Getenv("PATH"), "/")
	if err != nil || os.Getuid() != 0 || attemptID == "" {
		return nil // without an engine there are no containers
	}
	e := engine{path: path}
	text, err := e.do(ctx, "ps", "--all", "--filter", "label="+labelAttempt+"="+attemptID, "--format", `{{.Names}} {{index .Labels "`+labelRoot+`"}}`)
	if err != nil {
		return fmt.Errorf("list the containers of attempt %s: %w", attemptID, err)
	}
	for line := range strings.Lines(text) {
		name, root, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.HasPrefix(filepath.Base(root), "deed-"+ScratchKind+"-") {
			continue
		}
		if _, err := e.do(ctx, "rm", "--force", "--ignore", "--time", "0", name); err != nil {
			return fmt.Errorf("remove a container of attempt %s: %w", attemptID, err)
		}
		if err := os.RemoveAll(root); err != nil {
			return fmt.Errorf("remove the root of a container: %w", err)
		}
	}
	return nil
}
