package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deedrun/deed/internal/base/proc"
)

// maxLinks is how many links the kernel follows on one path.
const maxLinks = 40

// look finds the command and the directory of a run as the inside will see them, so that a missing one is reported as such.
// bwrap would report it on the stderr of the command, where anything can be forged.
func (s *Sandbox) look(p proc.Spec) (string, error) {
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return "", errors.New("run in sandbox: argv is empty (give the command as its first item)")
	}
	name := p.Argv[0]
	if !filepath.IsAbs(p.Dir) {
		return "", fmt.Errorf("run %s in sandbox: working directory %q is not an absolute path", name, p.Dir)
	}
	if st, err := s.stat(p.Dir); err != nil {
		return "", &proc.StartError{Path: name, Err: fmt.Errorf("working directory inside: %w", err)}
	} else if st != nil && !st.IsDir() {
		return "", &proc.StartError{Path: name, Err: fmt.Errorf("working directory %s inside: %w", p.Dir, syscall.ENOTDIR)}
	}
	if name == innerPath {
		return name, nil
	}
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		if err := s.executable(name); err != nil {
			return "", &proc.StartError{Path: name, Err: err}
		}
		return name, nil
	}
	path := proc.Getenv(p.Env, "PATH")
	var denied error
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // the working directory is the agent's: nothing in it may stand for a command
		}
		file := filepath.Join(dir, name)
		err := s.executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) && denied == nil {
			denied = err
		}
	}
	if denied == nil {
		denied = fmt.Errorf("no directory of PATH %q has it, as seen inside the sandbox: %w", path, fs.ErrNotExist)
	}
	return "", &proc.StartError{Path: name, Err: denied}
}

func (s *Sandbox) executable(file string) error {
	st, err := s.stat(file)
	switch {
	case err != nil:
		return err
	case st == nil || st.IsDir():
		return fmt.Errorf("%s inside is a directory: %w", file, fs.ErrPermission)
	case st.Mode()&0o111 == 0:
		return fmt.Errorf("%s inside is not executable: %w", file, syscall.EACCES)
	}
	return nil
}

// stat describes a path as seen inside, following links as the inside would. For a directory that only the sandbox has, the
// description is nil.
func (s *Sandbox) stat(path string) (fs.FileInfo, error) {
	missing := fmt.Errorf("%s does not exist inside: %w", path, fs.ErrNotExist)
	done, rest := "/", strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	var st fs.FileInfo
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == "" {
			continue
		}
		if name == ".." {
			done, st = filepath.Dir(done), nil
			continue
		}
		next := filepath.Join(done, name)
		host, made := s.host(next)
		if made {
			done, st = next, nil
			continue
		}
		var err error
		if st, err = os.Lstat(host); host == "" || err != nil {
			return nil, missing
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		target, err := os.Readlink(host)
		if links++; err != nil || links > maxLinks {
			return nil, missing
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
		st = nil
	}
	return st, nil
}

// host returns what a path inside is on the host, if no link is on it: empty when it is nowhere. made says that it is
// a directory of the sandbox's own: a file system in memory, or one on the way to a mount.
func (s *Sandbox) host(inside string) (path string, made bool) {
	for i := len(s.mounts) - 1; i >= 0; i-- { // the deepest first
		m := s.mounts[i]
		rest, ok := below(m.target, inside)
		if !ok {
			continue
		}
		if m.source == "" {
			return "", rest == "" || s.onTheWay(inside)
		}
		path = filepath.Join(m.source, rest)
		if m.writable && s.onTheWay(inside) {
			if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
				return "", true // it is made when a run begins
			}
		}
		return path, false
	}
	for _, dir := range slices.Concat(systemDirs, etcShown, etcCopied) {
		if _, ok := below(dir, inside); ok {
			return inside, false
		}
	}
	return "", inside == "/" || s.onTheWay(inside)
}

// Outside returns where a path inside comes from: the source of the mount that it lies in, and the rest of the path below
// that. Links below the source are not looked at, and the agent can have put some there: open the rest through os.Root.
func (s *Sandbox) Outside(inside string) (source, rest string, writable, ok bool) {
	if !s.Contained() {
		return "/", strings.TrimPrefix(inside, "/"), true, filepath.IsAbs(inside)
	}
	inside = filepath.Clean(inside)
	for i := len(s.mounts) - 1; i >= 0; i-- { // the deepest first
		m := s.mounts[i]
		if rest, ok := below(m.target, inside); ok {
			return m.source, rest, m.writable, m.source != ""
		}
	}
	return "", "", false, false
}

// onTheWay reports whether a mount lies below a path.
func (s *Sandbox) onTheWay(inside string) bool {
	for _, m := range s.mounts {
		if _, ok := below(inside, m.target); ok {
			return true
		}
	}
	return false
}
