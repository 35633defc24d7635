package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Bounds of read and list.
const (
	defaultLines = 2000
	maxLine      = 2000      // bytes of one line that are shown
	maxScan      = 256 << 20 // bytes that are read to reach a line
	maxListed    = 1000
	headBytes    = 8 << 10 // looked at to tell text from binary
)

// read writes lines of a file with their numbers.
func (t *tree) read(ctx context.Context, in readInput, w io.Writer) error {
	f, st, err := t.open(in.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	head, err := r.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return t.explain(in.Path, err)
	}
	if isBinary(head) {
		return Failf(TypeBinary, "%s is a binary file of %d bytes; look at it with the shell", workspace.Display(in.Path), st.Size())
	}
	first, limit := max(in.Offset, 1), in.Limit
	if limit == 0 {
		limit = defaultLines
	}
	out := bufio.NewWriter(w)
	n, more, err := t.lines(ctx, r, out, first, first+limit-1)
	switch {
	case err != nil:
		return t.explain(in.Path, err)
	case n == 0 && first == 1:
		fmt.Fprintf(out, "(the file is empty)\n")
	case n < first:
		return Failf(TypeInput, "%s has %s; offset is %d", workspace.Display(in.Path), plural(n, "line"), first)
	case more:
		fmt.Fprintf(out, "(more follows; go on with offset %d)\n", first+limit)
	}
	return out.Flush()
}

// lines writes the lines from first to final, and returns how many it has seen.
func (t *tree) lines(ctx context.Context, r *bufio.Reader, out *bufio.Writer, first, final int) (n int, more bool, err error) {
	var line []byte
	var scanned, length int64
	for {
		part, err := r.ReadSlice('\n')
		scanned += int64(len(part))
		length += int64(len(part))
		if room := maxLine - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		last := errors.Is(err, io.EOF)
		if errors.Is(err, bufio.ErrBufferFull) {
			if scanned > maxScan {
				return n, false, Failf(TypeTooLarge, "more than %d bytes come before the end of these lines; use the shell", maxScan)
			}
			continue
		}
		if err != nil && !last {
			return n, false, err
		}
		if length == 0 {
			return n, false, nil
		}
		if n == final {
			return n, true, nil
		}
		if n++; n >= first {
			writeLine(out, n, line, length)
		}
		if last {
			break
		}
		if scanned > maxScan || ctx.Err() != nil {
			return n, false, Failf(TypeTooLarge, "more than %d bytes come before the end of these lines; use the shell", maxScan)
		}
		line, length = line[:0], 0
	}
	return n, false, nil
}

func writeLine(out *bufio.Writer, n int, line []byte, length int64) {
	text := bytes.TrimRight(line, "\r\n")
	fmt.Fprintf(out, "%6d\t%s", n, bytes.ToValidUTF8(text, []byte("\ufffd")))
	if cut := length - int64(len(line)); cut > 0 {
		fmt.Fprintf(out, " … (%d bytes more)", cut)
	}
	_ = out.WriteByte('\n')
}

// list writes the entries of a directory.
func (t *tree) list(in listInput, w io.Writer) error {
	rel, err := t.rel(in.Path)
	if err != nil {
		return err
	}
	st, err := t.root.Stat(rel)
	if err != nil {
		return t.explain(in.Path, err)
	}
	if !st.IsDir() {
		return Failf(TypeKind, "%s is not a directory; read it", workspace.Display(in.Path))
	}
	out := bufio.NewWriter(w)
	l := lister{t: t, out: out, left: maxListed}
	if err := l.dir(rel, "", max(in.Depth, 1)); err != nil {
		return t.explain(in.Path, err)
	}
	switch {
	case l.left < 0:
		fmt.Fprintf(out, "(more follows; list a directory further down)\n")
	case l.left == maxListed:
		fmt.Fprintf(out, "(the directory is empty)\n")
	}
	return out.Flush()
}

type lister struct {
	t    *tree
	out  *bufio.Writer
	left int
}

func (l *lister) dir(rel, show string, depth int) error {
	entries, err := l.t.entries(rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if l.left--; l.left < 0 {
			break
		}
		name := path.Join(show, e.Name())
		switch {
		case e.IsDir():
			fmt.Fprintf(l.out, "%s/\n", workspace.Display(name))
			if depth > 1 && e.Name() != ".git" {
				if err := l.dir(filepath.Join(rel, e.Name()), name, depth-1); err != nil && !errors.Is(err, fs.ErrNotExist) {
					fmt.Fprintf(l.out, "(%v)\n", l.t.explain(name, err))
				}
			}
		case e.Type()&fs.ModeSymlink != 0:
			link, _ := l.t.root.Readlink(filepath.Join(rel, e.Name()))
			fmt.Fprintf(l.out, "%s -> %s\n", workspace.Display(name), workspace.Display(link))
		case e.Type().IsRegular():
			size := int64(-1)
			if st, err := e.Info(); err == nil {
				size = st.Size()
			}
			fmt.Fprintf(l.out, "%s\t%d\n", workspace.Display(name), size)
		default:
			fmt.Fprintf(l.out, "%s\t(special file)\n", workspace.Display(name))
		}
	}
	return nil
}

// entries returns what is in a directory, by name.
func (t *tree) entries(rel string) ([]fs.DirEntry, error) {
	d, err := t.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}
