// Package journal owns the per-attempt append-only file of everything that happened in an attempt: one JSON object
// per line, numbered and timed. It does not interpret entries and holds no state beyond the file.
package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
)

// MaxEntry bounds one line. A larger detail is refused: bulk belongs into a file that the entry names.
const MaxEntry = 4 << 20

// ErrTooLarge reports a detail beyond MaxEntry. Nothing was written.
var ErrTooLarge = errors.New("journal entry too large")

// An Entry is one line of a journal.
type Entry struct {
	Seq    int64                  `json:"seq"` // 1, 2, 3, … without gaps
	At     agentruntime.Timestamp `json:"at"`
	Kind   string                 `json:"kind"`
	Detail json.RawMessage        `json:"detail,omitempty"`
}

// Options configure Open.
type Options struct {
	Clock clock.Clock // nil: clock.System
	// Redact is applied to the JSON of every entry before it is written. It must keep JSON valid, which
	// replacing parts of strings does; an entry that is no JSON any more is refused.
	Redact func([]byte) []byte
}

// A Journal appends entries. Its methods may be called from several goroutines; entries get their number in the
// order in which they reach the file.
//
// Append hands the line to the operating system in one write: it survives the death of deed. Sync makes everything
// appended so far survive the death of the machine; callers call it at the end of a turn and before they
// acknowledge an effect.
type Journal struct {
	opt Options

	mu     sync.Mutex
	f      *os.File // guarded by mu
	seq    int64    // guarded by mu; of the last entry
	size   int64    // guarded by mu; up to the end of the last whole line
	dir    string   // guarded by mu; to be synced with the first Sync, then empty
	broken error    // guarded by mu; set when the file could not be kept whole
}

// Open opens the journal at path for appending, making it with mode 0600 if there is none. A torn last line, left by
// a crash, is cut off: the entry that it would have recorded was never acknowledged.
func Open(path string, opt Options) (*Journal, error) {
	if opt.Clock == nil {
		opt.Clock = clock.System
	}
	f, err := openRegular(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{opt: opt, f: f, dir: filepath.Dir(path)}
	if err := j.recover(); err != nil {
		f.Close()
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	return j, nil
}

// openRegular opens a file that an agent may have put there: a symbolic link is not followed, a FIFO is not waited for.
func openRegular(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// recover finds the last complete line, cuts what follows it, and positions the file at the end.
func (j *Journal) recover() error {
	entries, size, err := scan(j.f)
	if err != nil {
		return err
	}
	if n := len(entries); n > 0 {
		j.seq = entries[n-1].Seq
	}
	if err := j.f.Truncate(size); err != nil {
		return err
	}
	j.size = size
	return j.seekLocked()
}

// Append writes one entry. Detail is anything that marshals to JSON, or nil.
func (j *Journal) Append(kind string, detail any) error {
	if kind == "" {
		return errors.New("append to journal: kind is empty (name what happened)")
	}
	var raw json.RawMessage
	if detail != nil {
		b, err := json.Marshal(detail)
		if err != nil {
			return fmt.Errorf("append %s to journal: %w", kind, err)
		}
		raw = b
	}

	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return fmt.Errorf("append %s to journal: %w", kind, j.broken)
	}
	line, err := json.Marshal(Entry{Seq: j.seq + 1, At: agentruntime.At(j.opt.Clock()), Kind: kind, Detail: raw})
	if err != nil {
		return fmt.Errorf("append %s to journal: %w", kind, err)
	}
	if j.opt.Redact != nil {
		line = j.opt.Redact(line)
		if !json.Valid(line) || bytes.IndexByte(line, '\n') >= 0 {
			return fmt.Errorf("append %s to journal: the redacted entry is not one line of JSON", kind)
		}
	}
	if len(line) > MaxEntry {
		return fmt.Errorf("append %s to journal: %d bytes: %w (at most %d)", kind, len(line), ErrTooLarge, MaxEntry)
	}
	line = append(line, '\n')
	if _, err := j.f.Write(line); err != nil {
		// Half a line may be in the file. Cut it, so that the next entry does not stick to it.
		if terr := errors.Join(j.f.Truncate(j.size), j.seekLocked()); terr != nil {
			j.broken = fmt.Errorf("an earlier write left half a line: %w", errors.Join(err, terr))
		}
		return fmt.Errorf("append %s to journal: %w", kind, err)
	}
	j.seq++
	j.size += int64(len(line))
	return nil
}

func (j *Journal) seekLocked() error {
	_, err := j.f.Seek(j.size, io.SeekStart)
	return err
}

// Sync makes every entry appended so far durable; the first one also makes the file's name durable.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.f.Sync(); err != nil {
		// The kernel may have dropped the dirty pages: a later fsync that succeeds would prove nothing.
		j.broken = fmt.Errorf("an earlier sync did not succeed: %w", err)
		return fmt.Errorf("sync journal: %w", err)
	}
	if j.dir != "" {
		if err := atomicfile.SyncDir(j.dir); err != nil {
			return fmt.Errorf("sync journal: %w", err)
		}
		j.dir = ""
	}
	return nil
}

// Close closes the file without syncing. A second call does nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(j.broken, fs.ErrClosed) {
		return nil
	}
	j.broken = fs.ErrClosed
	return j.f.Close()
}

// Read returns the entries of the journal at path. A torn last line is left out; damage anywhere else is an error
// that names the line, returned with the entries before it. A journal that does not exist is fs.ErrNotExist.
func Read(path string) ([]Entry, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	defer f.Close()
	entries, _, err := scan(f)
	if err != nil {
		return entries, fmt.Errorf("read journal %s: %w", path, err)
	}
	return entries, nil
}

// scan reads whole lines from the start and returns their entries and the offset after the last of them. The last
// line may be torn: without a newline, or, when the machine died, with bytes that never reached the disk.
func scan(r io.Reader) ([]Entry, int64, error) {
	var (
		entries []Entry
		size    int64
		bad     error
		br      = bufio.NewReaderSize(r, 64<<10)
	)
	for n := 1; ; n++ {
		line, err := readLine(br)
		if err != nil && !errors.Is(err, io.EOF) {
			return entries, size, fmt.Errorf("line %d: %w", n, err)
		}
		if len(line) == 0 {
			return entries, size, nil
		}
		if bad != nil {
			return entries, size, bad // a damaged line that is not the last one
		}
		var e Entry
		switch uerr := json.Unmarshal(line, &e); {
		case line[len(line)-1] != '\n':
			return entries, size, nil
		case uerr != nil:
			bad = fmt.Errorf("line %d: %w", n, uerr)
		case e.Seq != int64(n):
			bad = fmt.Errorf("line %d: entry has number %d", n, e.Seq)
		default:
			entries = append(entries, e)
			size += int64(len(line))
		}
	}
}

// readLine returns a line with its newline, or what is left at the end.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > MaxEntry+1 {
			return nil, ErrTooLarge
		}
	}
}
