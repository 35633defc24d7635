package proc

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/clock"
)

const (
	pumpBuffer = 64 << 10
	// pumpDeadline is how long a pipe may stay open after the tree is gone: only a process outside the tree, to
	// which the agent passed the descriptor, can hold it.
	pumpDeadline = time.Second
	// maxPipe is what a pipe can hold at most, by the kernel's default for /proc/sys/fs/pipe-max-size.
	maxPipe = 1 << 20
)

var pumpBuffers = sync.Pool{New: func() any { b := make([]byte, pumpBuffer); return &b }}

// A pump moves the output of a run from its pipe to a writer.
type pump struct {
	r      *os.File
	w      io.Writer
	broken chan<- error
	done   chan struct{} // nil until start
	err    error         // of the writer; read after done
}

// newPump returns the pump and the child's end of its pipe.
func newPump(w io.Writer, broken chan<- error) (*pump, int, error) {
	if w == nil {
		fd, err := unix.Open(os.DevNull, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		return nil, fd, err
	}
	r, child, err := pipe()
	if err != nil {
		return nil, -1, err
	}
	return &pump{r: r, w: w, broken: broken}, child, nil
}

// pipe returns a pipe whose reading end is deed's, pollable, and whose writing end stays blocking, as programs
// expect of their output.
func pipe() (*os.File, int, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		closeAll(fds[:])
		return nil, -1, err
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), fds[1], nil
}

func (p *pump) start() {
	if p == nil {
		return
	}
	p.done = make(chan struct{})
	go func() {
		defer close(p.done)
		bp := pumpBuffers.Get().(*[]byte)
		defer pumpBuffers.Put(bp)
		p.copy(*bp)
	}()
}

func (p *pump) copy(buf []byte) {
	for {
		n, err := p.r.Read(buf)
		p.write(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.rest(buf)
			return
		}
		if err != nil {
			return
		}
	}
}

// rest takes what is in the pipe without waiting for more: the run is over, and someone else holds the other end.
func (p *pump) rest(buf []byte) {
	_ = p.r.SetReadDeadline(time.Time{})
	conn, err := p.r.SyscallConn()
	if err != nil {
		return
	}
	for total := 0; total < maxPipe; {
		n := 0
		_ = conn.Read(func(fd uintptr) bool {
			n, _ = unix.Read(int(fd), buf)
			return true
		})
		if n <= 0 {
			return
		}
		p.write(buf[:n])
		total += n
	}
}

// write passes data on. After an error it only empties the pipe, so that the agent can be ended in order.
func (p *pump) write(data []byte) {
	if p.err != nil || len(data) == 0 {
		return
	}
	if _, err := p.w.Write(data); err != nil {
		p.err = err
		p.broken <- err
	}
}

// finish waits for the last of the output. It is called when the tree is gone, upon which the pipe ends by itself.
func (p *pump) finish() error {
	if p == nil {
		return nil
	}
	_ = p.r.SetReadDeadline(clock.Start().Add(pumpDeadline))
	<-p.done
	p.close()
	return p.err
}

func (p *pump) close() {
	if p != nil {
		p.r.Close()
	}
}

// A feeder moves a reader's content into the stdin of a run.
type feeder struct {
	w    *os.File
	r    io.Reader
	once sync.Once
}

// newFeeder returns the feeder, if one is needed, and the child's stdin, which is the caller's to close.
func newFeeder(r io.Reader) (*feeder, int, error) {
	switch src := r.(type) {
	case nil:
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return nil, fd, err
	case *os.File:
		fd, err := duplicate(src)
		return nil, fd, err
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, err
	}
	if err := unix.SetNonblock(fds[1], true); err != nil {
		closeAll(fds[:])
		return nil, -1, err
	}
	return &feeder{w: os.NewFile(uintptr(fds[1]), "pipe"), r: r}, fds[0], nil
}

// duplicate returns another descriptor of an open file, which becomes blocking, as programs expect of what they are
// given.
func duplicate(f *os.File) (int, error) { return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0) }

// start copies in the background. A command need not read its input: a broken pipe is no error.
func (f *feeder) start() {
	if f == nil {
		return
	}
	go func() {
		_, _ = io.Copy(f.w, f.r)
		f.close()
	}()
}

func (f *feeder) close() {
	if f != nil {
		f.once.Do(func() { f.w.Close() })
	}
}
