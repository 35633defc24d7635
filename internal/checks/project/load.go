package project

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
	"syscall"

	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// Load reads what a directory says of the component in it: homeboy.json, then the checks of deed.yaml, which win, one entry
// of a map at a time. Without either the component has its directory's name and nothing else. Only the files of this very
// directory are read.
func Load(dir string) (Component, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Component{}, fmt.Errorf("component %s: %w", dir, err)
	}
	if fi, err := os.Stat(dir); err != nil {
		return Component{}, fmt.Errorf("component %s: %w (name a directory with --path)", dir, err)
	} else if !fi.IsDir() {
		return Component{}, fmt.Errorf("component %s is not a directory (name one with --path)", dir)
	}
	c := Component{Path: dir, Origin: dir, baselines: map[string]json.RawMessage{}}
	own, err := readFile(filepath.Join(dir, ownBaselines), maxFile)
	if err != nil {
		return Component{}, err
	}
	if own != nil {
		if err := c.readBaselines(filepath.Join(dir, ownBaselines), own); err != nil {
			return Component{}, err
		}
	}
	file := filepath.Join(dir, FileName)
	data, err := readFile(file, maxFile)
	if err != nil {
		return Component{}, err
	}
	if data != nil {
		if err := c.readHomeboy(file, data); err != nil {
			return Component{}, err
		}
	}
	if err := c.readDeed(filepath.Join(dir, deedFile)); err != nil {
		return Component{}, err
	}
	if c.ID == "" {
		c.ID = Slug(dir)
	}
	return c, nil
}

// readDeed lays the checks of deed.yaml over the component.
func (c *Component) readDeed(file string) error {
	data, err := readFile(file, maxSettings)
	if err != nil || data == nil {
		return err
	}
	s, err := config.Parse(file, data)
	if err != nil {
		return err
	}
	k := s.Checks
	if k == nil {
		return nil
	}
	c.Files = append(c.Files, file)
	over := func(key string) {
		if c.Raw != nil {
			c.Notes = append(c.Notes, fmt.Sprintf("checks.%s of deed.yaml is used, and %s of homeboy.json is not", key, key))
		}
	}
	if k.ID != "" {
		if bad := checkID(k.ID); bad != "" {
			return fmt.Errorf("%s: checks.id %s", file, bad)
		}
		if c.ID != "" && c.ID != k.ID {
			over("id")
		}
		c.ID = k.ID
	}
	links := map[string]Link{}
	for id, e := range k.Extensions {
		link := Link{Version: e.Version}
		if len(e.Settings) > 0 {
			if err := json.Unmarshal(e.Settings, &link.Settings); err != nil {
				return fmt.Errorf("%s: checks.extensions.%s.settings: %w", file, id, err)
			}
		}
		links[id] = link
	}
	overlay(&c.Extensions, links, "extensions", over)
	overlay(&c.CapabilityExtensions, k.CapabilityExtensions, "capability_extensions", over)
	overlay(&c.Scripts, k.Scripts, "scripts", over)
	overlay(&c.Hooks, k.Hooks, "hooks", over)
	overlay(&c.Env, k.Env, "env", over)
	overlay(&c.Scopes, k.Scopes, "scopes", over)
	replace(&c.BuildArtifact, k.BuildArtifact, c.BuildArtifact != "", k.BuildArtifact != "", "build_artifact", over)
	replace(&c.VersionTargets, k.VersionTargets, c.VersionTargets != nil, k.VersionTargets != nil, "version_targets", over)
	replace(&c.TestDrift, k.TestDrift, c.TestDrift != nil, k.TestDrift != nil, "test_drift", over)
	replace(&c.Audit, k.Audit, c.Audit != nil, k.Audit != nil, "audit", over)
	replace(&c.AuditRules, k.AuditRules, c.AuditRules != nil, k.AuditRules != nil, "audit_rules", over)
	return nil
}

// overlay puts the entries of one map over those of another.
func overlay[V any](under *map[string]V, top map[string]V, key string, over func(string)) {
	if len(top) == 0 {
		return
	}
	joined := maps.Clone(*under)
	if joined == nil {
		joined = map[string]V{}
	}
	for _, name := range slices.Sorted(maps.Keys(top)) {
		if _, there := joined[name]; there {
			over(key + "." + name)
		}
		joined[name] = top[name]
	}
	*under = joined
}

// replace puts a whole value over another.
func replace[V any](under *V, top V, there, said bool, key string, over func(string)) {
	if !said {
		return
	}
	if there {
		over(key)
	}
	*under = top
}

// readFile returns a whole file, or nothing when there is none. A link is followed, as the person who made it meant; what
// is no regular file then is refused, and a fifo cannot stop it.
func readFile(path string, limit int64) ([]byte, error) {
	data, err := plainfile.Read(path, limit)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return data, explain(path, err)
}

// explain adds the remedy to why a file cannot be read.
func explain(path string, err error) error {
	switch {
	case errors.Is(err, plainfile.ErrNotRegular):
		return fmt.Errorf("read %s: it is not a regular file (replace it with one, or remove it)", path)
	case errors.Is(err, plainfile.ErrTooLarge):
		return fmt.Errorf("%w (make it smaller)", err)
	case err != nil:
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// checkID refuses an id that could not stand in a path or on one line.
func checkID(id string) string {
	switch {
	case strings.TrimSpace(id) == "":
		return "is blank (give the component an id, or remove the key: then it is made from the directory's name)"
	case len(id) > maxID:
		return fmt.Sprintf("has %d bytes (use at most %d)", len(id), maxID)
	case id == "." || id == ".." || strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' }):
		return fmt.Sprintf("%q has a character that a file name cannot have (use letters, digits and dashes)", id)
	}
	return ""
}

// readBaselines takes the baselines out of deed's file.
func (c *Component) readBaselines(file string, data []byte) error {
	doc, err := parse(file, data)
	if err != nil {
		return err
	}
	if m, ok := doc.member("baselines"); ok {
		doc.decode(m, &c.baselines)
	}
	return doc.err()
}

// legacyHooks are lists of commands from before there were events.
var legacyHooks = map[string]string{
	"pre_version_bump_commands":  "pre:version:bump",
	"post_version_bump_commands": "post:version:bump",
	"post_release_commands":      "post:release",
}

// readHomeboy reads homeboy.json. Keys that deed does not know stay in Raw.
func (c *Component) readHomeboy(file string, data []byte) error {
	doc, err := parse(file, data)
	if err != nil {
		return err
	}
	c.Files = append(c.Files, file)
	c.Raw = json.RawMessage(doc.text)
	if doc.object == (object{}) {
		c.Raw = json.RawMessage("{}")
	}
	selfChecks, legacy := map[string][]string{}, map[string][]string{}
	baselines := map[string]json.RawMessage{}
	known := map[string]any{
		"capability_extensions": &c.CapabilityExtensions,
		"self_checks":           &selfChecks, "scripts": &c.Scripts, "hooks": &c.Hooks,
		"build_artifact": &c.BuildArtifact, "version_targets": &c.VersionTargets, "env": &c.Env, "scopes": &c.Scopes,
		"test_drift": &c.TestDrift, "audit": &c.Audit, "audit_rules": &c.AuditRules, "baselines": &baselines,
	}
	for _, m := range doc.members {
		if dst, ok := known[m.name]; ok {
			doc.decode(m, dst)
			continue
		}
		if event, ok := legacyHooks[m.name]; ok {
			var list []string
			if doc.decode(m, &list) && len(list) > 0 {
				legacy[event] = list
			}
		}
	}
	if m, ok := doc.member("id"); ok {
		var id *string
		if doc.decode(m, &id) && id != nil {
			if bad := checkID(*id); bad != "" {
				doc.fault(m.start, "id", bad)
			}
			c.ID = *id
		}
	}
	for key, raw := range map[string]*json.RawMessage{"audit": &c.Audit, "audit_rules": &c.AuditRules} {
		m, _ := doc.member(key)
		switch {
		case string(*raw) == "null":
			*raw = nil
		case len(*raw) > 0 && (*raw)[0] != '{':
			doc.fault(m.start, key, "is not a JSON object (write one, or remove the key)")
		}
	}
	c.Extensions = doc.links()
	fold(&c.Scripts, selfChecks)
	fold(&c.Hooks, legacy)
	maps.Copy(c.baselines, baselines)
	return doc.err()
}

// fold adds the older form of a map for keys that the newer one does not have.
func fold(newer *map[string][]string, older map[string][]string) {
	for key, list := range older {
		if _, there := (*newer)[key]; !there && len(list) > 0 {
			if *newer == nil {
				*newer = map[string][]string{}
			}
			(*newer)[key] = list
		}
	}
}

// links reads the entries of `extensions`.
func (d *document) links() map[string]Link {
	m, _ := d.member("extensions")
	var out map[string]Link
	for _, entry := range d.objectAt(m, "extensions") {
		link := Link{}
		for _, e := range d.objectAt(entry, "extensions."+entry.name) {
			path, value := "extensions."+entry.name+"."+e.name, d.text[e.start:e.end]
			switch e.name {
			case "version":
				d.decodeAt(e.start, path, value, &link.Version)
			case "settings":
				d.decodeAt(e.start, path, value, &link.Settings)
			default:
				if link.Flat == nil {
					link.Flat = map[string]json.RawMessage{}
				}
				link.Flat[e.name] = value
			}
		}
		if out == nil {
			out = map[string]Link{}
		}
		out[entry.name] = link
	}
	return out
}
