//go:build linux

package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/base/proc/proctest"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// TestOrdinaryWorkIsPossible is the other side of the attacks: what agents do all day.
func TestOrdinaryWorkIsPossible(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for name, tc := range map[string]struct{ tool, script, want string }{
		"files":       {"", `echo a >a; mkdir -p d/e; mv a d/e/b; ln -s d/e/b l; ln d/e/b h; chmod 755 h; cat l; mkfifo fifo; rm -r d`, "a"},
		"devices":     {"", `echo x >/dev/null; head -c 4 /dev/zero | wc -c; head -c 8 /dev/urandom | wc -c`, "4\n8"},
		"tmp":         {"", `f=$(mktemp); echo hi >$f; cat $f; echo y >/dev/shm/y; cat /dev/shm/y`, "hi\ny"},
		"processes":   {"", `(sleep 0.01; echo child) & wait; seq 1 1000 | sort -n | tail -1; ps -e 2>/dev/null | wc -l >/dev/null; kill -0 $$ && echo alive`, "child\n1000\nalive"},
		"identity":    {"", `id -u; id -un; id -g; hostname; echo ~agent`, "1000\nagent\n1000\ndeed\n/ws"},
		"proc":        {"", `for f in cpuinfo meminfo stat self/maps; do grep -q . /proc/$f || echo $f; done; cat /proc/sys/kernel/ostype`, "Linux"},
		"git":         {"git", `git init -q r && cd r && git config user.email a@b && git config user.name n && echo x >x && git add x && git commit -qm m && git log --format=%s`, "m"},
		"gcc":         {"gcc", `printf '#include <stdio.h>\nint main(){puts("hello");return 0;}\n' >m.c && gcc -o m m.c && ./m`, "hello"},
		"certificate": {"", `test ! -e /etc/ssl/private && echo none; test ! -e /etc/shadow && echo none`, "none\nnone"},
		"umask":       {"", `ulimit -c 0 && echo ok`, "ok"},
		"program":     {"", attackMode + `=allowed ` + attacker, "allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.tool != "" {
				if _, err := exec.LookPath(tc.tool); err != nil {
					t.Skipf("missing tool: %s: apt-get install %s", tc.tool, tc.tool)
				}
			}
			out, exit := f.shell(f.spec(sandbox.Namespace), tc.script)
			if exit.Code != 0 || strings.TrimSpace(out) != tc.want {
				t.Errorf("exit %d, got %q, want %q", exit.Code, out, tc.want)
			}
		})
	}
}

func TestOwnersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.shell(f.spec(sandbox.Namespace), `mkdir d; echo x >d/x; stat -c %u d/x`)
	st, err := os.Stat(filepath.Join(f.ws, "d", "x"))
	if err != nil {
		t.Fatal(err)
	}
	sys := st.Sys().(*syscall.Stat_t)
	if int(sys.Uid) != os.Getuid() || int(sys.Gid) != os.Getgid() {
		t.Errorf("the file belongs to %d:%d, deed is %d:%d", sys.Uid, sys.Gid, os.Getuid(), os.Getgid())
	}
}

// TestUsageCrossesTheWall: what a run used is known though its processes were never deed's to wait for.
func TestUsageCrossesTheWall(t *testing.T) {
	t.Parallel()
	f := setup(t)
	_, exit := f.shell(f.spec(sandbox.Namespace), `head -c 300000000 /dev/zero | tr '\0' x | sort -S 1G >/dev/null`)
	if exit.UserTime+exit.SystemTime == 0 || exit.MaxRSS < 250<<20 || exit.Killed != 0 {
		t.Errorf("got %+v", exit)
	}
}

// TestTheInsideSeesNothingOfTheOutside looks at what comes along by accident: variables, descriptors, command lines,
// and what pid 1 may do.
func TestTheInsideSeesNothingOfTheOutside(t *testing.T) {
	t.Parallel()
	// As if the parent of deed had left a descriptor open.
	dir, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	leak, _, errno := syscall.Syscall(syscall.SYS_FCNTL, dir.Fd(), syscall.F_DUPFD, 150)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer syscall.Close(int(leak))

	f := setup(t)
	spec := f.spec(sandbox.Namespace)
	s := f.open(spec)
	script := `env | sort; echo; echo ====; ls /proc/self/fd | tr '\n' ' '; echo; echo ====; for n in /proc/1/fd/*; do readlink $n; done; echo ====
tr '\0' ' ' </proc/1/cmdline; echo; tr '\0' ' ' </proc/1/environ; echo; echo ====; grep -E '^(Seccomp|CapEff|CapPrm|CapBnd|NoNewPrivs):' /proc/1/status /proc/self/status; echo ====; ls -A /; ls -A /etc /run; touch /x /dev/x /etc/x /run/x 2>&1`
	p, out := f.command(s, []string{"LD_PRELOAD=", "A=b c", "EMPTY=", marker + "=m", "LC_ALL=C"}, "/bin/sh", "-c", script)
	if _, err := s.Run(t.Context(), f.sup, p); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	part := strings.Split(out.String(), "\n====\n")
	if len(part) != 6 {
		t.Fatalf("got %s", out)
	}
	wantEnv := "A=b c\n" + marker + "=m\nEMPTY=\nHOME=/ws\nLC_ALL=C\nLD_PRELOAD=\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=/ws\nWS=/ws\n"
	if part[0] != wantEnv {
		t.Errorf("environment:\n%s", part[0])
	}
	if got := strings.TrimSpace(part[1]); got != "0 1 2 3" { // 3 is the listing itself
		t.Errorf("descriptors: %s", got)
	}
	for _, line := range strings.Fields(part[2]) {
		if !strings.HasPrefix(line, "pipe:") && !strings.HasPrefix(line, "anon_inode:[eventfd]") && line != "/dev/null" {
			t.Errorf("a descriptor of pid 1: %s", line)
		}
	}
	if strings.Contains(part[3], f.ws) || strings.Contains(part[3], "A=b") {
		t.Errorf("pid 1 tells: %s", part[3])
	}
	for _, who := range []string{"1", "self"} {
		for _, want := range []string{"Seccomp:\t2", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"} {
			mustContain(t, part[4], "/proc/"+who+"/status:"+want)
		}
	}
	for _, absent := range []string{"root\n", "home\n", "var\n", "work\n", "shadow", "sudoers"} {
		if strings.Contains(part[5], absent) {
			t.Errorf("%s is inside:\n%s", absent, part[5])
		}
	}
	for _, path := range []string{"/x", "/dev/x", "/etc/x", "/run/x"} {
		if !strings.Contains(part[5], "'"+path+"': Read-only file system") {
			t.Errorf("%s could be written:\n%s", path, part[5])
		}
	}
}

// TestBubblewrapDoesNotLoadWhatTheCommandIsTold would run code of the workspace outside, with deed's rights.
func TestBubblewrapDoesNotLoadWhatTheCommandIsTold(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("missing tool: gcc: apt-get install gcc libc6-dev")
	}
	f := setup(t)
	outside := filepath.Join(t.TempDir(), "outside")
	src := write(t, fmt.Sprintf(`#include <stdio.h>
__attribute__((constructor)) static void go(void) { FILE *f = fopen("%s", "w"); if (f) fclose(f); }`, outside), 0o600, f.ws, "evil.c")
	lib := filepath.Join(f.ws, "evil.so")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", lib, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	spec := f.spec(sandbox.Namespace)
	spec.Mounts[0].Target = f.ws // the same path on both sides
	s := f.open(spec)
	p, out := f.command(s, []string{"LD_PRELOAD=" + lib, "LD_LIBRARY_PATH=" + f.ws}, "/bin/true")
	if exit, err := s.Run(t.Context(), f.sup, p); err != nil || exit.Code != 0 {
		t.Fatalf("%+v, %v\n%s", exit, err, out)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("bwrap loaded a library of the workspace")
	}
}

func TestMountsBelowMounts(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ro, cache, file := t.TempDir(), t.TempDir(), write(t, "pinned\n", 0o644, t.TempDir(), "file")
	write(t, "from ro\n", 0o644, ro, "name")
	write(t, "", 0o644, f.ws, "conf")
	spec := f.spec(sandbox.Namespace)
	spec.Mounts = append([]sandbox.Mount{ // the deeper ones first, on purpose
		{Source: cache, Target: "/ws/deep/er/cache", Writable: true},
		{Source: file, Target: "/ws/conf"},
		{Source: ro, Target: "/ws/ro"},
	}, spec.Mounts...)
	spec.Tmpfs = []string{"/ws/scratch", "/home/agent"}
	out, exit := f.shell(spec, `cat ro/name conf; echo kept >deep/er/cache/kept; echo gone >scratch/gone; echo h >/home/agent/h; (echo x >ro/name) 2>/dev/null || echo refused; (echo x >conf) 2>/dev/null || echo refused; rm -rf ro 2>/dev/null; ls ro`)
	if want := "from ro\npinned\nrefused\nrefused\nname\n"; out != want || exit.Code != 0 {
		t.Errorf("got %q, want %q", out, want)
	}
	if got, err := os.ReadFile(filepath.Join(cache, "kept")); err != nil || string(got) != "kept\n" {
		t.Errorf("%q, %v", got, err)
	}
	// What was made to mount on is not the command's work, and neither it nor the scratch is left on the disk.
	if got, err := os.ReadDir(f.ws); err != nil || len(got) != 1 || got[0].Name() != "conf" {
		t.Errorf("left behind: %v, %v", got, err)
	}
}

// A mount point that was made stays as long as a run uses it. What a command put next to it stays forever. In a directory that belongs
// to deed the mount point is made although nothing else can be.
func TestPlacesForMountsAreTakenAway(t *testing.T) {
	t.Parallel()
	f := setup(t)
	own, file := t.TempDir(), write(t, "shown\n", 0o644, t.TempDir(), "file")
	spec := f.spec(sandbox.Namespace)
	spec.Mounts = append(spec.Mounts,
		sandbox.Mount{Source: own, Target: "/own", Own: true}, sandbox.Mount{Source: file, Target: "/own/sub/file"},
		sandbox.Mount{Source: file, Target: "/ws/sub/file"}, sandbox.Mount{Source: file, Target: "/ws/other/file"})
	s := f.open(spec)

	in, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer release.Close()
	begun, begins := io.Pipe()
	long, text := f.command(s, nil, "/bin/sh", "-c", "echo begun; read x; cat sub/file /own/sub/file; echo mine > other/mine; (echo x > /own/x) 2>/dev/null || echo refused")
	long.Stdin, long.Stdout = in, begins
	done := make(chan error, 1)
	go func() {
		_, err := s.Run(t.Context(), f.sup, long)
		in.Close()
		begins.Close()
		done <- err
	}()
	lines := bufio.NewReader(begun)
	if line, err := lines.ReadString('\n'); line != "begun\n" {
		t.Fatalf("%q, %v: %s", line, err, text)
	}
	short, out := f.command(s, nil, "/bin/cat", "/ws/sub/file")
	if exit, err := s.Run(t.Context(), setup(t).sup, short); err != nil || exit.Code != 0 || out.String() != "shown\n" {
		t.Errorf("%+v, %v: %s", exit, err, out)
	}
	if _, err := release.WriteString("on\n"); err != nil {
		t.Fatal(err)
	}
	release.Close()
	rest, err := io.ReadAll(lines)
	if err := errors.Join(err, <-done); err != nil || string(rest) != "shown\nshown\nrefused\n" {
		t.Errorf("%q, %v: %s", rest, err, text)
	}
	for dir, want := range map[string]string{f.ws: "other", own: "", filepath.Join(f.ws, "other"): "mine"} {
		var names []string
		list, err := os.ReadDir(dir)
		for _, e := range list {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); got != want || err != nil {
			t.Errorf("%s has %q, want %q: %v", dir, got, want, err)
		}
	}
}

// A program in a mount below a writable one is found, although the way to it is made only when the run begins.
func TestAProgramInAMountBelowAMount(t *testing.T) {
	t.Parallel()
	f := setup(t)
	bin := t.TempDir()
	write(t, "#!/bin/sh\npwd\n", 0o755, bin, "run")
	for _, m := range []sandbox.Mount{{Source: bin, Target: "/ws/not/there/yet"}, {Source: filepath.Join(bin, "run"), Target: "/ws/nor/this/run"}} {
		spec := f.spec(sandbox.Namespace)
		spec.Mounts = append(spec.Mounts, m)
		s := f.open(spec)
		program := m.Target
		if filepath.Base(program) != "run" {
			program += "/run"
		}
		p, text := f.command(s, nil, program)
		if exit, err := s.Run(t.Context(), f.sup, p); err != nil || exit.Code != 0 {
			t.Errorf("%s: %+v, %v: %s", m.Target, exit, err, text)
		}
		if out, exit := f.shell(spec, "echo x > "+program); exit.Code == 0 { // the mount, not the file that it covers
			t.Errorf("%s could be written: %s", program, out)
		}
	}
}

// TestLinksLeadNoMountAway swaps links in after the sandbox was made, as an agent in an earlier run could.
func TestLinksLeadNoMountAway(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, "secret", 0o600, outside, "secret")
	for name, tc := range map[string]struct {
		mount func(ws string) sandbox.Mount
		swap  func(ws string) error
	}{
		"source": {
			func(ws string) sandbox.Mount { return sandbox.Mount{Source: ws + "/a/b", Target: "/other"} },
			func(ws string) error { return errors.Join(os.Remove(ws+"/a/b"), os.Symlink(outside, ws+"/a/b")) },
		},
		"above the source": {
			func(ws string) sandbox.Mount { return sandbox.Mount{Source: ws + "/a/b", Target: "/other"} },
			func(ws string) error {
				return errors.Join(os.RemoveAll(ws+"/a"), os.Mkdir(outside+"/b", 0o700), os.Symlink(outside, ws+"/a"))
			},
		},
		"target": {
			func(string) sandbox.Mount { return sandbox.Mount{Source: outside, Target: "/ws/a/b"} },
			func(ws string) error { return errors.Join(os.Remove(ws+"/a/b"), os.Symlink("/oldroot/tmp", ws+"/a/b")) },
		},
		"above the target": {
			func(string) sandbox.Mount { return sandbox.Mount{Source: outside, Target: "/ws/a/new"} },
			func(ws string) error { return errors.Join(os.RemoveAll(ws+"/a"), os.Symlink(outside, ws+"/a")) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			if err := os.MkdirAll(filepath.Join(f.ws, "a", "b"), 0o700); err != nil {
				t.Fatal(err)
			}
			spec := f.spec(sandbox.Namespace)
			spec.Mounts = append(spec.Mounts, tc.mount(f.ws))
			s := f.open(spec)
			if err := tc.swap(f.ws); err != nil {
				t.Fatal(err)
			}
			p, out := f.command(s, nil, "/bin/sh", "-c", "cat /other/secret; touch ran")
			if _, err := s.Run(t.Context(), f.sup, p); err == nil || failure.ClassOf(err) != failure.Config {
				t.Errorf("got %v\n%s", err, out)
			}
			if _, err := os.Stat(filepath.Join(f.ws, "ran")); err == nil {
				t.Error("it ran")
			}
			if _, err := os.Stat(filepath.Join(outside, "new")); err == nil {
				t.Error("a directory was made outside")
			}
		})
	}
}

func TestMountsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	link := filepath.Join(f.ws, "link")
	if err := os.Symlink("/root", link); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(f.ws, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := sandbox.Spec{Kind: sandbox.Namespace, Egress: "relative", Watch: []string{"."}, Tmpfs: []string{"/proc/x", "/twice"}}
	wants := []string{"egress:", "watch[0]:", `tmpfs[0]: target "/proc/x"`, `tmpfs[1]: target "/twice" is also that of mounts[`}
	add := func(source, target, want string) {
		wants = append(wants, fmt.Sprintf("mounts[%d]: %s", len(spec.Mounts), want))
		spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: source, Target: target})
	}
	for _, target := range []string{"/", "/usr", "/usr/local/x", "/bin", "/lib64", "/proc", "/proc/1", "/dev", "/dev/shm", "/sys", "/etc", "/etc/passwd", "/etc/ssl/certs", "/run", "/run/deed", "/run/deed/inner", "/run/deed/egress.sock", "relative", "/a/../b", "/a/", ""} {
		add(f.ws, target, fmt.Sprintf("target %q", target))
	}
	add(filepath.Join(f.ws, "absent"), "/t1", "source \""+filepath.Join(f.ws, "absent")+"\" does not exist")
	add(filepath.Join(f.ws, "absent", "deeper"), "/t2", "source \""+filepath.Join(f.ws, "absent", "deeper")+"\" does not exist")
	add(link, "/t3", "source \""+link+"\" is a symbolic link")
	add(fifo, "/t4", "source \""+fifo+"\" is neither")
	add("/", "/t5", `source "/" would show the host`)
	add("/proc/self", "/t6", `source "/proc/self" is a symbolic link`)
	add("/proc/1", "/t7", `source "/proc/1" would show the host's /proc`)
	add("/dev/shm", "/t8", `source "/dev/shm" would show`)
	add("relative", "/t9", `source "relative" is not an absolute path`)
	add(f.ws, "/twice", "")
	wants = wants[:len(wants)-1]
	_, err := sandbox.New(t.Context(), spec)
	if failure.ClassOf(err) != failure.Config {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), wants...)
	if lines := strings.Count(err.Error(), "\n") + 1; lines != len(wants) {
		t.Errorf("%d faults, want %d:\n%v", lines, len(wants), err)
	}
	for _, kind := range []sandbox.Kind{"", "vm"} {
		if _, err := sandbox.New(t.Context(), sandbox.Spec{Kind: kind}); failure.ClassOf(err) != failure.Config {
			t.Errorf("kind %q: got %v", kind, err)
		}
	}
}

func TestWhatIsNotInsideCannotBeStarted(t *testing.T) {
	t.Parallel()
	f := setup(t)
	host := write(t, "#!/bin/sh\n", 0o755, t.TempDir(), "tool")
	write(t, "plain", 0o644, f.ws, "plain")
	write(t, "#!/bin/sh\nexit 9\n", 0o755, f.ws, "bin", "tool")
	if err := os.Symlink("/ws/bin/tool", filepath.Join(f.ws, "linked")); err != nil {
		t.Fatal(err)
	}
	s := f.open(f.spec(sandbox.Namespace))
	for name, tc := range map[string]struct {
		argv string
		dir  string
		want error
	}{
		"of the host":     {host, "/ws", fs.ErrNotExist},
		"not on PATH":     {"nosuchcommand", "/ws", fs.ErrNotExist},
		"not executable":  {"./plain", "/ws", fs.ErrPermission},
		"a directory":     {"/usr", "/ws", fs.ErrPermission},
		"no such dir":     {"/bin/true", "/ws/absent", fs.ErrNotExist},
		"host's dir":      {"/bin/true", f.ws, fs.ErrNotExist},
		"dir is a file":   {"/bin/true", "/ws/plain", syscall.ENOTDIR},
		"relative":        {"bin/tool", "/ws", nil},
		"link inside":     {"/ws/linked", "/tmp", nil},
		"through a link":  {"/bin/true", "/", nil},
		"in a tmpfs":      {"/tmp/x", "/", fs.ErrNotExist},
		"name on the way": {"/attack", "/", fs.ErrPermission},
	} {
		p, out := f.command(s, nil, tc.argv)
		p.Dir = tc.dir
		exit, err := s.Run(t.Context(), f.sup, p)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v\n%s", name, err, tc.want, out)
		}
		var start *proc.StartError
		if tc.want != nil && !errors.As(err, &start) {
			t.Errorf("%s: %v is no StartError", name, err)
		}
		if tc.argv == "nosuchcommand" && !strings.Contains(err.Error(), `start nosuchcommand: no directory of PATH "/usr/local/bin:/usr/bin:/bin" has it, as seen inside the sandbox`) {
			t.Errorf("%s: %v", name, err)
		}
		if tc.want == nil && exit.Code != 0 && exit.Code != 9 {
			t.Errorf("%s: exit %d", name, exit.Code)
		}
	}
	p, _ := f.command(s, nil, "/bin/true")
	p.Files = []*os.File{os.Stderr}
	if _, err := s.Run(t.Context(), f.sup, p); err == nil {
		t.Error("a descriptor was handed in")
	}
}

func TestWallsThatCannotBeBuiltAreNoExitOfTheCommand(t *testing.T) {
	t.Parallel()
	f := setup(t)
	spec := f.spec(sandbox.Namespace)
	spec.Limits.OpenFiles = 5 // bwrap itself has more
	s := f.open(spec)
	p, out := f.command(s, nil, "/bin/sh", "-c", "touch ran")
	if _, err := s.Run(t.Context(), f.sup, p); failure.ClassOf(err) != failure.Isolation || !strings.Contains(err.Error(), "bwrap:") {
		t.Errorf("got %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(f.ws, "ran")); err == nil {
		t.Error("it ran")
	}
}

func TestInside(t *testing.T) {
	t.Parallel()
	f := setup(t)
	sub := filepath.Join(f.ws, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	spec := f.spec(sandbox.Namespace)
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: sub, Target: "/elsewhere"})
	s := f.open(spec)
	for host, want := range map[string]string{
		f.ws: "/ws", f.ws + "/a/b": "/ws/a/b", sub: "/elsewhere", sub + "/x": "/elsewhere/x", f.ws + "x": "", "/etc/shadow": "",
		"/usr/bin/env": "/usr/bin/env", filepath.Dir(f.ws): "", f.ws + "/../x": "",
	} {
		got, ok := s.Inside(host)
		if got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v", host, got, ok)
		}
	}
	if got, ok := f.open(sandbox.Spec{Kind: sandbox.Process}).Inside("/x"); got != "/x" || !ok {
		t.Errorf("got %q, %v", got, ok)
	}
}

func TestGraceIsGivenInside(t *testing.T) {
	t.Parallel()
	f := setup(t)
	testGrace(t, f, f.open(f.spec(sandbox.Namespace)))
}

func TestGraceIsGivenInAContainer(t *testing.T) {
	t.Parallel()
	f := setup(t)
	needEngine(t)
	testGrace(t, f, f.open(f.spec(sandbox.Container)))
}

func testGrace(t *testing.T, f *fixture, s *sandbox.Sandbox) {
	t.Helper()
	// Before it is ready it has nothing to say at its end, and a machine may be slow: the limit leaves time for that.
	for name, timeout := range map[string]time.Duration{"cancel": time.Minute, "timeout": 10 * time.Second} {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		p, _ := f.command(s, nil, "/bin/sh", "-c", `trap 'echo bye; exit 4' TERM; (setsid sh -c 'while :; do sleep 100; done' >/dev/null 2>&1 &); echo ready; while :; do sleep 0.01; done`)
		out := &signalWriter{text: "ready", call: func() {
			if name == "cancel" {
				cancel(why)
			}
		}}
		p.Stdout, p.Timeout, p.Grace = out, timeout, 20*time.Second
		p.Env = append(p.Env, marker+"="+uuid.NewString())
		exit, err := s.Run(ctx, f.sup, p)
		cancel(nil)
		if err != nil || exit.Code != 4 || exit.TimedOut != (name == "timeout") || exit.Canceled != (name == "cancel") || exit.Limit != "" {
			t.Errorf("%s: got %+v, %v", name, exit, err)
		}
		if name == "cancel" && !errors.Is(exit.Cause, why) {
			t.Errorf("cause %v", exit.Cause)
		}
		mustContain(t, out.String(), "bye")
		mustBeGone(t, proc.Getenv(p.Env, marker))
	}
}

func TestSIGKILLOfDeedEndsTheSandbox(t *testing.T) {
	t.Parallel()
	setup(t)
	killDeed(t, sandbox.Namespace)
}

// A container whose deed is gone ends, and the engine is made to forget it.
func TestSIGKILLOfDeedEndsTheContainer(t *testing.T) {
	t.Parallel()
	setup(t)
	needEngine(t)
	mark := killDeed(t, sandbox.Container)
	if err := sandbox.Reclaim(t.Context(), mark); err != nil {
		t.Error(err)
	}
	noContainers(t, mark)
	if err := sandbox.Reclaim(t.Context(), mark); err != nil {
		t.Errorf("again: %v", err)
	}
}

// killDeed kills a deed whose sandbox holds what will not end by itself, and waits until all of it is gone.
func killDeed(t *testing.T, kind sandbox.Kind) (mark string) {
	t.Helper()
	mark = uuid.NewString()
	tmp := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), marker+"="+mark, parentKind+"="+string(kind), "TMPDIR="+tmp,
		parentMode+"=(setsid sh -c 'trap \"\" TERM; while :; do sleep 100; done' >/dev/null 2>&1 &); echo ready; trap '' TERM; while :; do sleep 100; done")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if pids, err := proc.FindByEnv(marker, mark); err != nil || len(pids) < 4 {
		t.Errorf("found %v, %v: bwrap and the command carry the mark", pids, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	waitGone(t, mark)
	t.Cleanup(func() {
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return mark
}

func TestEgressIsTheOnlyWayOut(t *testing.T) {
	t.Parallel()
	f := setup(t)
	socket := filepath.Join(t.TempDir(), "proxy.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				line, _ := bufio.NewReader(c).ReadString('\n')
				fmt.Fprintf(c, "proxy got %s", line)
			}()
		}
	}()
	spec := f.spec(sandbox.Namespace)
	spec.Egress = socket
	s := f.open(spec)
	env := s.Env()
	if env["HTTPS_PROXY"] != "http://127.0.0.1:3128" || env["http_proxy"] != env["HTTPS_PROXY"] || env["NO_PROXY"] == "" {
		t.Errorf("got %v", env)
	}
	p, out := f.command(s, []string{attackMode + "=egress"}, attacker)
	exit, err := s.Run(t.Context(), f.sup, p)
	if err != nil || exit.Code != 0 {
		t.Fatalf("%+v, %v\n%s", exit, err, out)
	}
	if got, want := out.String(), "proxy got hello\nproxy got again\nno children\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p, out = f.command(s, nil, "/bin/sh", "-c", "ls /proc/self/fd | tr '\\n' ' '; exit 7")
	if exit, err := s.Run(t.Context(), f.sup, p); err != nil || exit.Code != 7 || strings.TrimSpace(out.String()) != "0 1 2 3" {
		t.Errorf("%+v, %v, %q", exit, err, out)
	}
	if _, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Process, Egress: socket}); failure.ClassOf(err) != failure.Config {
		t.Errorf("got %v", err)
	}
}

// TestEgressAfterAnUpgrade replaces the binary of a running deed: the inner half is what runs, not what lies there.
func TestEgressAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	setup(t)
	socket := filepath.Join(t.TempDir(), "proxy.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(proctest.CopySelf(t, filepath.Join(t.TempDir(), "deed")))
	cmd.Env = append(os.Environ(), replacedMode+"="+socket)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("got %v\n%s", err, out)
	}
}

func TestWallsSayWhatHolds(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for kind, want := range map[sandbox.Kind]map[string]string{
		sandbox.None:      {"filesystem": "not_configured", "network": "not_configured", "memory": "not_configured", "file_size": "not_configured"},
		sandbox.Process:   {"filesystem": "not_configured", "network": "not_configured", "syscalls": "not_configured", "memory": "monitored", "disk": "monitored", "file_size": "enforced"},
		sandbox.Namespace: {"filesystem": "enforced", "network": "enforced", "syscalls": "enforced", "privileges": "enforced", "memory": "monitored", "processes": "monitored", "open_files": "enforced"},
	} {
		got := map[string]string{}
		for _, w := range f.open(f.spec(kind)).Restrictions() {
			if got[w.Name] != "" {
				t.Errorf("%s: %s twice", kind, w.Name)
			}
			got[w.Name] = w.State
		}
		for name, state := range want {
			if got[name] != state {
				t.Errorf("%s: %s is %q, want %q", kind, name, got[name], state)
			}
		}
		if len(got) != 10 {
			t.Errorf("%s: %v", kind, got)
		}
	}
	spec := f.spec(sandbox.Namespace)
	spec.Limits = sandbox.Limits{MemoryBytes: -1, Processes: -1, FileBytes: -1, OpenFiles: -1, DiskBytes: -1}
	for _, w := range f.open(spec).Restrictions()[5:] {
		if w.State != "not_configured" {
			t.Errorf("got %+v", w)
		}
	}
}
