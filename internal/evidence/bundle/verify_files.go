package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// maxDepth is how deep the directories of a bundle may nest.
const maxDepth = 64

// checkFiles is step 3: each entry names one regular file of its own inside the bundle.
func (v *verification) checkFiles() {
	v.byPath = make(map[string]int, len(v.files))
	links := map[string]bool{} // directories seen: is it a symlink?
	for i := range v.files {
		f := &v.files[i]
		where := fmt.Sprintf("manifest.files[%d].path", i)
		if fault := strictPathFault(f.path); fault != "" {
			v.add(evidence.CodeInvalidPath, where, f.path, "%s: %q", fault, shorten(f.path))
			continue
		}
		if _, twice := v.byPath[f.path]; twice {
			v.add(evidence.CodeInvalidManifestShape, where, f.path, "listed twice: %q", f.path)
			continue
		}
		v.byPath[f.path] = i
		v.checkViewer(f, fmt.Sprintf("manifest.files[%d].viewer", i))
		if dir := v.linkedParent(f.path, links); dir != "" {
			v.add(evidence.CodeUnsafeFile, where, f.path, "the directory %q is a symlink", dir)
			continue
		}
		info, err := v.root.Lstat(f.path)
		if err != nil || !info.Mode().IsRegular() {
			v.add(evidence.CodeMissingFile, where, f.path, "not a regular file in the bundle: %q", f.path)
			continue
		}
		f.usable = true
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Nlink != 1 {
			v.add(evidence.CodeHardlink, where, f.path, "the file has more than one name: %q", f.path)
		}
	}
}

// linkedParent returns the first directory on the way to p that is a symlink.
func (v *verification) linkedParent(p string, seen map[string]bool) string {
	for i := range len(p) {
		if p[i] != '/' {
			continue
		}
		dir := p[:i]
		link, ok := seen[dir]
		if !ok {
			info, err := v.root.Lstat(dir)
			link = err == nil && info.Mode()&fs.ModeSymlink != 0
			seen[dir] = link
		}
		if link {
			return dir
		}
	}
	return ""
}

func (v *verification) checkViewer(f *listedFile, where string) {
	viewer, ok := f.raw["viewer"].(map[string]any)
	if !ok {
		return
	}
	base, _ := viewer["base"].(string)
	v.checkURL(base, where+".base", f.path)
}

// checkURL asks for a web address that means the same to everybody.
func (v *verification) checkURL(text, where, file string) {
	u, err := url.Parse(text)
	if err != nil || !u.IsAbs() || u.Host == "" {
		v.add(evidence.CodeMalformedReference, where, file, "not an absolute URL: %q", shorten(text))
		return
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		v.add(evidence.CodeUnsafeFile, where, file, "not an http or https URL: %q", shorten(text))
		return
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(host)
	local := err == nil && (ip.IsLoopback() || ip.IsUnspecified() || ip.Unmap().IsLoopback())
	if local || host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") {
		v.add(evidence.CodeUnsafeFile, where, file, "a URL of the local machine: %q", shorten(text))
	}
}

// checkOrphans is step 5: nothing is in the bundle that the manifest does not list.
func (v *verification) checkOrphans() {
	err := fs.WalkDir(v.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			v.add(evidence.CodeUnsafeFile, p, p, "cannot be looked at: %v", err)
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if len(v.out.Violations) > maxViolations {
			return fs.SkipAll
		}
		if d.IsDir() {
			if strings.Count(p, "/") >= maxDepth {
				v.add(evidence.CodeUnsafeFile, path.Dir(p), "", "directories nest deeper than %d", maxDepth)
				return fs.SkipDir
			}
			return nil
		}
		if _, ok := v.byPath[p]; !ok {
			v.add(evidence.CodeOrphanedFile, p, p, "in the bundle but not listed: %q", shorten(p))
		}
		return nil
	})
	if err != nil {
		v.add(evidence.CodeUnsafeFile, ".", "", "the bundle cannot be listed: %v", err)
	}
}

// checkHashes is step 6. Files are hashed once, here, two at a time; later steps use the results.
func (v *verification) checkHashes() {
	var g errgroup.Group
	g.SetLimit(2)
	for i := range v.files {
		f := &v.files[i]
		if !f.usable || f.path == evidence.PathManifest {
			continue
		}
		g.Go(func() error {
			h := sha256.New()
			if f.readErr = copyFile(v.root, f.path, h); f.readErr == nil {
				f.actual = hex.EncodeToString(h.Sum(nil))
			}
			return nil
		})
	}
	_ = g.Wait() // each entry keeps its own error
	for i := range v.files {
		f := &v.files[i]
		where := fmt.Sprintf("manifest.files[%d].sha256", i)
		want, ok := digestValue(f.raw["sha256"])
		if !ok {
			v.add(evidence.CodeMissingFileHash, where, f.path, "no well-formed SHA-256 for %q", shorten(f.path))
			continue
		}
		if digest, _ := f.raw["sha256"].(map[string]any); len(digest) != 2 {
			v.add(evidence.CodeInvalidManifestShape, where, f.path, "the SHA-256 of %q has members beside algorithm and value", shorten(f.path))
		}
		if f.path == evidence.PathManifest && v.byPath[f.path] == i {
			f.actual, f.readErr = selfHash(v.manifest)
		}
		switch {
		case f.readErr != nil:
			v.add(evidence.CodeFileHashMismatch, where, f.path, "cannot be hashed: %v", f.readErr)
		case f.actual == "":
			v.add(evidence.CodeFileHashMismatch, where, f.path, "cannot be hashed: %q", shorten(f.path))
		case f.actual != want:
			v.add(evidence.CodeFileHashMismatch, where, f.path, "%s has the hash %s, not %s", f.path, f.actual, want)
		}
	}
}

// digestValue returns the value of a well-formed digest object.
func digestValue(v any) (string, bool) {
	d, ok := v.(map[string]any)
	if !ok || d["algorithm"] != evidence.AlgorithmSHA256 {
		return "", false
	}
	s, ok := d["value"].(string)
	return s, ok && hexDigest().MatchString(s)
}

// reference checks that p is a listed bundle path and returns its entry.
func (v *verification) reference(p, where string) *listedFile {
	if fault := pathFault(p); fault != "" {
		v.add(evidence.CodeInvalidPath, where, p, "%s: %q", fault, shorten(p))
		return nil
	}
	i, ok := v.byPath[p]
	if !ok {
		v.add(evidence.CodeMalformedReference, where, p, "not listed in the manifest: %q", shorten(p))
		return nil
	}
	return &v.files[i]
}

// bytesHash returns the hash of a listed file's bytes. Of the manifest that is not the hash in its entry.
func (v *verification) bytesHash(f *listedFile) (string, error) {
	if f.path != evidence.PathManifest {
		if f.actual == "" && f.readErr == nil {
			return "", plainfile.ErrNotRegular
		}
		return f.actual, f.readErr
	}
	h := sha256.New()
	if err := copyFile(v.root, f.path, h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// readText reads a listed JSON file.
func (v *verification) readText(f *listedFile) ([]byte, error) {
	if f == nil || !f.usable {
		return nil, os.ErrNotExist
	}
	return readJSON(v.root, f.path)
}

// readTree reads and decodes a listed JSON file. A nil error with a nil map means that it holds JSON, but no object.
func (v *verification) readTree(f *listedFile) (map[string]any, error) {
	data, err := v.readText(f)
	if err != nil {
		return nil, err
	}
	return object(data)
}

// object decodes an object, or returns a nil map for other JSON.
func object(data []byte) (map[string]any, error) {
	doc, err := decode(data)
	if err != nil {
		return nil, err
	}
	m, _ := doc.(map[string]any)
	return m, nil
}

// shorten keeps hostile text in messages small.
func shorten(s string) string {
	if len(s) <= 200 {
		return s
	}
	return s[:200] + "…"
}
