//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/proc"
)

// A memory is the file in which a process records for the next ones that a bubblewrap works here. It saves the trial and never
// weakens the isolation. It counts only for the same bubblewrap and the same deed since the same boot, the path of bubblewrap
// still comes from PATH, and a run whose sandbox cannot be built does not start, whatever was remembered.
type memory struct {
	Of      string `json:"of"`      // what was tried, as subject describes it
	Version string `json:"version"` // of bubblewrap
}

// Remember has this process believe what an earlier one found out about bubblewrap, and leave what it finds out itself,
// in a file that only deed's user may write. It is called before the first sandbox is made.
func Remember(file string) {
	known.Lock()
	defer known.Unlock()
	known.file = file
}

// recall returns what is remembered of a bubblewrap, or "".
func recall(file, path string) string {
	if file == "" {
		return ""
	}
	var m memory
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &m) != nil || m.Of == "" || m.Of != subject(path) {
		return ""
	}
	return m.Version
}

// keep writes down that a bubblewrap works. Without the file the next process tries again.
func keep(file string, b bubblewrap) {
	of := subject(b.path)
	if file == "" || of == "" {
		return
	}
	if data, err := json.Marshal(memory{Of: of, Version: b.version}); err == nil {
		_ = atomicfile.Replace(file, data, 0o600)
	}
}

// dropRemembered gives up what is known after a sandbox could not be built: the next one is tried first.
func dropRemembered() {
	known.Lock()
	defer known.Unlock()
	known.bubblewrap = bubblewrap{}
	if known.file != "" {
		_ = os.Remove(known.file)
	}
}

// subject names everything on which the outcome of a trial depends and that can be asked cheaply, or "".
func subject(path string) string {
	self, err := proc.SelfIdentity()
	if err != nil || self.BootID == "" {
		return ""
	}
	out := []string{self.BootID, self.Namespace, fmt.Sprint(os.Getuid())}
	for _, file := range []string{path, "/proc/self/exe"} {
		st, err := os.Stat(file)
		if err != nil {
			return ""
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok {
			return ""
		}
		out = append(out, fmt.Sprint(sys.Dev, sys.Ino, st.Size(), st.Mode(), st.ModTime().UnixNano(), sys.Ctim))
	}
	for _, file := range []string{"/proc/self/attr/current", "/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "/proc/sys/kernel/unprivileged_userns_clone"} {
		text, _ := os.ReadFile(file) // a kernel without it says so by an empty word
		out = append(out, strings.TrimSpace(string(text)))
	}
	return path + "|" + strings.Join(out, "|")
}
