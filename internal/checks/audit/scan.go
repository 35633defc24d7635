package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path"
	"runtime"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// chunk is how many files of one directory a worker takes at a time.
const chunk = 64

// A batch is some files of one directory.
type batch struct {
	dir   string
	files []*source
}

// batches divides files among workers. Files that go together lie together, so that a directory is opened once.
func batches(names []string) (all []*source, out []batch) {
	all = make([]*source, len(names))
	for i, n := range names {
		all[i] = &source{path: n}
		dir := path.Dir(n)
		if len(out) == 0 || out[len(out)-1].dir != dir || len(out[len(out)-1].files) == chunk {
			out = append(out, batch{dir: dir})
		}
		b := &out[len(out)-1]
		b.files = append(b.files, all[i])
	}
	return all, out
}

// scan gets the facts of every file, from the cache or from the file itself. Files without facts were not read; they
// are left out of the answer and counted.
func (a *audit) scan(ctx context.Context, names []string) (files []*source, err error) {
	all, work := batches(names)
	var next, done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(runtime.GOMAXPROCS(0), len(work)) {
		g.Go(func() error {
			w := &worker{a: a}
			defer w.close()
			for i := next.Add(1) - 1; i < int64(len(work)); i = next.Add(1) - 1 {
				if err := ctx.Err(); err != nil {
					return context.Cause(ctx)
				}
				w.batch(work[i])
				if a.cfg.Progress != nil {
					a.cfg.Progress(int(done.Add(int64(len(work[i].files)))), len(all))
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.facts != nil {
			files = append(files, s)
		} else if s.size >= 0 {
			a.skipped++
		}
	}
	return files, nil
}

// A worker reads files, one after the other.
type worker struct {
	a   *audit
	buf bytes.Buffer
	enc encoder
	gor goReader

	sessions map[string]*session // by the path of the script
}

func (w *worker) batch(b batch) {
	dir, err := w.a.root.OpenRoot(b.dir)
	if err != nil {
		return // it is gone, or cannot be read: its files are counted as skipped
	}
	defer dir.Close()
	for _, s := range b.files {
		w.file(dir, s)
	}
}

// gone marks what is no file of the tree: deleted and not yet committed, a link, a device.
const gone = -1

func (w *worker) file(dir *os.Root, s *source) {
	base := path.Base(s.path)
	fi, err := dir.Lstat(base)
	if err != nil || !fi.Mode().IsRegular() {
		s.size = gone
		return
	}
	s.size, s.mtime = fi.Size(), fi.ModTime().UnixNano()
	s.ino, s.ctime = stamp(fi)
	if s.size > w.a.set.Limits.MaxFileBytes {
		return
	}
	if w.a.cache.unchanged(s) {
		return
	}
	src, err := w.read(dir, base, s.size)
	if err != nil {
		return
	}
	s.digest = sha256.Sum256(src)
	if w.a.cache.known(s) {
		return
	}
	s.facts = w.facts(s.path, src)
	if w.a.cache.file != "" {
		w.enc.b = w.enc.b[:0]
		w.enc.facts(s.facts)
		s.encoded = string(w.enc.b)
	}
}

var errGrew = errors.New("the file grew while it was read")

// read returns the content of a file, good until the next call.
func (w *worker) read(dir *os.Root, name string, size int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w.buf.Reset()
	w.buf.Grow(int(size) + bytes.MinRead)
	n, err := w.buf.ReadFrom(io.LimitReader(f, w.a.set.Limits.MaxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if n > w.a.set.Limits.MaxFileBytes {
		return nil, errGrew
	}
	return w.buf.Bytes(), nil
}

// facts reads one file.
func (w *worker) facts(name string, src []byte) *facts {
	lang := languages[strings.ToLower(path.Ext(name))]
	f := &facts{lang: lang.name, lines: bytes.Count(src, []byte("\n"))}
	if len(src) > 0 && src[len(src)-1] != '\n' {
		f.lines++
	}
	if bytes.IndexByte(src[:min(len(src), 8000)], 0) >= 0 {
		f.unparsed = "not text"
		return f
	}
	switch {
	case lang.name == "go":
		w.gor.read(f, name, src, w.a.rules.literals)
	case lang.name == "markdown" && len(src) <= maxDocument:
		readDocument(f, src)
	case lang.structure && minified(src, f.lines):
		f.generated = true
	case lang.name == "javascript":
		readScript(f, name, src)
	case lang.structure:
		w.fingerprint(f, name, src)
	}
	if lang.syntax != nil && lang.name != "go" || lang.name == "go" && !f.parsed {
		readText(f, src, lang.syntax, w.a.rules.literals && lang.name != "go")
	}
	w.a.rules.apply(f, name, src, lang.syntax)
	return f
}

// minified reports whether a program wrote a file for other programs.
func minified(src []byte, lines int) bool { return len(src) > 4096 && len(src)/max(lines, 1) > 500 }

// readText gathers markers, and literals where they are wanted, from a file whose language has comments and strings.
func readText(f *facts, src []byte, syn *syntax, literals bool) {
	eachToken(src, syn, func(line int, text string) {
		if m, ok := marker(text); ok {
			m.line = line
			f.markers = append(f.markers, m)
		}
		if !f.generated && line <= 20 && strings.Contains(text, "Code generated") && strings.Contains(text, "DO NOT EDIT") {
			f.generated = true
		}
	}, func(line int, text string) {
		if literals {
			f.literals = append(f.literals, literalFact{value: text, line: line})
		}
	})
}
