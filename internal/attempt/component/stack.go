package component

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A Stack is a mount of runtime files. It is read-only, and it is the source itself, not a copy.
type Stack struct {
	Source string
	Target string // absolute
	Mode   string // "" or readonly
	At     string // its path in the wire request; "": by list and index
}

// reserved are the paths inside a sandbox that a caller must not cover.
var reserved = []string{"/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run/deed", "/sbin", "/sys", "/usr"}

// stack reads the three lists of runtime mounts.
func (r *resolver) stack() []Mount {
	var out []Mount
	for _, l := range []struct {
		name string
		list []Stack
	}{
		{"runtime_stack_mounts", r.req.StackMounts},
		{"runtime_config_mounts", r.req.ConfigMounts},
		{"runtime_state_mounts", r.req.StateMounts},
	} {
		for i, s := range l.list {
			at := at(s.At, l.name, i)
			source := r.source(at+".source", s.Source)
			target, ok := r.target(at+".target", s.Target)
			if s.Mode != "" && s.Mode != "readonly" {
				r.faults.Add(at+".mode", fault.NotAllowed, fmt.Sprintf("%.80q is not allowed", s.Mode), "use readonly; what is to be changed belongs in workspaces, of which the run gets a copy")
			}
			if source != "" && ok {
				out = append(out, Mount{Source: source, Target: target, ReadOnly: true})
				r.taken = append(r.taken, taken{at + ".target", target})
			}
		}
	}
	return out
}

// target normalises a place inside the sandbox: backslashes are slashes and repeated slashes are one.
func (r *resolver) target(at, t string) (string, bool) {
	n := r.faults.Len()
	r.faults.Path(at, t)
	if r.faults.Len() > n {
		return "", false
	}
	s := strings.ReplaceAll(t, `\`, "/")
	segments := strings.Split(s, "/")
	if !strings.HasPrefix(s, "/") || slices.Contains(segments, ".") || slices.Contains(segments, "..") {
		r.faults.Add(at, fault.BadFormat, fmt.Sprintf("%.80q is not an absolute path without . and ..", t), "write a path such as /runtime/agents-api")
		return "", false
	}
	s = path.Clean(s)
	if s == "/" || slices.ContainsFunc(reserved, func(p string) bool { return workspace.Within(s, p) || workspace.Within(p, s) }) {
		r.faults.Add(at, fault.NotAllowed, fmt.Sprintf("%.80q would cover the system of the sandbox", t), "use a path such as /runtime/agents-api")
		return "", false
	}
	return s, true
}
