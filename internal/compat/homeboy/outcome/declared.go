package outcome

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// A treeEntry is one file or directory of a declared tree.
type treeEntry struct {
	Path   string `json:"path"`
	Type   string `json:"type"` // file or directory
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // of the blob
}

// declared keeps the files and directories that the request declares by their paths, whatever the provider said. If
// one is required and missing, demand reports it. // edge cases 84, 85
func (g *gathering) declared(ctx context.Context, q homeboy.Request) error {
	for _, d := range q.Declarations() {
		if d.Path == "" || g.at.Workspace == "" {
			continue
		}
		reported := slices.IndexFunc(g.o.Artifacts, func(a homeboy.Artifact) bool { return named(a, d.Name) && verified(a) && !reviewOnly(a) })
		a := homeboy.Artifact{ID: g.freshID(d.Name), Kind: "artifact", Name: d.Name}
		if fault.IsName(d.Type) {
			a.Kind = d.Type
		}
		err := g.harvest(ctx, &a, d.Path)
		var r *refusal
		switch {
		case err == nil && reported >= 0 && a.SHA256 != "" && g.o.Artifacts[reported].SHA256 == a.SHA256:
			// The provider reported the same file.
		case err == nil:
			if reported >= 0 {
				addDiagnostic(g.o, CodeDeclared, fmt.Sprintf("declared artifact %s: the provider told of another file by this name, and both are kept", clip(d.Name)), declaredData(d, faultCollision))
			}
			g.o.Artifacts = append(g.o.Artifacts, a)
		case !errors.As(err, &r):
			return err
		case r.code != faultMissing:
			addDiagnostic(g.o, CodeDeclared, fmt.Sprintf("declared artifact %s: %s", clip(d.Name), r.detail), declaredData(d, r.code))
		}
	}
	return nil
}

func declaredData(d homeboy.ArtifactDeclaration, code string) map[string]any {
	return map[string]any{"phase": PhaseRun, "artifact": d.Name, "required": d.Required, "code": code, "path": d.Path}
}

// harvest keeps a file or a tree of the workspace.
func (g *gathering) harvest(ctx context.Context, a *homeboy.Artifact, path string) error {
	if !filepath.IsLocal(path) || strings.ContainsRune(path, 0) {
		return refuse(faultUnsafe, "%q is not a path below the workspace", clip(path))
	}
	return g.within(g.at.Workspace, filepath.Clean(path), func(dir *os.Root, name string) error {
		info, err := dir.Lstat(name)
		if err != nil {
			return missing(err)
		}
		c := custody{Owner: owner, Place: "workspace", SourcePath: path}
		if info.IsDir() {
			return g.tree(ctx, a, dir, name, c)
		}
		b, err := g.keep(ctx, dir, name)
		if err == nil {
			g.compare(a, b, c)
		}
		return err
	})
}

// tree keeps a directory: its files as blobs, and a list of them whose digest identifies the whole.
func (g *gathering) tree(ctx context.Context, a *homeboy.Artifact, dir *os.Root, name string, c custody) error {
	var size int64 // a tree is one artifact, and may have no more bytes than another
	w := walking{g: g, visit: func(ctx context.Context, dir *os.Root, name, rel string) error {
		b, err := g.keep(ctx, dir, name)
		if size += b.size; err == nil && size > MaxArtifact {
			return refuse(faultTooLarge, "its files have more than %d bytes", MaxArtifact)
		}
		c.Redacted += b.redacted
		c.Tree = append(c.Tree, treeEntry{Path: rel, Type: "file", Size: b.size, SHA256: b.sha256})
		return err
	}, enter: func(rel string) { c.Tree = append(c.Tree, treeEntry{Path: rel, Type: "directory"}) }}
	if err := w.directory(ctx, dir, name, ""); err != nil {
		return err
	}
	sum := sha256.Sum256(value(c.Tree))
	c.TreeSHA256, c.Verified = hex.EncodeToString(sum[:]), true
	a.SizeBytes = &size
	a.Metadata = with(a.Metadata, provenance, c)
	return nil
}

// A walking goes through a tree in the order of names, without following a link and within bounds.
type walking struct {
	g     *gathering
	nodes int
	visit func(ctx context.Context, dir *os.Root, name, rel string) error
	enter func(rel string)
}

func (w *walking) directory(ctx context.Context, parent *os.Root, name, rel string) error {
	if strings.Count(rel, "/") >= MaxLevels {
		return refuse(faultTooLarge, "it is deeper than %d directories", MaxLevels)
	}
	dir, err := enter(parent, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := w.list(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		in := strings.TrimPrefix(rel+"/"+e.Name(), "/")
		if !e.IsDir() {
			err = w.visit(ctx, dir, e.Name(), in)
		} else {
			w.enter(in)
			err = w.directory(ctx, dir, e.Name(), in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns the entries of a directory by name, and no more of them than a tree may have.
func (w *walking) list(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, missing(err)
	}
	defer f.Close()
	var all []fs.DirEntry
	for {
		some, err := f.ReadDir(256)
		all = append(all, some...)
		if w.nodes += len(some); w.nodes > MaxNodes {
			return nil, refuse(faultTooLarge, "it has more than %d files and directories", MaxNodes)
		}
		if len(some) == 0 || err != nil {
			break // at the end; what cannot be read is not there
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, nil
}

// demand makes a success a failure that lacks an artifact which was required. A failure is not asked for any.
func (g *gathering) demand(q homeboy.Request) {
	if !homeboy.IsSuccess(g.o.Status) && g.o.Status != homeboy.CandidateRecoverable {
		return
	}
	lacking := false
	for _, d := range q.Declarations() {
		if d.Name == homeboy.KindPatch || d.Type == homeboy.KindPatch {
			continue // the change is captured by deed, and may be empty
		}
		code, detail, pointer := g.lack(d)
		if code == "" || !d.Required && code != faultType {
			continue
		}
		data := declaredData(d, code)
		if pointer != "" {
			data["pointer"] = pointer
		}
		addDiagnostic(g.o, CodeDeclared, fmt.Sprintf("declared artifact %s: %s", clip(d.Name), detail), data)
		lacking = lacking || d.Required
	}
	if lacking {
		if homeboy.IsSuccess(g.o.Status) {
			g.o.Metadata = with(g.o.Metadata, "provider_status", g.o.Status)
		}
		g.o.Status, g.o.FailureClassification = homeboy.Failed, homeboy.ClassExecutionFailed
	}
}

// lack returns what is wrong with a declared artifact, and where in the outcome. // edge case 74
func (g *gathering) lack(d homeboy.ArtifactDeclaration) (code, detail, pointer string) {
	for i, t := range g.o.TypedArtifacts {
		if t.Name != d.Name {
			continue
		}
		pointer = "/typed_artifacts/" + strconv.Itoa(i)
		switch {
		case d.Type != "" && t.Type != "" && t.Type != d.Type:
			return faultType, fmt.Sprintf("it is of type %q, and %q was asked for", clip(t.Type), clip(d.Type)), pointer + "/type"
		case d.ArtifactSchema != "" && t.ArtifactSchema != "" && t.ArtifactSchema != d.ArtifactSchema:
			return faultType, fmt.Sprintf("it is of schema %q, and %q was asked for", clip(t.ArtifactSchema), clip(d.ArtifactSchema)), pointer + "/artifact_schema"
		case substantial(t.Payload), g.refers(t.Artifact):
			return "", "", ""
		}
		code, detail, pointer = faultEmpty, "it is there and empty", pointer+"/payload"
	}
	for i, a := range g.o.Artifacts {
		switch {
		case !named(a, d.Name):
		case reviewOnly(a) && a.URL == "":
			code, detail, pointer = faultRead, "it is there and cannot be relied on", "/artifacts/"+strconv.Itoa(i)
		case a.SizeBytes != nil && *a.SizeBytes == 0:
			code, detail, pointer = faultEmpty, "it is there and empty", "/artifacts/"+strconv.Itoa(i)
		default:
			return "", "", ""
		}
	}
	if code == "" {
		return faultMissing, "it is not there", ""
	}
	return code, detail, pointer
}

// refers reports whether a typed artifact points at one whose bytes deed has.
func (g *gathering) refers(to homeboy.Value) bool {
	id, ok := to.Text()
	if members, is := object(to); is {
		id, ok = members["id"].Text()
	}
	return ok && slices.ContainsFunc(g.o.Artifacts, func(a homeboy.Artifact) bool { return a.ID == id && verified(a) && !reviewOnly(a) })
}

// named reports whether an artifact goes by a declared name.
func named(a homeboy.Artifact, name string) bool {
	return slices.Contains([]string{a.Name, a.ID, a.Kind, a.Role, a.SemanticKey}, name)
}

// freshID returns an id that no artifact has.
func (g *gathering) freshID(want string) string { return freshID(*g.o, want) }

func freshID(o homeboy.Outcome, want string) string {
	id := want
	for n := 2; slices.ContainsFunc(o.Artifacts, func(a homeboy.Artifact) bool { return a.ID == id }); n++ {
		id = want + "-" + strconv.Itoa(n)
	}
	return id
}
