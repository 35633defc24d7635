package driver

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/deedrun/deed/internal/isolate/redact"
)

// maxTail is how much of the end of a stream is kept when its middle is dropped. It is what LastJSON looks at.
const maxTail = JSONTail

// A Recorder writes an output stream of an agent to a file: redacted, and capped. Of a stream beyond the cap it
// keeps the head and the tail, with a line in between that says how much is missing. It buffers no more than the
// tail. It is used by one goroutine.
type Recorder struct {
	root *os.Root
	name string
	file *os.File
	in   *redact.Writer
	cap  *capWriter
}

// NewRecorder makes the file name in root, replacing what is there. limit is in bytes; 0 is DefaultOutputCap.
func NewRecorder(root *os.Root, name string, limit int64, r *redact.Redactor) (*Recorder, error) {
	if limit <= 0 {
		limit = DefaultOutputCap
	}
	f, err := replaceFile(root, name)
	if err != nil {
		return nil, fmt.Errorf("record output: %w", err)
	}
	c := &capWriter{file: f, tailCap: min(limit/2, maxTail)}
	c.headCap = limit - c.tailCap
	return &Recorder{root: root, name: name, file: f, in: r.Writer(c), cap: c}, nil
}

// Write takes what the agent wrote.
func (r *Recorder) Write(p []byte) (int, error) { return r.in.Write(p) }

// Finish writes what is still held back. The file can then be read through File until Close.
func (r *Recorder) Finish() error {
	err := errors.Join(r.in.Close(), r.cap.finish())
	if err != nil {
		return fmt.Errorf("record output %s: %w", r.name, err)
	}
	return nil
}

// File is the recorded file itself, not what its path may name by now.
func (r *Recorder) File() *os.File { return r.file }

// Total returns how much the agent wrote, after redaction.
func (r *Recorder) Total() int64 { return r.cap.total }

// Truncation says what is missing; ok is false when nothing is.
func (r *Recorder) Truncation(stream string) (t Truncation, ok bool) {
	d := r.cap.dropped()
	return Truncation{Stream: stream, Total: r.cap.total, Kept: r.cap.total - d, Dropped: d}, d > 0
}

// Tail returns at most n bytes from the end of the recorded file.
func (r *Recorder) Tail(n int64) string {
	size, err := r.file.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	b := make([]byte, min(n, size))
	if _, err := r.file.ReadAt(b, size-int64(len(b))); err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return string(b)
}

// Close closes the file. An agent that runs as the same user can have replaced it: then the recorded content is put back under
// its name.
func (r *Recorder) Close() error {
	defer r.file.Close()
	mine, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("record output %s: %w", r.name, err)
	}
	if there, err := r.root.Lstat(r.name); err == nil && os.SameFile(mine, there) {
		return nil
	}
	f, err := replaceFile(r.root, r.name)
	if err != nil {
		return fmt.Errorf("record output %s: %w", r.name, err)
	}
	defer f.Close()
	if _, err = r.file.Seek(0, io.SeekStart); err == nil {
		_, err = io.Copy(f, r.file)
	}
	if err != nil {
		return fmt.Errorf("record output %s: %w", r.name, err)
	}
	return nil
}

// replaceFile makes a new regular file, whatever had the name before.
func replaceFile(root *os.Root, name string) (*os.File, error) {
	if err := root.RemoveAll(name); err != nil {
		return nil, err
	}
	return root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// A capWriter writes the first headCap bytes to a file and keeps the last tailCap bytes of the rest in memory.
type capWriter struct {
	file             io.Writer
	headCap, tailCap int64
	total            int64
	tail             []byte // a ring, once it is full
	at               int    // where the ring begins
}

func (c *capWriter) Write(p []byte) (int, error) {
	n := len(p)
	if room := c.headCap - c.total; room > 0 {
		k := min(room, int64(len(p)))
		if _, err := c.file.Write(p[:k]); err != nil {
			return 0, err
		}
		c.total += k
		p = p[k:]
	}
	c.total += int64(len(p))
	c.keep(p)
	return n, nil
}

func (c *capWriter) keep(p []byte) {
	if over := int64(len(p)) - c.tailCap; over >= 0 {
		c.tail, c.at = append(c.tail[:0], p[over:]...), 0
		return
	}
	if room := int(c.tailCap) - len(c.tail); room > 0 {
		k := min(room, len(p))
		c.tail = append(c.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(c.tail[c.at:], p)
		c.at = (c.at + k) % len(c.tail)
		p = p[k:]
	}
}

func (c *capWriter) dropped() int64 { return max(0, c.total-c.headCap-int64(len(c.tail))) }

func (c *capWriter) finish() error {
	if d := c.dropped(); d > 0 {
		if _, err := fmt.Fprintf(c.file, "\n[deed: %d of %d bytes dropped here]\n", d, c.total); err != nil {
			return err
		}
	}
	for _, part := range [][]byte{c.tail[c.at:], c.tail[:c.at]} {
		if len(part) == 0 {
			continue
		}
		if _, err := c.file.Write(part); err != nil {
			return err
		}
	}
	return nil
}
