package sandbox

import "fmt"

// The states of a Wall.
const (
	Enforced      = "enforced"       // the kernel refuses what violates it
	Monitored     = "monitored"      // it is watched, and a run that violates it is killed within a second or two
	NotConfigured = "not_configured" // there is none
)

// The names of restrictions.
const (
	RestrictFilesystem  = "filesystem"
	RestrictNetwork     = "network"
	RestrictProcessView = "process_isolation"
	RestrictPrivileges  = "privileges"
	RestrictSyscalls    = "syscalls"
	RestrictMemory      = "memory"
	RestrictProcesses   = "processes"
	RestrictFileSize    = "file_size"
	RestrictOpenFiles   = "open_files"
	RestrictDisk        = "disk"
)

// A Restriction is one bound on what a command in a sandbox can do, and how strictly it holds here and now.
type Restriction struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	By     string `json:"by,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Restrictions lists what holds, every name once.
func (s *Sandbox) Restrictions() []Restriction {
	var list []Restriction
	memory := Restriction{RestrictMemory, Monitored, "monitor", "bytes of all processes; buffers of the kernel are not counted, file systems in memory have a size of their own"}
	if s.kind == Namespace || s.kind == Container {
		by := "bubblewrap"
		if s.kind == Container {
			by = "podman"
			memory.State, memory.By, memory.Detail = Enforced, "cgroup", "bytes of all processes, with file systems in memory and buffers of files"
		}
		network := "no interface but its own loopback"
		if s.egress != "" {
			network = "no interface but its own loopback; one socket leads to deed's proxy"
		}
		list = append(list,
			Restriction{RestrictFilesystem, Enforced, by, fmt.Sprintf("read-only system and %d mounts; nothing else exists", len(s.mounts))},
			Restriction{RestrictNetwork, Enforced, by, network},
			Restriction{RestrictProcessView, Enforced, by, "own pid, ipc, uts and user namespaces; the kernel ends everything with the run"},
			Restriction{RestrictPrivileges, Enforced, by, "no capabilities, no new privileges, no user namespaces inside"},
			Restriction{RestrictSyscalls, Enforced, "seccomp", "mounts, namespaces, tracing, keys, modules, io_uring and others are refused"},
		)
	} else {
		list = append(list,
			Restriction{Name: RestrictFilesystem, State: NotConfigured, Detail: "the command reads and writes what deed's user can"},
			Restriction{Name: RestrictNetwork, State: NotConfigured, Detail: "the network of the host"},
			Restriction{Name: RestrictProcessView, State: NotConfigured, Detail: "it sees and can signal all processes of deed's user; its own end with the run"},
			Restriction{Name: RestrictPrivileges, State: NotConfigured, Detail: "those of deed's user"},
			Restriction{Name: RestrictSyscalls, State: NotConfigured},
		)
	}
	limit := func(name string, value int64, state, by, detail string) {
		if value <= 0 {
			list = append(list, Restriction{Name: name, State: NotConfigured})
			return
		}
		list = append(list, Restriction{name, state, by, fmt.Sprintf("%d; %s", value, detail)})
	}
	limit(RestrictMemory, s.limits.MemoryBytes, memory.State, memory.By, memory.Detail)
	limit(RestrictProcesses, s.limits.Processes, Monitored, "monitor", fmt.Sprintf("and at most %d threads", s.limits.Processes*threadsPerProcess))
	limit(RestrictFileSize, s.limits.FileBytes, Enforced, "rlimit", "bytes of one file")
	limit(RestrictOpenFiles, s.limits.OpenFiles, Enforced, "rlimit", "of one process")
	disk := s.limits.DiskBytes
	if len(s.watch) == 0 {
		disk = 0
	}
	limit(RestrictDisk, disk, Monitored, "monitor", fmt.Sprintf("bytes in %d watched directories", len(s.watch)))
	return list
}

// threadsPerProcess relates the limit on processes to that on threads: compilers and runtimes start several for each
// processor.
const threadsPerProcess = 32
