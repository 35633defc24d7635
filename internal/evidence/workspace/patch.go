package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// maxPatch is what git apply takes: it refuses larger input outright.
const maxPatch = 1023 << 20

// WritePatch writes the tracked changes as a git patch (binary, full object names, no renames) that applies to the
// base. An empty change set gives no bytes. cs must come from the manifests of base and work: the contents that go
// into the patch are compared with it while they are read, and a mismatch is ErrChangedDuringCapture, or
// ErrBaseTampered on the side of the base. A patch beyond what git apply takes is ErrPatchTooLarge. w may have
// received a part of the patch when an error is returned.
//
// The files go through a temporary repository next to the base, as two trees of the changed paths only. No attribute,
// filter or driver of either tree has any effect.
func WritePatch(ctx context.Context, base, work string, cs ChangeSet, w io.Writer) error {
	if cs.Empty() {
		return nil
	}
	g, err := newGit(filepath.Dir(absolute(base)))
	if err != nil {
		return err
	}
	defer g.close()
	repo, err := g.scratch()
	if err != nil {
		return err
	}
	if err := g.importTrees(ctx, repo, base, work, cs); err != nil {
		return fmt.Errorf("write patch: %w", err)
	}
	out := &limited{w: w, left: maxPatch}
	_, err = g.run(ctx, gitCall{
		args: []string{
			"diff-tree", "-p", "-r", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv",
			"--no-color", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=none",
			"refs/heads/before", "refs/heads/after",
		},
		gitDir: repo, stdout: out, max: -1,
	})
	switch {
	case out.err != nil:
		return fmt.Errorf("write patch: %w", out.err)
	case err != nil:
		return fmt.Errorf("write patch: %w", err)
	}
	return nil
}

// importTrees streams both sides of the changes into the repository. One process takes any number of files with any
// names, and the bytes that it gets are those that deed read and checked.
func (g *git) importTrees(ctx context.Context, repo, base, work string, cs ChangeSet) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wrote := make(chan error, 1)
	go func() {
		err := writeStream(ctx, w, base, work, cs)
		// The end of the stream without its "done" makes git fail; the cause is reported from here.
		err = errors.Join(err, w.Close())
		wrote <- err
	}()
	_, err = g.run(ctx, gitCall{
		args:   []string{"fast-import", "--quiet", "--done", "--depth=0", "--date-format=raw"},
		gitDir: repo, stdin: r,
	})
	// A writer that still waits for git to read is woken by this.
	_ = r.Close()
	if werr := <-wrote; werr != nil && !errors.Is(werr, os.ErrClosed) && !isBrokenPipe(werr) {
		return werr
	}
	return err
}

func writeStream(ctx context.Context, to io.Writer, base, work string, cs ChangeSet) error {
	bt, err := openTree(base)
	if err != nil {
		return err
	}
	defer bt.close()
	wt, err := openTree(work)
	if err != nil {
		return err
	}
	defer wt.close()
	w := bufio.NewWriterSize(to, 64<<10)
	buf := make([]byte, readBuffer)
	side := func(ref string, t *tree, pick func(*Change) *Entry, blame func(op, path string, err error) error) error {
		fmt.Fprintf(w, "commit refs/heads/%s\ncommitter deed <deed@localhost> 0 +0000\ndata 0\n\n", ref)
		for i := range cs.Changes {
			ch := &cs.Changes[i]
			e := pick(ch)
			if ch.Class != ClassTracked || e == nil {
				continue
			}
			if err := ended(ctx); err != nil {
				return err
			}
			fmt.Fprintf(w, "M %s inline %s\ndata %d\n", e.GitMode(), quoteC(e.Path), e.Size)
			if err := t.copyOut(e, w, buf); err != nil {
				return blame("read", e.Path, err)
			}
			if err := w.WriteByte('\n'); err != nil {
				return err
			}
		}
		return nil
	}
	if err := side("before", bt, (*Change).before, tampered); err != nil {
		return err
	}
	if err := side("after", wt, (*Change).after, changed); err != nil {
		return err
	}
	if _, err := w.WriteString("done\n"); err != nil {
		return err
	}
	return w.Flush()
}

// quoteC quotes a path as git's C-style strings.
func quoteC(p string) string {
	b := make([]byte, 0, len(p)+2)
	b = append(b, '"')
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c >= 0x7f:
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

// limited passes on what git apply would take, and remembers why it stopped.
type limited struct {
	w    io.Writer
	left int64
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.err == nil && int64(len(p)) > l.left {
		l.err = &Error{
			Code: ErrPatchTooLarge, Op: "write patch", Err: errors.New("more than " + strconv.Itoa(maxPatch>>20) + " MiB"),
			Remedy: "keep build products out of the change, for example by .gitignore rules in the base",
		}
	}
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.w.Write(p)
	l.left -= int64(n)
	if err != nil {
		l.err = err
	}
	return n, err
}
