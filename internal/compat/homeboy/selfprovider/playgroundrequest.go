package selfprovider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/provider"
)

// What a workspace can be to WordPress.
const (
	asPlugin   = "plugin"
	asTheme    = "theme"
	asMUPlugin = "mu-plugin"
	asNothing  = "none" // it is mounted, and WordPress does not know of it
)

// playgroundOptions is executor.config of wp-playground: what is done, and what the workspace is to WordPress.
type playgroundOptions struct {
	PHP     string          `json:"php"`  // code
	File    string          `json:"file"` // of the workspace
	Args    []string        `json:"args"`
	Ability string          `json:"ability"`
	Input   json.RawMessage `json:"input"`

	LoadAs   string `json:"load_as"` // "": by what is in the workspace
	Slug     string `json:"slug"`
	Activate bool   `json:"activate"`

	main string // the file of a plugin that has its header
}

// work counts what the request names; it may be one thing.
func (o *playgroundOptions) work() (n int) {
	for _, text := range []string{o.PHP, o.File, o.Ability} {
		if text != "" {
			n++
		}
	}
	return n
}

// readPlayground reads what a request asks for, in each of the forms that the contract has for it. All faults are
// reported.
func readPlayground(q provider.Request, dir string) (*playgroundOptions, error) {
	o := &playgroundOptions{}
	if err := q.Config(o); err != nil {
		return nil, err
	}
	var l fault.List
	o.execution(&l, q.Extra["runtime_execution"])
	o.command(&l, q.Inputs)
	o.components(&l, q.ComponentContracts, dir)
	if o.work() > 1 {
		l.Add("$.executor.config", fault.Conflict, "more than one of php, file and ability is asked for", "ask for one")
	}
	if o.File != "" {
		l.RelativePath("$.executor.config.file", o.File)
	}
	if o.LoadAs != "" {
		fault.OneOf(&l, "$.executor.config.load_as", o.LoadAs, asPlugin, asTheme, asMUPlugin, asNothing)
	}
	if o.Slug != "" && !isSlug(o.Slug) {
		l.Add("$.executor.config.slug", fault.BadFormat, fmt.Sprintf("%q is no name of a directory of WordPress", o.Slug), "use letters, digits, . _ and -")
	}
	if o.Slug == "" {
		o.Slug = "workspace"
	}
	if err := l.Err(); err != nil {
		return nil, provider.Invalid(err)
	}
	return o, nil
}

func isSlug(s string) bool {
	return len(s) <= 100 && s[0] != '.' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// execution takes over a runtime_execution: the host resolved it to an ability.
func (o *playgroundOptions) execution(l *fault.List, raw homeboy.Value) {
	if raw.Null() {
		return
	}
	var e struct {
		Kind    string          `json:"kind"`
		Ability string          `json:"ability"`
		Input   json.RawMessage `json:"input"`
	}
	switch err := json.Unmarshal(raw, &e); {
	case err != nil:
		l.Add("$.runtime_execution", fault.WrongType, err.Error(), "write an object")
	case e.Ability == "":
		l.Add("$.runtime_execution.ability", fault.Blank, "is blank", "name the ability")
	case o.Ability != "" && o.Ability != e.Ability:
		l.Add("$.runtime_execution.ability", fault.Conflict, "is another than that of executor.config", "name one")
	default:
		o.Ability, o.Input = e.Ability, e.Input
	}
}

// command takes over a command of the runtime: php or ability.
func (o *playgroundOptions) command(l *fault.List, inputs homeboy.Value) {
	var in struct {
		Command *homeboy.RuntimeCommandRequest `json:"runtime_command"`
	}
	if inputs.Null() || json.Unmarshal(inputs, &in) != nil || in.Command == nil {
		return
	}
	at := "$.inputs." + homeboy.InputRuntimeCommand
	var args struct {
		Code  string          `json:"code"`
		File  string          `json:"file"`
		Args  []string        `json:"args"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	if len(in.Command.Args) > 0 {
		if err := json.Unmarshal(in.Command.Args, &args); err != nil {
			l.Add(at+".args", fault.WrongType, err.Error(), "write an object")
			return
		}
	}
	switch id := in.Command.CommandID; {
	case id == "php" && (args.Code == "") != (args.File == ""):
		o.PHP, o.File, o.Args = args.Code, args.File, args.Args
	case id == "php":
		l.Add(at+".args", fault.Blank, "needs one of code and file", "give one")
	case id == "ability" && args.Name != "":
		o.Ability, o.Input = args.Name, args.Input
	case id == "ability":
		l.Add(at+".args.name", fault.Blank, "is blank", "name the ability")
	default:
		l.Add(at+".command_id", fault.NotAllowed, fmt.Sprintf("%q is no command of this runtime", id), "use php or ability")
	}
}

// components reads what the workspace is from its contract. Of other components nothing is seen in here.
func (o *playgroundOptions) components(l *fault.List, list []map[string]homeboy.Value, dir string) {
	for i, c := range list {
		at, _ := c["path"].Text()
		if i > 0 || at != "" && at != "." && filepath.Clean(at) != filepath.Clean(dir) {
			l.Add(fault.Index("$.component_contracts", i), fault.NotAllowed, "is not the workspace, and nothing else is mounted", "use deed's own WordPress runtime for several components")
			continue
		}
		if slug, _ := c["slug"].Text(); o.Slug == "" {
			o.Slug = slug
		}
		if as, _ := c["loadAs"].Text(); o.LoadAs == "" {
			o.LoadAs = as
		}
		o.Activate = o.Activate || string(c["activate"]) == "true"
	}
}

// recognise finds out what the workspace is, and refuses what it is not.
func (o *playgroundOptions) recognise(dir string) error {
	main, theme := pluginFile(dir, o.Slug), hasHeader(filepath.Join(dir, "style.css"), "Theme Name:")
	if o.LoadAs == "" {
		switch {
		case theme:
			o.LoadAs = asTheme
		case main != "":
			o.LoadAs = asPlugin
		default:
			o.LoadAs = asNothing
		}
	}
	o.main = main
	var why error
	switch {
	case (o.LoadAs == asPlugin || o.LoadAs == asMUPlugin) && main == "":
		why = fmt.Errorf("the workspace is no %s: no PHP file in it has the header \"Plugin Name:\"", o.LoadAs)
	case o.LoadAs == asTheme && !theme:
		why = errors.New("the workspace is no theme: it has no style.css with the header \"Theme Name:\"")
	case o.Activate && o.LoadAs == asNothing:
		why = errors.New("there is nothing to activate: the workspace is neither a plugin nor a theme")
	}
	if o.File != "" && why == nil {
		if fi, err := os.Stat(filepath.Join(dir, filepath.FromSlash(o.File))); err != nil || !fi.Mode().IsRegular() {
			why = fmt.Errorf("$.executor.config.file: the workspace has no file %q", o.File)
		}
	}
	if why != nil {
		return provider.Invalid(why)
	}
	return nil
}

// pluginFile is the file of a plugin that has its header: the one of its name, else the first.
func pluginFile(dir, slug string) string {
	if name := slug + ".php"; hasHeader(filepath.Join(dir, name), "Plugin Name:") {
		return name
	}
	list, _ := filepath.Glob(filepath.Join(dir, "*.php")) // the pattern is right, and a directory that cannot be read has none
	slices.Sort(list)
	for _, file := range list {
		if hasHeader(file, "Plugin Name:") {
			return filepath.Base(file)
		}
	}
	return ""
}

// hasHeader reports whether a file has a header where WordPress looks for one, in its first 8 KiB.
func hasHeader(file, header string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return false
	}
	head := make([]byte, 8<<10)
	n, _ := f.Read(head)
	return bytes.Contains(head[:n], []byte(header))
}

// target is where PHP sees the workspace.
func (o *playgroundOptions) target() string {
	switch o.LoadAs {
	case asPlugin:
		return contentDir + "plugins/" + o.Slug
	case asTheme:
		return contentDir + "themes/" + o.Slug
	case asMUPlugin:
		return contentDir + "mu-plugins/" + o.Slug
	}
	return workspaceDir
}

// load lets WordPress load a plugin that it does not look for by itself.
func (o *playgroundOptions) load(site string) error {
	if o.LoadAs != asMUPlugin {
		return nil
	}
	dir := filepath.Join(site, "wp-content", "mu-plugins")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	main := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(path.Join(o.Slug, o.main))
	return os.WriteFile(filepath.Join(dir, "deed-loader.php"), []byte("<?php require __DIR__ . '/"+main+"';\n"), 0o600)
}

// steps are the requests to WordPress: an activation, where that is asked for, and the work.
func (o *playgroundOptions) steps() []playgroundStep {
	var list []playgroundStep
	if o.Activate && o.LoadAs != asMUPlugin {
		list = append(list, playgroundStep{Do: "activate", Dir: o.target(), LoadAs: o.LoadAs, Slug: o.Slug, File: path.Join(o.Slug, o.main)})
	}
	s := playgroundStep{Do: "code", Dir: o.target(), Code: o.PHP, Args: o.Args, Ability: o.Ability, Input: o.Input}
	switch {
	case o.File != "":
		s.Do, s.File = "file", path.Join(o.target(), filepath.ToSlash(o.File))
	case o.Ability != "":
		s.Do = "ability"
	}
	return append(list, s)
}
