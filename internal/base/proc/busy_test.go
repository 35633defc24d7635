package proc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
)

// A program that was written a moment ago may still be open for writing in a process that is just being started.
func TestProgramThatIsStillOpenForWriting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, start := range map[string]func(ctx context.Context, path string) (code int, err error){
		"a run": func(ctx context.Context, path string) (int, error) {
			exit, err := b.sup.Run(ctx, proc.Spec{Argv: []string{path}, Dir: b.dir})
			return exit.Code, err
		},
		"a run with limits": func(ctx context.Context, path string) (int, error) {
			exit, err := b.sup.Run(ctx, proc.Spec{Argv: []string{path}, Dir: b.dir, Limits: proc.Limits{OpenFiles: 64}})
			return exit.Code, err
		},
		"a tool": func(ctx context.Context, path string) (int, error) {
			res, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{path}})
			return res.ExitCode, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(b.dir, "program")
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString("#!/bin/sh\nexit 7\n"); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(50*time.Millisecond, func() { f.Close() })
			if code, err := start(t.Context(), path); err != nil || code != 7 {
				t.Errorf("exit %d, %v", code, err)
			}
		})
	}
}

func TestProgramThatStaysOpenForWriting(t *testing.T) {
	t.Parallel()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "program"), os.O_WRONLY|os.O_CREATE, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := proc.Tool(t.Context(), proc.ToolSpec{Argv: []string{f.Name()}}); !errors.Is(err, syscall.ETXTBSY) {
		t.Errorf("got %v", err)
	}
	why := errors.New("operator said so")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if _, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{f.Name()}}); !errors.Is(err, why) {
		t.Errorf("with a context that ends: %v", err)
	}
}
