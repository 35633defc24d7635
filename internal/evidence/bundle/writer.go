package bundle

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// Options are what a Writer works with.
type Options struct {
	// Redactor redacts every byte that goes into the bundle. Nil: there are no secrets.
	Redactor *redact.Redactor
	// Key signs the bundle. Nil: it stays unsigned, and its manifest says so.
	Key *Key
}

// A Writer makes one bundle in a hidden directory next to the final one. Nothing is visible under the final name before
// Seal returns. It is safe for concurrent use; what is added keeps no order but that of its paths.
type Writer struct {
	final, dir string
	o          Options
	root       *os.Root
	lock       *os.File

	mu       sync.Mutex
	files    map[string]*entry // guarded by mu
	made     map[string]bool   // directories, guarded by mu
	open     int               // streams not closed yet, guarded by mu
	finished bool              // guarded by mu
}

// An entry is one file of a bundle in the making.
type entry struct {
	evidence.ManifestFile
	size     int64
	redacted redact.Counts
}

// Create begins a bundle that Seal will publish as dir. The caller must end with Seal or Abort. A dir that exists already is
// refused with an error that wraps atomicfile.ErrExists.
func Create(dir string, o Options) (*Writer, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("create bundle: %w", err)
	}
	if _, err := os.Lstat(dir); err == nil {
		return nil, fmt.Errorf("create bundle %s: %w", dir, atomicfile.ErrExists)
	}
	temp, lock, err := makeTemp(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(temp)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create bundle: %w", err), atomicfile.Unlock(lock), os.RemoveAll(temp))
	}
	at("created")
	return &Writer{final: dir, dir: temp, o: o, root: root, lock: lock, files: map[string]*entry{}, made: map[string]bool{".": true}}, nil
}

// AddBytes adds a file with the given content.
func (w *Writer) AddBytes(path, kind, contentType string, data []byte) error {
	var counts redact.Counts
	if contentType == evidence.TypeJSON {
		data, counts = redactJSON(w.o.Redactor, data, "  ")
	} else if contentType == evidence.TypeNDJSON && w.o.Redactor.Active() {
		return w.AddReader(path, kind, contentType, bytes.NewReader(data))
	} else {
		data, counts = w.o.Redactor.Redact(data)
	}
	return w.put(path, kind, contentType, data, counts)
}

// AddJSON adds v as an indented JSON file.
func (w *Writer) AddJSON(path, kind string, v any) error {
	data, err := encode(v, "  ")
	if err != nil {
		return fmt.Errorf("add %s: %w", path, err)
	}
	return w.AddBytes(path, kind, evidence.TypeJSON, data)
}

// AddFile copies the regular file src into the bundle. A symlink is refused: what an agent can replace is read through a
// root of the caller's, with AddReader.
func (w *Writer) AddFile(path, kind, contentType, src string) error {
	f, err := plainfile.OpenNoLink(src)
	if err != nil {
		return fmt.Errorf("add %s: %w", path, err)
	}
	err = w.AddReader(path, kind, contentType, f)
	return errors.Join(err, f.Close())
}

// AddReader copies everything that r gives into the bundle.
func (w *Writer) AddReader(path, kind, contentType string, r io.Reader) error {
	s, err := w.Stream(path, kind, contentType)
	if err != nil {
		return err
	}
	if _, err := io.Copy(s, r); err != nil {
		return errors.Join(atomicfile.Explain("add "+path, err), s.Close())
	}
	return s.Close()
}

// put writes finished content that needs no redacting any more.
func (w *Writer) put(p, kind, contentType string, data []byte, counts redact.Counts) error {
	if err := w.claim(p, kind, contentType); err != nil {
		return err
	}
	defer w.release()
	if err := w.root.WriteFile(p, data, 0o644); err != nil {
		return w.drop(p, atomicfile.Explain("add "+p, err))
	}
	w.record(p, hashBytes(data), int64(len(data)), counts, w.o.Redactor.MarksIn(data))
	return nil
}

// Stream adds a file whose content is written piece by piece. It counts as added when it is closed; Seal refuses while a
// stream is open.
func (w *Writer) Stream(p, kind, contentType string) (io.WriteCloser, error) {
	if err := w.claim(p, kind, contentType); err != nil {
		return nil, err
	}
	f, err := w.root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		w.release()
		return nil, w.drop(p, atomicfile.Explain("add "+p, err))
	}
	s := &stream{w: w, path: p, f: f, buf: bufio.NewWriterSize(f, 64<<10), hash: sha256.New()}
	s.marks = w.o.Redactor.Marks()
	into := []io.Writer{s.buf, s.hash, &s.size}
	if w.o.Redactor.Active() {
		into = append(into, s.marks)
	}
	s.red = w.o.Redactor.Writer(io.MultiWriter(into...))
	if contentType == evidence.TypeNDJSON && w.o.Redactor.Active() {
		s.lines = &lineWriter{r: w.o.Redactor, w: s.red}
	}
	return s, nil
}

type stream struct {
	w     *Writer
	path  string
	f     *os.File
	buf   *bufio.Writer
	hash  hash.Hash
	red   *redact.Writer
	lines *lineWriter // nil unless the file holds JSON lines and there are secrets
	marks *redact.Marks
	size  counter
	done  bool
}

func (s *stream) Write(p []byte) (int, error) {
	var dst io.Writer = s.red
	if s.lines != nil {
		dst = s.lines
	}
	n, err := dst.Write(p)
	return n, atomicfile.Explain("write "+s.path, err)
}

func (s *stream) Close() error {
	if s.done {
		return nil
	}
	s.done = true
	defer s.w.release()
	var err error
	if s.lines != nil {
		err = s.lines.flush()
	}
	err = errors.Join(err, s.red.Close(), s.buf.Flush(), s.f.Close())
	if err != nil {
		return s.w.drop(s.path, atomicfile.Explain("write "+s.path, err))
	}
	counts := s.red.Counts()
	if s.lines != nil {
		for name, n := range s.lines.counts {
			counts[name] += n
		}
	}
	s.w.record(s.path, hex.EncodeToString(s.hash.Sum(nil)), int64(s.size), counts, s.marks.Counts())
	return nil
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// claim reserves a path, makes its directories, and counts an open file.
func (w *Writer) claim(p, kind, contentType string) error {
	if fault := strictPathFault(p); fault != "" {
		return fmt.Errorf("add %q: %w: %s", p, ErrPath, fault)
	}
	if w.o.Redactor.Contains([]byte(p)) {
		return fmt.Errorf("add a file: %w: its name holds the value of a secret", ErrPath)
	}
	if kind == "" || contentType == "" {
		return fmt.Errorf("add %q: kind and content type are required", p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.finished:
		return fmt.Errorf("add %q: %w", p, ErrSealed)
	case derived[p]:
		return fmt.Errorf("add %q: %w: it is made by Seal", p, ErrPath)
	case w.files[p] != nil:
		return fmt.Errorf("add %q: %w", p, ErrDuplicate)
	case len(w.files)+len(derived) >= MaxFiles:
		return fmt.Errorf("add %q: %w: a bundle has at most %d files", p, ErrTooLarge, MaxFiles)
	}
	if err := w.mkdirLocked(path.Dir(p)); err != nil {
		return err
	}
	w.files[p] = &entry{ManifestFile: evidence.ManifestFile{Path: p, Kind: kind, ContentType: contentType}}
	w.open++
	return nil
}

func (w *Writer) mkdirLocked(dir string) error {
	if w.made[dir] {
		return nil
	}
	if err := w.root.MkdirAll(dir, 0o755); err != nil {
		return atomicfile.Explain("create "+dir+" in the bundle", err)
	}
	for ; !w.made[dir]; dir = path.Dir(dir) {
		w.made[dir] = true
	}
	return nil
}

func (w *Writer) release() {
	w.mu.Lock()
	w.open--
	w.mu.Unlock()
}

// record takes over what became of a file. An agent's output is redacted while it is printed, before it comes here, and more than
// one file repeats it: so the placeholders in a file count, not what this Writer replaced in it. The change is different: a file
// that contains a placeholder is as the agent made it, and what the Writer replaces there makes it another change.
func (w *Writer) record(p, sum string, size int64, replaced, marks redact.Counts) {
	counts := replaced
	if !slices.Contains(contentInputs, p) {
		counts = w.o.Redactor.Settle(replaced, marks)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.files[p]
	d := sha(sum)
	e.SHA256, e.size = &d, size
	if counts.Total() > 0 {
		e.redacted = counts
		applied := appliedRedaction()
		e.Redaction = &applied
	}
}

// drop forgets a file that could not be written, so that the path can be tried again.
func (w *Writer) drop(p string, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.files, p)
	if rerr := w.root.Remove(p); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// File returns what the manifest will say of a file that was added, and its size.
func (w *Writer) File(p string) (f evidence.ManifestFile, size int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.files[p]
	if e == nil || e.SHA256 == nil {
		return evidence.ManifestFile{}, 0, false
	}
	return e.ManifestFile, e.size, true
}

// ContentID returns the content digest and the bundle id. Both are known as soon as the change list and the patch were
// added, so that records that name the id can be added with the true one.
func (w *Writer) ContentID() (id, digest string, err error) {
	for _, p := range contentInputs {
		if _, _, ok := w.File(p); !ok {
			return "", "", fmt.Errorf("bundle id: %w: %s is missing", ErrIncomplete, p)
		}
	}
	digest, err = contentDigest(contentInputs, func(p string, dst io.Writer) error { return copyFile(w.root, p, dst) })
	if err != nil {
		return "", "", fmt.Errorf("bundle id: %w", err)
	}
	return evidence.BundleIDPrefix + digest, digest, nil
}

// Redactions sums up what was replaced in the files added so far, here or before they came here. A patch in it does not apply
// any more.
func (w *Writer) Redactions() evidence.RedactionSummary {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := evidence.RedactionSummary{Schema: evidence.SchemaRedaction, Status: evidence.RedactionClean, ByKind: map[string]int{}, Artifacts: []evidence.RedactedArtifact{}}
	for p, e := range w.files {
		addRedacted(&s, p, e.redacted)
	}
	slices.SortFunc(s.Artifacts, func(a, b evidence.RedactedArtifact) int { return cmp.Compare(a.Path, b.Path) })
	return s
}

// PatchRedacted reports whether a secret was replaced in the patch, which then no longer applies.
func (w *Writer) PatchRedacted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.files[evidence.PathPatch]
	return e != nil && e.redacted.Total() > 0
}

// Abort removes the unfinished bundle. After Seal it does nothing.
func (w *Writer) Abort() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finished {
		return nil
	}
	w.finished = true
	return errors.Join(w.root.Close(), os.RemoveAll(w.dir), atomicfile.Unlock(w.lock))
}
