package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
)

// The bounds of what is shown of evidence at once.
const (
	maxPatch  = 256 << 20 // of a patch that is read
	firstRows = 600       // of a change on its first view
	partRows  = 800       // of one part that is fetched
	maxBrief  = 1 << 20
	maxListed = 2000

	maxManifest = 64 << 20
)

// readEvidence reads a file of an attempt's bundle, or of its directory while it runs. A file that is not there is nil.
func (s *Site) readEvidence(at view.Attempt, inBundle, inRun string, most int64) ([]byte, error) {
	dir, name := at.Bundle, inBundle
	if dir == "" {
		dir, name = s.Home.Attempt(at.AttemptID), inRun
	}
	if name == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	fi, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !fi.Mode().IsRegular() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most))
}

// A shownFile is a file of a change with the rows that are shown of it.
type shownFile struct {
	fileDiff
	Shown, Split bool
	Lines        []row
	Pairs        []pair
	More         int
	Src, MoreURL string
}

type diffBody struct {
	taskFrame
	Files                []shownFile
	Added, Deleted       int
	Size                 int
	Split                bool
	UnifiedURL, SplitURL string
	Empty                string
}

// diff shows the change of an attempt: its files, and of the first ones the lines. The lines of the others are fetched when they are
// looked at, so that a change of any size is there at once.
func (s *Site) diff(r *http.Request) (screen, error) {
	q := r.URL.Query()
	f, err := s.taskFrame(r, "diff")
	if err != nil {
		return screen{}, err
	}
	patch, err := s.readEvidence(f.At, evidence.PathPatch, "", maxPatch)
	if err != nil {
		return screen{}, err
	}
	list := parsePatch(patch)
	split := q.Get("view") == "split"
	if q.Has("file") {
		return s.diffPart(f, list, q, split)
	}
	b := diffBody{taskFrame: f, Size: len(patch), Split: split, UnifiedURL: diffURL(f, false), SplitURL: diffURL(f, true), Empty: "The attempt changed no file that a patch can hold."}
	switch {
	case f.At.AttemptID == "":
		b.Empty = "No agent has worked on it yet."
	case f.At.Live:
		b.Empty = "The agent still works. Its change is taken when it says that it is done."
	case f.At.Bundle == "":
		b.Empty = "This attempt has no bundle, or it was removed by a rule of retention."
	}
	left := firstRows
	for _, x := range list {
		b.Added, b.Deleted = b.Added+x.Added, b.Deleted+x.Deleted
		one := shownFile{fileDiff: x, Split: split, Src: fmt.Sprintf("%s&file=%d", diffURL(f, split), x.Index)}
		if x.Rows > 0 && left > 0 {
			one.fill(0, min(left, partRows))
			left -= x.Rows
		}
		b.Files = append(b.Files, one)
	}
	sc := f.screen("diff", b)
	sc.still = sc.still || f.At.Bundle != ""
	return sc, nil
}

func diffURL(f taskFrame, split bool) string {
	v := url.Values{"attempt": {f.At.AttemptID}, "view": {"unified"}}
	if split {
		v.Set("view", "split")
	}
	return "/tasks/" + f.Task.Task.TaskID + "/diff?" + v.Encode()
}

// fill takes a stretch of the file's rows.
func (x *shownFile) fill(from, most int) {
	x.Shown = true
	rows := x.rows(from, most)
	if x.Split {
		x.Pairs = sideBySide(rows)
	} else {
		x.Lines = rows
	}
	if next := from + len(rows); next < x.Rows {
		x.More, x.MoreURL = x.Rows-next, fmt.Sprintf("%s&from=%d", x.Src, next)
	}
}

// diffPart is one stretch of one file: a fragment for the script, or a page of its own for who has none.
func (s *Site) diffPart(f taskFrame, list []fileDiff, q url.Values, split bool) (screen, error) {
	i, err := strconv.Atoi(q.Get("file"))
	from, ferr := strconv.Atoi(or(q.Get("from"), "0"))
	if err != nil || ferr != nil || i < 0 || i >= len(list) || from < 0 || from > list[i].Rows {
		return screen{}, fmt.Errorf("the change has no such part: %w", store.ErrNotFound)
	}
	one := shownFile{fileDiff: list[i], Split: split, Src: fmt.Sprintf("%s&file=%d", diffURL(f, split), i)}
	one.fill(from, partRows)
	if q.Has("page") {
		return f.screen("diff", diffBody{taskFrame: f, Files: []shownFile{one}, Split: split, Added: one.Added, Deleted: one.Deleted, Size: len(one.body), UnifiedURL: diffURL(f, false), SplitURL: diffURL(f, true)}), nil
	}
	return screen{template: "fragment", fragment: true, body: one}, nil
}

type logsBody struct {
	taskFrame
	Which            []filter
	Text, Cut, Empty string
	Size             int64
}

// logs shows the end of what the agent printed.
func (s *Site) logs(r *http.Request) (screen, error) {
	f, err := s.taskFrame(r, "logs")
	if err != nil {
		return screen{}, err
	}
	stream := view.Stdout
	if r.URL.Query().Get("stream") == view.Stderr {
		stream = view.Stderr
	}
	b := logsBody{taskFrame: f, Empty: "The agent has printed nothing here."}
	for _, x := range []struct{ stream, name string }{{view.Stdout, "Standard output"}, {view.Stderr, "Standard error"}} {
		b.Which = append(b.Which, filter{Name: x.name, On: x.stream == stream, Href: fmt.Sprintf("/tasks/%s/logs?attempt=%s&stream=%s", f.Task.Task.TaskID, f.At.AttemptID, x.stream)})
	}
	if f.At.AttemptID == "" {
		b.Empty = "No agent has worked on it yet."
		return f.screen("logs", b), nil
	}
	l, err := s.View.Log(r.Context(), f.At.AttemptID, stream, -maxTail, maxTail)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return screen{}, err
	}
	b.Text, b.Size = l.Text, l.Size
	if l.Offset > 0 {
		b.Cut = "Only the end is shown. The whole is in the bundle, and deed task logs prints it."
	}
	return f.screen("logs", b), nil
}

// maxTail is how much of a log is shown.
const maxTail = 128 << 10

type briefBody struct {
	taskFrame
	Text, Parts, Cut, Empty string
}

func (s *Site) brief(r *http.Request) (screen, error) {
	f, err := s.taskFrame(r, "brief")
	if err != nil {
		return screen{}, err
	}
	b := briefBody{taskFrame: f, Empty: "There is no brief yet: it is compiled when an attempt begins."}
	if f.At.AttemptID != "" {
		text, err := s.readEvidence(f.At, bundle.PathPrompt, "run/prompt.txt", maxBrief+1)
		if err != nil {
			return screen{}, err
		}
		var cut bool
		if b.Text, cut = truncate.Cut(string(text), maxBrief); cut {
			b.Cut = "The brief is longer; its end is in the bundle."
		}
		parts, err := s.readEvidence(f.At, "files/attempt/brief.json", "", maxBrief)
		if err != nil {
			return screen{}, err
		}
		b.Parts = pretty(parts)
		b.Empty = "The brief of this attempt is not here."
	}
	return f.screen("brief", b), nil
}

type bundleBody struct {
	taskFrame
	Dir, Empty string
	Verified   *verified
	Tar        string // where the whole bundle can be downloaded
	Listed     []file
	More       int // that are not listed here
}

// A file is one that an agent or deed wrote, with its address; "" where it cannot be downloaded.
type file struct{ Path, Kind, SHA256, Href string }

// fileURL is where a file is served: as text, or as a download in a sandbox. Each part of the address is one, whatever it is called.
func (s *Site) fileURL(parts ...string) string {
	if s.Files == "" {
		return ""
	}
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return s.Files + "/" + strings.Join(parts, "/")
}

// listed reads what the manifest of a bundle lists, without verifying it.
func (s *Site) listed(b *bundleBody) error {
	text, err := s.readEvidence(b.At, evidence.PathManifest, "", maxManifest)
	if err != nil || text == nil {
		return err
	}
	var m evidence.Manifest
	_ = json.Unmarshal(text, &m) // the verification says what is wrong with it
	b.Tar = s.fileURL("attempts", b.At.AttemptID, "bundle.tar")
	for _, f := range m.Files[:min(len(m.Files), maxListed)] {
		x := file{Path: f.Path, Kind: f.Kind}
		if filepath.IsLocal(f.Path) { // else it is no file of the bundle
			x.Href = s.fileURL(append([]string{"attempts", b.At.AttemptID, "bundle", "files"}, strings.Split(f.Path, "/")...)...)
		}
		if f.SHA256 != nil {
			x.SHA256 = f.SHA256.Value
		}
		b.Listed = append(b.Listed, x)
	}
	b.More = len(m.Files) - len(b.Listed)
	return nil
}

// artifacts are what the task produced, each with its address.
func (s *Site) artifacts(t view.Task) []file {
	out := make([]file, len(t.Artifacts))
	for i, a := range t.Artifacts {
		out[i] = file{Path: a.RelativePath, Kind: string(a.Role), Href: s.fileURL("tasks", t.Task.TaskID, "artifacts", a.ArtifactID)}
	}
	return out
}

// A verified is what a verification found.
type verified struct {
	Report         bundle.Verification
	Files          int
	SignatureClass string
	At             string
}

// bundle shows what the evidence is made of, and verifies it when it is asked to: every file is read and hashed then.
func (s *Site) bundle(r *http.Request) (screen, error) {
	f, err := s.taskFrame(r, "bundle")
	if err != nil {
		return screen{}, err
	}
	b := bundleBody{taskFrame: f, Dir: f.At.Bundle, Empty: "There is no bundle yet: it is made when the attempt ends, whatever way it ends."}
	if b.Dir == "" {
		return f.screen("bundle", b), nil
	}
	if _, err := os.Stat(b.Dir); errors.Is(err, fs.ErrNotExist) {
		b.Dir, b.Empty = "", "The bundle is not here: a rule of retention removed it, or the attempt ran on another machine."
		return f.screen("bundle", b), nil
	}
	if err := s.listed(&b); err != nil {
		return screen{}, err
	}
	if r.URL.Query().Get("verify") != "" {
		keys, err := s.Desk.Keys()
		if err != nil {
			return screen{}, err
		}
		rep, err := apply.Verify(b.Dir, bundle.VerifyOptions{TrustedKeys: keys})
		if err != nil {
			return screen{}, err
		}
		v := &verified{Report: rep, SignatureClass: "bad", At: stamp(s.Clock())}
		if rep.Signature.Status == bundle.SignatureValid {
			v.SignatureClass = "good"
		}
		if rep.Manifest != nil {
			v.Files = len(rep.Manifest.Files)
		}
		b.Verified = v
	}
	sc := f.screen("bundle", b)
	sc.still = true
	return sc, nil
}
