package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
)

// Variables that name the directory of artifacts for a request that does not.
var artifactVariables = []string{"HOMEBOY_AGENT_TASK_ARTIFACTS_DIR", "HOMEBOY_RUNTIME_AGENT_ARTIFACTS_DIR"}

// ArtifactsDir is where artifacts go: artifacts_path of the request, else the host's variable, else the first of the manifest's
// artifact_paths below Dir, else .homeboy/ID there. It need not exist.
func (r *Run) ArtifactsDir() string {
	if filepath.IsAbs(r.request.ArtifactsPath) {
		return r.request.ArtifactsPath
	}
	for _, name := range artifactVariables {
		if dir := r.Env(name); filepath.IsAbs(dir) {
			return dir
		}
	}
	rel := filepath.Join(".homeboy", identifier(r.declared.ID))
	if w := r.declared.WorkspaceMaterialization; w != nil {
		for _, p := range w.ArtifactPaths {
			if filepath.IsLocal(p) {
				rel = p
				break
			}
		}
	}
	return filepath.Join(r.Dir(), rel)
}

// Artifact writes a file below ArtifactsDir and lists it in the outcome, with its size and digest. The name may have
// directories, and takes the place of a file of that name. Values of secrets are not in the file.
func (r *Run) Artifact(kind, name string, content []byte) error {
	return r.ArtifactFrom(kind, name, bytes.NewReader(content))
}

// ArtifactFrom is Artifact for content of any length.
func (r *Run) ArtifactFrom(kind, name string, content io.Reader) error {
	dir := r.ArtifactsDir()
	id := identifier(name)
	if !filepath.IsLocal(name) || id == "" || strings.HasSuffix(name, "/") {
		return fmt.Errorf("artifact %q: the name leads out of the directory of artifacts, or names no file (use a relative path)", name)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("artifact %s: %w", name, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("artifact %s: %w", name, err)
	}
	defer func() { _ = root.Close() }() // the file is closed by itself
	size, sum, err := r.store(root, name, content)
	if err != nil {
		return fmt.Errorf("artifact %s: %w", name, err)
	}
	a := homeboy.Artifact{
		Schema: homeboy.SchemaArtifact, ID: id, Kind: identifier(kind), Name: name, Path: filepath.Join(dir, name),
		Mime: mime.TypeByExtension(path.Ext(name)), SizeBytes: &size, SHA256: sum,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.artifacts = append(slices.DeleteFunc(r.artifacts, func(old homeboy.Artifact) bool { return old.Path == a.Path }), a)
	if slices.ContainsFunc(r.artifacts[:len(r.artifacts)-1], func(old homeboy.Artifact) bool { return old.ID == a.ID }) {
		r.artifacts[len(r.artifacts)-1].ID = fmt.Sprintf("%s-%d", a.ID, len(r.artifacts)) // a.b and a-b have one id
	}
	return nil
}

// store writes a file under another name and renames it: a host that ends the command never finds half of one.
func (r *Run) store(root *os.Root, name string, content io.Reader) (size int64, sum string, err error) {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return 0, "", err
	}
	part := name + ".part"
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, "", err
	}
	hash, count := sha256.New(), &counter{}
	w := &hidingWriter{hide: r.hide, to: io.MultiWriter(f, hash, count)}
	_, err = io.Copy(w, content)
	err = errors.Join(err, w.Close(), f.Close())
	if err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		return 0, "", errors.Join(err, root.Remove(part))
	}
	return count.n, hex.EncodeToString(hash.Sum(nil)), nil
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// identifier makes a word of a text that hosts take for the id or the kind of an artifact.
func identifier(text string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			return c
		}
		return '-'
	}, text), "-.")
}
