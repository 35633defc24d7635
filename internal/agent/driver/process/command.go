package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
)

// workingDir returns the directory to start in. A relative one is below the workspace, and no symbolic link may lead
// out; an absolute one was the source of the workspace, and the agent starts at the workspace's top.
func workingDir(workspace, dir string) (string, error) {
	if dir == "" || filepath.IsAbs(dir) {
		return workspace, nil
	}
	bad := func(err error) error {
		return failure.New(failure.Config, fmt.Sprintf("enter working_dir %q", dir), err, "name a directory that is in the workspace")
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", failure.New(failure.Infra, "open the workspace", err, "")
	}
	defer root.Close()
	st, err := root.Stat(dir)
	if err != nil {
		return "", bad(err)
	}
	if !st.IsDir() {
		return "", bad(errors.New("it is not a directory"))
	}
	return filepath.Join(workspace, dir), nil
}

// FindCommand returns the file that an adapter's command stands for: an absolute path, or a name on path. The error is of
// class failure.Config or failure.Spawn and has a remedy.
func FindCommand(command, path, dir string) (string, error) {
	if command == "" {
		return "", failure.New(failure.Config, "find the command", errors.New("command is empty"), "give the adapter a command")
	}
	if strings.Contains(command, "/") && !filepath.IsAbs(command) {
		return "", failure.New(failure.Config, "find the command", fmt.Errorf("%q is a relative path", command), "give an absolute path, a bare name, or one that the configuration resolves")
	}
	file, err := proc.LookPath(command, path, dir)
	if err != nil {
		return "", spawnFault(command, err)
	}
	return file, nil
}

// spawnFault makes the failure of a command that cannot be started, with what to do about it.
func spawnFault(command string, err error) *failure.Error {
	remedy := "check the adapter's command"
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		remedy = "begin the script with a #! line"
	case errors.Is(err, syscall.E2BIG):
		remedy = "pass large input by the payload, which is on stdin, not by arguments or variables"
	case errors.Is(err, fs.ErrPermission):
		remedy = "make it executable: chmod +x"
	case errors.Is(err, fs.ErrNotExist) && filepath.IsAbs(command):
		remedy = "check the path, and the interpreter that a script's #! line names"
	case errors.Is(err, fs.ErrNotExist):
		remedy = "install it, or give its absolute path"
	}
	return failure.New(failure.Spawn, "start "+command, err, remedy)
}
