//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func (s *Sandbox) outOfMemory() *LimitError {
	return &LimitError{Limit: RestrictMemory, Used: s.limits.MemoryBytes, Max: s.limits.MemoryBytes}
}

// killedForMemory reports whether the kernel ended a process of the container because its control group was full.
func (c *container) killedForMemory(pids []int) bool {
	for _, pid := range pids {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
			controller, group, _ := strings.Cut(rest, ":")
			if !strings.Contains(group, c.id) || controller != "memory" && controller != "" {
				continue
			}
			file := filepath.Join("/sys/fs/cgroup/memory", group, "memory.oom_control")
			if controller == "" {
				file = filepath.Join("/sys/fs/cgroup", group, "memory.events")
			}
			if counter(file, "oom_kill") > 0 {
				return true
			}
		}
	}
	return false
}

// memoryKills counts the processes of the machine that the kernel has ended for want of memory.
func memoryKills() int64 { return counter("/proc/vmstat", "oom_kill") }

// counter reads one number of a file of "name number" lines, or 0.
func counter(file, name string) int64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == name {
			n, _ := strconv.ParseInt(words[1], 10, 64)
			return n
		}
	}
	return 0
}
