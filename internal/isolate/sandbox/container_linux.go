//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
)

// A container shows the same as a namespace does: the system of the host, read-only, on a root that is made for each run.
// It needs no image and no registry. What it adds is a control group, in which the kernel itself holds the limits on
// memory and threads.
//
//	deed ── supervisor ─┬─ podman start
//	                    └─ conmon ══╪══ entry ── exec ──► command (pid 1)
//
// The supervisor is the subreaper of all of them, so what ends its tree ends the container. The engine's record of it
// is removed after the run, and by Reclaim after a run whose deed died.
const (
	enterCommand = "__enter"
	// envPath is where the entry finds the environment of the command. The engine would keep it on its disk, and what
	// it gets on its command line everybody reads.
	envPath = "/run/deed/env"

	labelAttempt = "run.deed.attempt"
	labelRoot    = "run.deed.root"
	markAttempt  = "DEED_ATTEMPT_ID"

	// outsideIDs are the users of the host that stand for the inside's, other than the one of the command.
	outsideIDs = 100000
	// engineTime bounds a question to the engine.
	engineTime = 30 * time.Second
)

// A container is one that was made and not yet removed.
type container struct {
	engine
	name string
	id   string // the engine's name for it
	root string // a directory of deed's with its root and its environment

	release func() // of the root
}

// remove ends the container and forgets it, also when the run was cancelled.
func (c *container) remove() {
	ctx := context.Background()
	if c.name != "" {
		_, _ = c.do(ctx, "rm", "--force", "--ignore", "--time", "0", c.name) // what is left, Reclaim tries again
	}
	_ = os.RemoveAll(c.root)
	if c.release != nil {
		c.release()
	}
}

// pack makes the container for a command, and does not start it.
func (s *Sandbox) pack(ctx context.Context, p proc.Spec) (_ *container, err error) {
	if len(p.Files) > 0 {
		return nil, errors.New("run in sandbox: files cannot be handed in: a descriptor bypasses the isolation")
	}
	path, err := s.look(p)
	if err != nil {
		return nil, err
	}
	if err := s.checkMounts(); err != nil {
		return nil, err
	}
	c := &container{engine: s.engine}
	defer func() {
		if err != nil {
			c.remove()
		}
	}()
	if c.root, c.release, err = atomicfile.Scratch(ScratchKind); err != nil {
		return nil, fmt.Errorf("make the root of a container: %w", err)
	}
	args, err := c.system(homeOf(p.Env))
	if err != nil {
		return nil, fmt.Errorf("make the root of a container: %w", err)
	}
	if err := writeEnv(filepath.Join(c.root, "env"), p.Env); err != nil {
		return nil, fmt.Errorf("make the root of a container: %w", err)
	}
	c.name = "deed-" + uuid.NewString()
	args = append(args, bind(filepath.Join(c.root, "env"), envPath, false)...)
	args = append(args, s.containerMounts()...)
	args = append(args, s.containerLimits(p.Limits)...)
	args = slices.Concat([]string{"create", "--name", c.name, "--label", labelRoot + "=" + c.root, "--label", labelAttempt + "=" + proc.Getenv(p.Env, markAttempt)},
		containerOptions(), args, []string{"--workdir", p.Dir, "--rootfs", filepath.Join(c.root, "rootfs"), innerPath, enterCommand, path}, p.Argv[1:])
	if c.id, err = c.do(ctx, args...); err != nil {
		return nil, failure.New(failure.Isolation, "make a container", err, containerRemedy)
	}
	return c, nil
}

// containerOptions are what every container has.
func containerOptions() []string {
	hidden := []string{"/sys"}
	if entries, err := os.ReadDir("/proc"); err == nil {
		for _, e := range entries {
			if _, err := strconv.Atoi(e.Name()); err != nil && !slices.Contains(procShown, e.Name()) {
				hidden = append(hidden, "/proc/"+e.Name())
			}
		}
	}
	ids := "0:" + strconv.Itoa(outsideIDs) + ":" + insideID
	own := func(id int) string { return insideID + ":" + strconv.Itoa(id) + ":1" }
	return []string{
		"--interactive", "--log-driver", "none", "--pull", "never", "--network", "none", "--no-hosts", "--hostname", hostname,
		"--read-only", "--read-only-tmpfs=false", "--cap-drop", "all", "--security-opt", "no-new-privileges",
		"--security-opt", "mask=" + strings.Join(hidden, ":"), "--ipc", "private", "--pid", "private", "--uts", "private", "--cgroupns", "private",
		"--uidmap", ids, "--uidmap", own(os.Getuid()), "--gidmap", ids, "--gidmap", own(os.Getgid()), "--user", insideID + ":" + insideID,
		"--http-proxy=false", "--stop-timeout", "0", "--entrypoint", "",
	}
}

// procShown are the entries of /proc that programs need and that cannot be written to. The user inside is root
// outside, to whom the kernel opens the others.
var procShown = []string{
	"cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "filesystems", "self", "thread-self", "mounts", "net", "sys", "diskstats", "vmstat", "devices",
}

// system makes the root, and returns the mounts that show the host's system on it.
func (c *container) system(home string) ([]string, error) {
	root := filepath.Join(c.root, "rootfs")
	var args []string
	var faults []error
	try := func(err error) { faults = append(faults, err) }
	for _, dir := range []string{"proc", "sys", "dev", "run/deed", "etc/ssl"} {
		try(os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for _, dir := range systemDirs {
		if link, err := os.Readlink(dir); err == nil {
			try(os.Symlink(link, filepath.Join(root, dir)))
		} else if _, err := os.Stat(dir); err == nil {
			args = append(args, bind(dir, dir, false)...)
		}
	}
	for _, path := range etcShown {
		if _, err := os.Stat(path); err == nil {
			args = append(args, bind(path, path, false)...)
		}
	}
	for _, path := range etcCopied {
		if data, err := os.ReadFile(path); err == nil {
			try(os.WriteFile(filepath.Join(root, path), data, 0o444))
		}
	}
	for _, file := range etcMadeUp {
		try(os.WriteFile(filepath.Join(root, file.path), []byte(strings.ReplaceAll(file.content, "%s", home)), 0o444))
	}
	exe, err := os.Readlink("/proc/self/exe")
	try(err)
	if strings.HasSuffix(exe, " (deleted)") { // replaced while deed runs
		exe = filepath.Join(c.root, "inner")
		try(copyOwnBinary(exe))
	}
	return append(args, bind(exe, innerPath, false)...), errors.Join(faults...)
}

func copyOwnBinary(to string) error {
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o555)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func writeEnv(path string, env []string) error {
	return os.WriteFile(path, []byte(strings.Join(env, "\x00")), 0o600)
}

func bind(source, target string, writable bool) []string {
	mode := "ro"
	if writable {
		mode = "rw"
	}
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` } // the option is a line of CSV
	return []string{"--mount", strings.Join([]string{"type=bind", quote("source=" + source), quote("target=" + target), mode, "bind-propagation=private"}, ",")}
}

// checkMounts looks whether every source is what it was when the sandbox was made, and makes targets that lie in other
// mounts. Unlike bwrap the engine takes paths, so a link that is put in a source's place right now would be followed:
// the directory that a source is in must not be writable from inside.
func (s *Sandbox) checkMounts() error {
	c := call{mountPoints: &s.mountPoints}
	defer c.close()
	return c.mounts(s.mounts, 0)
}

func (s *Sandbox) containerMounts() []string {
	var args []string
	for _, m := range s.mounts {
		if m.source == "" {
			args = append(args, "--tmpfs", fmt.Sprintf("%s:rw,nosuid,nodev,exec,mode=1777,size=%d", m.target, s.limits.tmpfs()))
			continue
		}
		args = append(args, bind(m.source, m.target, m.writable)...)
	}
	return append(args, "--shm-size", strconv.FormatInt(s.limits.tmpfs(), 10))
}

// threadSlack is what the control group has room for beyond the limit on threads, so that the monitor sees it passed.
const threadSlack = 64

// engineProcesses is what podman lowers its own limit on processes to; it cannot give more.
const engineProcesses = 32768

// containerLimits gives the kernel's limits to the engine, which is not under them itself.
func (s *Sandbox) containerLimits(p proc.Limits) []string {
	limit := func(name string, resource int, value int64) []string {
		var now unix.Rlimit
		if unix.Getrlimit(resource, &now) != nil {
			return nil
		}
		if value > 0 {
			now.Max = min(now.Max, uint64(value))
		}
		if now.Max == unix.RLIM_INFINITY {
			return []string{"--ulimit", name + "=-1:-1"}
		}
		return []string{"--ulimit", fmt.Sprintf("%s=%d:%d", name, now.Max, now.Max)}
	}
	args := slices.Concat(
		limit("fsize", unix.RLIMIT_FSIZE, p.FileSize), limit("nofile", unix.RLIMIT_NOFILE, int64(p.OpenFiles)),
		limit("nproc", unix.RLIMIT_NPROC, engineProcesses), limit("core", unix.RLIMIT_CORE, 1),
		[]string{"--oom-score-adj", strconv.Itoa(p.OOMScore)},
	)
	if m := s.limits.MemoryBytes; m > 0 {
		args = append(args, "--memory", strconv.FormatInt(m, 10), "--memory-swap", strconv.FormatInt(m, 10))
	}
	pids := int64(-1)
	if n := s.limits.Processes; n > 0 {
		pids = n*threadsPerProcess + threadSlack
	}
	return append(args, "--pids-limit", strconv.FormatInt(pids, 10))
}

// runContainer runs a command in a container that is there for it alone.
func (s *Sandbox) runContainer(ctx context.Context, sup *proc.Supervisor, p proc.Spec) (Exit, error) {
	s.mountPoints.enter()
	defer s.mountPoints.leave()
	c, err := s.pack(ctx, p)
	if err != nil {
		return Exit{Exit: proc.Exit{Code: -1}}, err
	}
	defer c.remove()
	out := p
	stderr := &headWriter{w: p.Stderr}
	out.Argv = append(c.argv(), "start", "--attach", "--interactive", "--sig-proxy", c.name)
	out.Dir, out.Env, out.Limits, out.Stderr, out.Wrapper = "/", append(toolEnv(), marks(p.Env)...), proc.Limits{}, stderr, true
	m := monitor{limits: s.limits}
	if s.limits.MemoryBytes > 0 {
		m.limits.MemoryBytes = -1 // the control group's alone, which does not count the engine
		m.refused = func(pids []int) error {
			if !c.killedForMemory(pids) {
				return nil
			}
			return s.outOfMemory()
		}
	}
	before := memoryKills()
	exit, err := s.watched(ctx, sup, out, m)
	exit.Killed = 0 // the engine's own
	var start *proc.StartError
	switch {
	case errors.As(err, &start):
		return exit, failure.New(failure.Isolation, "start podman", err, containerRemedy)
	case err != nil || exit.Cause != nil:
		return exit, err
	}
	exit, err = c.outcome(context.WithoutCancel(ctx), exit, stderr)
	if err == nil && exit.Code == 128+int(unix.SIGKILL) && s.limits.MemoryBytes > 0 && memoryKills() > before {
		exit.Limit, exit.Cause = RestrictMemory, s.outOfMemory() // its control group went with it, before anybody could look
	}
	return exit, err
}

// outcome asks the engine how the container ended: what podman itself returns, the command could return as well.
func (c *container) outcome(ctx context.Context, exit Exit, stderr *headWriter) (Exit, error) {
	text, err := c.do(ctx, "inspect", "--format", "{{json .State}}", c.name)
	var state struct {
		Status   string
		ExitCode int
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &state)
	}
	if err != nil {
		return exit, fmt.Errorf("ask podman how the run ended: %w", err)
	}
	if state.Status != "exited" && state.Status != "stopped" {
		return exit, failure.New(failure.Isolation, "set up the sandbox",
			fmt.Errorf("podman: %s: %s", state.Status, strings.TrimSpace(string(stderr.head))), containerRemedy)
	}
	exit.Code, exit.Signal = state.ExitCode, ""
	return exit, nil
}

// enter is the first program in a container: it takes the environment and the filter of a sandbox, and becomes the
// command.
func enter(argv []string) error {
	if len(argv) == 0 {
		return errors.New("no command (this is for deed's own use)")
	}
	data, err := os.ReadFile(envPath)
	if err != nil {
		return err
	}
	var env []string
	if len(data) > 0 {
		env = strings.Split(string(data), "\x00")
	}
	if err := filter().install(); err != nil {
		return err
	}
	return proc.Become(argv, env)
}
