package outcome

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/deedrun/deed/contract/homeboy"
)

// The classes of diagnostics about artifacts. The member code of their data says what is wrong.
const (
	CodeArtifact = "agent_task.artifact_finalization_failed"
	CodeExternal = "agent_task.legacy_external_artifact"
	CodeDeclared = "agent_task.declared_artifact_harvest_failed"
)

// More that can be wrong with an artifact.
const (
	faultDigest    = "digest_mismatch"
	faultSize      = "size_mismatch"
	faultCollision = "id_collision"
	faultRedacted  = "redacted"
	faultEmpty     = "empty"
	faultType      = "type_mismatch"
)

// Gather looks at every artifact that the answer or the request names, and keeps the bytes of those that are files
// below a place of the provider as blobs/SHA256 in the directory into, which it makes. A fault of an artifact is
// reported in the outcome and makes that artifact review-only; an artifact that is required and missing turns a
// success into a failure. A patch is not asked for: deed captures the change itself, and Overlay adds it. The error is
// only of this machine: a full disk, an end of ctx. Call it when the provider's processes are gone, once.
func (a *Answer) Gather(ctx context.Context, p homeboy.ExecutorProvider, q homeboy.Request, at Places, into string) error {
	g := gathering{o: &a.Outcome, at: at, vault: vault{dir: into, redactor: a.redactor}, roots: map[string]*os.Root{}}
	defer g.close()
	for i := range g.o.Artifacts {
		path := g.o.Artifacts[i].Path
		if i < len(a.paths) {
			path = a.paths[i]
		}
		if err := g.artifact(ctx, &g.o.Artifacts[i], path); err != nil {
			return err
		}
	}
	g.collide()
	if err := g.declared(ctx, q); err != nil {
		return err
	}
	if a.Row != rowValid && a.Row != rowRecovered {
		if err := g.discover(ctx, p, q); err != nil {
			return err
		}
	}
	g.demand(q)
	a.scrub(nil)
	return g.vault.sync(ctx)
}

// The rows of a provider that answered and ended by itself.
const (
	rowValid     = "valid"
	rowRecovered = "recovered"
)

// A gathering is one call of Gather.
type gathering struct {
	o     *homeboy.Outcome
	at    Places
	vault vault
	roots map[string]*os.Root
}

func (g *gathering) close() {
	for _, r := range g.roots {
		_ = r.Close()
	}
}

// root opens a place once.
func (g *gathering) root(dir string) (*os.Root, error) {
	if r := g.roots[dir]; r != nil {
		return r, nil
	}
	r, err := openPlace(dir)
	if err == nil {
		g.roots[dir] = r
	}
	return r, err
}

// within calls do with the directory that holds a path and the path's last name.
func (g *gathering) within(place, rel string, do func(dir *os.Root, name string) error) error {
	root, err := g.root(place)
	if err != nil {
		return err
	}
	dir, name, err := descend(root, rel)
	if err != nil {
		return err
	}
	if dir != root {
		defer dir.Close()
	}
	return do(dir, name)
}

// keep takes the bytes of a file.
func (g *gathering) keep(ctx context.Context, dir *os.Root, name string) (blob, error) {
	f, info, err := openFile(dir, name)
	if err != nil {
		return blob{}, err
	}
	defer f.Close()
	return g.vault.take(ctx, f, info.Size())
}

// A custody is what deed says about where an artifact comes from: the member artifact_provenance of its metadata.
type custody struct {
	Owner          string      `json:"owner"`
	Verified       bool        `json:"verified"` // deed has its bytes, and counted and hashed them
	Place          string      `json:"place,omitempty"`
	SourcePath     string      `json:"source_path,omitempty"`
	Redacted       int         `json:"redacted,omitempty"` // secrets that were taken out
	DeclaredSHA256 string      `json:"declared_sha256,omitempty"`
	DeclaredSize   *int64      `json:"declared_size_bytes,omitempty"`
	Tree           []treeEntry `json:"tree,omitempty"`
	TreeSHA256     string      `json:"tree_sha256,omitempty"`
	Attempt        string      `json:"attempt,omitempty"`
	BaseRef        string      `json:"base_ref,omitempty"`
}

const owner = "deed"

// artifact keeps what an artifact of the outcome points at. What the artifact states about itself is compared and not
// believed.
func (g *gathering) artifact(ctx context.Context, a *homeboy.Artifact, path string) error {
	if path == "" {
		g.markReviewOnly(a, custody{Owner: owner})
		return nil
	}
	place, rel, err := g.at.find(path)
	var b blob
	if err == nil {
		err = g.within(place, rel, func(dir *os.Root, name string) error {
			b, err = g.keep(ctx, dir, name)
			return err
		})
	}
	c := custody{Owner: owner, Place: g.name(place), SourcePath: a.Path}
	var r *refusal
	switch {
	case errors.As(err, &r):
		c.DeclaredSHA256, c.DeclaredSize = a.SHA256, a.SizeBytes
		a.SHA256, a.SizeBytes = "", nil
		g.markReviewOnly(a, c)
		class := CodeArtifact
		if r.code == faultOutside {
			class = CodeExternal
		}
		g.reportFault(a, class, r.code, r.detail)
		return nil
	case err != nil:
		return err
	}
	g.compare(a, b, c)
	return nil
}

// compare holds what an artifact says about itself against its bytes.
func (g *gathering) compare(a *homeboy.Artifact, b blob, c custody) {
	c.Verified, c.Redacted = true, b.redacted
	if a.SHA256 != "" && a.SHA256 != b.source {
		c.DeclaredSHA256 = a.SHA256
		g.reportFault(a, CodeArtifact, faultDigest, "it has another SHA-256 than it was said to have")
	}
	if a.SizeBytes != nil && *a.SizeBytes != b.length {
		c.DeclaredSize = a.SizeBytes
		g.reportFault(a, CodeArtifact, faultSize, fmt.Sprintf("it has %d bytes, and was said to have %d", b.length, *a.SizeBytes))
	}
	if b.redacted > 0 && isPatch(*a) {
		g.reportFault(a, CodeArtifact, faultRedacted, "secrets were taken out of it, and it cannot be applied as it is")
	}
	size := b.size
	a.Path, a.SHA256, a.SizeBytes = b.name, b.sha256, &size
	a.Metadata = with(a.Metadata, provenance, c)
}

// markReviewOnly marks an artifact whose bytes deed does not have. It is never applied.
func (g *gathering) markReviewOnly(a *homeboy.Artifact, c custody) {
	a.Metadata = with(a.Metadata, provenance, c)
	a.Metadata = with(a.Metadata, homeboy.MetadataReviewOnly, true)
}

// reportFault reports a fault of an artifact and makes it review-only.
func (g *gathering) reportFault(a *homeboy.Artifact, class, code, detail string) {
	a.Metadata = with(a.Metadata, homeboy.MetadataReviewOnly, true)
	addDiagnostic(g.o, class, fmt.Sprintf("artifact %s: %s", clip(a.ID), detail), map[string]any{"phase": PhaseRun, "artifact": a.ID, "code": code, "path": a.Path})
}

// name returns what a place is called in the outcome.
func (g *gathering) name(place string) string {
	switch place {
	case "":
		return ""
	case g.at.Artifacts:
		return "artifacts"
	}
	return "workspace"
}

// collide drops artifacts that are there twice, and blames those that share an id and nothing else. // edge case 81
func (g *gathering) collide() {
	first := map[string]int{}
	var drop []int
	for i := range g.o.Artifacts {
		a := &g.o.Artifacts[i]
		if !verified(*a) {
			continue
		}
		j, again := first[a.ID]
		if !again {
			first[a.ID] = i
			continue
		}
		other := &g.o.Artifacts[j]
		switch {
		case other.SHA256 != a.SHA256:
			g.reportFault(other, CodeArtifact, faultCollision, "another artifact has its id and other bytes")
			g.reportFault(a, CodeArtifact, faultCollision, "another artifact has its id and other bytes")
		case other.Kind == a.Kind && other.Role == a.Role && other.Name == a.Name:
			drop = append(drop, i)
		}
	}
	for _, i := range slices.Backward(drop) {
		g.o.Artifacts = slices.Delete(g.o.Artifacts, i, i+1)
	}
}

// verified reports whether deed has the bytes of an artifact.
func verified(a homeboy.Artifact) bool {
	yes, _ := at(a.Metadata, provenance+".verified")
	return string(yes) == "true"
}

// reviewOnly reports whether something is wrong with an artifact.
func reviewOnly(a homeboy.Artifact) bool {
	yes, _ := at(a.Metadata, homeboy.MetadataReviewOnly)
	return string(yes) == "true"
}

func isPatch(a homeboy.Artifact) bool {
	return a.Kind == homeboy.KindPatch || a.Role == homeboy.KindPatch
}
