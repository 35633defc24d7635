//go:build amd64 || arm64

package exectrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxPath = 4096
	// maxArgBytes bounds what is read of a command line, and of an environment.
	maxArgBytes = 128 << 10
)

// The files of /proc are read without package os, which would offer each to its poller first: a run waits for it.

// memory is a descriptor of the memory of a process.
type memory int

func openMemory(proc string) (memory, error) {
	fd, err := unix.Open(proc+"/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return memory(fd), err
}

func (m memory) close() { unix.Close(int(m)) }

// readAt reads what there is at an address, up to where nothing is.
func (m memory) readAt(p []byte, at uint64) (int, error) {
	for {
		n, err := unix.Pread(int(m), p, int64(at))
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

// readSmall reads a file that the kernel makes up, and that is shorter than a page.
func readSmall(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	return buf[:max(n, 0)], err
}

// readLink returns where a link leads to.
func readLink(path string) (string, error) {
	var buf [maxPath]byte
	n, err := unix.Readlink(path, buf[:])
	return string(buf[:max(n, 0)]), err
}

// text reads a string that ends with a zero byte, and as much of a longer one as there is room for.
func (m memory) text(at uint64, room int) (string, error) {
	var out []byte
	for size := 256; len(out) < room; size = min(2*size, maxPath) {
		chunk := make([]byte, min(size, room-len(out)))
		n, err := m.readAt(chunk, at+uint64(len(out)))
		if end := bytes.IndexByte(chunk[:n], 0); end >= 0 {
			return string(append(out, chunk[:end]...)), nil
		}
		if n == 0 {
			return "", fmt.Errorf("read a string: %w", err)
		}
		out = append(out, chunk[:n]...)
	}
	return string(out), nil
}

// list reads an array of strings that ends with a null pointer.
func (m memory) list(at uint64) ([]string, error) {
	var (
		out  []string
		room = maxArgBytes
	)
	for at != 0 && len(out) < maxArgs {
		var chunk [512]byte
		n, err := m.readAt(chunk[:], at)
		if n < 8 {
			return nil, fmt.Errorf("read an array: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		for i := 0; i+8 <= n; i += 8 {
			p := binary.LittleEndian.Uint64(chunk[i:])
			if p == 0 || room <= 0 || len(out) == maxArgs {
				return out, nil
			}
			s, err := m.text(p, room)
			if err != nil {
				return nil, err
			}
			out, room = append(out, s), room-len(s)-1
		}
		at += uint64(n / 8 * 8)
	}
	return out, nil
}

// A procStat is what says which process a number stands for, and whose child it is.
type procStat struct {
	parent int
	start  uint64 // clock ticks since boot: the number and this together are one process
}

var errStat = errors.New("unexpected format of /proc/<pid>/stat")

func readStat(pid int) (procStat, error) {
	data, err := readSmall("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	_, rest, ok := bytes.Cut(data[max(0, bytes.LastIndexByte(data, ')')):], []byte(") "))
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 20 {
		return procStat{}, errStat
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	start, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	if err1 != nil || err2 != nil {
		return procStat{}, errStat
	}
	return procStat{parent, start}, nil
}

// processOf returns the process of a thread. Most calls come from the thread that the process is named after.
func processOf(tid int) (int, error) {
	fd, err := unix.PidfdOpen(tid, 0)
	if err == nil {
		unix.Close(fd)
		return tid, nil
	}
	data, err := readSmall("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(data), "\nTgid:")
	line, _, _ := strings.Cut(rest, "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if !ok || err != nil {
		return 0, errors.New("unexpected format of /proc/<pid>/status")
	}
	return pid, nil
}

// ownsStdout reports whether descriptor 1 of a process leads to what ours leads to.
func ownsStdout(pid int) bool {
	var ours, theirs unix.Stat_t
	return unix.Fstat(1, &ours) == nil && unix.Stat("/proc/"+strconv.Itoa(pid)+"/fd/1", &theirs) == nil &&
		ours.Dev == theirs.Dev && ours.Ino == theirs.Ino
}
