//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/failure"
)

// insideID is the user and group inside. It is never 0: some programs behave differently for root, and what belongs
// to deed's user outside belongs to this one inside.
const insideID = "1000"

// A call is one start of bwrap: its options, and the descriptors that they name.
type call struct {
	args        []string
	files       []*os.File // in the order in which the child has them, from descriptor 3 on
	mountPoints *mountPoints
}

func (c *call) add(args ...string) { c.args = append(c.args, args...) }

// hand adds a file and returns the number that it has in the child. The call closes it.
func (c *call) hand(f *os.File) string {
	c.files = append(c.files, f)
	return strconv.Itoa(2 + len(c.files))
}

// data hands over content that is read from the descriptor once.
func (c *call) data(name string, content []byte) (string, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return "", fmt.Errorf("keep %s in memory: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	n := c.hand(f)
	if _, err := f.WriteAt(content, 0); err != nil {
		return "", fmt.Errorf("keep %s in memory: %w", name, err)
	}
	return n, nil
}

func (c *call) close() {
	for _, f := range c.files {
		f.Close()
	}
	c.files = nil
}

// argv returns the command line of bwrap. The options go by a descriptor: what stands on a command line can be read
// by the inside, and by everybody on the host.
func (c *call) argv(bwrap string, command []string) ([]string, error) {
	var b bytes.Buffer
	for _, a := range c.args {
		b.WriteString(a)
		b.WriteByte(0)
	}
	fd, err := c.data("options", b.Bytes())
	if err != nil {
		return nil, err
	}
	return append([]string{bwrap, "--args", fd, "--"}, command...), nil
}

// system adds what every sandbox has: namespaces, filter, the system, /etc, /proc, /dev. It has no --new-session: every
// run is started in a session of its own without a terminal, another costs two milliseconds, and proc takes the first
// process of the namespace to be in the process group of bwrap.
func (c *call) system(tmpfs int64, home string) error {
	c.add("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
		"--uid", insideID, "--gid", insideID, "--hostname", hostname, "--disable-userns", "--cap-drop", "ALL",
		"--die-with-parent")
	fd, err := c.data("seccomp", filter().bytes())
	if err != nil {
		return err
	}
	c.add("--seccomp", fd)
	for _, dir := range systemDirs {
		if link, err := os.Readlink(dir); err == nil {
			c.add("--symlink", link, dir)
		} else if _, err := os.Stat(dir); err == nil {
			c.add("--ro-bind", dir, dir)
		}
	}
	if err := c.etc(home); err != nil {
		return err
	}
	c.add("--dir", "/run", "--proc", "/proc")
	if err := c.coverProc(); err != nil {
		return err
	}
	c.add("--dev", "/dev", "--perms", "1777", "--size", strconv.FormatInt(tmpfs, 10), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")
	return nil
}

// etc adds the files that /etc has inside.
func (c *call) etc(home string) error {
	for _, path := range etcShown {
		if _, err := os.Stat(path); err == nil {
			c.add("--ro-bind", path, path)
		}
	}
	for _, path := range etcCopied {
		f, err := os.Open(path)
		if err != nil {
			continue // a system without it
		}
		c.add("--perms", "0444", "--file", c.hand(f), path)
	}
	for _, file := range etcMadeUp {
		fd, err := c.data(filepath.Base(file.path), []byte(strings.ReplaceAll(file.content, "%s", home)))
		if err != nil {
			return err
		}
		c.add("--perms", "0444", "--file", fd, file.path)
	}
	return nil
}

// procHidden are files in /proc that anybody may read, and that reveal the host.
var procHidden = []string{"cmdline", "key-users", "keys"}

// coverProc makes /proc read-only, and hides the files in it that are for root alone. bwrap covers a few directories,
// and only when they themselves can be written to: /proc/sys cannot, yet the files in it can, by a process whose user
// is root outside, whatever its namespace and without any capability. core_pattern among them is a way out.
func (c *call) coverProc() error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("list /proc: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
			continue
		}
		st, err := e.Info()
		if err != nil {
			continue // gone since
		}
		if os.Getuid() == 0 && st.Mode()&0o004 == 0 || slices.Contains(procHidden, e.Name()) {
			c.add("--ro-bind", "/dev/null", "/proc/"+e.Name()) // without devices: it cannot even be opened
		}
	}
	c.add("--remount-ro", "/proc")
	return nil
}

// mounts adds the mounts, each as a descriptor of what its source is now.
func (c *call) mounts(list []mount, tmpfs int64) error {
	open := make([]*os.File, len(list))
	for i, m := range list {
		if m.parent >= 0 {
			if err := c.makeTarget(list, open, i); err != nil {
				return err
			}
		}
		if m.source == "" {
			c.add("--perms", "1777", "--size", strconv.FormatInt(tmpfs, 10), "--tmpfs", m.target)
			continue
		}
		f, err := openSource(unix.AT_FDCWD, m.source, m.mode())
		if err != nil {
			return failure.New(failure.Config, "open mount source "+m.source, err, "")
		}
		open[i] = f
		option := "--ro-bind-fd"
		if m.writable {
			option = "--bind-fd"
		}
		c.add(option, c.hand(f), m.target)
	}
	return nil
}

// openSource opens a path for a mount, and follows no link: there was none when the sandbox was made, so somebody has
// put it there since. Nothing but a file of the kind that is expected is opened.
func openSource(dir int, path string, kind fs.FileMode) (*os.File, error) {
	resolve := uint64(unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS)
	if dir != unix.AT_FDCWD {
		resolve |= unix.RESOLVE_BENEATH
	}
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve})
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("a link is in its place: %w", err)
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	st, err := f.Stat()
	if err == nil && st.Mode().Type() != kind {
		err = fmt.Errorf("it is %s, not %s", kindName(st.Mode().Type()), kindName(kind))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func kindName(kind fs.FileMode) string {
	switch kind {
	case 0:
		return "a regular file"
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSocket:
		return "a socket"
	default:
		return "a special file"
	}
}

// makeTarget makes sure that a target that lies in another mount exists and is what it should be. bwrap would follow a link
// that an agent left there, and make directories at its end, on the host.
func (c *call) makeTarget(list []mount, open []*os.File, i int) error {
	m, parent := list[i], list[list[i].parent]
	if parent.source == "" {
		return nil // made by bwrap, in a file system that is empty
	}
	rest, _ := below(parent.target, m.target)
	names := strings.Split(rest, "/")
	at := open[m.parent]
	for n, name := range names {
		kind := fs.ModeDir
		if n == len(names)-1 {
			kind = m.mode()
		}
		next, err := openSource(int(at.Fd()), name, kind)
		if errors.Is(err, fs.ErrNotExist) && parent.yields {
			if err = c.mountPoints.place(int(at.Fd()), name, kind); err == nil {
				next, err = openSource(int(at.Fd()), name, kind)
			}
		}
		if n > 0 {
			at.Close()
		}
		if err != nil {
			return failure.New(failure.Config, fmt.Sprintf("make mount target %s in the mount %s", m.target, parent.target), err,
				"make it before the run, without links: a directory for a directory, a file for a file")
		}
		at = next
	}
	at.Close()
	return nil
}
