package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mount is one that was checked, or a tmpfs.
type mount struct {
	given    string // the source as it was named; empty for a tmpfs
	source   string // the same without links; empty for a tmpfs
	target   string
	writable bool
	yields   bool // a place for another mount may be made in it
	dir      bool
	parent   int // index of the mount that the target lies in, or -1
}

// mode returns the type of file that is mounted.
func (m mount) mode() fs.FileMode {
	if m.dir {
		return fs.ModeDir
	}
	return 0
}

// systemDirs are what every sandbox sees of the host, read-only.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// The way out of a sandbox that has one.
const (
	innerPath  = "/run/deed/inner"
	egressPath = "/run/deed/egress.sock"
)

// sealedTargets are where nothing can be mounted, nor below them: it would hide the system, or what deed puts there.
// The rest of /run/deed is for what deed itself mounts.
var sealedTargets = slices.Concat(systemDirs, []string{"/proc", "/dev", "/sys", innerPath, egressPath})

// sealedSources are what is never shown, nor what lies below them: through them a process sees the host itself.
var sealedSources = []string{"/proc", "/sys", "/dev"}

// resolveMounts checks the mounts of a Spec, and orders them: a parent before what lies in it.
func resolveMounts(spec Spec) ([]mount, []error) {
	var (
		list   []mount
		faults []error
		taken  = map[string]string{}
	)
	claim := func(field, target string) {
		if err := CheckTarget(target); err != nil {
			faults = append(faults, fmt.Errorf("%s: target %q %w", field, target, err))
		}
		if other := taken[target]; other != "" {
			faults = append(faults, fmt.Errorf("%s: target %q is also that of %s", field, target, other))
		}
		taken[target] = field
	}
	for i, m := range spec.Mounts {
		field := fmt.Sprintf("mounts[%d]", i)
		claim(field, m.Target)
		source, dir, err := resolveSource(m.Source)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: source %q %w", field, m.Source, err))
			continue
		}
		list = append(list, mount{given: m.Source, source: source, target: m.Target, writable: m.Writable, yields: m.Writable || m.Own, dir: dir})
	}
	for i, target := range spec.Tmpfs {
		claim(fmt.Sprintf("tmpfs[%d]", i), target)
		list = append(list, mount{target: target, writable: true, dir: true})
	}
	if taken["/tmp"] == "" {
		list = append(list, mount{target: "/tmp", writable: true, dir: true})
	}
	slices.SortFunc(list, func(a, b mount) int {
		return cmp.Or(cmp.Compare(strings.Count(a.target, "/"), strings.Count(b.target, "/")), cmp.Compare(a.target, b.target))
	})
	for i := range list {
		list[i].parent = -1
		for j := range i { // the last match is the deepest
			if _, ok := below(list[j].target, list[i].target); ok {
				list[i].parent = j
			}
		}
	}
	return list, faults
}

// CheckTarget says why nothing can be mounted at a place inside, or returns nil.
func CheckTarget(target string) error {
	switch {
	case !filepath.IsAbs(target) || filepath.Clean(target) != target || strings.IndexByte(target, 0) >= 0:
		return errors.New("is not an absolute path without ., .. and double slashes")
	case target == "/" || target == "/etc" || target == "/run" || target == "/run/deed":
		return errors.New("would hide the system (choose a directory of its own)")
	}
	for _, dir := range sealedTargets {
		if _, ok := below(dir, target); ok {
			return fmt.Errorf("would hide the system (nothing can be mounted in %s)", dir)
		}
	}
	for _, file := range etcMadeUp {
		if _, ok := below(file.path, target); ok {
			return fmt.Errorf("would hide %s, which deed makes up", file.path)
		}
	}
	for _, path := range slices.Concat(etcShown, etcCopied) {
		if _, ok := below(path, target); ok {
			return fmt.Errorf("would hide the host's %s, which is there already", path)
		}
	}
	return nil
}

// CheckSource says why a path of the host cannot be shown, or returns nil.
func CheckSource(source string) error {
	if _, _, err := resolveSource(source); err != nil {
		return err
	}
	if HoldsSockets(source) {
		return errors.New("is where services have their sockets, which bypass the network isolation (name a directory apart from it)")
	}
	return nil
}

// resolveSource returns the source without links. Its last component may not be one: who named it named something
// else than what would be mounted.
func resolveSource(source string) (resolved string, dir bool, err error) {
	if !filepath.IsAbs(source) || filepath.Clean(source) != source || strings.IndexByte(source, 0) >= 0 {
		return "", false, errors.New("is not an absolute path without ., .. and double slashes")
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(source))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, errors.New("does not exist")
	}
	if err != nil {
		return "", false, err
	}
	resolved = filepath.Join(parent, filepath.Base(source))
	st, err := os.Lstat(resolved)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, errors.New("does not exist")
	case err != nil:
		return "", false, err
	case st.Mode()&fs.ModeSymlink != 0:
		return "", false, errors.New("is a symbolic link (name what it leads to)")
	case !st.IsDir() && !st.Mode().IsRegular():
		return "", false, errors.New("is neither a directory nor a regular file")
	case resolved == "/" || resolved == "/run":
		return "", false, errors.New("would show the host itself (name a directory below it)")
	}
	for _, d := range sealedSources {
		if _, ok := below(d, resolved); ok {
			return "", false, fmt.Errorf("would show the host's %s", d)
		}
	}
	return resolved, st.IsDir(), nil
}

// resolveSocket returns the path of a socket without links.
func resolveSocket(path string) (string, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err == nil && filepath.IsAbs(path) {
		path = filepath.Join(dir, filepath.Base(path))
		if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSocket != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("egress: %q is not the absolute path of a socket", path)
}

// An etcFile is a file in /etc that says of the sandbox what the host's would say of the host.
type etcFile struct{ path, content string }

// etcMadeUp has %s for the home of the one user.
var etcMadeUp = []etcFile{
	{"/etc/passwd", "agent:x:1000:1000:agent:%s:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"},
	{"/etc/group", "agent:x:1000:\nnogroup:x:65534:\n"},
	{"/etc/hosts", "127.0.0.1 localhost " + hostname + "\n::1 localhost\n"},
	{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"},
}

// etcCopied and etcShown are what is shown of the host's /etc, where it exists: what the loader, time zones and the
// trust in certificates need. No directory that may hold a private key. Files are copied, because a mount costs more
// than all of them together.
var (
	etcCopied = []string{
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/localtime", "/etc/timezone", "/etc/services", "/etc/protocols",
		"/etc/mime.types", "/etc/ssl/openssl.cnf",
	}
	etcShown = []string{
		"/etc/ld.so.conf.d", "/etc/alternatives", "/etc/ssl/certs", "/etc/ca-certificates/extracted",
		"/etc/pki/ca-trust/extracted", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem",
	}
)

// hostname is that of every sandbox.
const hostname = "deed"

// socketDirs are where services put their sockets. A socket in a mount, a read-only one too, leads to whoever listens.
var socketDirs = []string{"/run", "/var/run"}

// HoldsSockets reports whether a path of the host lies where services keep their sockets, so that mounting it would bypass
// the network isolation. It does not find sockets elsewhere.
func HoldsSockets(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = filepath.Clean(path)
	}
	return slices.ContainsFunc(socketDirs, func(dir string) bool {
		if d, err := filepath.EvalSymlinks(dir); err == nil {
			dir = d
		}
		_, below := below(dir, real)
		return below
	})
}
