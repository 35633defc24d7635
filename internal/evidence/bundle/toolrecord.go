package bundle

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// A ToolCallRecording is a transcript that a caller brings, and where its artifacts are.
type ToolCallRecording struct {
	// Transcript is the JSON text of a wp-codebox/tool-call-transcript/v1.
	Transcript []byte
	// Source is the directory that has the artifacts at the paths that the transcript gives them. Empty: the
	// transcript refers to none.
	Source string
	// Redactor redacts every byte that is written. Nil: there are no secrets.
	Redactor *redact.Redactor
}

// RecordToolCalls is the operation record-tool-call-transcript: it checks a caller's transcript against its schema, its
// rules and its artifacts, and writes all of it, redacted, into dir, which has no manifest yet. It returns the transcript
// as it was written and the entries that a manifest will need. The transcript comes last and appears whole, so that a
// crash leaves files that nothing refers to, never a reference to nothing. Every fault is returned at once as
// fault.Faults, and then nothing is written; a sealed dir is ErrSealed, a second transcript ErrDuplicate.
func RecordToolCalls(dir string, in ToolCallRecording) (evidence.ToolCallTranscript, []evidence.ManifestFile, error) {
	var none evidence.ToolCallTranscript
	wrap := func(err error) error { return fmt.Errorf("record tool calls: %w", err) }
	root, err := os.OpenRoot(dir)
	if err != nil {
		return none, nil, wrap(err)
	}
	defer root.Close()
	lock, err := lockDir(dir)
	if err != nil {
		return none, nil, wrap(err)
	}
	defer func() { _ = atomicfile.Unlock(lock) }()
	for _, c := range []struct {
		path  string
		taken error
	}{{evidence.PathManifest, ErrSealed}, {evidence.PathToolCallTranscript, ErrDuplicate}} {
		if _, err := root.Lstat(c.path); !errors.Is(err, os.ErrNotExist) {
			return none, nil, wrap(errors.Join(fmt.Errorf("%s is there: %w", c.path, c.taken), err))
		}
	}
	t, err := schema.Decode[evidence.ToolCallTranscript](evidence.SchemaToolCallTranscript, in.Transcript)
	if err != nil {
		return none, nil, wrap(err)
	}
	files, err := gather(&t, in)
	if err != nil {
		return none, nil, wrap(err)
	}
	data, err := encodeTranscript(t)
	if err != nil {
		return none, nil, wrap(err)
	}
	if err := writeRecording(root, files, data); err != nil {
		return none, nil, wrap(err)
	}
	return t, entries(files, data, t.Redaction), nil
}

// gather reads, checks and redacts the artifacts, and makes the transcript say what will be stored.
func gather(t *evidence.ToolCallTranscript, in ToolCallRecording) ([]toolFile, error) {
	g := &gatherer{r: in.Redactor, byPath: map[string]*toolFile{}}
	if in.Source != "" {
		source, err := os.OpenRoot(in.Source)
		if err != nil {
			return nil, err
		}
		defer source.Close()
		g.source = source
	}
	if n := len(t.ToolCalls); n > MaxToolCalls {
		g.faults.Add("$.tool_calls", fault.OutOfRange, fmt.Sprintf("has %d calls", n), fmt.Sprintf("use at most %d", MaxToolCalls))
		return nil, g.faults.Err()
	}
	anywhere := false
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		at := fault.Index("$.tool_calls", i)
		replaced := g.side(c.InputArtifacts, c.InputDigest, at, "input", evidence.KindToolCallInput)
		replaced = g.side(c.OutputArtifacts, c.OutputDigest, at, "output", evidence.KindToolCallOutput) || replaced
		more, err := redactRecord(in.Redactor, c)
		if err != nil {
			return nil, err
		}
		if replaced || more {
			c.Redaction, anywhere = appliedRedaction(), true
		}
	}
	more, err := redactRecord(in.Redactor, &t.Metadata)
	if err != nil {
		return nil, err
	}
	if anywhere || more {
		t.Redaction = appliedRedaction()
	}
	if err := g.faults.Err(); err != nil {
		return nil, err
	}
	// Redacting can make two ids one.
	return g.files(), t.Validate()
}

type gatherer struct {
	r      *redact.Redactor
	source *os.Root // nil: there are no artifacts
	faults fault.List
	byPath map[string]*toolFile
	order  []string
	bytes  int
}

// side handles the artifacts of one side of a call and its digest, and reports whether something was replaced in them.
func (g *gatherer) side(refs []evidence.ToolArtifact, digest *evidence.Digest, at, side, kind string) (replaced bool) {
	for i := range refs {
		here := fault.Index(at+"."+side+"_artifacts", i)
		f, original := g.artifact(refs[i], kind, here)
		if f == nil {
			continue
		}
		g.agree(here+".sha256", refs[i].SHA256, original)
		if len(refs) == 1 {
			g.agree(at+"."+side+"_digest", digest, original)
		}
		refs[i] = f.ref
		replaced = replaced || f.counts.Total() > 0
		if len(refs) == 1 && digest != nil {
			*digest = *f.ref.SHA256
		}
	}
	return replaced
}

// agree compares a stated digest with that of the file that the caller brought.
func (g *gatherer) agree(at string, stated *evidence.Digest, original string) {
	if stated != nil && stated.Value != original {
		g.faults.Add(at, fault.Conflict, fmt.Sprintf("is %s, and the file has %s", stated.Value, original), "state the digest of the file, or leave it out")
	}
}

// artifact reads one file of the source, once, and returns it redacted, with the digest of what was read.
func (g *gatherer) artifact(ref evidence.ToolArtifact, kind, at string) (f *toolFile, original string) {
	if !g.mayHold(ref.Path, at) {
		return nil, ""
	}
	if f := g.byPath[ref.Path]; f != nil {
		g.faults.Add(at+".path", fault.Duplicate, fmt.Sprintf("%q is referred to twice", shorten(ref.Path)), "give each input and output a file of its own")
		return nil, ""
	}
	data, err := g.read(ref.Path)
	if err != nil {
		g.faults.Add(at+".path", fault.Dangling, fmt.Sprintf("%q cannot be read: %v", shorten(ref.Path), err), fmt.Sprintf("put a regular file of at most %d bytes there", MaxToolArtifact))
		return nil, ""
	}
	if g.bytes += len(data); g.bytes > maxToolBytes || len(g.order) == maxToolArtifacts {
		g.faults.Add("$.tool_calls", fault.OutOfRange, "has more artifacts than are kept", fmt.Sprintf("use at most %d files and %d bytes", maxToolArtifacts, maxToolBytes))
		return nil, ""
	}
	f = &toolFile{ref: ref}
	f.ref.Kind = kind
	if f.ref.ContentType == "" {
		f.ref.ContentType, _ = toolContent(data)
	}
	f.data, f.counts = redactContent(g.r, f.ref.ContentType, data)
	sum := sha(hashBytes(f.data))
	f.ref.SHA256 = &sum
	g.byPath[ref.Path] = f
	g.order = append(g.order, ref.Path)
	return f, hashBytes(data)
}

// mayHold demands a place among the tool calls, in the one spelling of a bundle path.
func (g *gatherer) mayHold(p, at string) bool {
	dir := path.Dir(evidence.PathToolCallTranscript) + "/"
	switch bad := strictPathFault(p); {
	case bad != "":
		g.faults.Add(at+".path", fault.BadFormat, fmt.Sprintf("%q: %s", shorten(p), bad), "use a path such as "+dir+"0001-input.json")
	case !strings.HasPrefix(p, dir) || p == evidence.PathToolCallTranscript || g.r.Contains([]byte(p)):
		g.faults.Add(at+".path", fault.NotAllowed, fmt.Sprintf("%q is no place for an artifact", shorten(g.r.String(p))), "use a path such as "+dir+"0001-input.json")
	case g.source == nil:
		g.faults.Add(at+".path", fault.Dangling, fmt.Sprintf("%q is referred to and no artifacts were brought", shorten(p)), "name the directory that holds them")
	default:
		return true
	}
	return false
}

func (g *gatherer) read(p string) ([]byte, error) {
	f, err := plainfile.OpenIn(g.source, p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxToolArtifact+1))
	if err == nil && len(data) > MaxToolArtifact {
		err = ErrTooLarge
	}
	return data, err
}

func (g *gatherer) files() []toolFile {
	out := make([]toolFile, len(g.order))
	for i, p := range g.order {
		out[i] = *g.byPath[p]
	}
	return out
}

// writeRecording makes everything durable, the transcript last. What a recording that was killed left behind is written
// over: nothing refers to it. On an error it takes back what it wrote.
func writeRecording(root *os.Root, files []toolFile, transcript []byte) (err error) {
	const final = evidence.PathToolCallTranscript
	var written []string
	defer func() {
		if err == nil {
			return
		}
		for _, p := range written {
			err = errors.Join(err, root.Remove(p))
		}
	}()
	for _, f := range append(files, toolFile{ref: evidence.ToolArtifact{Path: final}, data: transcript}) {
		p := f.ref.Path
		if err := writeWhole(root, p, f.data); err != nil {
			return atomicfile.Explain("write "+p, err)
		}
		written = append(written, p)
		if err := atomicfile.SyncDir(path.Join(root.Name(), path.Dir(p))); err != nil {
			return err
		}
	}
	return nil
}

// writeWhole writes a file below root so that it is there whole or not at all.
func writeWhole(root *os.Root, p string, data []byte) error {
	temp := path.Join(path.Dir(p), ".recording"+tempSuffix)
	if err := root.MkdirAll(path.Dir(p), 0o755); err != nil {
		return err
	}
	if err := root.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(temp, p)
	}
	if err != nil {
		err = errors.Join(err, root.Remove(temp))
	}
	return err
}

// entries are what a manifest says of the files.
func entries(files []toolFile, transcript []byte, r evidence.FileRedaction) []evidence.ManifestFile {
	sum := sha(hashBytes(transcript))
	out := []evidence.ManifestFile{{
		Path: evidence.PathToolCallTranscript, Kind: evidence.KindToolCallTranscript, ContentType: evidence.TypeJSON, SHA256: &sum, Redaction: &r,
	}}
	for _, f := range files {
		e := evidence.ManifestFile{Path: f.ref.Path, Kind: f.ref.Kind, ContentType: f.ref.ContentType, SHA256: f.ref.SHA256}
		if f.counts.Total() > 0 {
			applied := appliedRedaction()
			e.Redaction = &applied
		}
		out = append(out, e)
	}
	return out
}
