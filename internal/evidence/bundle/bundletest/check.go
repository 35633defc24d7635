// Package bundletest owns a second checker of evidence bundles, for tests: it was written independently of package bundle and
// shares no code with it, so that each finds the faults of the other. It covers the wp-codebox contract, not signatures.
package bundletest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
)

// Check fails the test for every fault that it finds in the bundle in dir.
func Check(t testing.TB, dir string) {
	t.Helper()
	for _, p := range Problems(dir) {
		t.Errorf("bundle %s: %s", filepath.Base(dir), p)
	}
}

// Problems lists the faults of the bundle in dir, each with the contract's code first.
func Problems(dir string) []string {
	c := &checker{dir: dir}
	c.run()
	return c.problems
}

type object = map[string]any

type checker struct {
	dir      string
	problems []string
	manifest object
	entries  map[string]object
}

func (c *checker) fault(code, format string, args ...any) {
	c.problems = append(c.problems, code+": "+fmt.Sprintf(format, args...))
}

func (c *checker) run() {
	if !c.load() {
		return
	}
	c.onDisk()
	c.hashes()
	c.identity()
	c.metadata()
	c.review()
	for path, e := range c.entries {
		switch e["kind"] {
		case "runtime-reference-manifest":
			c.referenceManifest(path)
		case "tool-call-transcript":
			c.toolCalls(path)
		}
	}
	sort.Strings(c.problems)
}

func (c *checker) load() bool {
	b, err := os.ReadFile(filepath.Join(c.dir, "manifest.json"))
	if errors.Is(err, os.ErrNotExist) {
		c.fault("missing-manifest", "%v", err)
		return false
	}
	if err == nil {
		err = json.Unmarshal(b, &c.manifest)
	}
	if err != nil {
		c.fault("malformed-manifest", "%v", err)
		return false
	}
	m := c.manifest
	digest, _ := m["contentDigest"].(object)
	files, ok := m["files"].([]any)
	if !ok || !isText(m["id"]) || !isText(m["createdAt"]) || !isObject(m["runtime"]) || digest["algorithm"] != "sha256" ||
		!isText(digest["value"]) || digest["inputs"] == nil {
		c.fault("invalid-manifest-shape", "id, createdAt, runtime, contentDigest and files are required")
		return false
	}
	// The original hashes a manifest only up to these bounds.
	if len(files) > 2000 {
		c.fault("invalid-manifest-shape", "%d files", len(files))
	}
	c.entries = map[string]object{}
	for _, f := range files {
		e, _ := f.(object)
		p, _ := e["path"].(string)
		if !isText(e["path"]) || !isText(e["kind"]) || !isText(e["contentType"]) {
			c.fault("invalid-manifest-shape", "entry %v", f)
			return false
		}
		if !localPath(p) {
			c.fault("invalid-path", "%q", p)
			continue
		}
		if c.entries[p] != nil {
			c.fault("invalid-manifest-shape", "%q is listed twice", p)
		}
		c.entries[p] = e
	}
	if c.entries["manifest.json"] == nil {
		c.fault("invalid-manifest-shape", "the manifest does not list itself")
	}
	return true
}

// onDisk compares the listed files with the directory.
func (c *checker) onDisk() {
	real, err := filepath.EvalSymlinks(c.dir)
	if err != nil {
		c.fault("unsafe-file", "%v", err)
		return
	}
	for p := range c.entries {
		full := filepath.Join(c.dir, p)
		info, err := os.Lstat(full)
		if err != nil || !info.Mode().IsRegular() {
			c.fault("missing-file", "%s", p)
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
			c.fault("hardlink", "%s", p)
		}
		if r, err := filepath.EvalSymlinks(full); err != nil || !strings.HasPrefix(r, real+string(filepath.Separator)) {
			c.fault("unsafe-file", "%s", p)
		}
	}
	err = filepath.WalkDir(c.dir, func(full string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		p, err := filepath.Rel(c.dir, full)
		if err == nil && c.entries[p] == nil {
			c.fault("orphaned-file", "%s", p)
		}
		return err
	})
	if err != nil {
		c.fault("unsafe-file", "%v", err)
	}
}

func (c *checker) hashes() {
	for p, e := range c.entries {
		want := digestOf(e["sha256"])
		if want == "" {
			c.fault("missing-file-hash", "%s", p)
			continue
		}
		got := c.hash(p)
		if p == "manifest.json" {
			got = c.ownHash()
		}
		if got != want {
			c.fault("file-hash-mismatch", "%s is %s, listed as %s", p, got, want)
		}
	}
}

// ownHash is the manifest's hash with zeros in place of itself.
func (c *checker) ownHash() string {
	e := c.entries["manifest.json"]
	kept := e["sha256"]
	e["sha256"] = object{"algorithm": "sha256", "value": strings.Repeat("0", 64)}
	defer func() { e["sha256"] = kept }()
	return sum([]byte("wp-codebox/artifact-manifest-self/v1\n"), stable(c.manifest))
}

func (c *checker) identity() {
	digest := c.manifest["contentDigest"].(object)
	inputs, _ := digest["inputs"].([]any)
	h := [][]byte{[]byte("wp-codebox/artifact-content/v1\n")}
	seen := map[string]bool{}
	for i, in := range inputs {
		p, _ := in.(string)
		seen[p] = true
		if c.entries[p] == nil {
			c.fault("malformed-reference", "digest input %v is not listed", in)
			return
		}
		if i > 0 {
			h = append(h, []byte("\n"))
		}
		b, err := os.ReadFile(filepath.Join(c.dir, p))
		if err != nil {
			c.fault("digest-mismatch", "%v", err)
			return
		}
		h = append(h, []byte(p+"\n"), b)
	}
	if !seen["files/changed-files.json"] || !seen["files/patch.diff"] {
		c.fault("digest-mismatch", "the id does not depend on the change")
	}
	if got := sum(h...); got != digest["value"] {
		c.fault("digest-mismatch", "content is %s, stated %v", got, digest["value"])
	}
	if c.manifest["id"] != "artifact-bundle-sha256-"+fmt.Sprint(digest["value"]) {
		c.fault("bundle-id-mismatch", "%v", c.manifest["id"])
	}
}

func (c *checker) hash(p string) string {
	b, err := os.ReadFile(filepath.Join(c.dir, p))
	if err != nil {
		return "unreadable"
	}
	return sum(b)
}

func (c *checker) read(p string) object {
	b, err := os.ReadFile(filepath.Join(c.dir, p))
	var o object
	if err != nil || json.Unmarshal(b, &o) != nil {
		return nil
	}
	return o
}

// refer checks that a record points at a listed file.
func (c *checker) refer(where string, v any) bool {
	p, ok := v.(string)
	if !ok || !localPath(p) {
		c.fault("invalid-path", "%s: %v", where, v)
		return false
	}
	if c.entries[p] == nil {
		c.fault("malformed-reference", "%s: %s is not listed", where, p)
		return false
	}
	return true
}

func localPath(p string) bool {
	if p == "" || strings.ContainsRune(p, '\\') || filepath.IsAbs(p) {
		return false
	}
	if head, _, ok := strings.Cut(p, ":"); ok && !strings.Contains(head, "/") {
		return false
	}
	for _, s := range strings.Split(p, "/") {
		if s == ".." {
			return false
		}
	}
	return true
}

func isText(v any) bool   { _, ok := v.(string); return ok }
func isObject(v any) bool { _, ok := v.(object); return ok }

func digestOf(v any) string {
	d, _ := v.(object)
	s, _ := d["value"].(string)
	if d["algorithm"] != "sha256" || len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return ""
	}
	return s
}

func sum(parts ...[]byte) string { return fmt.Sprintf("%x", sha256.Sum256(bytes.Join(parts, nil))) }
