package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Getenv returns the value of the last entry for name in an environment of NAME=value strings.
func Getenv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// LookPath finds the file that a command name stands for. A name with a slash is a path, relative to dir; any other
// is looked up in the absolute directories of path, a PATH value. The error is fs.ErrNotExist, or fs.ErrPermission
// when a file is there and cannot be executed, with a text that names what was looked for where.
func LookPath(name, path, dir string) (string, error) {
	if strings.Contains(name, "/") {
		file := name
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if err := executable(file); err != nil {
			return "", err
		}
		return file, nil
	}
	var denied error
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			continue // the working directory is the agent's: nothing in it may stand for a command
		}
		file := filepath.Join(d, name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", &notOnPath{name: name, path: path}
}

func executable(file string) error {
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case st.IsDir():
		return fmt.Errorf("%s is a directory: %w", file, fs.ErrPermission)
	case st.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable: %w", file, syscall.EACCES)
	}
	return nil
}

// notOnPath is fs.ErrNotExist for a command: which one, and where it was looked for.
type notOnPath struct{ name, path string }

func (e *notOnPath) Error() string {
	return fmt.Sprintf("%s is in no directory of PATH %q", e.name, e.path)
}

func (e *notOnPath) Unwrap() error { return fs.ErrNotExist }
