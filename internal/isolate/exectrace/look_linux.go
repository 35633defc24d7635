//go:build amd64 || arm64

package exectrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// An execution is a call of execve or execveat that waits.
type execution struct {
	pid  int // of the process
	proc string
	mem  memory

	dirfd           int32 // what name is relative to, when it is not the working directory
	flags           uint64
	name, argv, env uint64 // addresses
}

const atCWD = int32(unix.AT_FDCWD)

func (n *notification) execution() execution {
	a := n.data.args
	e := execution{pid: int(n.pid), proc: "/proc/" + strconv.Itoa(int(n.pid)), dirfd: atCWD, name: a[0], argv: a[1], env: a[2]}
	if n.data.call == unix.SYS_EXECVEAT {
		e.dirfd, e.name, e.argv, e.env, e.flags = int32(a[0]), a[1], a[2], a[3], a[4]
	}
	return e
}

// look makes the record of an execution. Without one and without an error the call is about to fail.
func (t *tracer) look(n *notification) (*record, procStat, error) {
	if n.pid == 0 {
		return nil, procStat{}, errors.New("it is in a pid namespace that is not below ours")
	}
	e := n.execution()
	var err error
	if e.mem, err = openMemory(e.proc); err != nil {
		return nil, procStat{}, err
	}
	defer e.mem.close()
	r, err := e.record()
	if r == nil || err != nil {
		return nil, procStat{}, err
	}
	if r.PID, err = processOf(e.pid); err != nil {
		return nil, procStat{}, err
	}
	process, err := readStat(r.PID)
	if err != nil {
		return nil, procStat{}, err
	}
	r.Parent = t.parentOf(r.PID, process)
	r.Lost = r.Lost && t.confined
	return r, process, nil
}

// parentOf returns what the process, or its nearest ancestor that executed anything, executed last. One that has lost its
// parents is the command's: nothing else is observed.
func (t *tracer) parentOf(pid int, process procStat) int {
	for range 1000 { // no chain is as long
		if p, ok := t.last[pid]; ok && p.start == process.start {
			return p.id
		}
		if process.parent <= 1 || process.parent == os.Getpid() {
			break
		}
		var err error
		pid = process.parent
		if process, err = readStat(pid); err != nil {
			break
		}
	}
	return min(t.ids, 1)
}

// record describes what is executed.
func (e *execution) record() (*record, error) {
	name, err := e.mem.text(e.name, maxPath)
	if err != nil {
		return nil, ignoreFault(err)
	}
	cwd, err := readLink(e.proc + "/cwd")
	if err != nil {
		return nil, err
	}
	file, err := e.absolute(name, cwd)
	if err != nil {
		return nil, err
	}
	v := view{root: e.proc + "/root", self: "/proc/" + strconv.Itoa(e.pid)}
	exe, err := v.find(file)
	switch {
	case err != nil && absent(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !exe.info.Mode().IsRegular() || exe.info.Mode()&0o111 == 0:
		return nil, nil
	}
	argv, err := e.mem.list(e.argv)
	if err != nil {
		return nil, ignoreFault(err)
	}
	r := &record{Name: path.Base(file), Exe: exe.path, Links: exe.links, Dir: cwd, Argv: shown(argv), Stdout: otherStdout, Lost: gives(exe, v)}
	if ownsStdout(e.pid) {
		r.Stdout = ownStdout
	}
	if err := e.interpret(r, v, argv); err != nil {
		return nil, err
	}
	return r, r.check()
}

// ignoreFault drops the error of an address that leads nowhere: the kernel refuses such a call.
func ignoreFault(err error) error {
	if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// absolute returns the path of what is executed.
func (e *execution) absolute(name, cwd string) (string, error) {
	if path.IsAbs(name) {
		return name, nil
	}
	dir := cwd
	if e.dirfd != atCWD {
		var err error
		if dir, err = readLink(e.proc + "/fd/" + strconv.Itoa(int(e.dirfd))); err != nil {
			return "", err
		}
	}
	if name == "" && e.flags&unix.AT_EMPTY_PATH == 0 {
		return "/", nil // no program: the call fails
	}
	return join(dir, name), nil
}

// interpret adds what the program is given to interpret.
func (e *execution) interpret(r *record, v view, argv []string) error {
	list := scripts(r.Name, argv)
	if len(list) == 0 {
		list = scripts(path.Base(r.Exe), argv)
	}
	for _, s := range list {
		roots, stdin := []string{r.Dir}, ""
		if s.module {
			env, err := e.mem.list(e.env)
			if err != nil {
				return err
			}
			roots = append(roots, modulePath(env, r.Dir)...)
		}
		if s.stdin {
			stdin, _ = readLink(e.proc + "/fd/0") // none: nothing is read
		}
		if from := v.source(s, roots, stdin); from.Path != "" || from.Name != "" {
			r.Scripts = append(r.Scripts, from)
		}
	}
	return nil
}

// modulePath returns where else Python looks for modules.
func modulePath(env []string, cwd string) []string {
	var roots []string
	for _, v := range env {
		if dirs, ok := strings.CutPrefix(v, "PYTHONPATH="); ok {
			for dir := range strings.SplitSeq(dirs, ":") {
				roots = append(roots, join(cwd, dir))
			}
		}
	}
	return roots
}

// gives reports whether executing a file grants rights that the caller would not have.
func gives(f foundFile, v view) bool {
	if os.Geteuid() == 0 {
		return false
	}
	if st, ok := f.info.Sys().(*syscall.Stat_t); ok && f.info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return int(st.Uid) != os.Geteuid() || f.info.Mode()&fs.ModeSetgid != 0 && int(st.Gid) != os.Getegid()
	}
	n, err := unix.Lgetxattr(v.root+f.path, "security.capability", nil)
	return err == nil && n > 0
}

// check refuses paths that a record cannot hold as they are.
func (r *record) check() error {
	paths := append([]string{r.Exe}, r.Links...)
	for _, s := range r.Scripts {
		paths = append(append(paths, s.Path), s.Links...)
	}
	for _, p := range paths {
		if !utf8.ValidString(p) {
			return fmt.Errorf("the path %q is not UTF-8", p)
		}
	}
	return nil
}
