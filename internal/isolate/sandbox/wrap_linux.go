//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
)

// A wrapped run is a command in a sandbox: the bwrap that makes it, and its report.
type wrapped struct {
	call
	spec   proc.Spec
	status *os.File // where bwrap reports its progress
	stderr headWriter
}

// wrap turns a command as seen inside into a start of bwrap as seen outside.
func (s *Sandbox) wrap(p proc.Spec) (w *wrapped, err error) {
	w = &wrapped{call: call{mountPoints: &s.mountPoints}}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if len(p.Files) > 0 {
		return w, errors.New("run in sandbox: files cannot be handed in: a descriptor bypasses the isolation")
	}
	path, err := s.look(p)
	if err != nil {
		return w, err
	}
	command := append([]string{path}, p.Argv[1:]...)
	if err := w.system(s.limits.tmpfs(), homeOf(p.Env)); err != nil {
		return w, err
	}
	if err := w.mounts(s.mounts, s.limits.tmpfs()); err != nil {
		return w, err
	}
	if s.egress != "" || path == innerPath {
		if err := w.ownBinary(); err != nil {
			return w, err
		}
	}
	if s.egress != "" {
		if err := w.egress(s.egress); err != nil {
			return w, err
		}
		doors, err := doorList(s.doors)
		if err != nil {
			return w, err
		}
		command = append([]string{innerPath, innerCommand, doors}, command...)
	}
	w.add("--remount-ro", "/", "--chdir", p.Dir)
	for _, v := range p.Env {
		if name, value, ok := strings.Cut(v, "="); ok && name != "" {
			w.add("--setenv", name, value)
		}
	}
	if err := w.report(); err != nil {
		return w, err
	}
	w.spec = p
	if f, ok := p.Stdin.(*os.File); ok {
		// Through a pipe: a file that is only open for reading can be opened for writing by /proc/self/fd/0.
		w.spec.Stdin = struct{ io.Reader }{f}
	}
	w.spec.Dir, w.spec.Env, w.spec.Enclosed = "/", marks(p.Env), true
	w.stderr.w = p.Stderr
	w.spec.Stderr = &w.stderr
	w.spec.Argv, err = w.argv(s.bwrap, command)
	w.spec.Files = w.files
	return w, err
}

// report makes bwrap report when the sandbox is complete.
func (w *wrapped) report() error {
	r, child, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	w.status = r
	w.add("--json-status-fd", w.hand(child))
	return nil
}

func (w *wrapped) close() {
	w.call.close()
	if w.status != nil {
		w.status.Close()
	}
}

// marks are the variables by which deed finds processes that it lost. bwrap itself carries no others.
func marks(env []string) []string {
	var list []string
	for _, v := range env {
		if strings.HasPrefix(v, "DEED_") {
			list = append(list, v)
		}
	}
	return list
}

// homeOf returns the home for /etc/passwd.
func homeOf(env []string) string {
	home := proc.Getenv(env, "HOME")
	if !filepath.IsAbs(home) || strings.ContainsAny(home, ":\n") {
		return "/"
	}
	return home
}

// wasComplete reports whether the sandbox was complete when the run ended: bwrap reports an exit code only for a command that
// it executed. It is called when the run is over.
func (w *wrapped) wasComplete() bool {
	w.call.close() // the last end of the pipe that writes
	dec := json.NewDecoder(io.LimitReader(w.status, 64<<10))
	for {
		var doc struct {
			ExitCode *int `json:"exit-code"`
		}
		if err := dec.Decode(&doc); err != nil {
			return false
		}
		if doc.ExitCode != nil {
			return true
		}
	}
}

// runNamespace runs a command with full isolation.
func (s *Sandbox) runNamespace(ctx context.Context, sup *proc.Supervisor, p proc.Spec) (Exit, error) {
	s.mountPoints.enter()
	defer s.mountPoints.leave()
	w, err := s.wrap(p)
	if err != nil {
		return Exit{Exit: proc.Exit{Code: -1}}, err
	}
	defer w.close()
	exit, err := s.watched(ctx, sup, w.spec, monitor{limits: s.limits})
	// The kernel ends what is left in a pid namespace, and counts nothing. What the supervisor saw was bwrap's own.
	exit.Killed = 0
	var start *proc.StartError
	switch {
	case errors.As(err, &start):
		dropRemembered()
		return exit, failure.New(failure.Isolation, "start bubblewrap", err, bubblewrapRemedy)
	case err != nil || exit.Cause != nil || exit.Signal != "" || w.wasComplete():
		return exit, err
	default:
		dropRemembered()
		return exit, failure.New(failure.Isolation, "set up the sandbox",
			fmt.Errorf("bubblewrap: exit %d: %s", exit.Code, strings.TrimSpace(string(w.stderr.head))), bubblewrapRemedy)
	}
}

// A headWriter passes on what bwrap and the command write, and keeps the first of it.
type headWriter struct {
	w    io.Writer
	head []byte
}

func (h *headWriter) Write(p []byte) (int, error) {
	if room := 4096 - len(h.head); room > 0 {
		h.head = append(h.head, p[:min(room, len(p))]...)
	}
	if h.w == nil {
		return len(p), nil
	}
	return h.w.Write(p)
}
