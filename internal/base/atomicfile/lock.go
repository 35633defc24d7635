package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A writer waits this often, this long, for another one.
const (
	lockTries = 1000
	lockPause = 10 * time.Millisecond
)

// Unlock gives back the kernel's lock on a file, and closes it. Closing alone would not: a process that is just being started
// elsewhere in this one holds a copy of the descriptor for a moment.
func Unlock(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

// LockDir makes the writers of one directory wait for each other, for ten seconds at most. It is a kernel lock on the
// directory itself: it leaves no file behind, and ends with its process.
func LockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, Explain("lock "+dir, err)
	}
	for range lockTries {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return func() { _ = Unlock(f) }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			break
		}
		<-time.After(lockPause)
	}
	_ = f.Close() // the lock's error says more
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock %s: another process has held it for %v (let it end, then try again)", dir, lockTries*lockPause)
	}
	return nil, Explain("lock "+dir, err)
}
