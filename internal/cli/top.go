package cli

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/cli/top"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/engine/view"
)

func (a *app) topCmd() *cobra.Command {
	return &cobra.Command{
		Use: "top", Short: "Look at what runs, what waits for you and what was accepted, live in this terminal", Args: cobra.NoArgs,
		Long: `Look at a home as it works: what runs now, with the agent's turn and tool, its cost and its time; what waits for you; what was
refused and why; what was accepted. Choose a line and press enter to see the task whole. Keys answer, cancel, retry and pause;
? lists them. What is not a terminal gets one snapshot, and with --json the whole model.`,
		Example: "  deed top\n  deed top --json",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			if err := a.view(ctx); err != nil {
				return err
			}
			in, out, ok := a.wholeTerminal()
			if a.json || !ok {
				return a.snapshotTop(ctx)
			}
			return a.top(ctx, in, out)
		},
	}
}

// wholeTerminal is the terminal, when input and output are one that can be drawn on.
func (a *app) wholeTerminal() (in, out *os.File, ok bool) {
	in, ok = a.In.(*os.File)
	if !ok || !isTerminal(in) || !isTerminal(a.Out) || a.getenv("TERM") == "dumb" {
		return nil, nil, false
	}
	w := any(a.Out)
	if s, is := w.(*sink); is {
		w = s.w
	}
	out, ok = w.(*os.File)
	return in, out, ok
}

// snapshotWidth is how wide a snapshot is where no width is given.
const snapshotWidth = 120

func (a *app) snapshotTop(ctx context.Context) error {
	if a.json {
		h, err := a.models().Home(ctx)
		if err != nil {
			return err
		}
		return a.emit(h)
	}
	d, err := a.topDesk()
	if err != nil {
		return err
	}
	m := top.New(d, a.h.Root(), a.color)
	lines, err := m.Snapshot(ctx, snapshotWidth)
	if err != nil {
		return err
	}
	for _, l := range lines {
		a.printf("%s\n", strings.TrimRight(l, " "))
	}
	return nil
}

// top draws and takes keys until the person has had enough.
func (a *app) top(ctx context.Context, in, out *os.File) (err error) {
	d, err := a.topDesk()
	if err != nil {
		return err
	}
	screen, err := terminal.Open(in, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, screen.Close()) }()
	ctx, stop := context.WithCancel(ctx)
	var owned sync.WaitGroup
	defer owned.Wait()
	defer stop()

	keys := make(chan terminal.Key)
	owned.Go(func() { screen.Keys(ctx, keys) })
	changes := make(chan struct{}, 1)
	owned.Go(func() { a.changes(ctx, changes) })
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH, syscall.SIGCONT)
	defer signal.Stop(resized)
	tick := time.NewTicker(time.Second) // what runs shows its time, and its journal is no part of the store
	defer tick.Stop()

	m := top.New(d, a.h.Root(), a.color)
	m.Refresh(ctx)
	for !m.Closed {
		if err := screen.Draw(m.Lines(screen.Size())); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case k, ok := <-keys:
			if !ok {
				return nil // the terminal is gone
			}
			if k == terminal.KeyCtrlL {
				screen.Redraw()
			}
			m.Press(ctx, k)
		case <-changes:
			m.Refresh(ctx)
		case <-tick.C:
			if m.Busy() {
				m.Refresh(ctx)
			}
		case <-resized:
			screen.Redraw()
		}
	}
	return nil
}

// changes sends on a channel when something in the home changed.
func (a *app) changes(ctx context.Context, to chan<- struct{}) {
	f := feed.New(a.st, a.h, slog.New(slog.DiscardHandler))
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { _ = f.Run(ctx) }) // without it the timer is left
	s, err := f.Subscribe(ctx, feed.Now, feed.Filter{})
	if err != nil {
		<-ctx.Done()
		return
	}
	defer s.Close()
	for ctx.Err() == nil {
		if _, err := s.Next(ctx); err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			continue
		}
		select {
		case to <- struct{}{}:
		default:
		}
	}
}

// A topDesk does what keys mean, through the same calls as the commands.
type topDesk struct {
	*view.Reader
	app  *app
	desk *answer.Desk
}

var _ top.Desk = (*topDesk)(nil)

func (a *app) topDesk() (*topDesk, error) {
	d, err := a.desk()
	if err != nil {
		return nil, err
	}
	return &topDesk{Reader: a.models(), app: a, desk: d}, nil
}

func (d *topDesk) give(ctx context.Context, id string, w answer.Answer) error {
	_, err := d.desk.Give(ctx, id, d.app.operator(), w)
	return err
}

// Approve allows what an action asks for.
func (d *topDesk) Approve(ctx context.Context, id string) error {
	return d.give(ctx, id, answer.Answer{Decision: &action.Decision{Decision: deed.RuleAllow}})
}

// Deny refuses it.
func (d *topDesk) Deny(ctx context.Context, id, reason string) error {
	return d.give(ctx, id, answer.Answer{Decision: &action.Decision{Decision: deed.RuleDeny, Note: reason}})
}

// Answer answers a question.
func (d *topDesk) Answer(ctx context.Context, id, text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("the answer is empty")
	}
	word, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return d.give(ctx, id, answer.Answer{Text: word})
}

// Cancel cancels a task.
func (d *topDesk) Cancel(ctx context.Context, id string) error {
	_, err := d.app.st.Cancel(ctx, id, "", d.app.operator())
	d.app.h.Wake()
	return err
}

// Retry gives a task another attempt.
func (d *topDesk) Retry(ctx context.Context, id string) error {
	err := d.app.st.Retry(ctx, id, "", d.app.operator())
	d.app.h.Wake()
	return err
}

// Pause stops dispatch, or lets it go on.
func (d *topDesk) Pause(ctx context.Context, on bool) error {
	defer d.app.h.Wake()
	if on {
		return d.app.st.Pause(ctx, "", d.app.operator())
	}
	return d.app.st.Resume(ctx, d.app.operator())
}
