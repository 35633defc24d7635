package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/clock"
)

// progress is one line on a terminal that says what is being done and for how long. In a pipe it is silent.
type progress struct {
	a     *app
	start time.Time
	stop  context.CancelFunc
	done  chan struct{}

	mu   sync.Mutex
	text string // guarded by mu
	held bool   // guarded by mu; the terminal belongs to a question
}

func (a *app) newProgress() *progress {
	p := &progress{a: a, start: clock.Start(), text: "starting"}
	if a.quiet || a.json || !isTerminal(a.Err) {
		return p
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop, p.done = stop, make(chan struct{})
	go func() {
		defer close(p.done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			p.draw(i)
			select {
			case <-ctx.Done():
				fmt.Fprint(a.Err, "\r\x1b[K")
				return
			case <-tick.C:
			}
		}
	}()
	return p
}

var frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func (p *progress) draw(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held {
		return
	}
	text := p.text
	took := clock.Since(p.start).Round(100 * time.Millisecond).String()
	fmt.Fprintf(p.a.Err, "\r\x1b[K%s %s %s", frames[i%len(frames)], shorten(clean(text), 70), p.a.errColor.Dim(took))
}

// step takes a step of an attempt.
func (p *progress) step(s attempt.Progress) {
	switch s.Step {
	case attempt.StepBase:
		p.say("checks run on the base")
	case attempt.StepPrepared:
		p.say("workspace ready")
	case attempt.StepStarted:
		p.say("agent runs")
	case attempt.StepTool:
		p.say("agent runs: " + s.Text)
	case attempt.StepWaiting:
		id, asks, _ := strings.Cut(s.Text, " ")
		p.println("%s\n  deed action approve %s, or deny, or answer", clean(asks), id)
		p.say("waits for you: " + asks)
	case attempt.StepEnded:
		p.say("agent ended")
	case attempt.StepRefused:
		p.say("refused, and told why: " + s.Text)
	case attempt.StepJudging:
		p.say("judging: " + s.Text)
	case attempt.StepCheck:
		p.say("check: " + s.Text)
	case attempt.StepVerdict, attempt.StepSettled:
		p.say(s.Text)
	}
}

// println writes lines that stay, above the line that moves.
func (p *progress) println(format string, args ...any) {
	if p.stop != nil {
		fmt.Fprint(p.a.Err, "\r\x1b[K")
	}
	p.a.hint(format, args...)
}

func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = text
}

// hold takes the line away until release is called, for a question.
func (p *progress) hold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
	if p.stop != nil {
		fmt.Fprint(p.a.Err, "\r\x1b[K")
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.held = false
	}
}

// clear takes the line away; a second call does nothing.
func (p *progress) clear() {
	if p.stop != nil {
		p.stop()
		<-p.done
	}
}
