package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
)

// The ids of the models of an attempt's journal and log.
const (
	SchemaTimeline = "deed/timeline.view/v1"
	SchemaLog      = "deed/log.view/v1"
)

// ErrCursor reports a place that is not one of what is read.
var ErrCursor = errors.New("the cursor is not one of this attempt (begin without one)")

// A Timeline is a page of what an attempt did.
type Timeline struct {
	Schema    string `json:"schema"`
	TaskID    string `json:"task_id"`
	AttemptID string `json:"attempt_id"`
	Live      bool   `json:"live"`  // the attempt runs: more will come
	Items     []Item `json:"items"` // in their order
	Next      string `json:"next"`  // the cursor of what comes after them
	More      bool   `json:"more"`  // there is more by now
}

// An Item is one entry of a journal.
type Item struct {
	Seq        int64                           `json:"seq"`
	At         string                          `json:"at"`
	Kind       string                          `json:"kind"`
	Text       string                          `json:"text"` // in one line, cut; parts of it are the agent's own words
	Turn       int                             `json:"turn,omitempty"`
	Tool       *Tool                           `json:"tool,omitempty"`       // of a call, or of its result
	Completion *agentruntime.CompletionAttempt `json:"completion,omitempty"` // of one
	Cut        bool                            `json:"cut,omitempty"`        // the detail is larger than is shown
	Detail     json.RawMessage                 `json:"detail,omitempty"`     // as it was recorded
}

// The bounds of a page.
const (
	maxPage   = 500
	maxDetail = 64 << 10 // of one entry; a larger one is left out
	maxLine   = 400
	maxPaged  = 4 << 20 // of all details of a page
)

// Timeline reads a page of an attempt's journal: at most limit entries after a cursor; an empty cursor begins.
func (r *Reader) Timeline(ctx context.Context, attemptID, cursor string, limit int) (Timeline, error) {
	at, err := r.src.Store.Attempt(ctx, attemptID)
	if err != nil {
		return Timeline{}, err
	}
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	mark, err := parseMark(cursor)
	if err != nil {
		return Timeline{}, err
	}
	out := Timeline{Schema: SchemaTimeline, TaskID: at.Record.TaskID, AttemptID: at.Record.AttemptID, Live: at.Live, Items: []Item{}, Next: cursor}
	t, err := r.OpenJournal(at)
	if err != nil || t == nil {
		return out, err
	}
	defer func() { _ = t.Close() }()
	if err := t.Seek(mark); err != nil { // the journal is another file by now, such as that of the bundle: count instead
		if err := skip(t, mark.Seq); err != nil {
			return out, err
		}
	}
	return out, page(t, &out, limit)
}

// skip reads on to an entry by its number.
func skip(t *journal.Tail, seq int64) error {
	if err := t.Seek(journal.Mark{}); err != nil {
		return err
	}
	for {
		left := seq - t.Mark().Seq
		if left <= 0 {
			return nil
		}
		entries, err := t.Take(int(min(left, maxPage)))
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return ErrCursor
		}
	}
}

// page fills a page from where a journal stands.
func page(t *journal.Tail, out *Timeline, limit int) error {
	for size := 0; len(out.Items) < limit && size < maxPaged; {
		entries, err := t.Take(1)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			out.Next = formatMark(t.Mark())
			return nil
		}
		item := itemOf(entries[0])
		size += len(item.Detail)
		out.Items = append(out.Items, item)
	}
	out.Next, out.More = formatMark(t.Mark()), true
	return nil
}

// itemOf is an entry as a page shows it.
func itemOf(e journal.Entry) Item {
	if !utf8.Valid(e.Detail) {
		e.Detail = bytes.ToValidUTF8(e.Detail, []byte("\uFFFD"))
	}
	out := Item{Seq: e.Seq, At: string(e.At), Kind: e.Kind, Text: line(history.Summary(e)), Detail: e.Detail}
	if len(e.Detail) > maxDetail {
		out.Detail, out.Cut = nil, true
	}
	switch e.Kind {
	case history.KindTurn:
		read(e, func(v agentruntime.Turn) { out.Turn = v.Index })
	case history.KindToolCall:
		read(e, func(v agentruntime.ToolCall) { out.Turn, out.Tool = v.Turn, toolOf(v) })
	case history.KindToolResult:
		read(e, func(v agentruntime.ToolResult) {
			out.Tool = &Tool{CallID: v.CallID, Status: string(v.Status), ErrorType: v.ErrorType, DurationMS: v.DurationMS}
		})
	case history.KindCompletion:
		read(e, func(v agentruntime.CompletionAttempt) { out.Completion = &v })
	}
	return out
}

// line is a text in one line, cut.
func line(s string) string {
	return truncate.Head(strings.Join(strings.Fields(truncate.Head(s, 4*maxLine)), " "), maxLine)
}

func parseMark(s string) (journal.Mark, error) {
	if s == "" {
		return journal.Mark{}, nil
	}
	seq, off, ok := strings.Cut(s, ".")
	n, err1 := strconv.ParseInt(seq, 36, 64)
	o, err2 := strconv.ParseInt(off, 36, 64)
	if !ok || err1 != nil || err2 != nil || n < 0 || o < 0 {
		return journal.Mark{}, fmt.Errorf("%q: %w", s, ErrCursor)
	}
	return journal.Mark{Seq: n, Offset: o}, nil
}

func formatMark(m journal.Mark) string {
	return strconv.FormatInt(m.Seq, 36) + "." + strconv.FormatInt(m.Offset, 36)
}

// The streams of a log.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// A Log is a stretch of what an attempt's agent printed.
type Log struct {
	Schema    string `json:"schema"`
	AttemptID string `json:"attempt_id"`
	Stream    string `json:"stream"`
	Live      bool   `json:"live"`
	Size      int64  `json:"size"` // of the whole by now
	Offset    int64  `json:"offset"`
	Next      int64  `json:"next"` // the offset of what comes after the text
	Text      string `json:"text"`
}

// maxLog bounds one stretch of a log.
const maxLog = 256 << 10

// Log reads a stretch of what the agent printed. A negative offset counts from the end.
func (r *Reader) Log(ctx context.Context, attemptID, stream string, offset int64, limit int) (Log, error) {
	at, err := r.src.Store.Attempt(ctx, attemptID)
	if err != nil {
		return Log{}, err
	}
	if limit <= 0 || limit > maxLog {
		limit = maxLog
	}
	out := Log{Schema: SchemaLog, AttemptID: at.Record.AttemptID, Stream: stream, Live: at.Live, Offset: max(offset, 0)}
	path, err := r.LogPath(at, stream)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return Log{}, err
	}
	f, err := plainfile.OpenNoLink(path)
	if err != nil {
		return Log{}, fmt.Errorf("read log: %w", err)
	}
	defer func() { _ = f.Close() }()
	fi, err := f.Stat()
	if err != nil {
		return Log{}, fmt.Errorf("read log: %w", err)
	}
	out.Size = fi.Size()
	if offset < 0 {
		out.Offset = max(out.Size+offset, 0)
	}
	buf := make([]byte, limit)
	n, err := f.ReadAt(buf, out.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return Log{}, fmt.Errorf("read log: %w", err)
	}
	out.Next = out.Offset + int64(n)
	out.Text = strings.ToValidUTF8(string(buf[:n]), "\uFFFD")
	return out, nil
}

// LogPath finds an attempt's output: in its bundle, or in its directory while it runs. What was never written is fs.ErrNotExist.
func (r *Reader) LogPath(at store.Attempt, stream string) (string, error) {
	name, rel := driver.StdoutFile, at.Record.StdoutPath
	if stream == Stderr {
		name, rel = driver.StderrFile, at.Record.StderrPath
	}
	if at.BundleDir != "" && rel != "" {
		return filepath.Join(r.BundleDir(at), rel), nil
	}
	live := filepath.Join(r.src.Home.Attempt(at.Record.AttemptID), "run", name)
	if _, err := os.Lstat(live); err != nil {
		return "", fmt.Errorf("log of attempt %s: %w", at.Record.AttemptID, err)
	}
	return live, nil
}
