package sensor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/base/truncate"
)

// env is what the process of a sensor gets, and nothing else.
func (t *taker) env() ([]string, error) {
	env := []string{"PATH=" + proc.Getenv(t.Environ, "PATH"), "HOME=" + proc.Getenv(t.Environ, "HOME"), "LANG=C.UTF-8", "DEED_SENSOR=" + t.name}
	if t.s.SecretEnv != "" {
		v, err := t.secret()
		if err != nil {
			return nil, err
		}
		env = append(env, t.s.SecretEnv+"="+v)
	}
	return env, nil
}

func (t *taker) secret() (string, error) {
	if v := proc.Getenv(t.Environ, t.s.SecretEnv); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("the variable %s is not set in deed's environment (set it for `deed serve`)", t.s.SecretEnv)
}

// command runs a program whose lines are events. Nothing that it started is left when it returns.
func (t *taker) command(ctx context.Context) error {
	env, err := t.env()
	if err != nil {
		return err
	}
	sup, err := proc.BeginSupervisor(proc.Options{Exe: t.Exe})
	if err != nil {
		return err
	}
	defer func() { _ = sup.Close() }()
	lines := &lineWriter{}
	if t.s.Watch {
		lines.hand = t.watcher(ctx)
	}
	said := &headWriter{most: 4 << 10}
	exit, err := sup.Run(ctx, proc.Spec{Argv: t.s.Command, Dir: "/", Env: env, Stdout: lines, Stderr: said, Grace: time.Second})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case lines.err != nil: // why the run was ended
		err = lines.err
	case err == nil:
		lines.end()
		if err = lines.err; err == nil && (exit.Code != 0 || t.s.Watch) {
			err = fmt.Errorf("it ended with %s", proc.Ending(exit.Code, exit.Signal))
			if words := truncate.Head(oneLine(said.String()), 300); words != "" {
				err = fmt.Errorf("%w: %s", err, words)
			}
		}
	}
	if t.s.Watch {
		return err // its lines are taken; its end is a failure
	}
	reads := make([]Read, len(lines.list))
	for i, l := range lines.list {
		reads[i] = t.line(l)
	}
	t.bad = err != nil // what it printed before it failed is still true
	_, terr := t.take(ctx, reads, nil)
	return errors.Join(err, terr)
}

func (t *taker) line(l []byte) Read {
	if len(l) > maxLine {
		return Read{Err: fmt.Errorf("a line of more than %d bytes", maxLine)}
	}
	return ReadOne(l, t.defaults())
}

// watcher takes lines as they come. A command that prints more than its share in an interval is not read until the next
// interval: the command waits, and no other sensor does.
func (t *taker) watcher(ctx context.Context) func([][]byte) error {
	var began time.Time
	taken := 0
	return func(list [][]byte) error {
		reads := make([]Read, len(list))
		for i, l := range list {
			reads[i] = t.line(l)
		}
		for len(reads) > 0 {
			if now := t.Clock(); now.Sub(began) >= every(t.s) {
				began, taken = now, 0
			}
			left := maxEvents(t.s) - taken
			if left <= 0 {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(max(every(t.s)-t.Clock().Sub(began), time.Millisecond)):
				}
				continue
			}
			part := reads[:min(left, len(reads))]
			before := t.rep.Accepted
			if _, err := t.take(ctx, part, nil); err != nil {
				return err
			}
			if t.rep.Accepted > before && t.Wake != nil {
				t.Wake()
			}
			taken += len(part)
			reads = reads[len(part):]
		}
		return nil
	}
}

// A lineWriter splits what a process prints. It keeps the lines, or hands on those that came together.
type lineWriter struct {
	hand  func([][]byte) error // nil: they are kept
	list  [][]byte
	rest  []byte
	total int
	err   error
}

func (w *lineWriter) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.hand == nil {
		if w.total += len(b); w.total > maxOutput {
			w.err = errTooMuch
			return 0, w.err
		}
	}
	w.rest = append(w.rest, b...)
	var now [][]byte
	for {
		line, after, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			break
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			now = append(now, bytes.Clone(line))
		}
		w.rest = after
	}
	if len(w.rest) > maxLine && w.hand != nil {
		w.err = fmt.Errorf("a line of more than %d bytes", maxLine)
		return 0, w.err
	}
	if w.hand == nil {
		if left := maxDocuments - len(w.list); len(now) > left {
			now, w.err = now[:left], errTooMany
		}
		w.list = append(w.list, now...)
	} else if len(now) > 0 {
		w.err = w.hand(now)
	}
	return len(b), w.err
}

// end takes a last line that no newline ends.
func (w *lineWriter) end() {
	if last := bytes.TrimSpace(w.rest); len(last) > 0 && w.err == nil {
		w.rest = nil
		if w.hand != nil {
			w.err = w.hand([][]byte{last})
		} else {
			w.list = append(w.list, last)
		}
	}
}

// A headWriter keeps the beginning.
type headWriter struct {
	bytes.Buffer
	most int
}

func (w *headWriter) Write(b []byte) (int, error) {
	if left := w.most - w.Len(); left > 0 {
		w.Buffer.Write(b[:min(left, len(b))])
	}
	return len(b), nil
}
