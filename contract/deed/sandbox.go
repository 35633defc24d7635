package deed

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// Toolchains lists the profiles that a sandbox can be given: what a build of that kind needs to find, read-only.
var Toolchains = []string{"go", "node", "php", "python", "rust"}

// A Sandbox says what a contained agent, and the checks of its work, can reach. Everything that it does not name is
// out of reach. It has no effect under the isolations none and process, except for its limits and its environment.
type Sandbox struct {
	Network           []string          `json:"network,omitempty"`                                                                  // host names with an optional port that may be reached, as api.example.com:443; empty: no network. Checks never get any
	Mounts            []Mount           `json:"mounts,omitempty"`                                                                   // files and directories of the machine, read-only
	Toolchains        *[]string         `json:"toolchains,omitempty" jsonschema:"enum=go,enum=node,enum=php,enum=python,enum=rust"` // absent: those that the workspace's files call for
	Limits            *Limits           `json:"limits,omitempty"`                                                                   // absent: the defaults of the containment
	Env               map[string]string `json:"env,omitempty"`                                                                      // for the agent and the checks; no secrets
	Runtime           json.RawMessage   `json:"runtime,omitempty"`                                                                  // a deed/runtime-stack/v1: components, plugins, overlays and WordPress itself
	Tools             json.RawMessage   `json:"tools,omitempty"`                                                                    // the decisions on tools that led to all this; recorded
	ReadOnlyWorkspace bool              `json:"read_only_workspace,omitempty"`                                                      // the agent may look and not change
}

// A Mount shows a file or a directory of the machine inside a sandbox. The agent can read it and not change it.
type Mount struct {
	Source string `json:"source" jsonschema:"minLength=1,maxLength=4096"` // absolute, on the machine
	Target string `json:"target,omitempty" jsonschema:"maxLength=4096"`   // absolute, inside; empty: the same path
}

// Limits bound what the processes of one run use together. 0 is the default, -1 no limit.
type Limits struct {
	MemoryBytes int64 `json:"memory_bytes,omitempty" jsonschema:"minimum=-1"`
	Processes   int64 `json:"processes,omitempty" jsonschema:"minimum=-1"`
	FileBytes   int64 `json:"file_bytes,omitempty" jsonschema:"minimum=-1"` // the size of a single file
	OpenFiles   int64 `json:"open_files,omitempty" jsonschema:"minimum=-1"` // of a single process
	DiskBytes   int64 `json:"disk_bytes,omitempty" jsonschema:"minimum=-1"` // what the run writes altogether
}

// minMemory and minProcesses keep a limit from being one under which nothing starts.
const (
	minMemory    = 16 << 20
	minProcesses = 4
	minOpenFiles = 16
)

// Validate returns every fault of the record. What a name of a host may be is for the proxy to say.
func (s Sandbox) Validate() error {
	var l fault.List
	for i, h := range s.Network {
		at := fault.Index("$.network", i)
		l.Name(at, h)
		if strings.ContainsAny(h, "/ \t") {
			l.Add(at, fault.BadFormat, fmt.Sprintf("%q is not a host", clip(h)), "write a host with an optional port, as in api.example.com:443, without a scheme or a path")
		}
	}
	for i, m := range s.Mounts {
		if err := m.Validate(); err != nil {
			l.Within(fault.Index("$.mounts", i), err)
		}
		if slices.ContainsFunc(s.Mounts[:i], func(o Mount) bool { return o.Inside() == m.Inside() }) {
			l.Add(fault.Index("$.mounts", i)+".target", fault.Duplicate, fmt.Sprintf("%q is there twice", clip(m.Inside())), "mount each target once")
		}
	}
	if s.Toolchains != nil {
		for i, name := range *s.Toolchains {
			fault.OneOf(&l, fault.Index("$.toolchains", i), name, Toolchains...)
		}
	}
	if s.Limits != nil {
		for _, f := range []struct {
			name         string
			value, least int64
		}{
			{"memory_bytes", s.Limits.MemoryBytes, minMemory},
			{"processes", s.Limits.Processes, minProcesses},
			{"file_bytes", s.Limits.FileBytes, 1},
			{"open_files", s.Limits.OpenFiles, minOpenFiles},
			{"disk_bytes", s.Limits.DiskBytes, 1},
		} {
			if f.value < -1 || (f.value > 0 && f.value < f.least) {
				l.Add("$.limits."+f.name, fault.OutOfRange, fmt.Sprintf("%d is too little", f.value), fmt.Sprintf("give at least %d, 0 for the default or -1 for none", f.least))
			}
		}
	}
	l.Env("$.env", s.Env)
	l.OptionalObject("$.runtime", s.Runtime)
	l.OptionalObject("$.tools", s.Tools)
	return l.Err()
}

// Inside is where the mount is seen.
func (m Mount) Inside() string {
	if m.Target != "" {
		return m.Target
	}
	return m.Source
}

// Validate returns every fault of the mount.
func (m Mount) Validate() error {
	var l fault.List
	absolute(&l, "$.source", m.Source)
	if m.Target != "" {
		absolute(&l, "$.target", m.Target)
	}
	return l.Err()
}

// absolute wants a clean absolute path below the root.
func absolute(l *fault.List, at, p string) {
	l.Path(at, p)
	if p != "" && (!path.IsAbs(p) || path.Clean(p) != p || p == "/") {
		l.Add(at, fault.BadFormat, fmt.Sprintf("%q is not a clean absolute path", clip(p)), "write the whole path, without . or .. in it")
	}
}
