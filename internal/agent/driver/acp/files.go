package acp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// maxRead is how much of a file is handed over at a time.
const maxRead = 4 << 20

type readRequest struct {
	Path  string `json:"path"`
	Line  *int   `json:"line"`  // the first, from 1
	Limit *int   `json:"limit"` // how many
}

type writeRequest struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// A place is a file of the workspace, as deed opens it.
type place struct {
	root     *os.Root
	name     string
	writable bool
}

// locate finds what a path of the agent's stands for. Only the workspace is the agent's to name here: everything else it
// can see it can read itself.
func (t *turn) locate(path string) (place, error) {
	if !filepath.IsAbs(path) || strings.IndexByte(path, 0) >= 0 {
		return place{}, refused("%.200q is not an absolute path", path)
	}
	path = filepath.Clean(path)
	box, tree := t.plan.Job.Sandbox, t.plan.Job.Dirs.Workspace
	source, rest, writable, ok := box.Outside(path)
	if box.Contained() {
		ok = ok && workspace.Within(source, workspace.TruePath(tree))
	} else {
		source = tree
		rest, ok = strings.CutPrefix(path, tree+"/")
	}
	if !ok {
		return place{}, refused("%.200q is not a file of the workspace", path)
	}
	if rest == "" {
		return place{}, refused("%.200q is a directory", path)
	}
	root, err := os.OpenRoot(source)
	if err != nil {
		return place{}, fmt.Errorf("open the workspace: %w", err)
	}
	return place{root, rest, writable}, nil
}

// readFile is fs/read_text_file.
func (t *turn) readFile(r readRequest) (map[string]string, error) {
	return guarded(t, "fs/read_text_file", map[string]any{"path": r.Path}, func() (map[string]string, error) {
		p, err := t.locate(r.Path)
		if err != nil {
			return nil, err
		}
		defer p.root.Close()
		f, err := openRegular(p, os.O_RDONLY)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxRead+1))
		if err != nil {
			return nil, withoutPaths(r.Path, err)
		}
		if len(data) > maxRead {
			return nil, refused("%s has more than %d bytes: use a tool of your own for it", r.Path, maxRead)
		}
		return map[string]string{"content": cutLines(strings.ToValidUTF8(string(data), "\ufffd"), r.Line, r.Limit)}, nil
	})
}

// writeFile is fs/write_text_file.
func (t *turn) writeFile(w writeRequest) (map[string]string, error) {
	return guarded(t, "fs/write_text_file", map[string]any{"path": w.Path, "content": w.Content}, func() (map[string]string, error) {
		p, err := t.locate(w.Path)
		if err != nil {
			return nil, err
		}
		defer p.root.Close()
		if !p.writable {
			return nil, refused("%s is read-only", w.Path)
		}
		if dir := filepath.Dir(p.name); dir != "." {
			if err := p.root.MkdirAll(dir, 0o755); err != nil {
				return nil, withoutPaths(w.Path, err)
			}
		}
		f, err := openRegular(p, os.O_WRONLY|os.O_CREATE)
		if err != nil {
			return nil, err
		}
		err = f.Truncate(0)
		if err == nil {
			_, err = f.WriteString(w.Content)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, withoutPaths(w.Path, err)
		}
		return map[string]string{}, nil
	})
}

// openRegular opens a regular file, and does not wait for anything else. No link leads out of the workspace.
func openRegular(p place, flag int) (*os.File, error) {
	f, err := p.root.OpenFile(p.name, flag|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, withoutPaths(p.name, err)
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		_ = f.Close()
		return nil, refused("%s is not a regular file", p.name)
	}
	return f, nil
}

// withoutPaths is an error about a file that does not reveal paths of this machine.
func withoutPaths(name string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return refused("%s: %v", name, err)
}

// cutLines returns some of the lines of a text.
func cutLines(text string, line, limit *int) string {
	if line == nil && limit == nil {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	if line != nil {
		lines = lines[min(max(*line-1, 0), len(lines)):]
	}
	if limit != nil {
		lines = lines[:min(max(*limit, 0), len(lines))]
	}
	return strings.Join(lines, "")
}
