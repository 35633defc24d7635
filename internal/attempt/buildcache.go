package attempt

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A room of a check starts with the caches that runs on bases of the same source have left. Otherwise a compiler
// would rebuild its standard library from scratch for every check. A run on a base executes only code of whoever gave
// the task, so nothing that an agent wrote was ever near these caches. What a run on an agent's change leaves is
// thrown away with its room. Rooms get copies.
const (
	maxBuildCache  = 3 << 30 // bytes; a larger one costs more to copy than it saves
	buildsKept     = 2       // of one source: the newest, and the one that another process may be copying
	maxBuildCaches = 20      // sources
)

// builds returns the directory with the caches of this task's source; empty if the source holds more than its giver's
// own code.
func (a *run) builds() string {
	if a.caches != "" {
		return a.caches
	}
	var sources []deed.Workspace
	for _, p := range a.plan.parts {
		w := deed.Workspace{Type: string(p.Source.Kind), Ref: p.Source.Ref}
		if k := w.Kind(); k != deed.SeedDirectory && k != deed.SeedGit {
			return "" // a bundle holds an agent's work
		}
		sources = append(sources, deed.Workspace{Source: p.Source.Dir, Ref: p.Source.Ref, Target: p.Target}) // a branch may hold work that has not been reviewed
	}
	key, err := canonjson.HashIn("deed/build-cache/v1", map[string]any{"sources": sources, "containment": a.plan.kind})
	if err != nil || len(sources) == 0 {
		return ""
	}
	return filepath.Join(a.Home.Cache(), "builds", key)
}

// roomCache is where the tools of a room have their caches.
func (a *run) roomCache(room string) string {
	if a.plan.contained() {
		return filepath.Join(room, "home", cacheDir)
	}
	return filepath.Join(room, "cache")
}

// warm creates the cache directory of a room. If a cache cannot be copied, the room starts without one.
func (a *run) warm(ctx context.Context, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // the second run in this room
		}
		return err
	}
	from := newestDir(a.builds())
	if l := limits(a.plan.spec.Sandbox).DiskBytes; from == "" || l > 0 && !smaller(from, l/2) { // the limit applies to the room with everything in it
		return nil
	}
	if _, err := workspace.Clone(ctx, from, dir); err != nil {
		return errors.Join(workspace.Remove(dir), os.Mkdir(dir, 0o700))
	}
	return nil
}

// KeepCaches keeps the caches of a room in which only the base was run.
func (a checker) KeepCaches(room string) {
	home, from := a.builds(), a.roomCache(room)
	if home == "" || !smaller(from, maxBuildCache) {
		return
	}
	id, err := uuid.NewV7()
	if err != nil || atomicfile.MkdirAll(home, 0o700) != nil {
		return
	}
	if err := os.Rename(from, filepath.Join(home, id.String())); err != nil {
		return
	}
	prune(home, buildsKept)
	if a.caches == "" {
		prune(filepath.Dir(home), maxBuildCaches)
	}
}

// newestDir returns the newest directory: their names sort by time.
func newestDir(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return ""
	}
	return filepath.Join(dir, entries[len(entries)-1].Name())
}

// older lists all entries of a directory except the most recently written.
func older(dir string, keep int) []string {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= keep {
		return nil
	}
	age := func(e os.DirEntry) int64 {
		if fi, err := e.Info(); err == nil {
			return fi.ModTime().UnixNano()
		}
		return 0
	}
	slices.SortFunc(entries, func(x, y os.DirEntry) int { return int(min(1, max(-1, age(x)-age(y)))) })
	var out []string
	for _, e := range entries[:len(entries)-keep] {
		out = append(out, filepath.Join(dir, e.Name()))
	}
	return out
}

// smaller reports whether the files of a directory exist and have fewer bytes in all.
func smaller(dir string, most int64) bool {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		if size += fi.Size(); size > most {
			return fs.SkipAll
		}
		return nil
	})
	return err == nil && size > 0 && size <= most
}
