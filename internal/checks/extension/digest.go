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
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

// Bounds of what is read for a digest. An extension with a vendored linter has thousands of files.
const (
	maxFiles = 50_000
	maxBytes = 1 << 30
)

// settling is how long ago the last change must be for a stat to tell of the next one: the time that a file system writes
// down moves in steps.
const settling = 2 * time.Second

// digests remembers what was hashed, by path, together with what the file system said of every file then.
var digests sync.Map // string: measured

type measured struct{ stat, digest string }

// Digest hashes the directory of an extension or of another package: the name, the executable bit and the content of every file, and where links lead to. The
// same files have the same digest wherever they lie. Only .git is left out. When no file's stat has changed, the digest
// of the last time is returned.
func Digest(dir string) (string, error) {
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	files, stat, newest, err := listFiles(top)
	if err != nil {
		return "", err
	}
	if m, ok := digests.Load(top); ok && m.(measured).stat == stat {
		return m.(measured).digest, nil
	}
	settled := clock.System().Sub(newest) > settling // asked before the files are read
	sum := sha256.New()
	for _, f := range files {
		if err := addFile(sum, filepath.Join(top, f.rel), f); err != nil {
			return "", err
		}
	}
	digest := finish(sum)
	if settled {
		digests.Store(top, measured{stat, digest})
	}
	return digest, nil
}

func finish(sum hash.Hash) string { return "sha256:" + hex.EncodeToString(sum.Sum(nil)) }

// A treeFile is a file of an extension.
type treeFile struct {
	rel  string
	exec bool
	link string // where it leads to, as it is written
}

// listFiles returns the files below a directory in order, a hash over their stats, and when the last of them was changed.
func listFiles(top string) (files []treeFile, stat string, newest time.Time, err error) {
	var size, last int64
	stats := sha256.New()
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
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
			return fmt.Errorf("%s is neither a file nor a directory (leave it out)", path)
		}
		if fi != nil {
			f.exec = fi.Mode()&0o100 != 0
			size += fi.Size()
			last = max(last, stamp(stats, rel, fi))
		}
		fmt.Fprintf(stats, "%s\x00", f.link)
		files = append(files, f)
		if len(files) > maxFiles || size > maxBytes {
			return fmt.Errorf("it has more than %d files or %d bytes (take out of it what it does not need)", maxFiles, maxBytes)
		}
		return nil
	})
	return files, hex.EncodeToString(stats.Sum(nil)), time.Unix(0, last), err
}

// stamp adds what shows that a file was changed, and returns when: that time cannot be set back, unlike the time of
// modification.
func stamp(w io.Writer, rel string, fi fs.FileInfo) int64 {
	changed := fi.ModTime().UnixNano()
	fmt.Fprintf(w, "%s\x00%d\x00%d\x00%o\x00", rel, fi.Size(), fi.ModTime().UnixNano(), fi.Mode())
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		changed = changeTime(st)
		fmt.Fprintf(w, "%d\x00%d\x00%d\x00", st.Dev, st.Ino, changed)
	}
	return changed
}

// addFile adds a file to a digest. A link adds the content of the file that it leads to, which is what would run.
func addFile(sum hash.Hash, path string, f treeFile) error {
	if f.link != "" {
		record(sum, f.rel, "link", []byte(f.link))
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if f.link != "" && err != nil {
		return nil // it leads nowhere, and nothing runs
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
