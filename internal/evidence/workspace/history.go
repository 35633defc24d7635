package workspace

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A History answers questions about the commits of a work tree. The repository may be hostile: its configuration, hooks
// and filters have no effect, and nothing in it is written. Close it when done.
type History struct{ m *borrower }

// OpenHistory opens the history of the work tree whose top is dir.
func OpenHistory(ctx context.Context, dir string) (*History, error) {
	m, err := openWorkTree(ctx, dir, dir)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	return &History{m}, nil
}

// Close removes what was made to ask git.
func (h *History) Close() { h.m.close() }

// Head is the commit of HEAD; "" before the first one.
func (h *History) Head() string { return h.m.from.commit }

// A CommittedLine is a line of a file at HEAD.
type CommittedLine struct {
	Line int
	Time time.Time // of the commit that the line comes from
	Text string
}

// Lines says in which commit lines of a file at HEAD were last changed. A line that the file does not have is ErrGit.
func (h *History) Lines(ctx context.Context, path string, lines []int) ([]CommittedLine, error) {
	args := []string{"blame", "--porcelain", "--no-textconv"}
	for _, n := range lines {
		args = append(args, fmt.Sprintf("-L%d,%d", n, n))
	}
	out, err := h.m.in(ctx, append(args, "HEAD", "--", path)...)
	if err != nil {
		return nil, fmt.Errorf("ask for the history of %s: %w", path, err)
	}
	var found []CommittedLine
	times := map[string]time.Time{}
	commit, line := "", 0
	for text := range strings.SplitSeq(out, "\n") {
		if code, ok := strings.CutPrefix(text, "\t"); ok {
			found = append(found, CommittedLine{Line: line, Time: times[commit], Text: code})
			continue
		}
		fields := strings.Fields(text)
		switch {
		case len(fields) >= 3 && len(fields[0]) >= 40: // the commit, the line then, the line now
			commit = fields[0]
			if line, err = strconv.Atoi(fields[2]); err != nil {
				return nil, fmt.Errorf("ask for the history of %s: %w", path, err)
			}
		case len(fields) == 2 && fields[0] == "committer-time":
			seconds, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("ask for the history of %s: %w", path, err)
			}
			times[commit] = time.Unix(seconds, 0).UTC()
		}
	}
	return found, nil
}
