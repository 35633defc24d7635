package agenttask

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A bundleCopy is the copy of a bundle for the caller. It is made beside the place that it will have while the bundle itself is still
// on its way to the disk, and gets its name when the attempt is settled. When this process dies, bundle.RemoveStaleOf clears it
// away.
type bundleCopy struct {
	to   string
	made *staged // nil: none
}

// Begin copies the bundle whose files are in dir.
func (c *bundleCopy) Begin(ctx context.Context, dir string) {
	c.Drop()
	c.made = stage(ctx, dir, c.to)
}

// Read waits until the files are not needed any more.
func (c *bundleCopy) Read() {
	if c.made != nil {
		<-c.made.read
	}
}

// Drop removes a copy of a bundle that was given up.
func (c *bundleCopy) Drop() {
	if c.made != nil {
		_ = c.made.remove()
		c.made = nil
	}
}

// publish gives the copy its name, and makes one now of a bundle that was there before this run came to write its own.
func (c *bundleCopy) publish(ctx context.Context, from string) error {
	if c.made == nil {
		c.made = stage(ctx, from, c.to)
	}
	err := c.made.publish()
	c.made = nil
	if err != nil {
		return fmt.Errorf("copy the bundle: %w", err)
	}
	return nil
}

// A staged tree is a copy that has no name yet.
type staged struct {
	to, tmp string
	release func() error
	read    chan struct{} // closed when the source has been read
	done    chan struct{} // closed when the copy is durable, or err is set
	err     error
}

// stage begins to copy a bundle for a place that must be free.
func stage(ctx context.Context, from, to string) *staged {
	s := &staged{to: to, read: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		if s.err = s.copy(ctx, from); s.err == nil {
			s.err = atomicfile.SyncTree(ctx, s.dir())
		}
	}()
	return s
}

func (s *staged) dir() string { return filepath.Join(s.tmp, "bundle") }

func (s *staged) copy(ctx context.Context, from string) (err error) {
	defer close(s.read)
	if err := free(s.to); err != nil {
		return err
	}
	if s.tmp, s.release, err = bundle.Temp(s.to); err != nil {
		return err
	}
	workspace.Spread(s.tmp)
	_, err = workspace.Clone(ctx, from, s.dir())
	return err
}

func (s *staged) publish() error {
	<-s.done
	err := s.err
	if err == nil {
		err = free(s.to)
	}
	if err == nil {
		_ = os.Remove(s.to) // an empty directory, or nothing
		err = atomicfile.RenameDir(s.dir(), s.to)
	}
	return errors.Join(err, s.remove())
}

// remove removes what has no name.
func (s *staged) remove() error {
	<-s.done
	if s.release == nil {
		return nil
	}
	return errors.Join(workspace.Remove(s.tmp), s.release())
}
