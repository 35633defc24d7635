package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The wake-up is a FIFO in the home: a process that adds work writes one byte, and the dispatcher that holds it open
// wakes at once. A FIFO, not a socket, because a socket's path is limited to about a hundred bytes and a home's
// is not. A byte without a reader is lost, and so is one written in the instant before the reader opens: the
// dispatcher's timer is the safety net.

func (h *Home) wakePath() string { return filepath.Join(h.root, "wake") }

// Wake tells a dispatcher in this home, if there is one, that there may be work, and those who watch the home that something
// changed. It never blocks.
func (h *Home) Wake() {
	_ = writeWakeByte(h.wakePath()) // no FIFO or no reader: nothing to wake
	h.Changed()
}

// Wakes returns a channel that receives when Wake was called in any process. It ends with the context. It is for the dispatcher alone,
// who is one by its lock; everybody else uses Watch.
func (h *Home) Wakes(ctx context.Context) (<-chan struct{}, error) {
	f, err := openFIFO(h.wakePath())
	if err != nil {
		return nil, err
	}
	return readFIFO(ctx, f, func() {}), nil
}

// openFIFO makes a FIFO where there is none, and opens it for reading.
func openFIFO(path string) (*os.File, error) {
	if err := unix.Mkfifo(path, 0o600); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("make wake-up %s: %w", path, err)
	}
	// Read and write, so that the last writer's close is not an end of file.
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open wake-up %s: %w", path, err)
	}
	if fi, err := f.Stat(); err != nil || fi.Mode().Type() != os.ModeNamedPipe {
		_ = f.Close()
		return nil, fmt.Errorf("wake-up %s is not a FIFO (remove it)", path)
	}
	return f, nil
}

// readFIFO turns the bytes of a FIFO into wake-ups until the context ends, and calls over at the end.
func readFIFO(ctx context.Context, f *os.File, over func()) <-chan struct{} {
	ch := make(chan struct{}, 1)
	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	go func() {
		defer stop()
		defer over()
		buf := make([]byte, 512)
		for {
			if _, err := f.Read(buf); err != nil {
				close(ch)
				return
			}
			select {
			case ch <- struct{}{}:
			default: // one wake-up is as good as many
			}
		}
	}()
	return ch
}
