package gate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/truncate"
)

// artifacts checks that every declared artifact is a regular file inside the managed directory, which is new with
// this attempt. A file of the same name elsewhere is not an artifact. The directory was opened before the agent ran,
// so one that was put in its place later is never read.
func (v *verdict) artifacts(in Input) {
	for _, p := range in.Listed.Bad {
		v.reject(CodeArtifactInvalid, p, "%s cannot be kept: its name is not plain text, or too long", quotePath(p))
	}
	if left := in.Listed.LeftOut(); left != "" {
		v.note(NoteArtifactDropped, "", "%s", left)
	}
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
	for _, p := range sorted(declared) {
		rel, ok := ArtifactPath(in.Artifacts.Name(), p)
		if !ok && in.View.Artifacts != "" {
			rel, ok = ArtifactPath(in.View.Artifacts, p)
		}
		if !ok {
			v.reject(CodeArtifactOutside, p, "%s is not inside the directory of artifacts", quotePath(p))
			continue
		}
		if slices.Contains(in.Listed.Names, filepath.ToSlash(rel)) {
			v.artifactSchema(in, filepath.ToSlash(rel))
			continue
		}
		fi, err := in.Artifacts.Lstat(rel)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			v.reject(CodeArtifactMissing, p, "%s is declared and is not in the directory of artifacts", quotePath(p))
		case err != nil:
			v.reject(CodeArtifactOutside, p, "%s cannot be read inside the directory of artifacts: %v", quotePath(p), err)
		default:
			v.reject(CodeArtifactInvalid, p, "%s is not a regular file that can be kept (%s)", quotePath(p), fi.Mode().Type())
		}
	}
}

// maxSchemaArtifact bounds the size of an artifact that is validated against a schema.
const maxSchemaArtifact = 8 << 20

// artifactSchema validates a declared artifact against the schema that the task gives for it.
func (v *verdict) artifactSchema(in Input, name string) {
	text, ok := in.Spec.ArtifactSchemas[name]
	if !ok {
		return
	}
	err := func() error {
		s, err := schema.CompilePayload(text)
		if err != nil {
			return err
		}
		f, err := in.Artifacts.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		data, err := io.ReadAll(io.LimitReader(f, maxSchemaArtifact+1))
		if err != nil {
			return err
		}
		if len(data) > maxSchemaArtifact {
			return fmt.Errorf("it is larger than %d bytes", maxSchemaArtifact)
		}
		return s.Check(data)
	}()
	if err != nil {
		v.reject(CodeArtifactInvalid, name, "%s breaks its schema: %s", quotePath(name), strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// ArtifactPath turns a declared path into one relative to the directory of artifacts. It refuses a path that leads
// out.
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

// A Listing is the content of a directory of artifacts.
type Listing struct {
	Names []string // regular files, relative, slash-separated and sorted
	Bad   []string // names that a bundle cannot hold
	Size  int64    // of the regular files, in bytes

	Dropped []Dropped // other entries, which are left out: the first ones
	Others  int       // how many more were left out
}

// A Dropped is an entry in the directory of artifacts that is not an artifact.
type Dropped struct {
	Path string `json:"path"` // safe to show
	Kind string `json:"kind"`
}

// LeftOut says what was left out and why, or "".
func (l Listing) LeftOut() string {
	if len(l.Dropped) == 0 {
		return ""
	}
	names := make([]string, len(l.Dropped))
	for i, d := range l.Dropped {
		names[i] = d.Path + " (" + d.Kind + ")"
	}
	text := "left out of the artifacts, which are regular files: " + strings.Join(names, ", ")
	if l.Others > 0 {
		text += fmt.Sprintf(", and %d more", l.Others)
	}
	return text
}

// maxDropped bounds how many left-out entries are named: an agent can create any number of links.
const maxDropped = 20

const (
	// maxArtifactName leaves space for the directory that a bundle puts before the name.
	maxArtifactName = 900
	// maxArtifactEntries bounds how many entries are read, far beyond what any bundle takes.
	maxArtifactEntries = 100_000
)

// ListArtifacts lists the directory of artifacts. Links and special files are not artifacts: they are listed as
// dropped and never opened. The number and depth of entries are bounded, so that listing always ends.
func ListArtifacts(root *os.Root) (Listing, error) {
	var l Listing
	n := 0
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if path == "." && errors.Is(err, fs.ErrNotExist) {
			return nil // the agent removed it: there are no artifacts
		}
		if err != nil {
			return err
		}
		if n++; n > maxArtifactEntries {
			return fmt.Errorf("the directory of artifacts has more than %d entries", maxArtifactEntries)
		}
		if d.IsDir() && len(path) > maxArtifactName {
			l.Bad = append(l.Bad, path)
			return fs.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		if !d.Type().IsRegular() {
			if len(l.Dropped) < maxDropped {
				l.Dropped = append(l.Dropped, Dropped{truncate.Head(quotePath(path), maxArtifactName), kind(d.Type())})
			} else {
				l.Others++
			}
			return nil
		}
		if !plain(path) || len(path) > maxArtifactName {
			l.Bad = append(l.Bad, path)
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		l.Names = append(l.Names, path)
		l.Size += fi.Size()
		return nil
	})
	slices.Sort(l.Names)
	return l, err
}

// kind describes a file that is not regular.
func kind(t fs.FileMode) string {
	switch {
	case t&fs.ModeSymlink != 0:
		return "a link"
	case t&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case t&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// plain reports whether a name can be shown and stored as it is.
func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == '\\' })
}

// quotePath makes a path from the agent safe to show. One that is not plain text, or has space around it, is quoted,
// so that it cannot pose as another path.
func quotePath(p string) string {
	if plain(p) && strings.TrimSpace(p) == p {
		return p
	}
	return strconv.Quote(p)
}
