package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/cli/binarytest"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
	"github.com/deedrun/deed/internal/store"
)

// A site is a home, a directory with a deed.yaml, and a mark by which every process of its agents can be found.
type site struct {
	t    *testing.T
	dir  string
	home string
	dsn  string // empty: SQLite in the home
	mark string
	env  []string // of every command
}

// newSite makes a site whose adapters are given as name to shell script.
func newSite(t *testing.T, adapters map[string]string) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, dir: dir, home: filepath.Join(dir, "home"), mark: "mark" + strings.ReplaceAll(dir, "/", "-")}
	if err := os.Mkdir(s.temp(), 0o700); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("retry: {base_seconds: 0.001, max_seconds: 0.001}\ndefaults: {lease_seconds: 30}\n")
	if len(adapters) > 0 {
		b.WriteString("adapters:\n")
	}
	for name, text := range adapters {
		file := filepath.Join(dir, name+".sh")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		b.WriteString("  " + name + ": {kind: script, command: ./" + name + ".sh, timeout_ms: 60000, env: {MARK: " + s.mark + ", OUT: " + dir + "}}\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "deed.yaml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// temp is the site's directory for temporary files: what one site's dead left is not another's to find.
func (s *site) temp() string { return filepath.Join(s.dir, "temp") }

// command prepares deed with extra variables.
func (s *site) command(env []string, args ...string) *exec.Cmd {
	s.t.Helper()
	file := binarytest.Deed(s.t)
	c := exec.Command(file, args...)
	c.Dir = s.dir
	c.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(s.dir, "user"), "DEED_HOME=" + s.home, "DEED_CONFIG=" + filepath.Join(s.dir, "deed.yaml"), "USER=tester", "TMPDIR=" + s.temp(), "DEED_LISTEN=127.0.0.1:0",
	}, append(slices.Clone(s.env), env...)...)
	if s.dsn != "" {
		c.Env = append(c.Env, "DEED_DATABASE="+s.dsn)
	}
	return c
}

type outcome struct {
	stdout, stderr string
	code           int
	signal         syscall.Signal
}

// deed runs a command to its end.
func (s *site) deed(env []string, args ...string) outcome {
	s.t.Helper()
	var out, errs bytes.Buffer
	c := s.command(env, args...)
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	o := outcome{stdout: out.String(), stderr: errs.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		ws, ok := exit.Sys().(syscall.WaitStatus)
		if ok && ws.Signaled() {
			o.signal = ws.Signal()
		}
		o.code = exit.ExitCode()
	} else if err != nil {
		s.t.Fatalf("deed %v: %v", args, err)
	}
	return o
}

// ok runs a command that must succeed.
func (s *site) ok(args ...string) string {
	s.t.Helper()
	o := s.deed(nil, args...)
	if o.code != 0 {
		s.t.Fatalf("deed %v: exit %d\n%s%s", args, o.code, o.stdout, o.stderr)
	}
	return o.stdout
}

// open opens the site's store.
func (s *site) open() *store.Store {
	s.t.Helper()
	dsn := s.dsn
	if dsn == "" {
		dsn = filepath.Join(s.home, "deed.db")
	}
	st, err := store.Open(s.t.Context(), dsn, store.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = st.Close() })
	return st
}

// noProcess waits until no process of the site's agents is left.
func (s *site) noProcess() {
	s.t.Helper()
	var left []int
	s.until("no process of an agent is left", func() bool {
		var err error
		if left, err = proc.FindByEnv("MARK", s.mark); err != nil {
			s.t.Fatal(err)
		}
		return len(left) == 0
	})
}

// until polls a condition on the outside world.
func (s *site) until(what string, cond func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			s.t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

// tidy asserts that the home has whole bundles and nothing else of any attempt.
func (s *site) tidy() {
	s.t.Helper()
	if left, _ := os.ReadDir(filepath.Join(s.home, "attempts")); len(left) != 0 {
		s.t.Errorf("directories of attempts are left: %v", left)
	}
	list, err := os.ReadDir(filepath.Join(s.home, "bundles"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), ".") {
			s.t.Errorf("an unfinished bundle is left: %s", e.Name())
			continue
		}
		bundletest.Check(s.t, filepath.Join(s.home, "bundles", e.Name()))
	}
}

// add queues one intent and returns its id.
func (s *site) add(intent map[string]any) string {
	s.t.Helper()
	text, err := json.Marshal(intent)
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.command(nil, "task", "add", "--file", "-")
	c.Stdin = bytes.NewReader(text)
	out, err := c.Output()
	if err != nil {
		s.t.Fatalf("task add: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func status(t *testing.T, st *store.Store, id string) agentruntime.TaskStatus {
	t.Helper()
	task, err := st.Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return task.Record.Status
}

// Flags that exclude each other are the caller's fault, in deed's own words.
func TestFlagsThatExcludeEachOther(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	o := s.deed(nil, "apply", "--undo", "x", "--to", s.dir)
	if o.code != ExitUsage || !strings.Contains(o.stderr, "--to and --undo cannot be given together") {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
}
