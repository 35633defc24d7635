package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"golang.org/x/sys/unix"
)

// ErrLocked says that another process dispatches in this home.
var ErrLocked = errors.New("another process dispatches in this home")

// A Holder is who holds, or last held, the dispatch lock.
type Holder struct {
	PID       int       `json:"pid"`
	RunnerID  string    `json:"runner_id"`
	CreatedAt time.Time `json:"created_at"`
}

// A Lock is the dispatch lock of a home: at most one process evaluates schedules and claims from the queue. It is a kernel lock on an open file, so it ends with its process whatever way that ends, and there is
// no moment between finding a stale lock and taking it. The file's text only tells who holds it.
type Lock struct {
	f *os.File
	// Stale is the holder that ended without releasing the lock; nil after a clean release.
	Stale *Holder
}

// Lock takes the dispatch lock without waiting. When it is held, the error wraps ErrLocked and names the holder.
func (h *Home) Lock(me Holder) (*Lock, error) {
	path := filepath.Join(h.root, "dispatch.lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unusable(h.root, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		was := readHolder(f)
		_ = f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if was == nil {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("%w: pid %d, runner %s, since %s", ErrLocked, was.PID, was.RunnerID, was.CreatedAt.Format(time.RFC3339))
	}
	l := &Lock{f: f, Stale: readHolder(f)}
	text, err := json.Marshal(me)
	if err == nil {
		err = rewrite(f, append(text, '\n'))
	}
	if err != nil {
		_ = f.Close()
		return nil, unusable(h.root, err)
	}
	return l, nil
}

// Release empties the file and gives the lock back. An empty file is how the next holder knows that this one
// ended well.
func (l *Lock) Release() error {
	err := rewrite(l.f, nil)
	return errors.Join(err, atomicfile.Unlock(l.f))
}

// HolderGone reports whether the process that the lock file names does not run any more.
func (h *Home) HolderGone() bool {
	f, err := os.Open(filepath.Join(h.root, "dispatch.lock"))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	who := readHolder(f)
	return who != nil && who.PID > 0 && errors.Is(unix.Kill(who.PID, 0), unix.ESRCH)
}

func rewrite(f *os.File, text []byte) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(text, 0)
	return err
}

func readHolder(f *os.File) *Holder {
	buf := make([]byte, 4096)
	n, _ := f.ReadAt(buf, 0)
	if n == 0 {
		return nil
	}
	var who Holder
	if json.Unmarshal(buf[:n], &who) != nil {
		return &Holder{}
	}
	return &who
}
