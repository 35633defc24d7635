package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/engine/view"
)

// A recorder is a desk that writes down what is decided.
type recorder struct {
	home view.Home
	task view.Task
	did  []string
	err  error
}

func (r *recorder) Home(context.Context) (view.Home, error) { return r.home, nil }

func (r *recorder) Task(_ context.Context, id string) (view.Task, error) {
	r.task.Task.TaskID = id
	return r.task, nil
}

func (r *recorder) Timeline(context.Context, string, string, int) (view.Timeline, error) {
	return view.Timeline{}, nil
}

func (r *recorder) note(format string, args ...any) error {
	r.did = append(r.did, fmt.Sprintf(format, args...))
	return r.err
}

func (r *recorder) Approve(_ context.Context, id string) error { return r.note("approve %s", id) }
func (r *recorder) Deny(_ context.Context, id, why string) error {
	return r.note("deny %s: %s", id, why)
}

func (r *recorder) Answer(_ context.Context, id, s string) error {
	return r.note("answer %s: %s", id, s)
}
func (r *recorder) Cancel(_ context.Context, id string) error { return r.note("cancel %s", id) }
func (r *recorder) Retry(_ context.Context, id string) error  { return r.note("retry %s", id) }
func (r *recorder) Pause(_ context.Context, on bool) error    { return r.note("pause %v", on) }

func busy() *recorder {
	h := view.Home{Running: []view.Running{{TaskID: "t-run", Subject: "run\x1b[2Jning", Agent: "codex"}}}
	h.Waiting = []view.Waiting{
		{ReportWaiting: deed.ReportWaiting{Kind: "action", ID: "a1", About: "push?"}, Action: &view.Action{ActionID: "a1", TaskID: "t-ask", Kind: "permission"}},
		{ReportWaiting: deed.ReportWaiting{Kind: "action", ID: "a2", About: "which?"}, Action: &view.Action{ActionID: "a2", TaskID: "t-ask", Kind: "question"}},
	}
	for i := range 40 {
		h.Refused = append(h.Refused, view.Refused{TaskID: fmt.Sprint("t-bad", i), AttemptID: fmt.Sprint(i), Subject: fmt.Sprint("bad ", i), Class: "gate_rejected"})
	}
	return &recorder{home: h}
}

func TestKeysDoWhatTheyMean(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{
		"a":                    "",
		"c":                    "",
		"cn":                   "",
		"cy":                   "cancel t-run",
		"r":                    "retry t-run",
		"p":                    "pause true",
		"ja":                   "approve a1",
		"jd":                   "",
		"jdno\r":               "deny a1: no",
		"jdno\x1b":             "",
		"jjaboth\x7f\x7fw\r":   "answer a2: bow",
		"jjj\rc\x1b":           "",
		"jjj\rcy":              "cancel t-bad0",
		"Gcy":                  "cancel t-bad39",
		"\x1b[B\x1b[Aq":        "",
		"?cy":                  "",
		"jd\x15\x1b[A;rm -r\r": "deny a1: ;rm -r",
	} {
		r := busy()
		m := New(r, "home", false)
		m.Refresh(t.Context())
		for _, k := range terminal.Keys([]byte(keys)) {
			m.Press(t.Context(), k)
		}
		if got := strings.Join(r.did, ", "); got != want {
			t.Errorf("%q: %q, want %q", keys, got, want)
		}
		if m.Closed != strings.HasSuffix(keys, "q") {
			t.Errorf("%q: closed %v", keys, m.Closed)
		}
	}
}

func TestAFaultIsSaid(t *testing.T) {
	t.Parallel()
	r := busy()
	r.err = errors.New("the task has ended\x1b[2J")
	m := New(r, "home", false)
	m.Refresh(t.Context())
	m.Press(t.Context(), 'r')
	lines := m.Lines(80, 24)
	if got := lines[len(lines)-1]; got != "the task has ended" {
		t.Errorf("%q", got)
	}
}

// Whatever the size, every line fits, what is chosen can be seen, and nothing of an agent drives the terminal.
func TestEveryScreenFits(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {40, 8}, {20, 4}, {200, 60}, {1, 1}, {80, 2}} {
		m := New(busy(), strings.Repeat("/long", 40), false)
		m.Refresh(t.Context())
		for _, keys := range []string{"", "j", "jjjjjjjjjjjjjjjjjjjj", "G", "g", "\r", "?", "x\x1bcn"} {
			for _, k := range terminal.Keys([]byte(keys)) {
				m.Press(t.Context(), k)
			}
			lines := m.Lines(size[0], size[1])
			if len(lines) > size[1] {
				t.Errorf("%v after %q: %d lines", size, keys, len(lines))
			}
			chosen := false
			for _, l := range lines {
				if terminal.Width(l) > size[0] {
					t.Errorf("%v after %q: %d wide: %q", size, keys, terminal.Width(l), l)
				}
				if strings.Contains(l, "\x1b[2J") {
					t.Errorf("%q drives the terminal", l)
				}
				chosen = chosen || strings.Contains(l, "\x1b[7m")
			}
			if m.mode == browsing && size[1] >= 4 && !chosen {
				t.Errorf("%v after %q: what is chosen is not there:\n%s", size, keys, strings.Join(lines, "\n"))
			}
		}
	}
}
