package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// A Tail reads a journal from its beginning, a stretch at a time, while another process may still write to it. It can
// also read a journal that was removed meanwhile. It is used by one goroutine.
type Tail struct {
	f   *os.File
	off int64 // up to the end of the last entry that was read
	seq int64 // of that entry
}

// What one call of Next returns at most. A single entry may be larger than the bytes.
const (
	tailEntries = 256
	tailBytes   = 1 << 20
)

// OpenTail opens a journal for reading.
func OpenTail(path string) (*Tail, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("follow journal: %w", err)
	}
	return &Tail{f: f}, nil
}

// Next returns the next entries that are complete by now, and none when there are no more so far. An incomplete last line
// is left for a later call: its writer may be working on it, or will cut it. A damaged line before others is an error.
func (t *Tail) Next() ([]Entry, error) { return t.Take(tailEntries) }

// Take is Next with a bound on the entries.
func (t *Tail) Take(most int) ([]Entry, error) {
	br := bufio.NewReaderSize(io.NewSectionReader(t.f, t.off, 1<<62), 64<<10)
	var (
		out []Entry
		bad error
	)
	for start := t.off; len(out) < most && t.off-start < tailBytes; {
		line, err := readLine(br)
		if err != nil && !errors.Is(err, io.EOF) {
			return out, fmt.Errorf("follow journal %s: entry %d: %w", t.f.Name(), t.seq+1, err)
		}
		if len(line) == 0 || line[len(line)-1] != '\n' {
			return out, nil
		}
		if bad != nil {
			return out, fmt.Errorf("follow journal %s: %w", t.f.Name(), bad)
		}
		var e Entry
		switch uerr := json.Unmarshal(line, &e); {
		case uerr != nil:
			bad = fmt.Errorf("entry %d: %w", t.seq+1, uerr)
		case e.Seq != t.seq+1:
			bad = fmt.Errorf("entry %d has number %d", t.seq+1, e.Seq)
		default:
			out = append(out, e)
			t.seq++
			t.off += int64(len(line))
		}
	}
	return out, nil
}

// A Mark is a position in a journal, for a reader that continues another time.
type Mark struct{ Seq, Offset int64 }

// Mark returns the place after the last entry that was read.
func (t *Tail) Mark() Mark { return Mark{t.seq, t.off} }

// ErrMark reports a place that is not one of the journal.
var ErrMark = errors.New("no such place in the journal")

// Seek goes to a position that Mark returned. One that is not the end of that entry is ErrMark.
func (t *Tail) Seek(m Mark) error {
	if m == (Mark{}) {
		t.seq, t.off = 0, 0
		return nil
	}
	end := make([]byte, 1)
	if m.Seq < 1 || m.Offset < 1 {
		return ErrMark
	}
	if _, err := t.f.ReadAt(end, m.Offset-1); err != nil || end[0] != '\n' {
		return ErrMark
	}
	next := Tail{f: t.f, off: m.Offset, seq: m.Seq}
	if _, err := next.Take(2); err != nil { // a wrong number is noticed with the line after it
		return ErrMark
	}
	t.seq, t.off = m.Seq, m.Offset
	return nil
}

// Close closes the file.
func (t *Tail) Close() error { return t.f.Close() }
