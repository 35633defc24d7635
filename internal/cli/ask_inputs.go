package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Bounds of what a person is shown of a change before the question.
const (
	maxAskedLines   = 120
	maxAskedFailing = 10
)

// askInputs asks the person at the terminal whether the agent may have changed what judges it. Anything but a yes is a no.
func (p *progress) askInputs(ctx context.Context, q attempt.InputsQuestion) (bool, string, error) {
	release := p.hold()
	defer release()
	a := p.a
	say := func(format string, args ...any) { fmt.Fprintf(a.Err, format+"\n", args...) }
	head, failing := askWords(q.Kind)
	say("\n%s (check %s):", head, clean(q.Check))
	for _, c := range q.Changed {
		say("  %-8s %s", c.Status, showPath(c.Path))
	}
	if len(q.Failing) > 0 {
		say("%s", failing)
		for _, f := range q.Failing[:min(len(q.Failing), maxAskedFailing)] {
			say("  %s", clean(f))
		}
		if n := len(q.Failing) - maxAskedFailing; n > 0 {
			say("  and %d more", n)
		}
	}
	if err := a.showInputs(q); err != nil {
		return false, "", err
	}
	fmt.Fprint(a.Err, "Accept the change as the agent left it? [y/N] ")
	word, err := a.readLine(ctx)
	if err != nil {
		return false, "", err
	}
	yes := strings.EqualFold(word, "y") || strings.EqualFold(word, "yes")
	return yes, a.operator(), nil
}

// askWords introduce what a person is asked about: the files, and what is reported about them.
func askWords(k gate.AskKind) (files, failing string) {
	switch k {
	case gate.AskSuspicious:
		return "The checks pass, and lines of these files could make them pass without the work being done", "These lines are:"
	case gate.AskUnrun:
		return "The check passes, and did not run all that it ran on the base", "These did not run:"
	case gate.AskUnfinished:
		return "The change fixes some tests, and others beside them fail as before", "These still fail:"
	}
	return "The agent changed what judges it", "With these files as they were:"
}

// showInputs shows the part of the patch that changes the inputs.
func (a *app) showInputs(q attempt.InputsQuestion) error {
	changed := map[string]bool{}
	for _, c := range q.Changed {
		changed[workspace.FromTextPath(c.Path)] = true
	}
	f, err := os.Open(q.Patch)
	if err != nil {
		return fmt.Errorf("show the change: %w", err)
	}
	defer func() { _ = f.Close() }()
	parts, err := workspace.SplitPatch(f)
	if err != nil {
		return fmt.Errorf("show the change: %w", err)
	}
	lines := 0
	for _, part := range parts {
		if !changed[part.Path] {
			continue
		}
		text, err := io.ReadAll(io.NewSectionReader(f, part.Start, min(part.End-part.Start, 1<<20)))
		if err != nil {
			return fmt.Errorf("show the change: %w", err)
		}
		for line := range bytes.Lines(text) {
			if lines++; lines > maxAskedLines {
				fmt.Fprintln(a.Err, "  … the rest is in the bundle")
				return nil
			}
			fmt.Fprintln(a.Err, a.diffLine(clean(strings.TrimRight(string(line), "\r\n"))))
		}
	}
	return nil
}

func (a *app) diffLine(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return a.errColor.Green(line)
	case strings.HasPrefix(line, "-"):
		return a.errColor.Red(line)
	}
	return a.errColor.Dim(line)
}

// readLine reads a line of the terminal, unless the run ends first.
func (a *app) readLine(ctx context.Context) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() { // ends with the line, or with the process
		text, err := bufio.NewReader(a.In).ReadString('\n')
		got <- answer{strings.TrimSpace(text), err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case g := <-got:
		if g.err != nil && !errors.Is(g.err, io.EOF) {
			return "", fmt.Errorf("read the answer: %w", g.err)
		}
		return g.text, nil
	}
}
