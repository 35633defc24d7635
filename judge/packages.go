package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ignorePackages has git ignore node_modules, as every project does that has one.
func (l *place) ignorePackages(dir string) error {
	if len(l.project.packages()) == 0 {
		return nil
	}
	file := filepath.Join(dir, ".gitignore")
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if strings.Trim(line, "/ \r\n") == "node_modules" {
			return nil
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return os.WriteFile(file, append(text, "node_modules/\n"...), 0o644)
}

// addPackages copies the packages that a project needs, and what these need, into its node_modules. They are copies: nothing that a
// case does to them reaches the store or another project.
func (l *place) addPackages(dir string) error {
	if len(l.project.packages()) == 0 {
		return nil
	}
	wanted, err := closure(l.store, l.project.packages())
	if err != nil {
		return err
	}
	to := filepath.Join(dir, "node_modules")
	for _, name := range wanted {
		if err := os.CopyFS(filepath.Join(to, name), os.DirFS(filepath.Join(l.store, name))); err != nil {
			return fmt.Errorf("copy package %s: %w", name, err)
		}
	}
	return linkPrograms(l.store, to)
}

// linkPrograms makes the links of node_modules/.bin that lead to a package that is there.
func linkPrograms(store, to string) error {
	entries, err := os.ReadDir(filepath.Join(store, ".bin"))
	if err != nil {
		return fmt.Errorf("read the programs of the packages: %w", err)
	}
	bin := filepath.Join(to, ".bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(store, ".bin", e.Name()))
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(bin, target)); err != nil {
			continue
		}
		if err := os.Symlink(target, filepath.Join(bin, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// A manifest is the part of a package.json that says what else is needed.
type manifest struct {
	Dependencies         map[string]string `json:"dependencies"`
	OptionalDependencies map[string]string `json:"optionalDependencies"`
	PeerDependencies     map[string]string `json:"peerDependencies"`
}

// closure lists the packages at the top of a store that the named ones need. What a package brings in a node_modules of its own is
// copied with it, and what that needs from the top is listed.
func closure(store string, names []string) ([]string, error) {
	have := map[string]bool{}
	var add func(name string, needed bool) error
	var needs func(dir string) error
	add = func(name string, needed bool) error {
		if have[name] {
			return nil
		}
		dir := filepath.Join(store, name)
		if _, err := os.Stat(filepath.Join(dir, "package.json")); err != nil {
			if !needed {
				return nil
			}
			return fmt.Errorf("package %s is not in %s: run make setup", name, store)
		}
		have[name] = true
		return needs(dir)
	}
	needs = func(dir string) error {
		text, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err != nil {
			return err
		}
		var m manifest
		if err := json.Unmarshal(text, &m); err != nil {
			return fmt.Errorf("%s/package.json: %w", dir, err)
		}
		for _, list := range []map[string]string{m.Dependencies, m.OptionalDependencies, m.PeerDependencies} {
			for name := range list {
				if err := add(name, false); err != nil {
					return err
				}
			}
		}
		inner, err := nested(dir)
		for _, d := range inner {
			err = errors.Join(err, needs(d))
		}
		return err
	}
	for _, n := range names {
		if err := add(n, true); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(have)), nil
}

// nested lists the packages in a package's own node_modules.
func nested(dir string) ([]string, error) {
	var out []string
	for _, pattern := range []string{"*", "@*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, "node_modules", pattern, "package.json"))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			out = append(out, filepath.Dir(f))
		}
	}
	return out, nil
}
