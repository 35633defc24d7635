package sandbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
)

// A Kind says how strongly a command is isolated from the machine.
type Kind string

// The kinds, from the weakest to the strongest.
const (
	None      Kind = "none"      // a process tree that ends with the run
	Process   Kind = "process"   // the same with limits
	Namespace Kind = "namespace" // bubblewrap and seccomp
	Container Kind = "container" // podman: the same view, with limits in a control group
)

// ScratchKind is what atomicfile.Scratch is asked for as the root of a container.
const ScratchKind = "container"

// Kinds lists all kinds.
var Kinds = []Kind{None, Process, Namespace, Container}

// byFlag tells the user of most commands how to run without isolation.
const byFlag = "or say --isolation process where the agent may run as you"

// Otherwise adapts an error of New for a caller that has no flag for the kind: the remedy is what the machine needs, and how
// the caller can do without, if there is a way. Other errors are returned unchanged.
func Otherwise(err error, how string) error {
	var f *failure.Error
	if !errors.As(err, &f) || f.Class != failure.Isolation {
		return err
	}
	remedy := needs
	if how != "" {
		remedy += "; " + how
	}
	return failure.New(f.Class, f.Op, f.Err, remedy)
}

// A Mount shows a file or directory of the host inside. Both paths are absolute and clean.
type Mount struct {
	Source   string // on the host; a directory or a regular file, no link
	Target   string // inside
	Writable bool
	// Own is set for a directory that belongs to deed and is read-only inside: a mount point for another mount may be made in it.
	Own bool
}

// Limits bound what a run may use. Zero is the default of the kind (there is none for None), negative is no limit.
type Limits struct {
	MemoryBytes int64 // of all processes together
	Processes   int64
	FileBytes   int64 // of one file
	OpenFiles   int64 // of one process
	DiskBytes   int64 // of all watched directories together
}

// A Spec describes a sandbox. Mounts, Tmpfs, Egress and Loopback are for the kinds with a view of their own: under None and
// Process a command sees the host as it is.
type Spec struct {
	Kind   Kind
	Mounts []Mount
	Tmpfs  []string // paths inside that are empty, private and writable; /tmp always is
	Limits Limits
	Egress string // the unix socket on the host of the proxy that is the only way out; empty: no network at all
	// Loopback lists addresses of the host's loopback interface, as 127.0.0.1:8080, [::1]:8080 or localhost:8080, that a
	// command reaches inside at the same address and port, without knowing of the proxy. Each connection goes through the
	// proxy and by its rules. What a command wants to listen on there itself is taken.
	Loopback []string
	Watch    []string // directories on the host whose disk use counts for Limits.DiskBytes
}

// A Sandbox runs commands in the isolation that its Spec describes. It holds nothing open; several runs may follow each other.
type Sandbox struct {
	kind        Kind
	mounts      []mount // ordered: a parent before what lies below it
	limits      Limits  // no zero left; negative is none
	egress      string
	doors       []door
	watch       []string
	bwrap       string
	engine      engine
	mountPoints mountPoints
}

// An Exit says how a run ended.
type Exit struct {
	proc.Exit
	// Limit is the name of the Restriction for which the run was killed; empty if there was none. Cause
	// is then a *LimitError. Limits of the kernel (file size, open files) end no run: the system call is refused.
	Limit string
}

// A LimitError is the Cause of an Exit of a run that used more than it may.
type LimitError struct {
	Limit     string // the name of a Restriction
	Used, Max int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("limit on %s passed: %d of at most %d", e.Limit, e.Used, e.Max)
}

// Unwrap makes the end immediate.
func (e *LimitError) Unwrap() error { return proc.ErrAtOnce }

const op = "make sandbox"

// New checks a Spec and makes the sandbox. A Spec that is not usable is a *failure.Error of class Config with every
// fault; a kind that is not available here is one of class Isolation with what to do about it. It never gives less
// than what was asked for.
func New(ctx context.Context, spec Spec) (*Sandbox, error) {
	s := &Sandbox{kind: spec.Kind, limits: spec.Limits.resolve(spec.Kind), watch: spec.Watch}
	var faults []error
	for i, dir := range spec.Watch {
		if !filepath.IsAbs(dir) {
			faults = append(faults, fmt.Errorf("watch[%d]: %q is not an absolute path", i, dir))
		}
	}
	switch spec.Kind {
	case None, Process:
		if spec.Egress != "" {
			faults = append(faults, fmt.Errorf("egress: kind %s does not isolate the network (use namespace)", spec.Kind))
		}
		if len(spec.Loopback) > 0 {
			faults = append(faults, fmt.Errorf("loopback: kind %s has the host's own loopback interface (use namespace)", spec.Kind))
		}
	case Namespace, Container:
		if err := WayOut(spec.Kind); spec.Egress != "" && err != nil {
			return nil, err
		}
		mounts, mountFaults := resolveMounts(spec)
		s.mounts = mounts
		faults = append(faults, mountFaults...)
		if spec.Egress != "" {
			var err error
			if s.egress, err = resolveSocket(spec.Egress); err != nil {
				faults = append(faults, err)
			}
		}
		doors, doorFaults := resolveDoors(spec)
		s.doors = doors
		faults = append(faults, doorFaults...)
	default:
		faults = append(faults, fmt.Errorf("kind: %q is not one of none, process, namespace, container", spec.Kind))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, failure.New(failure.Config, op, err, "")
	}
	var err error
	switch spec.Kind {
	case Namespace:
		var b bubblewrap
		b, err = findBubblewrap(ctx)
		s.bwrap = b.path
	case Container:
		s.engine, err = findEngine(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// WayOut reports why a kind that isolates the network cannot lead to allowed hosts.
func WayOut(k Kind) error {
	if k == Container {
		return failure.New(failure.Isolation, op, errors.New("kind container has no way out to allowed hosts"), "use kind namespace, or allow no hosts")
	}
	return nil
}

// Contained reports whether a command sees a file system of its own, in isolation that the kernel enforces.
func (s *Sandbox) Contained() bool { return s != nil && (s.kind == Namespace || s.kind == Container) }

// Inside returns where a path of the host is inside, and whether it is there at all.
func (s *Sandbox) Inside(host string) (string, bool) {
	if s.kind == None || s.kind == Process {
		return host, true
	}
	host = filepath.Clean(host)
	best, found := "", -1
	for _, m := range s.mounts {
		for _, source := range []string{m.given, m.source} {
			if rest, ok := below(source, host); source != "" && ok && len(source) > found {
				best, found = filepath.Join(m.target, rest), len(source)
			}
		}
	}
	if found >= 0 {
		return best, true
	}
	for _, dir := range systemDirs {
		if _, ok := below(dir, host); ok {
			return host, true
		}
	}
	return "", false
}

// Self returns the path under which a command of this sandbox finds the running binary, whether its file was replaced
// since or not. A run whose Argv begins with it sees it; nil is no sandbox at all.
func (s *Sandbox) Self() string {
	if s == nil || s.kind == None || s.kind == Process {
		return "/proc/self/exe" // of the supervisor, which is this binary too
	}
	return innerPath
}

// Env returns the variables that a command needs to find its way out. What is on the loopback interface is the
// sandbox's own, or has a door there, and needs no proxy.
func (s *Sandbox) Env() map[string]string {
	if s.egress == "" {
		return nil
	}
	env := map[string]string{}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env[name] = "http://" + egressAddress
		env[strings.ToLower(name)] = env[name]
	}
	env["NO_PROXY"], env["no_proxy"] = "localhost,127.0.0.1,::1", "localhost,127.0.0.1,::1"
	env["NODE_USE_ENV_PROXY"] = "1" // node uses the proxy only with this
	return env
}

// egressAddress is where the inner half listens, on the loopback interface of the sandbox alone.
const egressAddress = "127.0.0.1:3128"

// below reports whether path is dir or lies below it, and the rest.
func below(dir, path string) (rest string, ok bool) {
	if dir == path {
		return "", true
	}
	if !strings.HasSuffix(dir, "/") {
		dir += "/"
	}
	return strings.CutPrefix(path, dir)
}
