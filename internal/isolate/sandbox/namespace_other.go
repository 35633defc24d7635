//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"runtime"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
)

type bubblewrap struct{ path, version string }

// needs says what a machine that cannot isolate a command lacks.
const needs = "use Linux on amd64 or arm64"

func unavailable() error {
	return failure.New(failure.Isolation, op, errors.New("there is no isolation on "+runtime.GOOS+"/"+runtime.GOARCH), needs+"; "+byFlag)
}

func findBubblewrap(context.Context) (bubblewrap, error) { return bubblewrap{}, unavailable() }

// Remember does nothing: there is nothing to find out here.
func Remember(string) {}

func (s *Sandbox) runNamespace(context.Context, *proc.Supervisor, proc.Spec) (Exit, error) {
	return Exit{}, unavailable()
}

type engine struct{ path, runtime, version string }

type mountPoints struct{}

func findEngine(context.Context) (engine, error) { return engine{}, unavailable() }

func (s *Sandbox) runContainer(context.Context, *proc.Supervisor, proc.Spec) (Exit, error) {
	return Exit{}, unavailable()
}

// Reclaim has nothing to do.
func Reclaim(context.Context, string) error { return nil }

// InUse reports false: there are no containers.
func InUse(context.Context, string) (bool, error) { return false, nil }

// IsInner reports false.
func IsInner([]string) bool { return false }

// InnerMain reports that there is no inner half here.
func InnerMain([]string) int { return 2 }
