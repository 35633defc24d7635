//go:build amd64 || arm64

package exectrace

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/proc"
)

// endBy ends this process by a signal, as if nothing had caught it. It returns where the kernel does not deliver one: to
// the first process of a pid namespace.
func endBy(sig unix.Signal) {
	var byDefault [4]uint64 // a struct sigaction of the kernel: handler, flags, restorer, mask
	const maskSize = 8
	// The runtime takes back no handler of a signal that it uses itself.
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&byDefault)), 0, maskSize, 0, 0)
	proc.KeepPrivate() // and leave no core: the command has left its own
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
}
