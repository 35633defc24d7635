package atomicfile

import (
	"errors"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A ring has the kernel sync many files for one call (io_uring). It waits for all of them at the same time, so that those that come
// together share one flush of the disk, and none of them takes a thread of this process: of goroutines that call fsync, only as many wait
// at once as there are processors, because each keeps its place in Go's scheduler. Goroutines do it where the kernel has no rings, or
// forbids them.
type ring struct {
	files  []*os.File
	asked  int // so many of files were handed over
	fd     int
	poll   *os.File // fd, to be waited for
	queues []byte   // shared with the kernel: which of asks are asked, and the answers
	asks   []byte   // shared with the kernel
	param  ringParam
}

// ringParam is struct io_uring_params: what the kernel says of a new ring, and where in queues it has what.
type ringParam struct {
	asks, answers uint32 // how many there is room for
	_             [3]uint32
	features      uint32
	_             [4]uint32
	ask           struct { // struct io_sqring_offsets
		head, tail, mask, entries, flags, dropped, list, _ uint32
		_                                                  uint64
	}
	answer struct { // struct io_cqring_offsets
		head, tail, mask, entries, overflow, list, flags, _ uint32
		_                                                   uint64
	}
}

// ringAsk is struct io_uring_sqe.
type ringAsk struct {
	op       uint8
	_        [3]uint8
	fd       int32
	_        [24]byte
	userData uint64
	_        [24]byte
}

// ringAnswer is struct io_uring_cqe.
type ringAnswer struct {
	userData uint64
	result   int32
	_        uint32
}

const (
	ringFsync     = 3       // IORING_OP_FSYNC
	ringSingleMap = 1 << 0  // IORING_FEAT_SINGLE_MMAP: kernels since 5.4
	ringAsksAt    = 1 << 28 // IORING_OFF_SQES
	ringGetEvents = 1 << 0  // IORING_ENTER_GETEVENTS

	askBytes    = int(unsafe.Sizeof(ringAsk{}))
	answerBytes = int(unsafe.Sizeof(ringAnswer{}))

	ringLeast = 4 // fewer files are not worth a ring
)

// beginRing hands the files to the kernel. False: no ring is to be had, and nothing was begun.
func beginRing(files []*os.File) (*ring, bool) {
	if len(files) < ringLeast {
		return nil, false
	}
	r := &ring{files: files}
	if err := r.open(); err != nil {
		return nil, false
	}
	for i, f := range files {
		*(*ringAsk)(unsafe.Pointer(&r.asks[i*askBytes])) = ringAsk{op: ringFsync, fd: int32(f.Fd()), userData: uint64(i)}
		*r.word(r.param.ask.list + uint32(i)*4) = uint32(i)
	}
	atomic.StoreUint32(r.word(r.param.ask.tail), uint32(len(files)))
	for r.asked < len(files) {
		n, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(len(files)-r.asked), 0, 0, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || n == 0 {
			break // wait syncs the rest
		}
		r.asked += int(n)
	}
	return r, true
}

func (r *ring) open() error {
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(len(r.files)), uintptr(unsafe.Pointer(&r.param)), 0)
	if errno != 0 {
		return errno
	}
	err := unix.SetNonblock(int(fd), true) // so that Go waits for it as it waits for a socket
	r.fd, r.poll = int(fd), os.NewFile(fd, "io_uring")
	if err == nil && r.param.features&ringSingleMap == 0 {
		err = unix.ENOSYS
	}
	if err == nil {
		size := max(int(r.param.ask.list)+4*int(r.param.asks), int(r.param.answer.list)+answerBytes*int(r.param.answers))
		r.queues, err = unix.Mmap(r.fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	}
	if err == nil {
		r.asks, err = unix.Mmap(r.fd, ringAsksAt, askBytes*int(r.param.asks), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	}
	if err != nil {
		r.close()
	}
	return err
}

func (r *ring) close() {
	if r.asks != nil {
		_ = unix.Munmap(r.asks)
	}
	if r.queues != nil {
		_ = unix.Munmap(r.queues)
	}
	_ = r.poll.Close()
}

func (r *ring) word(at uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.queues[at])) }

// wait returns when every file is durable, or says which is not.
func (r *ring) wait() error {
	defer r.close()
	var faults []error
	for _, f := range r.files[r.asked:] {
		faults = append(faults, syncFile(f))
	}
	left := r.asked
	take := func(uintptr) bool {
		for _, a := range r.answers() {
			left--
			f := r.files[a.userData]
			switch err := unix.Errno(-a.result); {
			case a.result >= 0:
			case err == unix.EINTR, err == unix.EAGAIN, err == unix.ECANCELED: // not done, and nothing was said about the disk
				faults = append(faults, syncFile(f))
			default:
				faults = append(faults, Explain("sync "+f.Name(), &os.PathError{Op: "sync", Path: f.Name(), Err: err}))
			}
		}
		return left == 0
	}
	conn, err := r.poll.SyscallConn()
	if err == nil {
		err = conn.Read(take)
	}
	for err != nil && !take(0) { // it cannot be waited for as a socket: wait in the kernel, for the files are its own until it answers
		if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), 0, 1, ringGetEvents, 0, 0); errno != 0 && errno != unix.EINTR {
			return errors.Join(append(faults, os.NewSyscallError("io_uring_enter", errno))...)
		}
	}
	return errors.Join(faults...)
}

// answers takes what the kernel has answered.
func (r *ring) answers() []ringAnswer {
	at := r.param.answer
	head, tail := *r.word(at.head), atomic.LoadUint32(r.word(at.tail))
	var out []ringAnswer
	for ; head != tail; head++ {
		slot := head & *r.word(at.mask)
		out = append(out, *(*ringAnswer)(unsafe.Pointer(&r.queues[int(at.list)+answerBytes*int(slot)])))
	}
	atomic.StoreUint32(r.word(at.head), head)
	return out
}
