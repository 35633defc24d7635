package check

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/checks/project"
)

// artifactPattern is the file that a build should leave: the component's own word, else the extension's pattern.
func artifactPattern(c project.Component, e extension.Extension) string {
	pattern := c.BuildArtifact
	if pattern == "" && e.Manifest.Build != nil {
		pattern = e.Manifest.Build.ArtifactPattern
	}
	return strings.NewReplacer("{component_id}", escape(c.ID), "{local_path}/", "", "{local_path}", ".").Replace(pattern)
}

// escape takes the meaning from the characters that a glob gives one.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(s)
}

// build looks at what a build left behind.
func (r *Request) build(rc *record) *runner.BuildView {
	v := &runner.BuildView{Command: rc.command}
	root, err := os.OpenRoot(r.Component.Host)
	if err != nil {
		return v
	}
	defer func() { _ = root.Close() }()
	if a, err := newest(root, r.Artifact); err == nil {
		v.Artifacts = append(v.Artifacts, a)
	}
	for _, t := range r.Versions {
		version, err := versionOf(root, t)
		found := runner.VersionFound{File: t.File, Version: version}
		if err != nil {
			found.Fault = err.Error()
		}
		v.Versions = append(v.Versions, found)
	}
	return v
}

// newest finds the newest file that fits a pattern, and hashes it.
func newest(root *os.Root, pattern string) (runner.Artifact, error) {
	if pattern == "" || !filepath.IsLocal(filepath.FromSlash(pattern)) {
		return runner.Artifact{}, fs.ErrNotExist
	}
	names, err := doublestar.Glob(root.FS(), filepath.ToSlash(filepath.Clean(pattern)), doublestar.WithFilesOnly(), doublestar.WithNoFollow())
	if err != nil {
		return runner.Artifact{}, err
	}
	slices.Sort(names)
	var best fs.FileInfo
	var name string
	for _, n := range names {
		if fi, err := root.Lstat(n); err == nil && fi.Mode().IsRegular() && (best == nil || fi.ModTime().After(best.ModTime())) {
			best, name = fi, n
		}
	}
	if best == nil {
		return runner.Artifact{}, fs.ErrNotExist
	}
	f, err := root.Open(name)
	if err != nil {
		return runner.Artifact{}, err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return runner.Artifact{Path: name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

// maxVersionFile bounds a file that is searched for a version.
const maxVersionFile = 4 << 20

// usualVersions are the patterns of files whose target names none.
var usualVersions = map[string]string{
	"package.json":   `"version"\s*:\s*"([^"]+)"`,
	"composer.json":  `"version"\s*:\s*"([^"]+)"`,
	"Cargo.toml":     `(?m)^version\s*=\s*"([^"]+)"`,
	"pyproject.toml": `(?m)^version\s*=\s*"([^"]+)"`,
	"VERSION":        `(?m)^\s*v?(\S+)\s*$`,
}

// versionOf reads the version that a target names.
func versionOf(root *os.Root, t settings.VersionTarget) (string, error) {
	pattern := t.Pattern
	if pattern == "" {
		pattern = usualVersions[filepath.Base(t.File)]
	}
	if pattern == "" && strings.HasSuffix(t.File, ".php") {
		pattern = `(?m)^[ \t/*#@]*Version:\s*(\S+)`
	}
	if pattern == "" {
		return "", errors.New("it has no pattern, and the file is none that deed knows (add a pattern with one group)")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", fmt.Errorf("its pattern: %w", err)
	}
	f, err := root.Open(t.File)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxVersionFile))
	if err != nil {
		return "", err
	}
	m := re.FindSubmatch(text)
	if len(m) < 2 {
		return "", fmt.Errorf("nothing in the file fits %s", pattern)
	}
	return string(m[1]), nil
}
