package terminal

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A Screen is a whole terminal. It is used by one goroutine, except Keys. Close gives the terminal back as it was.
type Screen struct {
	in, out *os.File
	was     *term.State
	shown   []string // the lines as they stand there
	width   int
	height  int
}

// What a screen switches on, and off again: the second page of the terminal, so that the first is as it was afterwards; no cursor; no
// line wrap, so that a line that is too long hides its end.
const (
	enter     = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leave     = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	beginSync = "\x1b[?2026h" // the terminal shows what follows at once; one that does not know it ignores it
	endSync   = "\x1b[?2026l"
	clearL    = "\x1b[K"
)

// Open takes a terminal over.
func Open(in, out *os.File) (*Screen, error) {
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("take the terminal over: %w", err)
	}
	s := &Screen{in: in, out: out, was: was}
	if _, err := out.WriteString(enter); err != nil {
		return nil, fmt.Errorf("take the terminal over: %w", errClose(s, err))
	}
	return s, nil
}

func errClose(s *Screen, err error) error {
	_ = s.Close()
	return err
}

// Close gives the terminal back.
func (s *Screen) Close() error {
	_, werr := s.out.WriteString(leave)
	if err := term.Restore(int(s.in.Fd()), s.was); err != nil {
		return fmt.Errorf("give the terminal back: %w", err)
	}
	return werr
}

// Size returns the width and the height. A terminal that does not report them counts as 80 by 24.
func (s *Screen) Size() (width, height int) {
	w, h, err := term.GetSize(int(s.out.Fd()))
	if err != nil || w < 1 || h < 1 {
		return 80, 24
	}
	return w, h
}

// Draw shows lines. It writes only those that changed, in a single write. What does not fit is left out.
func (s *Screen) Draw(lines []string) error {
	w, h := s.Size()
	var out strings.Builder
	out.WriteString(beginSync)
	if w != s.width || h != s.height {
		s.width, s.height, s.shown = w, h, make([]string, h)
		out.WriteString("\x1b[2J")
	}
	for i := range h {
		line := ""
		if i < len(lines) {
			line = Fit(lines[i], w)
		}
		if line == s.shown[i] {
			continue
		}
		s.shown[i] = line
		fmt.Fprintf(&out, "\x1b[%d;1H%s\x1b[0m%s", i+1, line, clearL)
	}
	if out.Len() == len(beginSync) {
		return nil
	}
	out.WriteString(endSync)
	_, err := s.out.WriteString(out.String())
	return err
}

// Redraw forgets what stands there: the next Draw writes all of it.
func (s *Screen) Redraw() { s.width, s.height = 0, 0 }

// lookEvery bounds how long Keys goes on after its context has ended.
const lookEvery = 200 // milliseconds

// Keys gives what is pressed to a channel until the context ends or the terminal is gone, and closes it.
func (s *Screen) Keys(ctx context.Context, to chan<- Key) {
	defer close(to)
	buf := make([]byte, 256)
	fd := int(s.in.Fd())
	for ctx.Err() == nil {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, lookEvery)
		if err != nil && err != unix.EINTR {
			return
		}
		if n <= 0 {
			continue
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			return // hung up
		}
		if n, err = unix.Read(fd, buf); err != nil || n == 0 {
			return
		}
		for _, k := range Keys(buf[:n]) {
			select {
			case to <- k:
			case <-ctx.Done():
				return
			}
		}
	}
}
