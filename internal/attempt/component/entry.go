package component

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
)

// AbilitiesFile is where a component declares the abilities that it offers.
const AbilitiesFile = "deed-abilities.json"

// How a plugin file was found.
const (
	FileExplicit = "explicit"
	FileSlug     = "slug"
	FilePlugin   = "plugin"
	FileHeader   = "header"
	FileNone     = "none" // a component without PHP, whose commands are its abilities
)

// headerBytes is how much of a file WordPress reads to find a plugin header.
const headerBytes = 8192

// Slug turns a name into a slug: its last path segment, with everything but letters, digits, - and _ replaced by -.
// A name without a letter or a digit in that segment has none.
func Slug(name string) (string, bool) {
	name = strings.TrimRight(strings.ReplaceAll(strings.TrimSpace(name), `\`, "/"), "/")
	name = name[strings.LastIndexByte(name, '/')+1:]
	worth := false
	slug := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			worth = true
			return r
		case r == '-', r == '_':
			return r
		}
		return '-'
	}, name)
	if !worth || len(slug) > 128 {
		return "", false
	}
	return slug, true
}

// PluginPath turns an explicit plugin file into its path below the slug. Leading slashes are dropped, backslashes
// become slashes, and no segment may be empty, "." or "..".
func PluginPath(slug, file string) (string, error) {
	p := strings.TrimLeft(strings.ReplaceAll(file, `\`, "/"), "/")
	if strings.ContainsFunc(p, unicode.IsControl) {
		return "", fmt.Errorf("%.80q holds a control character", file)
	}
	if !strings.HasPrefix(p, slug+"/") {
		p = slug + "/" + p
	}
	for seg := range strings.SplitSeq(p, "/") {
		if seg == "" || seg == "." || seg == ".." {
			return "", fmt.Errorf("%.80q is not a safe path inside %s", file, slug)
		}
	}
	if len(p) > 4096 {
		return "", fmt.Errorf("it has %d bytes", len(p))
	}
	return p, nil
}

// errNoEntry says that a component has no file that could be loaded.
var errNoEntry = errors.New("no plugin file")

// findEntry finds the file that loads a component, below its root, and where it was found.
func findEntry(root *os.Root, slug, explicit string) (file, from string, err error) {
	if explicit != "" {
		p, err := PluginPath(slug, explicit)
		if err != nil {
			return "", "", err
		}
		if !isFile(root, strings.TrimPrefix(p, slug+"/")) {
			return "", "", fmt.Errorf("%s is not a file of the component", p)
		}
		return p, FileExplicit, nil
	}
	for _, c := range []struct{ name, from string }{{slug + ".php", FileSlug}, {"plugin.php", FilePlugin}} {
		if isFile(root, c.name) {
			return path.Join(slug, c.name), c.from, nil
		}
	}
	found, err := withHeader(root)
	switch {
	case err != nil:
		return "", "", err
	case len(found) == 1:
		return path.Join(slug, found[0]), FileHeader, nil
	case len(found) > 1:
		return "", "", fmt.Errorf("several files have a plugin header: %s", strings.Join(found, ", "))
	case isFile(root, AbilitiesFile):
		return "", FileNone, nil
	}
	return "", "", fmt.Errorf("%w: neither %s.php nor plugin.php is there, and no PHP file at its top has a Plugin Name header", errNoEntry, slug)
}

// isFile reports whether a name below root leads to a regular file without leaving the root.
func isFile(root *os.Root, name string) bool {
	fi, err := root.Stat(name)
	return err == nil && fi.Mode().IsRegular()
}

// withHeader lists the PHP files at the top that have a plugin header, in order of their names.
func withHeader(root *os.Root) ([]string, error) {
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, Plain(err)
	}
	var found []string
	for _, e := range list {
		if !strings.HasSuffix(e.Name(), ".php") || !isFile(root, e.Name()) {
			continue
		}
		head, err := readHead(root, e.Name(), headerBytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), Plain(err))
		}
		if hasHeader(head) {
			found = append(found, e.Name())
		}
	}
	slices.Sort(found)
	return found, nil
}

// hasHeader reports whether the head of a file names a plugin, as WordPress reads it: the words at the start of a
// line, after nothing but comment marks, and something after them on that line.
func hasHeader(head []byte) bool {
	for line := range bytes.SplitSeq(bytes.ReplaceAll(head, []byte("\r"), []byte("\n")), []byte("\n")) {
		line = bytes.TrimPrefix(bytes.TrimLeft(line, " \t"), []byte("<?php"))
		line = bytes.TrimLeft(line, " \t/*#@")
		const words = "plugin name:"
		if len(line) < len(words) || !strings.EqualFold(string(line[:len(words)]), words) {
			continue
		}
		if len(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(line[len(words):]), []byte("*/")))) > 0 {
			return true
		}
	}
	return false
}

// readHead reads the first bytes of a regular file below root.
func readHead(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}
