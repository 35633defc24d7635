package settings

import (
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
)

// Runtimes says which backend runs a request that names none, where more runtime packages are, and how backends run.
// Packages never say which backend is the default: it is the caller's to know.
type Runtimes struct {
	DefaultBackend string `json:"default_backend,omitempty" jsonschema:"maxLength=512"`
	// Dirs are directories of packages, or packages. A relative one is taken from this file's directory.
	Dirs     []string                  `json:"dirs,omitempty"`
	Backends map[string]RuntimeBackend `json:"backends,omitempty"`
}

// A RuntimeBackend says how the providers of a backend run on this machine.
type RuntimeBackend struct {
	EnvFile   string   `json:"env_file,omitempty" jsonschema:"maxLength=4096"` // KEY=VALUE lines; secrets are looked up in it by name
	Hosts     []string `json:"hosts,omitempty"`                                // HOST[:PORT] that a contained provider may reach
	Isolation string   `json:"isolation,omitempty" jsonschema:"enum=none,enum=process,enum=namespace,enum=container"`
}

// A Secret says where the value of a secret is. It has exactly one of its first three members.
type Secret struct {
	Env     string   `json:"env,omitempty" jsonschema:"maxLength=512"`   // another variable of deed's environment
	File    string   `json:"file,omitempty" jsonschema:"maxLength=4096"` // a file that holds the value and nothing else
	Command []string `json:"command,omitempty"`                          // an argv that prints it; no shell
	// TimeoutSeconds bounds the command. 0: 10 seconds.
	TimeoutSeconds int `json:"timeout_seconds,omitempty" jsonschema:"minimum=0,maximum=300"`
}

// Validate returns every fault of the record.
func (r Runtimes) Validate() error {
	var l fault.List
	l.OptionalName("$.default_backend", r.DefaultBackend)
	for i, dir := range r.Dirs {
		l.Path(fault.Index("$.dirs", i), dir)
	}
	for _, name := range sorted(r.Backends) {
		at := fault.Field("$.backends", name)
		l.Name(at, name)
		l.Within(at, r.Backends[name].Validate())
	}
	return l.Err()
}

// Validate returns every fault of the record. Whether hosts are rules of the proxy is for internal/isolate/egress.
func (b RuntimeBackend) Validate() error {
	var l fault.List
	if b.EnvFile != "" {
		l.Path("$.env_file", b.EnvFile)
	}
	for i, host := range b.Hosts {
		l.Say(fault.Index("$.hosts", i), host)
	}
	if b.Isolation != "" {
		fault.OneOf(&l, "$.isolation", b.Isolation, deed.Isolations...)
	}
	return l.Err()
}

// Validate returns every fault of the record.
func (s Secret) Validate() error {
	var l fault.List
	given := 0
	for _, there := range []bool{s.Env != "", s.File != "", s.Command != nil} {
		if there {
			given++
		}
	}
	if given != 1 {
		l.Add("$", fault.Conflict, fmt.Sprintf("has %d of env, file and command", given), "say where the value is: with one of them")
	}
	if s.Env != "" {
		l.EnvName("$.env", s.Env)
	}
	if s.File != "" {
		l.Path("$.file", s.File)
	}
	if s.Command != nil && (len(s.Command) == 0 || strings.TrimSpace(s.Command[0]) == "") {
		l.Add("$.command", fault.Blank, "names no program", "write the argv of a program that prints the value")
	}
	if s.TimeoutSeconds != 0 && s.Command == nil {
		l.Add("$.timeout_seconds", fault.Conflict, "is set and there is no command", "leave it out")
	}
	l.Between("$.timeout_seconds", int64(s.TimeoutSeconds), 0, 300)
	return l.Err()
}

// validateRuntimes adds the faults of what a file says about runtime packages and secrets.
func (c Config) validateRuntimes(l *fault.List) {
	if c.Runtimes != nil {
		l.Within("$.runtimes", c.Runtimes.Validate())
	}
	for _, name := range sorted(c.Secrets) {
		at := fault.Field("$.secrets", name)
		l.EnvName(at, name)
		l.Within(at, c.Secrets[name].Validate())
	}
}
