//go:build unix && !linux

package workspace

import "golang.org/x/sys/unix"

func openBeneath(dir int, rel string, flags int) (int, error) { return openBySteps(dir, rel, flags) }

func fsClock(string) (ns int64, grained, ok bool) { return 0, true, false }

func chmodDirAt(dir int, name string, mode uint32) error {
	return unix.Fchmodat(dir, name, mode, unix.AT_SYMLINK_NOFOLLOW)
}

// holesIn is not known here; the limit on the bytes of a tree holds.
func holesIn(int, *unix.Stat_t) int64 { return 0 }
