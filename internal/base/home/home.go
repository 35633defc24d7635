// Package home owns the layout of a deed home: where the database, the attempts, the bundles, the keys and the
// locks are. It makes directories and takes the dispatch lock; what is inside the files belongs to others.
package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A Home is the root directory of one installation.
type Home struct {
	root  string
	found os.FileInfo // the directory that was opened; nil for a home that was not opened
}

// ErrGone says that the home was removed or replaced while it was in use.
var ErrGone = errors.New("the home is gone")

// Check reports whether the home is still the directory that was opened.
func (h *Home) Check() error {
	if h.found == nil {
		return nil
	}
	fi, err := os.Stat(h.root)
	if err != nil || !os.SameFile(fi, h.found) {
		return fmt.Errorf("%w: %s was removed, moved or replaced", ErrGone, h.root)
	}
	return nil
}

// Resolve finds the home: the flag, else $DEED_HOME, else the XDG state directory.
func Resolve(flag string, getenv func(string) string) (string, error) {
	dir := flag
	if dir == "" {
		dir = getenv("DEED_HOME")
	}
	if dir == "" {
		if x := getenv("XDG_STATE_HOME"); x != "" && filepath.IsAbs(x) {
			dir = filepath.Join(x, "deed")
		}
	}
	if dir == "" {
		h := getenv("HOME")
		if h == "" {
			return "", errors.New("no home: set --home, DEED_HOME or HOME")
		}
		dir = filepath.Join(h, ".local", "state", "deed")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("home %q: %w", dir, err)
	}
	return abs, nil
}

// Open makes the home's directories where they are missing, readable by their owner alone.
func Open(root string) (*Home, error) {
	if !filepath.IsAbs(root) {
		return nil, fmt.Errorf("home %q is not an absolute path", root)
	}
	h := &Home{root: root}
	for _, d := range []string{root, h.Attempts(), h.Bundles(), h.Keys(), h.Tmp(), h.Cache()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, unusable(root, err)
		}
	}
	// A home on a read-only mount passes MkdirAll once it exists, so ask the file system.
	probe, err := os.CreateTemp(h.Tmp(), "probe-*")
	if err != nil {
		return nil, unusable(root, err)
	}
	_, werr := probe.WriteString("deed")
	cerr := probe.Close()
	rerr := os.Remove(probe.Name())
	if err := errors.Join(werr, cerr, rerr); err != nil {
		return nil, unusable(root, err)
	}
	if h.found, err = os.Stat(root); err != nil {
		return nil, unusable(root, err)
	}
	return h, nil
}

// At names a home by its path alone, without asking whether it is there.
func At(root string) *Home { return &Home{root: root} }

// View names an existing home without making or probing anything, for commands that only read.
func View(root string) (*Home, error) {
	fi, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("home %s does not exist (run `deed init`, or any command that adds work, to make it)", root)
	}
	if err != nil {
		return nil, unusable(root, err)
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("home %s is not a directory (choose another with --home or DEED_HOME)", root)
	}
	return &Home{root: root}, nil
}

// ErrUnusable marks a home that cannot hold state: read-only, full, or not a directory.
var ErrUnusable = errors.New("home is not usable")

func unusable(root string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %s: %w (make room on its disk, or choose another with --home or DEED_HOME)", ErrUnusable, root, err)
	}
	return fmt.Errorf("%w: %s: %w (make it writable, or choose another with --home or DEED_HOME)", ErrUnusable, root, err)
}

// Published reports whether a path, with its links followed, is the directory of the artifacts of one bundle, or lies in one:
// what an accepted attempt handed out, with nothing of the queue and no key in it.
func (h *Home) Published(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	bundles, err := filepath.EvalSymlinks(h.Bundles())
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(bundles, real)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	return len(parts) >= 3 && parts[1] == "files" && parts[2] == "artifacts"
}

// Overlaps reports whether a path, with its links followed, is the home, lies in it or holds it: whoever sees that path
// sees the queue and the signing key.
func (h *Home) Overlaps(path string) bool {
	follow := func(p string) string {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return real
		}
		return filepath.Clean(p)
	}
	path, root := follow(path), follow(h.root)
	for _, pair := range [][2]string{{path, root}, {root, path}} {
		if rel, err := filepath.Rel(pair[0], pair[1]); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// Root is the home's own directory.
func (h *Home) Root() string { return h.root }

// DB is the path of the embedded database.
func (h *Home) DB() string { return filepath.Join(h.root, "deed.db") }

// Attempts holds a directory for each live attempt.
func (h *Home) Attempts() string { return filepath.Join(h.root, "attempts") }

// Attempt is the directory of one live attempt.
func (h *Home) Attempt(id string) string { return filepath.Join(h.root, "attempts", id) }

// Bundles holds a directory for each finished attempt.
func (h *Home) Bundles() string { return filepath.Join(h.root, "bundles") }

// Bundle is the evidence directory of one attempt.
func (h *Home) Bundle(attemptID string) string { return filepath.Join(h.root, "bundles", attemptID) }

// Keys holds the signing key and the trusted public keys.
func (h *Home) Keys() string { return filepath.Join(h.root, "keys") }

// Applies holds the journals of changes that were applied to directories, so that they can be taken back.
func (h *Home) Applies() string { return filepath.Join(h.root, "applies") }

// ApplyAudit has a line for every attempt to apply a change.
func (h *Home) ApplyAudit() string { return filepath.Join(h.root, "apply-audit.jsonl") }

// Tmp is on the same file system as the rest, so that a rename out of it is atomic.
func (h *Home) Tmp() string { return filepath.Join(h.root, "tmp") }

// Cache holds what can be deleted at any time, such as the build caches of agents.
func (h *Home) Cache() string { return filepath.Join(h.root, "cache") }

// Extensions is where the operator installs extensions.
func (h *Home) Extensions() string { return filepath.Join(h.root, "extensions") }

// AgentRuntimes is where the operator installs runtime packages.
func (h *Home) AgentRuntimes() string { return filepath.Join(h.root, "agent-runtimes") }

// Runtime is where deed puts the files that scripts need: helpers and extensions of its own, each by its content.
func (h *Home) Runtime() string { return filepath.Join(h.Cache(), "runtime") }

// Checks is where the directories of checks are that a user ran.
func (h *Home) Checks() string { return filepath.Join(h.root, "checks") }

// Fixes is where the copies of components are while fixers work in them.
func (h *Home) Fixes() string { return filepath.Join(h.root, "fixes") }

// Bubblewrap remembers which bubblewrap was found to work.
func (h *Home) Bubblewrap() string { return filepath.Join(h.Cache(), "bubblewrap.json") }

// Workflows is the directory of the operator's workflow definitions.
func (h *Home) Workflows() string { return filepath.Join(h.root, "workflows") }

// Skills is where the operator installs skills, a folder each.
func (h *Home) Skills() string { return filepath.Join(h.root, "skills") }

// Blobs holds documents that are kept by their content: a file's name is the SHA-256 of what is in it.
func (h *Home) Blobs() string { return filepath.Join(h.root, "blobs", "sha256") }

// Import is the record of an import that is going on, or that was cut short.
func (h *Home) Import() string { return filepath.Join(h.root, "import.json") }

// Config is the home's own configuration file, used when no project has one.
func (h *Home) Config() string { return filepath.Join(h.root, "deed.yaml") }

// Rel returns a path relative to the home, as the store keeps it.
func (h *Home) Rel(path string) (string, error) {
	rel, err := filepath.Rel(h.root, path)
	if err != nil {
		return "", fmt.Errorf("path %s is not below the home %s: %w", path, h.root, err)
	}
	return rel, nil
}
