package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/settings"
)

// Runtimes is what is configured of runtime packages. Paths are absolute.
type Runtimes struct {
	Dirs     []string
	Backends map[string]settings.RuntimeBackend

	own, project DefaultBackend // what the operator's file and the project's say
}

// A DefaultBackend is who runs a request that names no backend, and the file that says so.
type DefaultBackend struct{ Backend, File string }

func (c *Config) joinRuntimes(s settings.Config, file string, project bool) {
	dir := filepath.Dir(file)
	if r := s.Runtimes; r != nil {
		to := &c.Runtimes.own
		if project {
			to = &c.Runtimes.project
		}
		if r.DefaultBackend != "" {
			*to = DefaultBackend{r.DefaultBackend, file}
		}
		for _, d := range r.Dirs {
			c.Runtimes.Dirs = append(c.Runtimes.Dirs, absolute(d, dir))
		}
		for name, b := range r.Backends {
			b.EnvFile = absolute(b.EnvFile, dir)
			c.Runtimes.Backends[name] = b
		}
	}
	for name, x := range s.Secrets {
		x.File = absolute(x.File, dir)
		if len(x.Command) > 0 {
			x.Command = slices.Clone(x.Command)
			x.Command[0] = command(x.Command[0], dir)
		}
		c.Secrets[name] = x
	}
}

// DefaultBackend returns the default backend for work in some directories: what the projects that they belong to say, else
// what the operator says, else nothing. Projects that say different things have no default between them, and the error
// names their files.
func (c *Config) DefaultBackend(dirs ...string) (DefaultBackend, error) {
	said := map[string]DefaultBackend{}
	if p := c.Runtimes.project; p.Backend != "" {
		said[p.File] = p
	}
	for _, dir := range dirs {
		file := Find(dir)
		if file == "" || slices.Contains(c.Files, file) {
			continue
		}
		project := Default()
		if err := project.add(file, true, true); err != nil {
			return DefaultBackend{}, err
		}
		if p := project.Runtimes.project; p.Backend != "" {
			said[p.File] = p
		}
	}
	if len(said) == 0 {
		return c.Runtimes.own, nil
	}
	files := slices.Sorted(maps.Keys(said))
	for _, file := range files[1:] {
		if said[file].Backend != said[files[0]].Backend {
			var each []string
			for _, f := range files {
				each = append(each, fmt.Sprintf("%s says %q", f, said[f].Backend))
			}
			return DefaultBackend{}, fmt.Errorf("runtimes.default_backend: %s (name the backend in the request)", strings.Join(each, ", and "))
		}
	}
	return said[files[0]], nil
}
