package sensor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// maxFiles bounds what one directory can make a sensor remember.
const maxFiles = 10_000

// maxHashed is how much of a file is read to know it again.
const maxHashed = 64 << 20

// A fileMark is how a file is known again. Size and time spare reading it; the hash decides.
type fileMark struct {
	Size int64  `json:"s"`
	Time int64  `json:"t"` // nanoseconds
	Hash string `json:"h"`
}

// files lists the regular files of a directory whose names fit, oldest name first. What begins with a dot is left alone.
func files(dir, pattern string) ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []fs.FileInfo
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular() {
			continue
		}
		if ok, _ := path.Match(pattern, e.Name()); pattern != "" && !ok {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went away meanwhile
		}
		if err != nil {
			return nil, err
		}
		if len(out) == maxFiles {
			return nil, fmt.Errorf("more than %d files in %s (take some away, or give a pattern)", maxFiles, dir)
		}
		out = append(out, info)
	}
	return out, nil
}

// directory looks for files that are new or have changed.
func (t *taker) directory(ctx context.Context) error {
	was := map[string]fileMark{}
	first, err := t.cursor(&was)
	if err != nil {
		return err
	}
	list, err := files(t.s.Directory, t.s.Pattern)
	if err != nil {
		return err
	}
	then := map[string]fileMark{}
	var (
		reads []Read
		moves []string // those that are taken, and not yet where they belong
	)
	for _, f := range list {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		old, known := was[f.Name()]
		mark := fileMark{Size: f.Size(), Time: f.ModTime().UnixNano(), Hash: old.Hash}
		if !known || mark != old {
			if mark.Hash, err = hashFile(filepath.Join(t.s.Directory, f.Name())); err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				return err
			}
		}
		report := (!known || mark.Hash != old.Hash) && (!first || t.s.FromStart || t.s.MoveTo != "")
		if report && len(reads) >= maxEvents(t.s) {
			t.rep.More = true
			if known {
				then[f.Name()] = old
			}
			continue
		}
		then[f.Name()] = mark
		if t.s.MoveTo != "" {
			moves = append(moves, f.Name())
		}
		if report {
			reads = append(reads, t.fileEvent(f.Name(), mark))
		}
	}
	var cursor any = then
	if !first && maps.Equal(was, then) {
		cursor = nil
	}
	if _, err := t.take(ctx, reads, cursor); err != nil {
		return err
	}
	return t.moveAll(moves)
}

func (t *taker) fileEvent(name string, m fileMark) Read {
	at := filepath.Join(t.s.Directory, name)
	payload := map[string]any{"path": at, "name": name, "size": m.Size, "sha256": m.Hash}
	if t.s.MoveTo != "" {
		payload["moved_to"] = filepath.Join(t.s.MoveTo, name)
	}
	return t.event(fmt.Sprintf("%s@%d:%.16s", name, m.Time, m.Hash), "file:"+at, payload)
}

// moveAll puts files away whose events are taken. After a crash the next run does it: it knows them.
func (t *taker) moveAll(names []string) error {
	if len(names) == 0 {
		return nil
	}
	if err := atomicfile.MkdirAll(t.s.MoveTo, 0o700); err != nil {
		return err
	}
	for _, n := range names {
		if err := os.Rename(filepath.Join(t.s.Directory, n), filepath.Join(t.s.MoveTo, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func hashFile(file string) (string, error) {
	f, err := plainfile.OpenNoLink(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxHashed)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// The directories below a mailbox. A file is taken by renaming it, so that one of several readers has it; what a crash left in
// taken is read first, and what was in it is known by its keys.
const (
	boxTaken   = ".taken"
	boxDone    = ".done"
	boxRefused = ".refused"
)

// mailbox takes event files out of a directory.
func (t *taker) mailbox(ctx context.Context) error {
	for _, d := range []string{boxTaken, boxDone, boxRefused} {
		if err := atomicfile.MkdirAll(filepath.Join(t.s.Directory, d), 0o700); err != nil {
			return err
		}
	}
	left, err := files(filepath.Join(t.s.Directory, boxTaken), "")
	if err != nil {
		return err
	}
	fresh, err := files(t.s.Directory, t.s.Pattern)
	if err != nil {
		return err
	}
	most := maxEvents(t.s)
	var names []string
	for _, f := range left {
		names = append(names, f.Name())
	}
	for _, f := range fresh {
		if len(names) >= most || slices.Contains(names, f.Name()) { // a name that is being read waits
			t.rep.More = true
			continue
		}
		err := os.Rename(filepath.Join(t.s.Directory, f.Name()), filepath.Join(t.s.Directory, boxTaken, f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // another reader was faster
		}
		if err != nil {
			return err
		}
		names = append(names, f.Name())
	}
	if len(names) == 0 {
		_, err := t.take(ctx, nil, nil)
		return err
	}
	for _, n := range names {
		if err := t.message(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// message takes the events of one file, all of them, and puts it away.
func (t *taker) message(ctx context.Context, name string) error {
	file := filepath.Join(t.s.Directory, boxTaken, name)
	var reads []Read
	data, err := plainfile.Read(file, maxOutput)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // another reader had it
	case err != nil:
		reads = []Read{{Err: err}}
	default:
		if reads = ReadAll(data, t.defaults()); len(reads) == 0 {
			reads = []Read{{Err: errors.New("the file is empty")}}
		}
	}
	one := *t
	one.s.MaxEvents = len(reads) // a file is taken whole
	got, err := one.take(ctx, reads, nil)
	t.rep, t.row = one.rep, one.row
	if err != nil {
		return err
	}
	to := boxDone
	for _, why := range got.errs {
		if why == nil {
			continue
		}
		to = boxRefused
		if err := atomicfile.WriteFile(filepath.Join(t.s.Directory, boxRefused, name+".why"), []byte(why.Error()+"\n"), 0o600); err != nil {
			return err
		}
		break
	}
	err = os.Rename(file, filepath.Join(t.s.Directory, to, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
