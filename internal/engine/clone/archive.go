// Package clone owns the archive of an agent: its identity, what it wrote about itself, its settings, its skills, workflows and
// schedules, and no secret. It writes such an archive from a home and takes one into another, where everything is checked before
// anything is written. It runs nothing.
//
//	manifest.yaml            every other file by its digest; an archive needs it, a directory that somebody writes may do without
//	agent.yaml               agent-runtime/agent.identity/v1
//	wallets.yaml             a list of agent-runtime/wallet.identity/v1
//	constitution/N/SOUL.md   and PURPOSE.md, the versions from 1 on
//	deed.yaml                the settings of the home
//	skills/NAME/             a folder each
//	workflows/               definitions
//	schedules.yaml           a list of schedules
//	README.md                for people
package clone

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/agent/identity"
	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/filetree"
)

// Schema is the id of an archive's manifest.
const Schema = "deed/agent-archive/v1"

// Bounds is how large an archive may be.
var Bounds = filetree.Limits{Files: 20_000, Bytes: 256 << 20}

// The files at the top.
const (
	manifestFile  = "manifest.yaml"
	agentFile     = "agent.yaml"
	walletsFile   = "wallets.yaml"
	settingsFile  = "deed.yaml"
	schedulesFile = "schedules.yaml"
	readmeFile    = "README.md"
	skillsDir     = "skills"
	workflowsDir  = "workflows"
	versionsDir   = "constitution"
)

// ErrDamaged says that an archive is not what its manifest lists.
var ErrDamaged = errors.New("the archive is damaged")

// An Archive is an agent, read and checked in itself.
type Archive struct {
	Identity  agentruntime.AgentIdentity
	Wallets   []agentruntime.WalletIdentity
	Versions  []Version // of the constitution, the first one first
	Settings  []byte    // deed.yaml; nil: none
	Skills    []*skill.Skill
	Workflows filetree.Tree
	Schedules []Schedule
	Readme    []byte
}

// A Version is one version of a constitution.
type Version struct{ Soul, Purpose []byte }

// A Schedule is a recurring task without what it did so far.
type Schedule struct {
	Name            string                  `json:"name"`
	IntervalSeconds int64                   `json:"interval_seconds"`
	Overlap         string                  `json:"overlap,omitempty"`
	Disabled        bool                    `json:"disabled,omitempty"`
	Task            agentruntime.TaskIntent `json:"task"`
}

// manifest lists an archive.
type manifest struct {
	Schema  string           `json:"schema"`
	AgentID string           `json:"agent_id"`
	Files   []filetree.Entry `json:"files"`
}

// Read reads an archive or a directory. What is wrong with it is reported at once.
func Read(source string) (*Archive, error) {
	t, err := filetree.Read(source, Bounds)
	if err != nil {
		return nil, err
	}
	// An archive may hold the directory itself.
	if dirs := t.Dirs(); len(dirs) == 1 {
		if sub := t.Sub(dirs[0]); len(sub) == len(t) {
			t = sub
		}
	}
	return parse(t, !isDir(source))
}

func parse(t filetree.Tree, packed bool) (*Archive, error) {
	if err := verify(t, packed); err != nil {
		return nil, err
	}
	r := reader{t: t, a: &Archive{}}
	r.identity()
	r.constitution()
	r.schedules()
	r.skills()
	if f, ok := t.Get(settingsFile); ok {
		r.a.Settings = f.Data
		if _, err := config.Parse(settingsFile, f.Data); err != nil {
			r.within(settingsFile, err)
		}
	}
	r.a.Workflows = t.Sub(workflowsDir)
	if f, ok := t.Get(readmeFile); ok {
		r.a.Readme = f.Data
	}
	r.refuseUnknown()
	return r.a, r.l.Err()
}

// verify compares the files with the manifest: every byte, and no file more.
func verify(t filetree.Tree, packed bool) error {
	f, ok := t.Get(manifestFile)
	if !ok && packed {
		return fmt.Errorf("%w: it has no %s (it was not made by `deed agent export`; a directory is imported without one)", ErrDamaged, manifestFile)
	}
	if !ok {
		return nil
	}
	raw, _, err := config.ReadYAML(manifestFile, f.Data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil || m.Schema != Schema {
		return fmt.Errorf("%w: %s is no %s", ErrDamaged, manifestFile, Schema)
	}
	rest := slices.DeleteFunc(slices.Clone(t), func(f filetree.File) bool { return f.Path == manifestFile })
	if got := rest.Manifest().Files; !slices.Equal(got, m.Files) {
		return fmt.Errorf("%w: %s", ErrDamaged, difference(m.Files, got))
	}
	return nil
}

// difference names the first file that is not as it is listed.
func difference(want, got []filetree.Entry) string {
	by := func(e filetree.Entry, path string) int { return cmp.Compare(e.Path, path) }
	for _, w := range want {
		i, ok := slices.BinarySearchFunc(got, w.Path, by)
		switch {
		case !ok:
			return fmt.Sprintf("%q is listed and missing", w.Path)
		case got[i] != w:
			return fmt.Sprintf("%q is not the file that is listed", w.Path)
		}
	}
	for _, g := range got {
		if !slices.ContainsFunc(want, func(w filetree.Entry) bool { return w.Path == g.Path }) {
			return fmt.Sprintf("%q is there and not listed", g.Path)
		}
	}
	return "its list is out of order"
}

// Tree is the archive as files, with their manifest. The same agent gives the same bytes.
func (a *Archive) Tree() (filetree.Tree, error) {
	var files []filetree.File
	add := func(name string, v any) error {
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		text, err := config.WriteYAML(raw)
		files = append(files, filetree.File{Path: name, Data: text})
		return err
	}
	if err := add(agentFile, a.Identity); err != nil {
		return nil, err
	}
	if len(a.Wallets) > 0 {
		if err := add(walletsFile, a.Wallets); err != nil {
			return nil, err
		}
	}
	if len(a.Schedules) > 0 {
		if err := add(schedulesFile, a.Schedules); err != nil {
			return nil, err
		}
	}
	for i, v := range a.Versions {
		dir := path.Join(versionsDir, strconv.Itoa(i+1))
		files = append(files, filetree.File{Path: path.Join(dir, identity.SoulFile), Data: v.Soul}, filetree.File{Path: path.Join(dir, identity.PurposeFile), Data: v.Purpose})
	}
	if a.Settings != nil {
		files = append(files, filetree.File{Path: settingsFile, Data: a.Settings})
	}
	for _, s := range a.Skills {
		files = below(files, path.Join(skillsDir, s.ID()), s.Tree)
	}
	files = below(files, workflowsDir, a.Workflows)
	if a.Readme != nil {
		files = append(files, filetree.File{Path: readmeFile, Data: a.Readme})
	}
	t, err := filetree.Of(files...)
	if err != nil {
		return nil, err
	}
	files = t
	if err := add(manifestFile, manifest{Schema, a.Identity.AgentID, t.Manifest().Files}); err != nil {
		return nil, err
	}
	return filetree.Of(files...)
}

func below(files []filetree.File, dir string, t filetree.Tree) []filetree.File {
	for _, f := range t {
		files = append(files, filetree.File{Path: path.Join(dir, f.Path), Exec: f.Exec, Data: f.Data})
	}
	return files
}

// A reader takes an archive apart.
type reader struct {
	t filetree.Tree
	a *Archive
	l fault.List
}

func (r *reader) within(file string, err error) {
	if err == nil {
		return
	}
	if list := fault.Of(err); list != nil {
		for _, f := range list {
			r.l.Add(file+" "+f.Path, f.Code, f.Message, f.Remedy)
		}
		return
	}
	r.l.Add(file, fault.BadFormat, err.Error(), "")
}

// document reads a YAML file as JSON.
func (r *reader) document(name string) ([]byte, bool) {
	f, ok := r.t.Get(name)
	if !ok {
		return nil, false
	}
	raw, _, err := config.ReadYAML(name, f.Data)
	r.within(name, err)
	return raw, err == nil
}

func (r *reader) identity() {
	raw, ok := r.document(agentFile)
	if !ok {
		if r.l.Len() == 0 {
			r.l.Add(agentFile, fault.MissingField, "is missing", "write agent_id, internal_name and display_name into it")
		}
		return
	}
	var err error
	r.a.Identity, err = schema.Decode[agentruntime.AgentIdentity](agentruntime.SchemaAgentIdentity, raw)
	r.within(agentFile, err)
	if raw, ok = r.document(walletsFile); !ok {
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		r.l.Add(walletsFile, fault.WrongType, "is no list", "")
	}
	for i, text := range list {
		w, err := schema.Decode[agentruntime.WalletIdentity](agentruntime.SchemaWalletIdentity, text)
		r.within(fault.Index(walletsFile, i), err)
		if err == nil && w.AgentID != r.a.Identity.AgentID {
			r.l.Add(fault.Index(walletsFile, i), fault.Conflict, fmt.Sprintf("is a wallet of agent %q", w.AgentID), "")
		}
		r.a.Wallets = append(r.a.Wallets, w)
	}
}

func (r *reader) constitution() {
	sub := r.t.Sub(versionsDir)
	for n := 1; len(sub) > 0; n++ {
		dir := strconv.Itoa(n)
		soul, one := sub.Get(path.Join(dir, identity.SoulFile))
		purpose, two := sub.Get(path.Join(dir, identity.PurposeFile))
		if !one || !two {
			if n == 1 || len(r.a.Versions)*2 != len(sub) {
				r.l.Add(path.Join(versionsDir, dir), fault.MissingField, "has not both "+identity.SoulFile+" and "+identity.PurposeFile, "versions are numbered from 1 on, without a gap")
			}
			return
		}
		r.a.Versions = append(r.a.Versions, Version{soul.Data, purpose.Data})
		if len(r.a.Versions)*2 == len(sub) {
			return
		}
	}
}

func (r *reader) schedules() {
	raw, ok := r.document(schedulesFile)
	if !ok {
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		r.l.Add(schedulesFile, fault.WrongType, "is no list", "")
	}
	for i, text := range list {
		var s struct {
			Schedule
			Task json.RawMessage `json:"task"`
		}
		at := fault.Index(schedulesFile, i)
		if err := json.Unmarshal(text, &s); err != nil {
			r.l.Add(at, fault.WrongType, err.Error(), "")
			continue
		}
		var err error
		s.Schedule.Task, err = schema.Decode[agentruntime.TaskIntent](agentruntime.SchemaTaskIntent, s.Task)
		r.within(at+".task", err)
		r.a.Schedules = append(r.a.Schedules, s.Schedule)
	}
}

func (r *reader) skills() {
	all := r.t.Sub(skillsDir)
	for _, name := range all.Dirs() {
		s, err := skill.Parse(name, all.Sub(name))
		if err != nil {
			r.within(path.Join(skillsDir, name), err)
			continue
		}
		r.a.Skills = append(r.a.Skills, s)
	}
}

// refuseUnknown refuses files that mean nothing: a part with a mistyped name must not be left out silently.
func (r *reader) refuseUnknown() {
	for _, f := range r.t {
		dir, rest, nested := strings.Cut(f.Path, "/")
		known := slices.Contains([]string{manifestFile, agentFile, walletsFile, settingsFile, schedulesFile, readmeFile}, f.Path)
		if nested {
			known = dir == workflowsDir || dir == skillsDir && strings.Contains(rest, "/") || dir == versionsDir
		}
		if !known {
			r.l.Add(f.Path, fault.UnknownField, "is no file of an agent's archive", "take it out, or put it into a skill's folder")
		}
	}
}
