package tool

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// hostCommand is the hidden command of the process that carries calls out.
const hostCommand = "__tools"

// A binary that links this package becomes a host here, as it becomes a supervisor in package proc: the agent waits for
// it, and it does not need all of the packages that are set up later.
func init() {
	if IsHost(os.Args) {
		os.Exit(HostMain(os.Args))
	}
}

// IsHost reports whether the arguments of the process, with its name in front, ask it to be a host of tools. No main function
// has to ask: a process that is one never comes to it.
func IsHost(args []string) bool { return len(args) > 1 && args[1] == hostCommand }

// HostMain is the life of a host: it carries out calls one after the other until its stdin ends. It returns the exit code.
func HostMain(args []string) int {
	if len(args) != 3 {
		fmt.Fprintln(os.Stderr, "deed "+hostCommand+": no workspace (this is for deed's own use)")
		return 2
	}
	proc.KeepPrivate() // a command could write answers into the pipe to deed
	if err := serve(args[2], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "deed %s: %v\n", hostCommand, err)
		return 1
	}
	return 0
}

// A server carries out calls inside.
type server struct {
	tree *tree
	sup  *proc.Supervisor // of shell commands; nil until the first
	out  io.Writer
	wire *wire
}

func serve(dir string, in io.Reader, out io.Writer) error {
	t, err := openTree(dir)
	if err != nil {
		return err
	}
	defer t.root.Close()
	r := bufio.NewReader(in)
	key := make([]byte, keySize)
	if _, err := io.ReadFull(r, key); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	s := &server{tree: t, out: out, wire: newWire(key, sideHost)}
	defer s.close()
	for {
		kind, payload, err := s.wire.readFrame(r, maxCallFrame)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case kind != frameCall:
			return errFrame
		}
		var c wireCall
		if err := json.Unmarshal(payload, &c); err != nil {
			return err
		}
		if err := s.answer(c); err != nil {
			return err
		}
	}
}

func (s *server) close() {
	if s.sup != nil {
		_ = s.sup.Close() // what it could not end, the supervisor outside does
	}
}

// answer carries out a call and says how it ended.
func (s *server) answer(c wireCall) error {
	w := &outputWriter{w: s.out, wire: s.wire}
	o, err := s.call(context.Background(), c, w)
	var f *Failure
	switch {
	case w.err != nil:
		return w.err
	case errors.As(err, &f):
		o.Failed, o.ErrorType = true, f.Type
		_, _ = io.WriteString(w, f.Message+"\n")
	case err != nil:
		o.Failed, o.ErrorType = true, TypeIO
		_, _ = io.WriteString(w, err.Error()+"\n")
	}
	if w.err != nil {
		return w.err
	}
	done, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return s.wire.writeFrame(s.out, frameDone, done)
}

// call carries out a call. An error that is a *Failure is for the model.
func (s *server) call(ctx context.Context, c wireCall, w io.Writer) (Outcome, error) {
	t := s.tree
	switch c.Tool {
	case Read:
		return Outcome{}, with(c, func(in readInput) error { return t.read(ctx, in, w) })
	case List:
		return Outcome{}, with(c, func(in listInput) error { return t.list(in, w) })
	case Search:
		ctx, cancel := context.WithTimeout(ctx, searchTime)
		defer cancel()
		return Outcome{}, with(c, func(in searchInput) error { return t.search(ctx, in, w) })
	case Edit:
		return Outcome{}, with(c, func(in editInput) error { return t.edit(in, w) })
	case Write:
		return Outcome{}, with(c, func(in writeInput) error { return t.write(in, w) })
	case ApplyPatch:
		return Outcome{}, with(c, func(in patchInput) error { return t.applyPatch(in, w) })
	case Shell:
		var o Outcome
		err := with(c, func(in shellInput) (err error) {
			o, err = s.shell(ctx, in, w)
			return err
		})
		return o, err
	}
	return Outcome{}, Failf(TypeUnknown, "%q is not a tool of the host", c.Tool)
}

func with[T any](c wireCall, do func(T) error) error {
	var in T
	if err := Decode(c.Tool, c.Input, &in); err != nil {
		return err
	}
	return do(in)
}

// Bounds of calls.
const (
	searchTime     = 20 * time.Second
	defaultTimeout = 2 * time.Minute
	shellGrace     = time.Second
	maxShellOutput = 64 << 20
)

// shell runs a command and ends everything that it started.
func (s *server) shell(ctx context.Context, in shellInput, w io.Writer) (Outcome, error) {
	rel, err := s.tree.rel(in.Cwd)
	if err != nil {
		return Outcome{}, err
	}
	if st, err := s.tree.root.Stat(rel); err != nil {
		return Outcome{}, s.tree.explain(in.Cwd, err)
	} else if !st.IsDir() {
		return Outcome{}, Failf(TypeKind, "cwd: %s is not a directory", workspace.Display(in.Cwd))
	}
	if s.sup == nil {
		if s.sup, err = proc.BeginSupervisor(proc.Options{}); err != nil {
			return Outcome{}, err
		}
	}
	timeout := defaultTimeout
	if in.TimeoutMS > 0 {
		timeout = time.Duration(in.TimeoutMS) * time.Millisecond
	}
	limited := &limitWriter{w: w, left: maxShellOutput}
	exit, err := s.sup.Run(ctx, proc.Spec{
		// One pipe for both streams, so that they stay in order.
		Argv: []string{"/bin/sh", "-c", `exec "$0" -c "$1" 2>&1`, shellPath(), in.Command},
		Dir:  filepath.Join(s.tree.dir, rel), Env: os.Environ(), Stdout: limited, Timeout: timeout, Grace: shellGrace,
	})
	switch {
	case limited.left < 0:
		return Outcome{}, Failf(TypeOutput, "\n[more than %d bytes of output; the command and all that it started was ended]", maxShellOutput)
	case errors.Is(err, proc.ErrSupervisorLost):
		return Outcome{}, Failf(TypeHostLost, "\n[the process that watches over the command was killed; the command and all that it started was ended]")
	case err != nil:
		return Outcome{}, err
	case exit.TimedOut:
		return Outcome{}, Failf(TypeTimeout, "\n[not done after %v; the command and all that it started was ended]", timeout)
	}
	o := Outcome{ExitCode: &exit.Code, Killed: exit.Killed}
	if exit.Killed > 0 {
		fmt.Fprintf(w, "\n[processes that it left running were ended: %d]\n", exit.Killed)
	}
	if exit.Code != 0 {
		return o, Failf(TypeExit, "\n[exit code %d]", exit.Code)
	}
	return o, nil
}

// shellPath is bash where there is one: it is what models write for.
func shellPath() string {
	if path, err := proc.LookPath("bash", os.Getenv("PATH"), "/"); err == nil {
		return path
	}
	return "/bin/sh"
}

// A limitWriter ends a command that floods its output.
type limitWriter struct {
	w    io.Writer
	left int64
}

func (l *limitWriter) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errors.New("too much output")
	}
	return l.w.Write(p)
}

// An outputWriter sends what is written to it in frames.
type outputWriter struct {
	w    io.Writer
	wire *wire
	err  error // final
}

func (o *outputWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && o.err == nil {
		k := min(len(p), outputChunk)
		o.err = o.wire.writeFrame(o.w, frameOutput, p[:k])
		p = p[k:]
	}
	return n - len(p), o.err
}
