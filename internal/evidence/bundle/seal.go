package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/canonjson"
)

// at marks the steps between which a crash test kills the process. Only tests set it, before they write anything.
var at = func(step string) {}

// A SealInput is what the caller knows of the attempt, in addition to the files that it added. Strings in it are
// redacted.
type SealInput struct {
	CreatedAt time.Time
	Runtime   evidence.Runtime // backend, status and createdAt have defaults
	Task      map[string]any   // provenance of the task, without host paths
	Agent     map[string]any   // provenance of the agent
	Workspace map[string]any   // provenance of the workspace
	Mounts    []evidence.Mount
	Policy    evidence.Policy // a block without a status is not_configured
	Context   map[string]any
	Spec      any
	Summary   string
	Progress  []evidence.ReviewProgress
	Actions   []evidence.ReviewAction // what a reviewer may do; nil: approve and discard for a change, else discard
	RiskFlags []string
	Statement Statement // what is attested
}

// Sealed names a finished bundle.
type Sealed struct {
	ID             string // artifact-bundle-sha256-…: made of the change, so two empty changes share it
	Digest         string // the content digest in it
	Dir            string
	ManifestDigest string // the manifest's self hash: unlike the id it covers every file
	KeyID          string // empty when unsigned
}

// Seal writes the derived files, the attestation and the manifest, makes all of it durable and publishes the directory under
// its final name. An error leaves no bundle; the Writer is finished either way.
func (w *Writer) Seal(ctx context.Context, in SealInput) (Sealed, error) {
	w.mu.Lock()
	if w.finished {
		w.mu.Unlock()
		return Sealed{}, fmt.Errorf("seal bundle: %w", ErrSealed)
	}
	open := w.open
	w.mu.Unlock()
	if open > 0 {
		return Sealed{}, errors.Join(fmt.Errorf("seal bundle: %w: %d files are still being written", ErrIncomplete, open), w.Abort())
	}
	s, err := w.seal(ctx, in)
	if err != nil {
		return Sealed{}, errors.Join(fmt.Errorf("seal bundle: %w", err), w.Abort())
	}
	return s, nil
}

func (w *Writer) seal(ctx context.Context, in SealInput) (Sealed, error) {
	var missing []string
	for _, p := range Required() {
		if _, _, ok := w.File(p); !ok {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		return Sealed{}, fmt.Errorf("%w: missing %s", ErrIncomplete, strings.Join(missing, ", "))
	}
	id, digest, err := w.ContentID()
	if err != nil {
		return Sealed{}, err
	}
	at("added")
	d, err := w.derive(id, digest, in)
	if err != nil {
		return Sealed{}, err
	}
	for _, f := range []struct {
		path, kind string
		v          any
	}{
		{evidence.PathReview, evidence.KindReview, d.review},
		{evidence.PathMetadata, evidence.KindMetadata, d.metadata},
	} {
		if err := w.putJSON(f.path, f.kind, f.v); err != nil {
			return Sealed{}, err
		}
	}
	ref, err := w.reference(d.metadata)
	if err != nil {
		return Sealed{}, err
	}
	if err := w.putJSON(evidence.PathRuntimeReference, evidence.KindRuntimeReference, ref); err != nil {
		return Sealed{}, err
	}
	at("derived")
	self, keyID, err := w.writeManifest(d)
	if err != nil {
		return Sealed{}, err
	}
	at("manifest")
	if err := w.publish(ctx); err != nil {
		return Sealed{}, err
	}
	return Sealed{ID: id, Digest: digest, Dir: w.final, ManifestDigest: self, KeyID: keyID}, nil
}

// putJSON writes a derived file. Its strings were redacted before.
func (w *Writer) putJSON(path, kind string, v any) error {
	data, err := encode(v, "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return w.putDerived(path, kind, data)
}

func (w *Writer) putDerived(path, kind string, data []byte) error {
	if fault := jsonFault(data); fault != "" {
		return fmt.Errorf("%s: %w: %s", path, ErrTooLarge, fault)
	}
	w.mu.Lock()
	err := w.mkdirLocked(filepath.ToSlash(filepath.Dir(path)))
	w.files[path] = &entry{ManifestFile: evidence.ManifestFile{Path: path, Kind: kind, ContentType: evidence.TypeJSON}}
	w.mu.Unlock()
	if err != nil {
		return err
	}
	if err := w.root.WriteFile(path, data, 0o644); err != nil {
		return atomicfile.Explain("write "+path, err)
	}
	w.record(path, hashBytes(data), int64(len(data)), nil, w.o.Redactor.MarksIn(data))
	return nil
}

// writeManifest signs and writes the last two files. Their entries hold zeros in what is hashed for them.
func (w *Writer) writeManifest(d derivedDocs) (self, keyID string, err error) {
	m := evidence.Manifest{ID: d.metadata.ID, ContentDigest: d.metadata.ContentDigest, CreatedAt: d.metadata.CreatedAt, Runtime: d.metadata.Runtime}
	zero := sha(zeroHash)
	m.Files = append(m.Files, evidence.ManifestFile{Path: evidence.PathManifest, Kind: evidence.KindManifest, ContentType: evidence.TypeJSON, SHA256: &zero})
	if w.o.Key != nil {
		m.Files = append(m.Files, evidence.ManifestFile{Path: PathAttestation, Kind: KindAttestation, ContentType: evidence.TypeJSON, SHA256: &zero})
	}
	m.Files = append(m.Files, w.listed()...)

	if w.o.Key != nil {
		attested, err := canonjson.HashIn(domainAttested, m)
		if err != nil {
			return "", "", err
		}
		patch, _, _ := w.File(evidence.PathPatch)
		envelope, err := sign(w.o.Key, d.statement, m.ID, attested, patch.SHA256.Value, m.CreatedAt)
		if err != nil {
			return "", "", err
		}
		if err := w.putDerived(PathAttestation, KindAttestation, envelope); err != nil {
			return "", "", err
		}
		sum := sha(hashBytes(envelope))
		m.Files[1].SHA256 = &sum
		keyID = w.o.Key.Public().ID
		at("signed")
	}
	if self, err = canonjson.HashIn(evidence.DomainManifestSelf, m); err != nil {
		return "", "", err
	}
	own := sha(self)
	m.Files[0].SHA256 = &own
	return self, keyID, w.putJSON(evidence.PathManifest, evidence.KindManifest, m)
}

// listed returns the entries of all files written so far, the best known first, the rest by path.
func (w *Writer) listed() []evidence.ManifestFile {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]evidence.ManifestFile, 0, len(w.files))
	for _, e := range w.files {
		out = append(out, e.ManifestFile)
	}
	slices.SortFunc(out, func(a, b evidence.ManifestFile) int {
		return cmp.Or(cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")), cmp.Compare(a.Path, b.Path))
	})
	return out
}

// paths are those of the files and directories that were written so far.
func (w *Writer) paths() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for p := range w.files {
		out = append(out, filepath.Join(w.dir, filepath.FromSlash(p)))
	}
	for p := range w.made {
		out = append(out, filepath.Join(w.dir, filepath.FromSlash(p)))
	}
	return out
}

// publish is the only step that makes the bundle visible. A crash before the rename leaves a hidden directory, which
// RemoveStale takes away; a crash after it leaves a whole bundle, because everything in it was durable before.
func (w *Writer) publish(ctx context.Context) error {
	if err := atomicfile.SyncPaths(ctx, w.paths()); err != nil {
		return err
	}
	at("synced")
	if err := atomicfile.RenameDir(w.dir, w.final); err != nil {
		if !errors.Is(err, atomicfile.ErrExists) {
			// The rename may have happened and the parent's fsync failed: then the name is not durable and must not be used.
			if _, serr := os.Lstat(w.dir); errors.Is(serr, os.ErrNotExist) {
				err = errors.Join(err, os.RemoveAll(w.final))
			}
		}
		return err
	}
	at("published")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finished = true
	// The bundle stands; closing handles on it cannot change that.
	_ = w.root.Close()
	_ = atomicfile.Unlock(w.lock)
	return nil
}

// jsonFault says why a verifier would refuse to read a JSON file whole, or returns "".
func jsonFault(data []byte) string {
	if len(data) > maxJSONBytes {
		return fmt.Sprintf("it has %d bytes, and at most %d are read", len(data), maxJSONBytes)
	}
	if n := jsonValues(data); n > maxJSONValues {
		return fmt.Sprintf("it has about %d values, and at most %d are read", n, maxJSONValues)
	}
	return ""
}

// jsonValues bounds from above how many values a JSON text holds, without parsing it.
func jsonValues(data []byte) int {
	n := 1
	for _, c := range data {
		if c == ',' || c == '[' || c == '{' {
			n++
		}
	}
	return n
}
