package extension

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Bounds of what is read for a digest. An extension with a vendored linter has thousands of files.
const (
	maxFiles = 50_000
	maxBytes = 1 << 30
)

// digests remembers what was hashed, by path, together with what the file system said of every file then.
var digests sync.Map // string: measured

type measured struct{ stat, digest string }

// digestOf hashes an extension: the name, the executable bit and the content of every file, and where links lead to. The
// same files have the same digest wherever they lie. Only .git is left out. When no file's stat has changed, the digest
// of the last time is returned.
func digestOf(dir string) (string, error) {
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	files, stat, err := listFiles(top)
	if err != nil {
		return "", err
	}
	if m, ok := digests.Load(top); ok && m.(measured).stat == stat {
		return m.(measured).digest, nil
	}
	sum := sha256.New()
	for _, f := range files {
		if err := addFile(sum, filepath.Join(top, f.rel), f); err != nil {
			return "", err
		}
	}
	digest := finish(sum)
	digests.Store(top, measured{stat, digest})
	return digest, nil
}

func finish(sum hash.Hash) string { return "sha256:" + hex.EncodeToString(sum.Sum(nil)) }

// A treeFile is a file of an extension.
type treeFile struct {
	rel  string
	exec bool
	link string // where it leads to, as it is written
}

// listFiles returns the files below a directory in order, and a hash over their stats.
func listFiles(top string) ([]treeFile, string, error) {
	var files []treeFile
	var size int64
	stats := sha256.New()
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" && path != top {
				return fs.SkipDir
			}
			return nil
		}
		if d.Name() == ".git" {
			return nil // of a submodule or a second work tree: a file
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		f := treeFile{rel: rel}
		if d.Type()&fs.ModeSymlink != 0 {
			if f.link, err = os.Readlink(path); err != nil {
				return err
			}
		}
		fi, err := os.Stat(path)
		switch {
		case f.link != "" && (err != nil || !fi.Mode().IsRegular()):
			fi = nil // a link to nowhere or to a directory: its text counts alone
		case err != nil:
			return err
		case !fi.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory (an extension has nothing else)", path)
		}
		if fi != nil {
			f.exec = fi.Mode()&0o100 != 0
			size += fi.Size()
			stamp(stats, rel, fi)
		}
		fmt.Fprintf(stats, "%s\x00", f.link)
		files = append(files, f)
		if len(files) > maxFiles || size > maxBytes {
			return fmt.Errorf("it has more than %d files or %d bytes (take out of it what it does not need)", maxFiles, maxBytes)
		}
		return nil
	})
	return files, hex.EncodeToString(stats.Sum(nil)), err
}

// stamp adds what tells that a file was changed: its change time cannot be set back, unlike the time of modification.
func stamp(w io.Writer, rel string, fi fs.FileInfo) {
	fmt.Fprintf(w, "%s\x00%d\x00%d\x00%o\x00", rel, fi.Size(), fi.ModTime().UnixNano(), fi.Mode())
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		fmt.Fprintf(w, "%d\x00%d\x00%d\x00", st.Dev, st.Ino, changeTime(st))
	}
}

// addFile adds a file to a digest. A link adds the content of the file that it leads to, which is what would run.
func addFile(sum hash.Hash, path string, f treeFile) error {
	if f.link != "" {
		record(sum, f.rel, "link", []byte(f.link))
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if f.link != "" && err != nil {
		return nil //nolint:nilerr // it leads nowhere, and nothing runs
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	content := sha256.New()
	switch _, err = io.Copy(content, io.LimitReader(file, maxBytes)); {
	case errors.Is(err, syscall.EISDIR):
		return nil // a link to a directory
	case err != nil:
		return err
	}
	record(sum, f.rel, kind(f.exec), content.Sum(nil))
	return nil
}

func kind(exec bool) string {
	if exec {
		return "executable"
	}
	return "file"
}

// record adds one entry. Lengths keep one entry from passing for two.
func record(sum hash.Hash, rel, kind string, content []byte) {
	rel = filepath.ToSlash(rel)
	fmt.Fprintf(sum, "%d:%s %s %d:", len(rel), rel, kind, len(content))
	sum.Write(content)
}

// short is the part of a digest that is enough for a directory's name.
func short(digest string) string {
	_, digest, _ = strings.Cut(digest, ":")
	return digest[:32]
}
