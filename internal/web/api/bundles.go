package api

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

type fileQuery struct {
	ID   string `path:"id" doc:"of the attempt"`
	Path string `path:"path" doc:"of the file, as the bundle's list has it"`
}

// BundleFile is one file of a bundle.
type BundleFile struct {
	Path        string `json:"path"`
	Kind        string `json:"kind"`
	ContentType string `json:"content_type"`
	SHA256      string `json:"sha256,omitempty"`
	Size        int64  `json:"size"` // -1: it is missing
}

// Bundle is the list of an attempt's evidence.
type Bundle struct {
	Schema    string       `json:"schema"`
	AttemptID string       `json:"attempt_id"`
	BundleID  string       `json:"bundle_id"`
	Files     []BundleFile `json:"files"`
}

// Artifacts are the artifacts of a task.
type Artifacts struct {
	Schema string                        `json:"schema"`
	Items  []agentruntime.ArtifactRecord `json:"items"`
}

type artifactQuery struct {
	ID       string `path:"id" doc:"of the task"`
	Artifact string `path:"artifact" doc:"the artifact's id"`
}

const (
	maxManifest = 64 << 20
	largeAnswer = 10 * time.Minute // of a whole bundle
	artifactDir = "files/artifacts/"
)

func (a *API) bundles() {
	get(a, "/attempts/{id}/bundle", about{id: "getBundle", tag: "bundles", summary: "List the files of an attempt's bundle", need: access.Read}, a.getBundle)
	raw(a, http.MethodGet, "/attempts/{id}/bundle/files/{path...}", about{
		id: "getBundleFile", tag: "bundles", summary: "Read one file of a bundle", need: access.Read, media: "application/octet-stream", timeout: largeAnswer,
		detail: "Text is shown; everything else is a download in a sandbox, because an agent may have written it.",
	}, func(ctx context.Context, w http.ResponseWriter, r *http.Request, in fileQuery) error {
		b, err := a.openBundle(ctx, in.ID)
		if err != nil {
			return err
		}
		defer b.close()
		return b.serve(w, r, in.Path, false)
	})
	raw(a, http.MethodGet, "/attempts/{id}/bundle.tar", about{id: "getBundleTar", tag: "bundles", summary: "Download a whole bundle; `deed verify` checks it anywhere", need: access.Read, media: "application/x-tar", timeout: largeAnswer}, a.serveTar)
	get(a, "/attempts/{id}/verification", about{id: "verifyBundle", tag: "bundles", summary: "Check a bundle now: paths, digests, id, signature", need: access.Read, timeout: largeAnswer}, a.verifyBundle)
	get(a, "/tasks/{id}/artifacts", about{id: "listArtifacts", tag: "bundles", summary: "List the accepted artifacts of a task", need: access.Read}, func(ctx context.Context, in one) (Artifacts, error) {
		t, err := a.Store.Task(ctx, in.ID)
		if err != nil {
			return Artifacts{}, err
		}
		list, err := a.Store.Artifacts(ctx, t.ID())
		if list == nil {
			list = []agentruntime.ArtifactRecord{}
		}
		return Artifacts{Schema: "deed/artifacts/v1", Items: list}, err
	})
	raw(a, http.MethodGet, "/tasks/{id}/artifacts/{artifact}", about{id: "getArtifact", tag: "bundles", summary: "Download an artifact", need: access.Read, media: "application/octet-stream", timeout: largeAnswer}, a.serveArtifact)
}

// An opened bundle is one from whose directory no link leads out.
type opened struct {
	root     *os.Root
	dir      string
	attempt  store.Attempt
	manifest evidence.Manifest
}

func (b *opened) close() { _ = b.root.Close() }

// openBundle opens the evidence of an attempt.
func (a *API) openBundle(ctx context.Context, id string) (*opened, error) {
	at, err := a.Store.Attempt(ctx, id)
	if err != nil {
		return nil, err
	}
	dir := a.View.BundleDir(at)
	if dir == "" {
		return nil, notFound("attempt " + at.Record.AttemptID + " has no bundle: it has not settled, or a retention rule removed it")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, notFound("the bundle of attempt " + at.Record.AttemptID + " is not there any more")
	}
	b := &opened{root: root, dir: dir, attempt: at}
	data, err := plainfile.ReadIn(root, evidence.PathManifest, maxManifest)
	if err == nil {
		err = json.Unmarshal(data, &b.manifest)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("bundle of attempt %s: %w", at.Record.AttemptID, err)
	}
	return b, nil
}

func (a *API) getBundle(ctx context.Context, in one) (Bundle, error) {
	b, err := a.openBundle(ctx, in.ID)
	if err != nil {
		return Bundle{}, err
	}
	defer b.close()
	out := Bundle{Schema: "deed/bundle/v1", AttemptID: b.attempt.Record.AttemptID, BundleID: b.attempt.BundleID, Files: []BundleFile{}}
	for _, f := range b.manifest.Files {
		x := BundleFile{Path: f.Path, Kind: f.Kind, ContentType: f.ContentType, Size: -1}
		if f.SHA256 != nil {
			x.SHA256 = f.SHA256.Value
		}
		if fi, err := b.root.Lstat(f.Path); err == nil && fi.Mode().IsRegular() {
			x.Size = fi.Size()
		}
		out.Files = append(out.Files, x)
	}
	return out, nil
}

// open opens a file of the bundle that its manifest lists, or the manifest itself.
func (b *opened) open(name string) (*os.File, fs.FileInfo, error) {
	if name != evidence.PathManifest && bundle.ListedFile(&b.manifest, name) == nil {
		return nil, nil, notFound("the bundle lists no file " + strconv.Quote(clip(name)))
	}
	f, err := plainfile.OpenIn(b.root, name)
	var fi fs.FileInfo
	if err == nil {
		fi, err = f.Stat()
	}
	if err != nil {
		return nil, nil, notFound("the bundle has no plain file " + strconv.Quote(clip(name)) + "; `deed verify` says more")
	}
	return f, fi, nil
}

// serve writes one file. An agent may have made it: it is text, or a download in a sandbox, whatever it says that it is.
func (b *opened) serve(w http.ResponseWriter, r *http.Request, name string, inline bool) error {
	f, fi, err := b.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	media := "application/json"
	if x := bundle.ListedFile(&b.manifest, name); x != nil {
		media = x.ContentType
	}
	h := w.Header()
	contain(h, media, path.Base(name), inline)
	h.Set("ETag", `"`+strconv.FormatInt(fi.Size(), 36)+"-"+strconv.FormatInt(fi.ModTime().UnixNano(), 36)+`"`)
	http.ServeContent(&fileWriter{ResponseWriter: w, r: r}, r, "", fi.ModTime(), f) // with ranges
	return nil
}

// A fileWriter reports the refusals of net/http, of a range or a condition that does not hold, as problems.
type fileWriter struct {
	http.ResponseWriter
	r       *http.Request
	refused bool
}

func (w *fileWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *fileWriter) WriteHeader(status int) {
	if w.refused = status >= http.StatusBadRequest; !w.refused {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	p := httperror.New(status, "range", "the file has no such range of bytes")
	if status == http.StatusPreconditionFailed {
		p = httperror.New(status, "changed_meanwhile", "it is not as you saw it (If-Match); read it again")
	}
	w.Header().Del("Content-Disposition")
	httperror.Write(w.ResponseWriter, w.r, p)
}

func (w *fileWriter) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// contain sets what keeps a file from being more than a file.
func contain(h http.Header, media, name string, inline bool) {
	kind, _, _ := mime.ParseMediaType(media)
	disposition := "attachment"
	switch {
	case kind == "text/plain" || strings.HasSuffix(name, ".log") || strings.HasSuffix(name, ".diff") || strings.HasSuffix(name, ".jsonl"):
		media, disposition = "text/plain; charset=utf-8", "inline"
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		media = "application/json"
		if inline {
			disposition = "inline"
		}
	default:
		media = "application/octet-stream"
	}
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": fileName(name)}))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
}

// fileName keeps a name from being anything but one.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`"\/:*?<>|`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if strings.Trim(name, ". ") == "" {
		return "file"
	}
	return name
}

// serveTar streams a bundle. An error on the way cuts the answer short, so that no client takes a part for the whole.
func (a *API) serveTar(ctx context.Context, w http.ResponseWriter, _ *http.Request, in one) error {
	b, err := a.openBundle(ctx, in.ID)
	if err != nil {
		return err
	}
	defer b.close()
	h := w.Header()
	top := "bundle-" + b.attempt.Record.AttemptID
	contain(h, "application/x-tar", top+".tar", false)
	h.Set("Content-Type", "application/x-tar")
	tw := tar.NewWriter(w)
	names := []string{evidence.PathManifest}
	for _, f := range b.manifest.Files {
		if f.Path != evidence.PathManifest {
			names = append(names, f.Path)
		}
	}
	ctl := http.NewResponseController(w)
	for _, name := range names {
		_ = ctl.SetWriteDeadline(clock.Start().Add(time.Minute)) // for each file, not for the whole
		if err := b.tarOne(tw, top, name); err != nil {
			a.Log.Warn("api: bundle as tar", "attempt", b.attempt.Record.AttemptID, "file", name, "error", err)
			panic(http.ErrAbortHandler)
		}
	}
	if err := tw.Close(); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (b *opened) tarOne(tw *tar.Writer, top, name string) error {
	f, fi, err := b.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := tw.WriteHeader(&tar.Header{Name: top + "/" + name, Mode: 0o644, Size: fi.Size(), ModTime: fi.ModTime(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(tw, io.LimitReader(f, fi.Size()))
	return err
}

func (a *API) verifyBundle(ctx context.Context, in one) (bundle.Verification, error) {
	b, err := a.openBundle(ctx, in.ID)
	if err != nil {
		return bundle.Verification{}, err
	}
	defer b.close()
	keys, err := a.Keys()
	if err != nil {
		return bundle.Verification{}, err
	}
	return apply.Verify(b.dir, bundle.VerifyOptions{TrustedKeys: keys})
}

func (a *API) serveArtifact(ctx context.Context, w http.ResponseWriter, r *http.Request, in artifactQuery) error {
	t, err := a.Store.Task(ctx, in.ID)
	if err != nil {
		return err
	}
	list, err := a.Store.Artifacts(ctx, t.ID())
	if err != nil {
		return err
	}
	for _, x := range list {
		if x.ArtifactID != in.Artifact {
			continue
		}
		// Artifacts are those of the attempt that was accepted, which is the newest that has a bundle.
		attempts, err := a.Store.Attempts(ctx, t.ID())
		if err != nil {
			return err
		}
		for i := len(attempts) - 1; i >= 0; i-- {
			if attempts[i].BundleDir == "" {
				continue
			}
			b, err := a.openBundle(ctx, attempts[i].Record.AttemptID)
			if err != nil {
				return err
			}
			defer b.close()
			return b.serve(w, r, artifactDir+x.RelativePath, false)
		}
	}
	return notFound("task " + t.ID() + " has no such artifact, or its bundle is gone")
}
