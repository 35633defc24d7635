package extension

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/checks/project"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Bounds of what is looked at to find test files.
const (
	maxEntries = 20_000
	maxDepth   = 12
)

// detected are the built-in extensions that the component's files call for, where it was read and where it is now: a change
// can call for one more, and cannot get rid of one.
func (s *Set) detected(c project.Component, capability string, p *Plan) ([]Extension, error) {
	dirs := slices.Compact([]string{c.Origin, c.Path})
	var ids []string
	for _, dir := range dirs {
		found, err := s.Detect(dir)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
		if capability == runner.Test && s.places.BuiltIn != "" {
			beside, err := fallbacksWithTests(dir)
			if err != nil {
				return nil, err
			}
			ids = append(ids, beside...)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	p.Detected, p.Why = true, "the files of the component call for it, and it links no extension"
	list, err := s.having(ids, capability)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, &NotApplicable{Component: c.ID, Capability: capability, Detected: ids}
	}
	if capability == runner.Test && len(list) > 1 {
		list = withTests(dirs, list)
	}
	return list, nil
}

// Detect lists the built-in extensions that the files at the top of a directory call for.
func (s *Set) Detect(dir string) ([]string, error) {
	if s.places.BuiltIn == "" {
		return nil, nil
	}
	ids, fallback, err := called(dir)
	if len(ids) == 0 {
		ids = fallback
	}
	return ids, err
}

// fallbacksWithTests lists the fallback extensions that have tests in a directory. They run in addition to other extensions.
func fallbacksWithTests(dir string) (ids []string, err error) {
	for _, id := range builtInIDs() {
		d, err := builtInDetect(id)
		if err != nil {
			return nil, err
		}
		if d != nil && d.Beside != nil && d.Beside.called(dir) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (b *Beside) called(dir string) bool {
	for file, keys := range b.Unless {
		data, err := plainfile.Read(filepath.Join(dir, file), maxManifest)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(valueAt(data, strings.Split(key, ".")), b.Word) }) {
			return false
		}
	}
	return anyFile(dir, b.Tests)
}

// called lists the built-in extensions that a directory calls for, and those that it calls for when there is no other.
func called(dir string) (ids, fallback []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the component: %w", err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	for _, id := range builtInIDs() {
		d, err := builtInDetect(id)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case d == nil || !d.called(dir, names):
		case d.Fallback:
			fallback = append(fallback, id)
		default:
			ids = append(ids, id)
		}
	}
	return ids, fallback, nil
}

// builtInDetect reads what the embedded manifest says, without unpacking the extension.
func builtInDetect(id string) (*Detect, error) {
	name := path.Join(id, id+".json")
	data, err := fs.ReadFile(BuiltIn(), name)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(name, data)
	return m.Detect, err
}

func (d *Detect) called(dir string, names map[string]bool) bool {
	if slices.ContainsFunc(d.Files, func(f string) bool { return names[f] }) {
		return true
	}
	return slices.ContainsFunc(d.Globs, func(g string) bool {
		if top, _, nested := strings.Cut(g, "/"); nested && !strings.ContainsAny(top, `*?[\`) && !names[top] {
			return false
		}
		found, err := filepath.Glob(filepath.Join(escape(dir), filepath.FromSlash(g)))
		return err == nil && len(found) > 0
	})
}

// escape makes a path a pattern that matches it alone.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// withTests leaves out the extensions whose component shows no test, when another one has some: a package.json that only
// formats the documents must not fail the tests of a Go module. Without any sign all of them run, and say it themselves.
func withTests(dirs []string, list []Extension) []Extension {
	tested := slices.DeleteFunc(slices.Clone(list), func(e Extension) bool {
		d := e.Manifest.Detect
		return d != nil && len(d.Tests)+len(d.TestKeys) > 0 &&
			!slices.ContainsFunc(dirs, func(dir string) bool { return d.declared(dir) || anyFile(dir, d.Tests) })
	})
	if len(tested) == 0 {
		return list
	}
	return tested
}

// declared reports whether a JSON file of the component says that there are tests.
func (d *Detect) declared(dir string) bool {
	for file, keys := range d.TestKeys {
		data, err := plainfile.Read(filepath.Join(dir, file), maxManifest)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(keys, func(key string) bool { return hasValue(data, strings.Split(key, ".")) }) {
			return true
		}
	}
	return false
}

// hasValue reports whether a key has a value that is not empty. What npm writes into a new package does not count.
func hasValue(data json.RawMessage, key []string) bool {
	text := valueAt(data, key)
	return text != "" && text != "null" && text != `""` && !strings.Contains(text, "no test specified")
}

// valueAt is the JSON value of a key; empty: there is none.
func valueAt(data json.RawMessage, key []string) string {
	if len(key) == 0 {
		return string(data)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return ""
	}
	return valueAt(object[key[0]], key[1:])
}

// skipped are directories with the code of others.
var skipped = []string{".git", "node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "__pycache__", "bats-core", "bats-support", "bats-assert", "bats-file", "bats-mock"}

// foreign reports whether a directory holds the code of others: a module of git, or bats itself.
func foreign(dir string) bool {
	for _, name := range []string{".git", filepath.Join("libexec", "bats-core")} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// anyFile reports whether a glob covers a file below a directory. It looks at a bounded number of entries, nearest first.
func anyFile(dir string, globs []string) bool {
	queue, seen := []string{"."}, 0
	for len(queue) > 0 && seen < maxEntries {
		at := queue[0]
		queue = queue[1:]
		entries, err := os.ReadDir(filepath.Join(dir, at))
		if err != nil {
			continue
		}
		for _, e := range entries {
			seen++
			rel := path.Join(at, e.Name())
			switch {
			case e.Type().IsRegular() && workspace.MatchAny(globs, rel):
				return true
			case e.IsDir() && !slices.Contains(skipped, e.Name()) && strings.Count(rel, "/") < maxDepth && !foreign(filepath.Join(dir, rel)):
				queue = append(queue, rel)
			}
		}
	}
	return false
}

// Locate returns the component that a directory belongs to: the nearest one upwards, within its work tree, that has a
// homeboy.json or a deed.yaml or that a built-in extension is called for; else the directory itself.
func Locate(dir string) string {
	top := Root(dir)
	for at := filepath.Clean(dir); top != ""; at = filepath.Dir(at) {
		for _, name := range []string{project.FileName, config.FileName} {
			if fi, err := os.Stat(filepath.Join(at, name)); err == nil && fi.Mode().IsRegular() {
				return at
			}
		}
		if ids, _, err := called(at); err == nil && len(ids) > 0 {
			return at
		}
		if at == top {
			break
		}
	}
	return dir
}
