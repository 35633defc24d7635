package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
)

// A session is a script that runs for many files, one after the other: a line to it for each file, a line from it for each
// answer. It belongs to one goroutine. When deed dies the script reads the end of its input, and ends as well.
type session struct {
	in    *os.File // what is written to the script
	out   *os.File // what it answers
	buf   *bufio.Reader
	stop  context.CancelCauseFunc
	limit time.Duration // for one answer
	asked int           // documents
	done  chan struct{}
	err   error // why it ended; read after done
}

// errEnded is why a script that ended by itself, and said nothing of it, gives no answer.
var errEnded = errors.New("it ended before it answered")

func openSession(ctx context.Context, s Script, dir string) (*session, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), in.Close())
	}
	ctx, stop := context.WithCancelCause(ctx)
	x := &session{in: in, out: out, buf: bufio.NewReaderSize(out, 64<<10), stop: stop, limit: scriptTime, done: make(chan struct{})}
	go func() {
		defer close(x.done)
		res, err := proc.Tool(ctx, proc.ToolSpec{Argv: append(s.argv(), "--lines"), Dir: dir, Env: s.Env, Stdin: childIn, Stdout: childOut, MaxOutput: -1})
		if err == nil {
			err = res.Check()
		}
		x.err = err
		_ = childIn.Close() // only now the other ends can see that the process is gone
		_ = childOut.Close()
	}()
	return x, nil
}

// ask has a file read. The answer must bear the number of the question: a script that says too much or too little would
// tell of one file what it found in another. After an error the session is over: close it.
func (x *session) ask(d question) (fingerprint, error) {
	var p fingerprint
	x.asked++
	d.ID = x.asked
	in, err := json.Marshal(d)
	if err != nil {
		return p, err
	}
	out, err := x.exchange(append(in, '\n'))
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(out, &p); err != nil {
		return p, err
	}
	if p.ID != d.ID {
		return p, fmt.Errorf("its answer is to document %d where %d was asked", p.ID, d.ID)
	}
	return p, nil
}

// exchange writes a line and reads one.
func (x *session) exchange(document []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), x.limit, fmt.Errorf("it took longer than %s", x.limit))
	defer cancel()
	defer context.AfterFunc(ctx, func() { x.stop(context.Cause(ctx)) })()
	if _, err := x.in.Write(document); err != nil {
		return nil, x.why(err)
	}
	var line []byte
	for {
		part, err := x.buf.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, x.why(err)
		case len(line) > scriptOutput:
			return nil, fmt.Errorf("its answer has more than %d bytes", scriptOutput)
		}
	}
}

// why names the end of the script as the cause rather than that of a pipe.
func (x *session) why(err error) error {
	<-x.done // both pipes stay open until the script has ended
	switch {
	case x.err != nil:
		return x.err
	case errors.Is(err, io.EOF):
		return errEnded
	}
	return err
}

// close ends the script, which only reads, and waits for its end.
func (x *session) close() {
	x.stop(context.Canceled)
	<-x.done
	_ = x.in.Close() // pipes without a process at the other end
	_ = x.out.Close()
}

// argv is what runs a script.
func (s Script) argv() []string { return append(append([]string{}, s.Interpreter...), s.Path) }

// resolve finds the interpreters of scripts. One that is missing is the reason why files have no structure, and the facts
// of another one are of no use: its name is part of the digest.
func resolve(list []Script) []Script {
	out := make([]Script, len(list))
	for i, s := range list {
		if len(s.Interpreter) > 0 {
			file, err := proc.LookPath(s.Interpreter[0], proc.Getenv(s.Env, "PATH"), "/")
			if err != nil {
				s.missing = s.Interpreter[0] + " is not installed"
			} else {
				s.Interpreter = append([]string{file}, s.Interpreter[1:]...)
			}
			if real, err := filepath.EvalSymlinks(file); err == nil {
				file = real
			}
			s.Digest += "\n" + file
		}
		out[i] = s
	}
	return out
}
