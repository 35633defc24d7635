package gc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mounts unmounts what dead attempts left mounted below their directories, innermost first. A sandbox's mounts die with
// its namespace; this is for what somebody mounted in deed's own.
func (s *sweep) mounts(ctx context.Context) error {
	points, err := s.mountPoints()
	if err != nil {
		return err
	}
	for i := len(points) - 1; i >= 0; i-- { // the newest is mounted on the older ones
		p := points[i]
		rel, err := s.Home.Rel(p)
		if err != nil {
			return err
		}
		id, alive, err := s.owner(ctx, rel)
		if err != nil {
			return err
		}
		f := Finding{Kind: KindMount, Path: p, Owner: id, Reason: "its attempt is settled", Action: ActionUnmount}
		if id == "" {
			f.Reason = "no attempt has this name"
		}
		if alive {
			if s.Deep {
				f.Reason = "its owner is alive"
				s.leave(f)
			}
			continue
		}
		s.do(f, func() error {
			// Lazy: what still has files open in it goes when they are closed, and nothing new can be reached.
			err := unix.Unmount(p, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
			if err != nil && s.mountedBelow(p) != "" { // else another sweeper, or whoever mounted it, was faster
				return fmt.Errorf("unmount %s: %w (unmount it as root)", p, err)
			}
			return nil
		})
	}
	return nil
}

// mountPoints lists what is mounted where attempts live, in the order of mounting.
func (s *sweep) mountPoints() ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("look for mounts: %w", err)
	}
	var out []string
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		fields := strings.Fields(sc.Text())
		if len(fields) < 5 {
			continue
		}
		p := unescape(fields[4])
		if below(p, s.Home.Attempts()) || below(p, s.Home.Tmp()) {
			out = append(out, p)
		}
	}
	return out, sc.Err()
}

// unescape reads the octal escapes of mountinfo.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

// mountedBelow returns a mount point at or below a path, or "".
func (s *sweep) mountedBelow(path string) string {
	points, err := s.mountPoints()
	if err != nil {
		return "what is mounted is not known: " + err.Error()
	}
	for _, p := range points {
		if p == path || below(p, path) {
			return p
		}
	}
	return ""
}
