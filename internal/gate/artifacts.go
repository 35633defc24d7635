package gate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// artifacts checks that what was declared is there: inside the managed directory, which is new with this attempt,
// and a regular file. A file of the same name elsewhere is not an artifact.
func (v *verdict) artifacts(in Input) {
	declared := map[string]bool{}
	for _, p := range in.Evidence.RequiredArtifacts {
		declared[p] = true
	}
	if in.Claim != nil {
		for _, p := range in.Claim.ArtifactPaths {
			declared[p] = true
		}
	}
	if in.Spec.RequireArtifacts && len(declared) == 0 {
		v.reject(CodeArtifactMissing, "", "the task asks for artifacts, and none is declared")
	}
	if len(declared) == 0 {
		return
	}
	root, err := os.OpenRoot(in.Artifacts)
	if err != nil {
		v.reject(CodeArtifactMissing, "", "the directory of artifacts cannot be opened: %v", err)
		return
	}
	defer func() { _ = root.Close() }()
	for _, p := range sorted(declared) {
		rel, ok := ArtifactPath(in.Artifacts, p)
		if !ok {
			v.reject(CodeArtifactOutside, p, "%s is not inside the directory of artifacts", p)
			continue
		}
		fi, err := root.Lstat(rel)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			v.reject(CodeArtifactMissing, p, "%s is declared and is not in the directory of artifacts", p)
		case err != nil:
			v.reject(CodeArtifactOutside, p, "%s cannot be read inside the directory of artifacts: %v", p, err)
		case !fi.Mode().IsRegular():
			v.reject(CodeArtifactInvalid, p, "%s is not a regular file (%s)", p, fi.Mode().Type())
		}
	}
}

// ArtifactPath turns a declared path into one relative to the directory of artifacts. It refuses what leads out.
func ArtifactPath(root, p string) (string, bool) {
	if p == "" || strings.ContainsRune(p, 0) {
		return "", false
	}
	if filepath.IsAbs(p) {
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return "", false
		}
		p = rel
	}
	if !filepath.IsLocal(p) {
		return "", false
	}
	return filepath.Clean(p), true
}

// ListArtifacts returns every regular file in the directory of artifacts, relative and sorted, and their size in
// all.
func ListArtifacts(root string) (names []string, size int64, err error) {
	var out []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type().IsRegular() {
			fi, err := d.Info()
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			out = append(out, filepath.ToSlash(rel))
			size += fi.Size()
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	sort.Strings(out)
	return out, size, nil
}
