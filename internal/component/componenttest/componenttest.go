// Package componenttest owns what the tests of runtime components share: sources on disk, and a runner that contains
// what it runs with nothing but bubblewrap, so that these tests do not depend on how deed itself contains a run.
package componenttest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/deedrun/deed/internal/component"
)

// Needs skips a test where bubblewrap is missing.
func Needs(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("missing tool: bwrap: apt-get install bubblewrap")
	}
}

// Tree writes files in the form of a txtar archive and returns their directory.
func Tree(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		p := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Contained runs commands in namespaces of their own, without a network, over a read-only system.
func Contained(mounts []component.Mount) component.Runner {
	argv := []string{
		"bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
		"--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
	}
	for _, m := range mounts {
		how := "--bind"
		if m.ReadOnly {
			how = "--ro-bind"
		}
		argv = append(argv, how, m.Source, m.Target)
	}
	return func(ctx context.Context, c component.Command) (component.Output, error) {
		args := argv[1:len(argv):len(argv)]
		for _, e := range c.Env {
			name, value, _ := strings.Cut(e, "=")
			args = append(args, "--setenv", name, value)
		}
		if c.Dir != "" {
			args = append(args, "--chdir", c.Dir)
		}
		cmd := exec.CommandContext(ctx, argv[0], append(args, c.Argv...)...)
		cmd.WaitDelay = 5 * time.Second
		cmd.Stdin = bytes.NewReader(c.Stdin)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		out := component.Output{ExitCode: cmd.ProcessState.ExitCode(), Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), TimedOut: ctx.Err() != nil}
		var exit *exec.ExitError
		if errors.As(err, &exit) || ctx.Err() != nil {
			err = nil
		}
		return out, err
	}
}
