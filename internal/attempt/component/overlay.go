package component

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// An Overlay is an entry of runtime_overlays: it replaces a library of the runtime.
type Overlay struct {
	Kind     string
	Library  string
	Strategy string
	Source   string
	Target   string // "": the descriptor's
	Bundle   string // the place of the built bundle below the source; "": the source itself
	Metadata map[string]any
	At       string // its path in the wire request; "": by list and index
}

// An OverlayResult says what was mounted for an overlay.
type OverlayResult struct {
	Kind     string         `json:"kind"`
	Library  string         `json:"library"`
	Strategy string         `json:"strategy"`
	Source   string         `json:"source"` // as it was asked for
	Target   string         `json:"target"`
	Digest   string         `json:"digest"` // of the mounted directory, as workspace.Manifest.Digest
	Metadata map[string]any `json:"metadata,omitempty"`
}

// A descriptor is a kind of overlay that deed knows how to mount.
type descriptor struct {
	kind, library, strategy string
	target                  string
	built                   string // a file that only the built form has
}

var descriptors = []descriptor{
	{"bundled-library", "php-ai-client", "wordpress-scoped-bundle", WordPressDir + "/wp-includes/php-ai-client", "autoload.php"},
}

// OverlayTargets lists the places in WordPress's own tree that an overlay may cover. That tree is read-only, so the
// mount points must be in it.
func OverlayTargets() []string {
	out := make([]string, len(descriptors))
	for i, d := range descriptors {
		out[i] = d.target
	}
	return out
}

type overlay struct {
	at     string
	o      Overlay
	d      descriptor
	source string
}

func (r *resolver) overlays() []overlay {
	var out []overlay
	for i, o := range r.req.Overlays {
		at := at(o.At, "runtime_overlays", i)
		d, ok := describe(o)
		if !ok {
			known := descriptors[0]
			r.faults.Add(at, fault.NotAllowed, fmt.Sprintf("there is no runtime overlay of kind %.80q, library %.80q and strategy %.80q", o.Kind, o.Library, o.Strategy),
				fmt.Sprintf("use kind %s, library %s and strategy %s", known.kind, known.library, known.strategy))
			continue
		}
		if o.Target != "" && o.Target != d.target {
			r.faults.Add(at+".target", fault.NotAllowed, fmt.Sprintf("%.80q is not where this library is", o.Target), "leave it out, or use "+d.target)
		}
		source := r.directory(at+".source", o.Source)
		if o.Bundle != "" && source != "" {
			source = r.below(at+".bundle", source, o.Bundle)
		}
		if source == "" {
			continue
		}
		if !built(source, d) {
			r.faults.Add(at+".source", fault.Dangling, fmt.Sprintf("%q holds no built bundle: %s is not there", o.Source, d.built),
				"build the scoped bundle beforehand (Composer and PHP-Scoper need the network, which a run does not have) and name its directory")
			continue
		}
		out = append(out, overlay{at, o, d, source})
		r.taken = append(r.taken, taken{at, d.target})
	}
	return out
}

func describe(o Overlay) (descriptor, bool) {
	for _, d := range descriptors {
		if d.kind == o.Kind && d.library == o.Library && d.strategy == o.Strategy {
			return d, true
		}
	}
	return descriptor{}, false
}

func built(dir string, d descriptor) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	return isFile(root, d.built)
}

// below returns the true path of a directory below a source, or "" after naming the fault.
func (r *resolver) below(at, source, rel string) string {
	n := r.faults.Len()
	r.faults.RelativePath(at, rel)
	if r.faults.Len() > n {
		return ""
	}
	dir := r.directory(at, filepath.Join(source, rel))
	if dir != "" && !workspace.Within(dir, source) {
		r.faults.Add(at, fault.NotAllowed, fmt.Sprintf("%q leads out of the source", rel), "name a directory below it")
		return ""
	}
	return dir
}

func (r *resolver) prepareOverlays(ctx context.Context, list []overlay, res *Resolved) error {
	for _, v := range list {
		dir := filepath.Join(r.req.Dir, "overlays", v.d.library)
		digest, err := r.copyDir(ctx, v.at, v.source, dir)
		if err != nil {
			return fmt.Errorf("%s: overlay %s: %w", v.at, v.d.library, err)
		}
		res.Mounts = append(res.Mounts, Mount{Source: dir, Target: v.d.target, ReadOnly: true})
		res.Overlays = append(res.Overlays, OverlayResult{
			Kind: v.d.kind, Library: v.d.library, Strategy: v.d.strategy,
			Source: v.o.Source, Target: v.d.target, Digest: digest, Metadata: v.o.Metadata,
		})
	}
	return nil
}
