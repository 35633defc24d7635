package outcome

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// discover looks, after a run that did not end by itself, for artifacts where the manifest says that they are. What is not
// there, cannot be read or is too much is passed over: it was not promised. // edge case 85
func (g *gathering) discover(ctx context.Context, p homeboy.ExecutorProvider, q homeboy.Request) error {
	d := p.TimeoutArtifactDiscovery
	if d == nil {
		return nil
	}
	for _, said := range discoveryPaths(*d, q) {
		place, rel, err := g.at.find(said)
		if err != nil {
			continue
		}
		err = g.within(place, rel, func(dir *os.Root, name string) error { return g.look(ctx, *d, dir, name, said, g.name(place)) })
		var r *refusal
		if err != nil && !errors.As(err, &r) {
			return err
		}
	}
	return nil
}

func discoveryPaths(d homeboy.ArtifactDiscovery, q homeboy.Request) []string {
	paths := slices.Clone(d.Paths)
	metadata, _ := object(q.Metadata)
	for _, key := range d.MetadataPathKeys {
		if path, ok := metadata[key].Text(); ok && path != "" {
			paths = append(paths, path)
		}
	}
	for _, key := range d.ConfigPathKeys {
		if path, ok := q.Executor.Config[key].Text(); ok && path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// look takes a file, or the files below a directory, that a pattern recognises.
func (g *gathering) look(ctx context.Context, d homeboy.ArtifactDiscovery, dir *os.Root, name, said, place string) error {
	take := func(ctx context.Context, dir *os.Root, name, rel string) error {
		i := slices.IndexFunc(d.ArtifactPatterns, func(p homeboy.ArtifactPattern) bool { return recognises(p, name) })
		if i < 0 {
			return nil
		}
		b, err := g.keep(ctx, dir, name)
		var r *refusal
		if errors.As(err, &r) {
			return nil
		}
		if err != nil {
			return err
		}
		p := d.ArtifactPatterns[i]
		if slices.ContainsFunc(g.o.Artifacts, func(a homeboy.Artifact) bool { return a.SHA256 == b.sha256 && a.Kind == p.Kind }) {
			return nil // the provider reported it itself
		}
		a := homeboy.Artifact{ID: name, Kind: p.Kind, Name: name, Mime: p.Mime, Metadata: p.Metadata}
		if p.ID != "" {
			a.ID = p.ID
		}
		if a.ID = g.freshID(a.ID); !fault.IsName(a.ID) || !fault.IsName(a.Kind) {
			return nil
		}
		g.compare(&a, b, custody{Owner: owner, Place: place, SourcePath: filepath.Join(said, rel)})
		g.o.Artifacts = append(g.o.Artifacts, a)
		return nil
	}
	info, err := dir.Lstat(name)
	if err != nil {
		return missing(err)
	}
	if !info.IsDir() {
		return take(ctx, dir, name, "")
	}
	w := walking{g: g, visit: take, enter: func(string) {}}
	return w.directory(ctx, dir, name, "")
}

// recognises reports whether the name of a file fits a pattern: each kind of condition that is there must hold.
func recognises(p homeboy.ArtifactPattern, name string) bool {
	conditions := []struct {
		texts homeboy.Texts
		holds func(text string) bool
	}{
		{p.FilenamePatterns, func(s string) bool { return matches(s, name) }},
		{p.FilenameContains, func(s string) bool { return strings.Contains(name, s) }},
		{p.Extensions, func(s string) bool { return strings.HasSuffix(name, "."+strings.TrimPrefix(s, ".")) }},
	}
	some := false
	for _, c := range conditions {
		if len(c.texts) == 0 {
			continue
		}
		if !slices.ContainsFunc(c.texts, c.holds) {
			return false
		}
		some = true
	}
	return some
}
