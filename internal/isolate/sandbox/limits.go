package sandbox

import (
	"github.com/deedrun/deed/internal/base/proc"
)

// The defaults of the kinds with limits.
const (
	defaultMemory    = 4 << 30 // or three quarters of what the machine has
	defaultProcesses = 1024
	defaultFile      = 4 << 30
	defaultOpenFiles = 4096
	defaultDisk      = 8 << 30
)

// maxEntries is how many files and directories the watched directories may hold: as many as a walk looks at. A run that
// makes more is ended, or it could hide what it fills behind empty files.
const maxEntries = 4 << 20

// oomScore has the kernel's memory killer take a sandbox before the rest of the machine.
const oomScore = 500

// resolve fills in the defaults, so that no zero is left.
func (l Limits) resolve(k Kind) Limits {
	fill := func(v *int64, standard int64) {
		switch {
		case *v != 0:
		case k == None:
			*v = -1
		default:
			*v = standard
		}
	}
	memory := int64(defaultMemory)
	if total := totalMemory(); total > 0 {
		memory = min(memory, total/4*3)
	}
	fill(&l.MemoryBytes, memory)
	fill(&l.Processes, defaultProcesses)
	fill(&l.FileBytes, defaultFile)
	fill(&l.OpenFiles, defaultOpenFiles)
	fill(&l.DiskBytes, defaultDisk)
	return l
}

// kernel adds the limits that the kernel enforces to those of a Spec, which may be narrower. The limit on processes
// is not among them: outside a user namespace it counts everything of deed's user, and root is not held to it.
func (l Limits) kernel(p proc.Limits, k Kind) proc.Limits {
	if l.FileBytes > 0 && (p.FileSize <= 0 || p.FileSize > l.FileBytes) {
		p.FileSize = l.FileBytes
	}
	if l.OpenFiles > 0 && (p.OpenFiles == 0 || p.OpenFiles > uint64(l.OpenFiles)) {
		p.OpenFiles = uint64(l.OpenFiles)
	}
	if k != None && p.OOMScore == 0 {
		p.OOMScore = oomScore
	}
	return p
}

// tmpfs returns how large each file system in memory may become.
func (l Limits) tmpfs() int64 {
	memory := l.MemoryBytes
	if memory <= 0 {
		memory = max(totalMemory(), defaultMemory)
	}
	return max(memory/4, 1<<20)
}
