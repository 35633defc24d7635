package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
)

// environment is what an ordinary user has.
func environment() []string { return slices.Clone(usersEnvironment()) }

var usersEnvironment = sync.OnceValue(func() []string {
	env := []string{"LANG=C.UTF-8", "TERM=dumb", "PATH=" + pathWithPytest()}
	for _, name := range []string{"HOME", "USER", "TMPDIR", "GOPATH", "GOCACHE", "GOMODCACHE", "GOPROXY", "CARGO_HOME", "RUSTUP_HOME"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
})

// pathWithPytest is the PATH without the directories whose Python has no pytest, where that of another one has: people of a project
// that is tested with pytest have one that does.
func pathWithPytest() string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	with := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		python := filepath.Join(dir, "python3")
		_, err := os.Stat(python)
		return err == nil && !imports(python, "pytest")
	})
	if _, err := proc.LookPath("python3", strings.Join(with, string(filepath.ListSeparator)), "/"); err != nil {
		return os.Getenv("PATH")
	}
	return strings.Join(with, string(filepath.ListSeparator))
}

// imports reports whether a Python has a module.
func imports(python, module string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	res, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{python, "-c", "import " + module}, Dir: "/", Env: env})
	return err == nil && res.ExitCode == 0
}
