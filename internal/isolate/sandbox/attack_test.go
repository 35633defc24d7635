//go:build linux

package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/uuid"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/base/proc/proctest"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

func ptr(b *byte) unsafe.Pointer { return unsafe.Pointer(b) }

// What an attack does under kind process, where nothing but the limits stops it.
const (
	through  = "through"
	stops    = "stopped"
	whatever = "depends on the machine" // logged, not asserted
)

const secret = "the-secret-of-the-host"

// TestAttacks runs every attack against namespace and container, where it must fail, and against process, where the table says
// what to expect: that kind is no isolation, and must not be mistaken for it.
func TestAttacks(t *testing.T) {
	t.Parallel()
	f := setup(t)
	host := newHost(t)
	engine := engineFault(t) == nil
	f.stdin, _ = strings.CutPrefix(host.victim("out", "stdin")[0], "VICTIM=")
	for _, tc := range []struct {
		name, attack string
		env          []string
		process      string
		unchanged    string // a file that no attack may change
	}{
		{name: "read the caller's home", attack: "read", env: host.victim("home", "notes.txt"), process: through},
		{name: "read an ssh key", attack: "read", env: host.victim("home", ".ssh", "id_ed25519"), process: through},
		{name: "read another attempt", attack: "read", env: host.victim("deed", "attempts", "other", "workspace", "f"), process: through},
		{name: "read the database", attack: "read", env: host.victim("deed", "deed.db"), process: through},
		{name: "read the signing key", attack: "read", env: host.victim("deed", "key"), process: through},
		{name: "overwrite bubblewrap", attack: "bwrap", process: ""},
		{name: "write to what stdin was read from", attack: "stdin", process: through, unchanged: "out/stdin"},
		{name: "read by the links of other processes", attack: "parentdir", env: host.victim("deed", "key"), process: whatever},
		{name: "read the environment of deed", attack: "environ", process: through},
		{name: "write through a symbolic link", attack: "symlink", env: host.victim("out", "symlink"), process: through, unchanged: "out/symlink"},
		{name: "write through a hard link", attack: "hardlink", env: host.victim("out", "hardlink"), process: whatever, unchanged: "out/hardlink"},
		{name: "write through ..", attack: "dotdot", env: host.victim("out", "dotdot"), process: whatever, unchanged: "out/dotdot"},
		{name: "reach out by a descriptor", attack: "descriptor", env: host.victim("deed", "key"), process: whatever},
		{name: "mount", attack: "mount", process: ""},
		{name: "bind mount", attack: "bindmount", process: ""},
		{name: "unshare", attack: "unshare", process: ""},
		{name: "clone into a namespace", attack: "clone", process: whatever},
		{name: "trace a process of the host", attack: "ptrace", env: host.pid(), process: whatever},
		{name: "signal a process of the host", attack: "signal", env: host.pid(), process: through},
		{name: "write to the kernel's files", attack: "procwrite", process: whatever},
		{name: "open a device", attack: "devices", process: whatever},
		{name: "make a device", attack: "mknod", process: whatever},
		{name: "make a set-user-id file", attack: "setuid", process: through},
		{name: "call a loopback service", attack: "loopback", env: []string{"VICTIM=" + host.tcp}, process: through},
		{name: "call an abstract socket", attack: "abstract", env: []string{"VICTIM=" + host.abstract}, process: through},
		{name: "call a socket by path", attack: "abstract", env: []string{"VICTIM=" + host.path}, process: through},
		{name: "ask the metadata service", attack: "metadata", process: whatever},
		{name: "open a vsock", attack: "vsock", process: whatever},
		{name: "open a packet socket", attack: "packet", process: whatever},
		{name: "listen to the audit", attack: "netlink-audit", process: whatever},
		{name: "type into a terminal", attack: "tiocsti", process: whatever},
		{name: "type into a terminal, with a high bit", attack: "tiocsti-high", process: whatever},
		{name: "make a sparse file of 10 GB", attack: "sparse", process: stops},
		{name: "allocate what nobody counts", attack: "memfd", process: through},
		{name: "fill a file system in memory", attack: "tmpfs", process: ""},
		{name: "have the core handler started", attack: "core", process: through},
		{name: "make refused calls", attack: "calls", process: ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, kind := range []sandbox.Kind{sandbox.Namespace, sandbox.Container} {
				if kind == sandbox.Container && !engine {
					continue
				}
				spec := f.spec(kind)
				spec.Limits.MemoryBytes = 400 << 20 // a quarter for each file system in memory
				out, exit := f.attack(t, spec, tc.attack, tc.env...)
				if exit.Code != stopped || strings.Contains(out, secret) {
					t.Errorf("%s: exit %d: %s", kind, exit.Code, out)
				}
				host.check(t, tc.unchanged)
			}
			if tc.process == "" {
				return // it would change the machine that the tests run on
			}
			out, exit := f.attack(t, f.spec(sandbox.Process), tc.attack, tc.env...)
			host.restore(t, tc.unchanged)
			got := through
			if exit.Code == stopped {
				got = stops
			}
			t.Logf("process: %s", got)
			if tc.process != whatever && got != tc.process {
				t.Errorf("process: %s, the table says %s: exit %d: %s", got, tc.process, exit.Code, out)
			}
		})
	}
}

// attack runs the attacker in a sandbox.
func (f *fixture) attack(t *testing.T, spec sandbox.Spec, attack string, env ...string) (string, sandbox.Exit) {
	t.Helper()
	for _, name := range []string{"link", "device", "setuid"} {
		os.Remove(filepath.Join(f.ws, name))
	}
	s := f.open(spec)
	exe := attacker
	if spec.Kind == sandbox.Process {
		exe = spec.Mounts[1].Source
	}
	p, out := f.command(s, append(env, attackMode+"="+attack), exe)
	if attack == "stdin" {
		stdin, err := os.Open(f.stdin)
		if err != nil {
			t.Fatal(err)
		}
		defer stdin.Close()
		p.Stdin = stdin
	}
	exit, err := s.Run(t.Context(), f.sup, p)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out.String(), exit
}

// A host is what the attacks are after.
type host struct {
	dir                 string
	tcp, abstract, path string
	process             *exec.Cmd
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{dir: t.TempDir(), abstract: "@deed-test-" + uuid.NewString()}
	h.process = exec.Command("/bin/sh", "-c", "trap '' USR1; while :; do read x; done")
	h.process.Env = []string{"SANDBOX_TEST_SECRET=" + secret, "PATH=/usr/bin:/bin"}
	stdin, err := h.process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.process.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("the process of the host is gone: %v", err)
		}
		stdin.Close()
		_ = h.process.Process.Kill()
		_ = h.process.Wait()
	})
	h.path = filepath.Join(h.dir, "sock")
	for _, at := range []struct {
		network string
		address *string
	}{{"unix", &h.abstract}, {"unix", &h.path}, {"tcp", &h.tcp}} {
		if at.network == "tcp" {
			*at.address = "127.0.0.1:0"
		}
		l, err := net.Listen(at.network, *at.address)
		if err != nil {
			t.Fatal(err)
		}
		*at.address = l.Addr().String()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Fprintln(c, secret)
				c.Close()
			}
		}()
		t.Cleanup(func() { l.Close(); <-done })
	}
	return h
}

// victim makes a file with the secret, and the variable that names it.
func (h *host) victim(elem ...string) []string {
	path := filepath.Join(append([]string{h.dir}, elem...)...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		panic(err)
	}
	return []string{"VICTIM=" + path}
}

func (h *host) pid() []string { return []string{fmt.Sprint("VICTIM_PID=", h.process.Process.Pid)} }

func (h *host) check(t *testing.T, name string) {
	t.Helper()
	if name == "" {
		return
	}
	if got, err := os.ReadFile(filepath.Join(h.dir, name)); err != nil || string(got) != secret {
		t.Errorf("a file of the host was changed: %q, %v", got, err)
	}
}

func (h *host) restore(t *testing.T, name string) {
	t.Helper()
	if name != "" {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLimitsEndARun has runs take more than they may. All of them are bounded by themselves, too.
func TestLimitsEndARun(t *testing.T) {
	t.Parallel()
	f := setup(t)
	kinds := []sandbox.Kind{sandbox.Process, sandbox.Namespace}
	if engineFault(t) == nil {
		kinds = append(kinds, sandbox.Container)
	}
	for name, tc := range map[string]struct {
		attack, want string
		limits       sandbox.Limits
	}{
		"processes":      {"forkbomb", sandbox.RestrictProcesses, sandbox.Limits{Processes: 100}},
		"threads":        {"threads", sandbox.RestrictProcesses, sandbox.Limits{Processes: 20}},
		"memory":         {"memory", sandbox.RestrictMemory, sandbox.Limits{MemoryBytes: 200 << 20}},
		"memory of many": {"shared", sandbox.RestrictMemory, sandbox.Limits{MemoryBytes: 200 << 20}},
		"disk, no name":  {"unlinked", sandbox.RestrictDisk, sandbox.Limits{DiskBytes: 20 << 20}},
		"disk":           {"disk", sandbox.RestrictDisk, sandbox.Limits{DiskBytes: 20 << 20}},
	} {
		for _, kind := range kinds {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				spec := f.spec(kind)
				spec.Limits = tc.limits
				mark := uuid.NewString()
				out, exit := f.attack(t, spec, tc.attack, marker+"="+mark)
				if exit.Limit != tc.want || exit.Canceled || exit.TimedOut || exit.Cause == nil {
					t.Errorf("got %+v: %s", exit, out)
				}
				t.Log(exit.Cause, "after", exit.Duration)
				mustBeGone(t, mark)
				files, _ := filepath.Glob(filepath.Join(f.ws, "fill*"))
				for _, file := range files {
					os.Remove(file)
				}
			})
		}
	}
}

// TestSharedMemoryCountsOnce forks a process that holds much: together they hold little more than the one.
func TestSharedMemoryCountsOnce(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("missing tool: perl: apt-get install perl")
	}
	f := setup(t)
	spec := f.spec(sandbox.Namespace)
	spec.Limits.MemoryBytes = 200 << 20
	out, exit := f.shell(spec, `exec /usr/bin/perl -e '$x = "x" x (40 << 20); for (1..6) { if (!fork) { sleep 1; exit } } 1 while wait > 0; print "done"'`)
	if exit.Limit != "" || exit.Code != 0 || out != "done" {
		t.Errorf("got %+v: %s", exit, out)
	}
}

// TestNothingSurvives is run with the daemon inside each kind.
func TestNothingSurvives(t *testing.T) {
	t.Parallel()
	f := setup(t)
	kinds := []sandbox.Kind{sandbox.None, sandbox.Process, sandbox.Namespace}
	if engineFault(t) == nil {
		kinds = append(kinds, sandbox.Container)
	}
	for _, kind := range kinds {
		s := f.open(f.spec(kind))
		mark := uuid.NewString()
		p, out := f.command(s, []string{marker + "=" + mark}, "/bin/sh", "-c",
			`(setsid sh -c '(setsid sh -c "trap \"\" TERM HUP; while :; do sleep 100; done" >/dev/null 2>&1 </dev/null &)' &); exit 6`)
		exit, err := s.Run(t.Context(), f.sup, p)
		if err != nil || exit.Code != 6 {
			t.Errorf("%s: %+v, %v\n%s", kind, exit, err, out)
		}
		mustBeGone(t, mark)
	}
}

// TestForeignArchitectures calls the kernel by its other doors, to which the numbers of the filter do not apply.
func TestForeignArchitectures(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("only amd64 has other doors")
	}
	f := setup(t)
	if out, exit := f.attack(t, f.spec(sandbox.Namespace), "x32"); exit.Code != 128+int(syscall.SIGSYS) {
		t.Errorf("x32: exit %d: %s", exit.Code, out)
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("missing tool: gcc: apt-get install gcc libc6-dev")
	}
	write(t, `#include <stdio.h>
int main(void) { int r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20)); printf("pid %d\n", r); return 0; }`, 0o600, f.ws, "int80.c")
	out, exit := f.shell(f.spec(sandbox.Namespace), `gcc -o int80 int80.c && ./int80; echo "exit $?"`)
	if strings.Contains(out, "pid ") || exit.Code != 0 {
		t.Errorf("i386: %s", out)
	}
}

// TestWithoutRoot runs the other tests as a user who is not root, as deed should be run.
func TestWithoutRoot(t *testing.T) {
	t.Parallel()
	proctest.WithoutRoot(t, "^(TestAttacks|TestOrdinaryWork.*|TestOwners.*|TestTheInside.*|TestLimitsEndARun|TestEgress.*|TestDoors.*|TestNothingSurvives|TestMountsBelow.*|TestPlacesForMounts.*|TestContainerNeedsRoot)$", "-test.parallel=2")
}

func TestProbeSaysWhatIsThere(t *testing.T) {
	t.Parallel()
	got := map[sandbox.Kind]sandbox.Availability{}
	for _, a := range sandbox.Probe(t.Context()) {
		got[a.Kind] = a
		if !a.Available && (a.Reason == "" || a.Remedy == "") {
			t.Errorf("no reason or remedy: %+v", a)
		}
	}
	if len(got) != len(sandbox.Kinds) || !got[sandbox.None].Available {
		t.Errorf("got %+v", got)
	}
	if _, err := proc.LookPath("bwrap", os.Getenv("PATH"), "/"); err == nil && got[sandbox.Namespace].Version == "" && got[sandbox.Namespace].Available {
		t.Errorf("got %+v", got[sandbox.Namespace])
	}
}
