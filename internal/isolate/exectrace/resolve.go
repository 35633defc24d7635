package exectrace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// maxLinks is how many links the kernel follows on one path.
const maxLinks = 40

// A view is the file system as a process sees it.
type view struct {
	root string // where its root can be reached; empty: it is ours
	self string // what /proc/self leads to
}

// A found file is one at the end of a path, with the links that led to it.
type foundFile struct {
	path  string // absolute, without links
	links []string
	info  fs.FileInfo
}

// find follows an absolute path to its end. It notes each link that it passes, because whoever changes one changes what
// is executed.
func (v view) find(name string) (foundFile, error) {
	var f foundFile
	done, rest := "/", strings.Split(name, "/")
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done, f.info = path.Dir(done), nil
			continue
		}
		next := path.Join(done, part)
		var target string
		if (next == "/proc/self" || next == "/proc/thread-self") && v.self != "" {
			target = v.self
		} else {
			var err error
			if f.info, err = os.Lstat(v.root + next); err != nil {
				return f, err
			}
			if f.info.Mode()&fs.ModeSymlink == 0 {
				done = next
				continue
			}
			if target, err = os.Readlink(v.root + next); err != nil {
				return f, err
			}
		}
		if f.links = append(f.links, next); len(f.links) > maxLinks {
			return f, syscall.ELOOP
		}
		if path.IsAbs(target) {
			done = "/"
		}
		rest, f.info = append(strings.Split(target, "/"), rest...), nil
	}
	f.path = done
	if f.info == nil { // the path ended with .. or a link to it
		var err error
		if f.info, err = os.Lstat(v.root + done); err != nil {
			return f, err
		}
	}
	return f, nil
}

// absent reports an error that says that there is no such file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENAMETOOLONG)
}

// source finds what an interpreter is asked to execute. roots are the directories of modules, the working directory first; stdin
// is what standard input was opened from.
func (v view) source(s script, roots []string, stdin string) source {
	var out source
	switch {
	case s.module:
		out.Name, _, _ = strings.Cut(s.path, ".")
	case s.operand:
		out.Name = path.Base(s.path)
	}
	for _, name := range candidates(s, roots, stdin) {
		if f, err := v.find(name); err == nil && f.info.Mode().IsRegular() {
			out.Path, out.Links = f.path, f.links
			break
		}
	}
	return out
}

// candidates lists the absolute paths that a script can have, the likely ones first.
func candidates(s script, roots []string, stdin string) []string {
	if s.stdin {
		if path.IsAbs(stdin) {
			return []string{stdin}
		}
		return nil
	}
	var list []string
	if s.module {
		below := strings.ReplaceAll(s.path, ".", "/")
		for _, root := range roots {
			list = append(list, join(root, below+"/__main__.py"), join(root, below+".py"))
		}
		return list
	}
	base := join(roots[0], s.dir)
	for _, name := range s.anyOf {
		list = append(list, join(base, name))
	}
	if s.path != "" {
		file := join(base, s.path)
		list = append(list, file, file+"/__main__.py")
		for _, ext := range s.extensions {
			list = append(list, file+ext)
		}
	}
	return list
}
