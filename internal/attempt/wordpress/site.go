// Package wordpress owns WordPress as a runtime component: unpacking an archive once, laying out a disposable site for
// each run, loading the run's components in it, and running PHP and abilities with WordPress loaded. It starts no
// process itself: commands go through a component.Runner, and what contains them belongs to internal/isolate/sandbox.
//
// # What a run sees
//
//	/wordpress                       read-only   the unpacked archive, shared by all runs
//	/wordpress/wp-content            read-only   of this run
//	/wordpress/wp-content/database   writable    a copy of the installed database
//	/wordpress/wp-content/uploads    writable    empty
//	/wordpress/wp-content/…          as mounted  components, plugins, themes and workspaces
//	/run/deed/wordpress              read-only   deed's way in, the order of the components, and bin/wp-php for agents
//	/run/deed/wordpress-sqlite       read-only   the plugin that stands for MySQL
//	/etc/php                         read-only   the machine's configuration of PHP, where there is one
//
// PHP code of a run can therefore neither change WordPress itself for another run nor the components of its own. It can
// forge what it reports about itself: the result line is a claim of the code that runs, like all output.
package wordpress

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Where the parts of a site are inside a sandbox.
const (
	contentTarget  = component.WordPressDir + "/wp-content"
	databaseTarget = contentTarget + "/database"
	uploadsTarget  = contentTarget + "/uploads"
	runTarget      = "/run/deed/wordpress"
	sqliteTarget   = "/run/deed/wordpress-sqlite"
)

// BinDir is where a sandbox has wp-php, the command that runs PHP with WordPress loaded. It belongs on the PATH.
const BinDir = runTarget + "/bin"

var (
	//go:embed boot.php
	bootPHP []byte
	//go:embed dropin.php
	dropinPHP []byte
	//go:embed loader.php
	loaderPHP []byte
	//go:embed load.php
	loadPHP []byte
	//go:embed wp-php.php
	wpPHP []byte
)

// phpConfig is where Debian's PHP finds which extensions to load; a sandbox shows little of /etc by itself.
const phpConfig = "/etc/php"

// Options describe a site.
type Options struct {
	Archive string // an installed WordPress: a zip file or a directory
	SQLite  string // the sqlite-database-integration plugin: a zip file or a directory; "": the archive's own
	PHP     string // "": php, found on the PATH inside
	Version string // what the run asks for: "", latest, or a version such as 6.5 or 6.5.5

	Cache string // absolute: unpacked archives, shared by runs
	Dir   string // absolute, absent or empty, on the file system of Cache: this run's own
	// Mounts are everything that the run sees below /wordpress, workspaces too. Their mount points are made here.
	Mounts    []component.Mount
	MUPlugins []component.Plugin // loaded in this order
	Plugins   []component.Plugin // those with Activate are activated by Boot
	Env       []string           // for every command, in addition to deed's own
}

// A Site is one disposable WordPress. Its directory belongs to the run, which removes it; there is nothing to close.
type Site struct {
	Version string // of WordPress
	opt     Options
	in      installation
	mounts  []component.Mount
}

// Prepare unpacks the archive if the cache does not have it, and lays out the site. Nothing is run.
func Prepare(ctx context.Context, o Options) (_ *Site, err error) {
	if o.Archive == "" {
		return nil, failure.New(failure.Config, "prepare WordPress", errors.New("no archive is configured, and the run needs WordPress"),
			"set components.wordpress.archive in deed.yaml to an installed WordPress (see docs/WORDPRESS.md)")
	}
	if err := os.Mkdir(o.Dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("prepare WordPress: %w", err)
	}
	in, err := install(ctx, o, o.Dir)
	if err != nil {
		return nil, fmt.Errorf("prepare WordPress: %w", err)
	}
	if !satisfies(in.version, o.Version) {
		return nil, failure.New(failure.Config, "prepare WordPress", fault.Faults{{
			Path: "$.wp", Code: fault.Dangling, Message: fmt.Sprintf("asks for version %q, and the archive holds %s", o.Version, in.version),
			Remedy: "ask for " + in.version + " or latest, or name another archive as components.wordpress.archive",
		}}, "")
	}
	s := &Site{Version: in.version, opt: o, in: in}
	if err := s.layOut(ctx); err != nil {
		return nil, fmt.Errorf("prepare WordPress: %w", errors.Join(err, s.discard()))
	}
	return s, nil
}

// satisfies reports whether a version is what was asked for: that version, or one of that branch.
func satisfies(have, want string) bool {
	switch want = strings.TrimSpace(want); want {
	case "", "latest", have:
		return true
	}
	return strings.HasPrefix(have, want+".") || strings.HasPrefix(have, want+"-")
}

func (s *Site) path(elem ...string) string {
	return filepath.Join(append([]string{s.opt.Dir}, elem...)...)
}

// discard removes what a failed Prepare created.
func (s *Site) discard() error {
	var errs []error
	for _, d := range []string{"content", "database", "uploads", "run"} {
		errs = append(errs, workspace.Remove(s.path(d)))
	}
	return errors.Join(errs...)
}

// Mounts lists everything that a sandbox needs for the site, parents before what lies in them.
func (s *Site) Mounts() []component.Mount { return s.mounts }

// Writable lists the directories on the machine that code of the run can write to.
func (s *Site) Writable() []string { return []string{s.path("database"), s.path("uploads")} }

func (s *Site) layOut(ctx context.Context) error {
	if err := s.checkTargets(); err != nil {
		return failure.New(failure.Config, "mount into WordPress", err, "mount below /wordpress/wp-content, at a place of its own")
	}
	if _, err := workspace.Clone(ctx, s.in.path("database"), s.path("database")); err != nil {
		return err
	}
	content := s.path("content")
	for _, d := range []string{s.path("uploads"), s.path("run"), content, filepath.Join(content, "database"), filepath.Join(content, "uploads"), filepath.Join(content, "mu-plugins", "contained-runtime"), filepath.Join(content, "plugins"), filepath.Join(content, "themes"), s.path("run", "bin")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	s.mounts = []component.Mount{
		{Source: s.in.path("core"), Target: component.WordPressDir, ReadOnly: true},
		{Source: content, Target: contentTarget, ReadOnly: true},
		{Source: s.path("database"), Target: databaseTarget},
		{Source: s.path("uploads"), Target: uploadsTarget},
		{Source: s.path("run"), Target: runTarget, ReadOnly: true},
		{Source: s.in.path("sqlite"), Target: sqliteTarget, ReadOnly: true},
	}
	if fi, err := os.Stat(phpConfig); err == nil && fi.IsDir() && !s.covered(phpConfig) {
		s.mounts = append(s.mounts, component.Mount{Source: phpConfig, Target: phpConfig, ReadOnly: true})
	}
	if err := s.shareContent(); err != nil {
		return err
	}
	for _, m := range s.opt.Mounts {
		if err := s.mountPoint(m); err != nil {
			return err
		}
		s.mounts = append(s.mounts, m)
	}
	return s.write()
}

// shareContent mounts the archive's wp-content from the cache, read-only, except where the run has its own.
func (s *Site) shareContent() error {
	for _, dir := range []string{"themes", "plugins", "languages"} {
		list, err := os.ReadDir(s.in.path("content", dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range list {
			target := path.Join(contentTarget, dir, e.Name())
			if e.Name() == "index.php" || s.covered(target) { // an index.php only hides listings from browsers
				continue
			}
			m := component.Mount{Source: s.in.path("content", dir, e.Name()), Target: target, ReadOnly: true}
			if err := s.mountPoint(m); err != nil {
				return err
			}
			s.mounts = append(s.mounts, m)
		}
	}
	return nil
}

func (s *Site) covered(target string) bool {
	for _, m := range s.opt.Mounts {
		if workspace.Within(target, m.Target) || workspace.Within(m.Target, target) {
			return true
		}
	}
	return false
}

// checkTargets refuses mounts that would cover WordPress itself or deed's parts of the site, or lie in one another.
func (s *Site) checkTargets() error {
	var errs []error
	for i, m := range s.opt.Mounts {
		if !workspace.Within(m.Target, component.WordPressDir) {
			if workspace.Within(m.Target, runTarget) || workspace.Within(m.Target, sqliteTarget) {
				errs = append(errs, fmt.Errorf("%s is deed's own", m.Target))
			}
			continue
		}
		errs = append(errs, checkTarget(m))
		for _, o := range s.opt.Mounts[:i] {
			if workspace.Within(m.Target, o.Target) || workspace.Within(o.Target, m.Target) {
				errs = append(errs, fmt.Errorf("%s and %s lie in one another", m.Target, o.Target))
			}
		}
	}
	return errors.Join(errs...)
}

func checkTarget(m component.Mount) error {
	for _, t := range component.OverlayTargets() {
		if m.Target == t && m.ReadOnly {
			return nil
		}
	}
	if !strings.HasPrefix(m.Target, contentTarget+"/") {
		return fmt.Errorf("%s is WordPress itself, which is read-only", m.Target)
	}
	if path.Clean(m.Target) != m.Target {
		return fmt.Errorf("%s is not a clean path", m.Target)
	}
	for _, own := range []string{databaseTarget, contentTarget + "/mu-plugins/" + loaderFile, contentTarget + "/db.php"} {
		if workspace.Within(m.Target, own) || workspace.Within(own, m.Target) {
			return fmt.Errorf("%s would cover %s, which is deed's own", m.Target, own)
		}
	}
	return nil
}

// mountPoint creates the target of a mount in the run's wp-content.
func (s *Site) mountPoint(m component.Mount) error {
	rel, ok := strings.CutPrefix(m.Target, contentTarget+"/")
	if !ok {
		return nil
	}
	fi, err := os.Stat(m.Source)
	if err != nil {
		return fmt.Errorf("mount %s: %w", m.Target, err)
	}
	point := s.path("content", filepath.FromSlash(rel))
	if fi.IsDir() {
		return os.MkdirAll(point, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(point), 0o755); err != nil {
		return err
	}
	return os.WriteFile(point, nil, 0o644)
}

// loaderFile sorts before the MU plugins that a workspace may bring.
const loaderFile = "000-deed-runtime.php"

// write writes the files of the run: the entry point, the drop-in, the loader, the order of components, the salts.
func (s *Site) write() error {
	var order strings.Builder
	order.WriteString("<?php\nreturn array(\n")
	for _, p := range s.opt.MUPlugins {
		if p.File != "" {
			fmt.Fprintf(&order, "\t%s,\n", quotePHP(p.File))
		}
	}
	order.WriteString(");\n")
	for name, data := range map[string][]byte{
		"run/boot.php":                     bootPHP,
		"run/load.php":                     loadPHP,
		"run/wp-php.php":                   wpPHP,
		"run/site.php":                     salts(),
		"run/components.php":               []byte(order.String()),
		"content/db.php":                   dropinPHP,
		"content/mu-plugins/" + loaderFile: loaderPHP,
		"content/index.php":                []byte("<?php\n// Silence is golden.\n"),
	} {
		if err := os.WriteFile(s.path(filepath.FromSlash(name)), data, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(s.path("run", "bin", "wp-php"), s.command("wp-php.php"), 0o755)
}

// command is a shell script that hands its arguments to one of deed's own PHP files.
func (s *Site) command(file string) []byte {
	var b strings.Builder
	b.WriteString("#!/bin/sh\nexec")
	for _, word := range s.php(file) {
		b.WriteString(" '" + strings.ReplaceAll(word, "'", `'\''`) + "'")
	}
	b.WriteString(" \"$@\"\n")
	return []byte(b.String())
}

// salts are WordPress's secrets, new for every site.
func salts() []byte {
	var b strings.Builder
	b.WriteString("<?php\n")
	for _, name := range []string{"AUTH_KEY", "SECURE_AUTH_KEY", "LOGGED_IN_KEY", "NONCE_KEY", "AUTH_SALT", "SECURE_AUTH_SALT", "LOGGED_IN_SALT", "NONCE_SALT"} {
		fmt.Fprintf(&b, "define( '%s', '%s' );\n", name, random())
	}
	return []byte(b.String())
}

func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// quotePHP writes a string as PHP reads it back, byte by byte.
func quotePHP(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
