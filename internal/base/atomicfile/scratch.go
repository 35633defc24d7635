package atomicfile

import (
	"os"
	"regexp"
	"sync"

	"golang.org/x/sys/unix"
)

// Scratch creates a directory of its own in the system's directory for temporary files, for what has no home to be in. It has an owner
// as TempDir's has, and a name that says so: whoever finds it later asks Orphaned. done removes it and gives it back; what the caller
// cannot expect os.RemoveAll to remove it removes before.
func Scratch(kind string) (dir string, done func(), err error) {
	dir, release, err := TempDir("", "deed-"+kind+"-*.tmp")
	if err != nil {
		return "", nil, err
	}
	return dir, func() {
		_ = os.RemoveAll(dir)
		release()
	}, nil
}

// ScratchKind is what a name was given to Scratch for, or "" for a name that Scratch does not give.
func ScratchKind(name string) string {
	if m := scratchName().FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

var scratchName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^deed-([a-z]+)-[0-9]+\.tmp$`) })

// Orphaned reports whether the owner of a temporary file or directory is known to be dead, and locks it until release. Unlike with
// Abandoned, what cannot be opened or locked may have an owner: the directory that it is in is everybody's.
func Orphaned(dir *os.File, name string) (release func(), ok bool) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {}, false
	}
	release = unlocker(fd)
	var held, named unix.Stat_t
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil || unix.Fstat(fd, &held) != nil ||
		unix.Fstatat(int(dir.Fd()), name, &named, unix.AT_SYMLINK_NOFOLLOW) != nil || held.Dev != named.Dev || held.Ino != named.Ino {
		release()
		return func() {}, false
	}
	return release, true
}
