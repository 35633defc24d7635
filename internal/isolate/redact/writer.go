package redact

import "io"

// A Writer replaces secrets in a stream. However the input is cut into writes, the output is the same: overlapping finds
// become one replacement, which bears the name of the one that starts first, or of the longest of those. It holds back
// only bytes that may be the start of a form: at most as many as the longest form has, with a line break and its indentation
// between each two of them. It is not safe for concurrent use.
type Writer struct {
	r      *Redactor
	w      io.Writer
	held   []byte // input that is not decided yet
	hidden int    // how many bytes at the start of held lie under a replacement already written
	counts []int
	quiet  bool // finds do not go into the Redactor's report
	closed bool
	err    error
}

// Writer returns a Writer in front of w. Close must be called, or the last bytes may be missing; it does not close w.
func (r *Redactor) Writer(w io.Writer) *Writer {
	out := &Writer{r: r, w: w}
	if r.Active() {
		out.counts = make([]int, len(r.names))
	}
	return out
}

// Write takes all of p or returns the error of the writer behind it, which is then final.
func (w *Writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, errClosed
	}
	if w.err != nil {
		return 0, w.err
	}
	if !w.r.Active() {
		return w.w.Write(p)
	}
	for rest := p; len(rest) > 0; {
		// A step at a time, so that held stays small whatever the size of p.
		n := min(len(rest), 64<<10)
		if len(w.held) == 0 {
			used := w.scan(rest[:n], false)
			w.held = append(w.held[:0], rest[used:n]...)
		} else {
			w.held = append(w.held, rest[:n]...)
			used := w.scan(w.held, false)
			w.held = w.held[:copy(w.held, w.held[used:])]
		}
		rest = rest[n:]
		if w.err != nil {
			return 0, w.err
		}
	}
	return len(p), nil
}

// Close writes what was held back. Calling it again does nothing.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	if w.err == nil && w.r.Active() {
		w.scan(w.held, true)
		w.held = nil
	}
	return w.err
}

// Counts returns what was replaced in this stream so far.
func (w *Writer) Counts() Counts {
	c := Counts{}
	for i, n := range w.counts {
		if n > 0 {
			c[w.r.names[i]] = n
		}
	}
	return c
}

// scan writes the decided start of b and returns its length. At the end of the stream everything is decided.
func (w *Writer) scan(b []byte, end bool) int {
	ix := w.r.ix
	find := ix.scanner(b)
	plain := min(w.hidden, len(b)) // the start of text not yet written
	until := w.hidden              // bytes before it lie under a replacement
	i := 0
	for i < len(b) {
		i = find.next(i)
		if i >= len(b) {
			break
		}
		f, n, open := ix.at(b[i:])
		if open && !end {
			break // more input decides
		}
		if n == 0 {
			i++
			continue
		}
		if i >= until {
			w.emit(b[plain:i])
			w.emit(w.r.labels[f.secret])
			w.count(f.secret)
		}
		until = max(until, i+n)
		plain = until
		i++
	}
	i = min(i, len(b))
	if i > plain {
		w.emit(b[plain:i])
	}
	w.hidden = max(0, until-i)
	return i
}

func (w *Writer) count(secret int) {
	w.counts[secret]++
	if !w.quiet {
		w.r.counts[secret].Add(1)
	}
}

func (w *Writer) emit(b []byte) {
	if w.err == nil && len(b) > 0 {
		_, w.err = w.w.Write(b)
	}
}
