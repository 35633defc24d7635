// Package top owns the live view of a home in a terminal: what it shows, which row is selected, and what each key does. It reads
// models and asks its Desk to act on keys; the caller owns the terminal itself, the loop and the output.
package top

import (
	"context"
	"fmt"
	"strings"

	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/engine/report"
	"github.com/deedrun/deed/internal/engine/view"
)

// A Desk reads models and does what a person decides, under the person's name.
type Desk interface {
	Home(ctx context.Context) (view.Home, error)
	Task(ctx context.Context, id string) (view.Task, error)
	Timeline(ctx context.Context, attemptID, cursor string, limit int) (view.Timeline, error)

	Approve(ctx context.Context, actionID string) error
	Deny(ctx context.Context, actionID, reason string) error
	Answer(ctx context.Context, actionID, text string) error
	Cancel(ctx context.Context, taskID string) error
	Retry(ctx context.Context, taskID string) error
	Pause(ctx context.Context, on bool) error
}

// A row is something on the home that can be chosen.
type row struct {
	key    string // what it is, whatever place it has
	taskID string
	action *view.Action
	text   func(width int) string
}

// A mode is what the keys are for.
type mode int

const (
	browsing mode = iota
	looking       // at a task
	helping
	typing   // a text
	deciding // yes or no
)

// A Model is the state of the view. It is used by one goroutine.
type Model struct {
	Title string // which home
	Color terminal.Palette

	desk   Desk
	home   view.Home
	rows   []row
	chosen int
	top    int // the first line of the body that is shown

	mode   mode
	before mode // that typing, deciding and helping return to
	task   view.Task
	items  []view.Item // of the newest attempt, the newest last
	of     string      // the attempt that they are of
	cursor string

	ask     string // what is typed or decided
	typed   []rune
	then    func(ctx context.Context, text string) error
	did     string // what then did, for the message
	message string // the message
	fault   bool   // it is one
	Closed  bool   // the person has had enough
}

// New makes a view of a home.
func New(d Desk, title string, color terminal.Palette) *Model {
	return &Model{Title: title, Color: color, desk: d}
}

// Refresh reads again what is shown. An error is shown, and the earlier content stays.
func (m *Model) Refresh(ctx context.Context) {
	h, err := m.desk.Home(ctx)
	if err != nil {
		m.say(err)
		return
	}
	m.home = h
	m.place()
	if m.mode == looking || m.before == looking && m.mode != browsing {
		m.say(m.look(ctx, m.task.Task.TaskID))
	}
}

// Busy reports whether something that is shown changes by itself.
func (m *Model) Busy() bool { return len(m.home.Running) > 0 }

// place lists the rows, and keeps the choice on what was chosen.
func (m *Model) place() {
	key := ""
	if m.chosen < len(m.rows) {
		key = m.rows[m.chosen].key
	}
	m.rows = m.rowsOf()
	m.chosen = max(min(m.chosen, len(m.rows)-1), 0)
	for i, r := range m.rows {
		if r.key == key {
			m.chosen = i
		}
	}
}

// maxItems bounds what is kept of a journal.
const maxItems = 200

// look reads a task and continues in the journal of its newest attempt.
func (m *Model) look(ctx context.Context, id string) error {
	t, err := m.desk.Task(ctx, id)
	if err != nil {
		return err
	}
	m.task = t
	if len(t.Attempts) == 0 {
		m.items, m.of, m.cursor = nil, "", ""
		return nil
	}
	at := t.Attempts[len(t.Attempts)-1].AttemptID
	if at != m.of {
		m.items, m.of, m.cursor = nil, at, ""
	}
	for {
		page, err := m.desk.Timeline(ctx, at, m.cursor, 0)
		if err != nil {
			return err
		}
		m.items, m.cursor = append(m.items, page.Items...), page.Next
		m.items = m.items[max(len(m.items)-maxItems, 0):]
		if !page.More {
			return nil
		}
	}
}

func (m *Model) say(err error) {
	if err != nil {
		m.message, m.fault = terminal.Clean(err.Error()), true
	}
}

// Press takes a key.
func (m *Model) Press(ctx context.Context, k terminal.Key) {
	if k == terminal.KeyCtrlC {
		m.Closed = true
		return
	}
	switch m.mode {
	case typing:
		m.write(ctx, k)
	case deciding:
		m.decide(ctx, k)
	case helping:
		m.mode = m.before
	default:
		m.message, m.fault = "", false
		m.browse(ctx, k)
	}
}

func (m *Model) browse(ctx context.Context, k terminal.Key) {
	switch k {
	case 'q', terminal.KeyCtrlD:
		if m.mode == looking {
			m.mode, m.top = browsing, 0
			return
		}
		m.Closed = true
	case terminal.KeyEscape, terminal.KeyLeft, 'h', terminal.KeyBackspace:
		m.mode, m.top = browsing, 0
	case '?':
		m.before, m.mode = m.mode, helping
	case 'j', terminal.KeyDown:
		m.move(1)
	case 'k', terminal.KeyUp:
		m.move(-1)
	case terminal.KeyPageDown, ' ':
		m.move(10)
	case terminal.KeyPageUp:
		m.move(-10)
	case 'g', terminal.KeyHome:
		m.move(-1 << 20)
	case 'G', terminal.KeyEnd:
		m.move(1 << 20)
	case terminal.KeyEnter, terminal.KeyRight, 'l':
		m.open(ctx)
	case 'p':
		m.pause(ctx)
	default:
		m.operate(ctx, k)
	}
}

func (m *Model) move(by int) {
	if m.mode == looking {
		m.top = max(m.top+by, 0)
		return
	}
	m.chosen = max(min(m.chosen+by, len(m.rows)-1), 0)
}

func (m *Model) open(ctx context.Context) {
	if m.mode == looking || m.chosen >= len(m.rows) {
		return
	}
	id := m.rows[m.chosen].taskID
	if id == "" {
		m.message = "nothing more is known of it here"
		return
	}
	m.mode, m.top = looking, 0
	m.say(m.look(ctx, id))
}

func (m *Model) pause(ctx context.Context) {
	on := m.home.Paused == nil
	word := "dispatch goes on"
	if on {
		word = "dispatch is paused: nothing new is claimed"
	}
	m.run(ctx, word, func(ctx context.Context, _ string) error { return m.desk.Pause(ctx, on) }, "")
}

// operate does what a key means for what is chosen.
func (m *Model) operate(ctx context.Context, k terminal.Key) {
	id, act := m.subject()
	switch k {
	case 'a', 'd':
		if act == nil {
			m.message = "nothing is asked there: choose a line below WAITS FOR YOU"
			return
		}
		m.answer(ctx, act, k == 'a')
	case 'c':
		if id == "" {
			m.message = "choose a task first"
			return
		}
		m.question(deciding, "Cancel "+short(id)+"?", "cancelled", func(ctx context.Context, _ string) error { return m.desk.Cancel(ctx, id) })
	case 'r':
		if id == "" {
			m.message = "choose a task first"
			return
		}
		m.run(ctx, "another attempt is due now", func(ctx context.Context, _ string) error { return m.desk.Retry(ctx, id) }, "")
	}
}

// subject is the task, and the open action, that keys are about.
func (m *Model) subject() (taskID string, act *view.Action) {
	if m.mode == looking {
		for i := range m.task.Actions {
			if m.task.Actions[i].State == "open" {
				act = &m.task.Actions[i]
			}
		}
		return m.task.Task.TaskID, act
	}
	if m.chosen >= len(m.rows) {
		return "", nil
	}
	return m.rows[m.chosen].taskID, m.rows[m.chosen].action
}

func (m *Model) answer(ctx context.Context, act *view.Action, yes bool) {
	id := act.ActionID
	switch {
	case act.Kind != action.KindPermission && act.Kind != view.KindApply && !strings.HasPrefix(act.Owner, "agent/"):
		if act.Kind == "budget" {
			m.message = "give it another budget: deed task budget " + act.TaskID + " --usd DOLLARS"
			return
		}
		m.question(typing, "Answer: ", "answered", func(ctx context.Context, text string) error { return m.desk.Answer(ctx, id, text) })
	case yes:
		m.run(ctx, "approved", func(ctx context.Context, _ string) error { return m.desk.Approve(ctx, id) }, "")
	default:
		m.question(typing, "Deny, because: ", "denied", func(ctx context.Context, text string) error { return m.desk.Deny(ctx, id, text) })
	}
}

func (m *Model) question(as mode, ask, did string, then func(context.Context, string) error) {
	m.before, m.mode, m.ask, m.did, m.then, m.typed = m.mode, as, ask, did, then, nil
}

// maxTyped bounds a line that is typed.
const maxTyped = 2000

func (m *Model) write(ctx context.Context, k terminal.Key) {
	switch {
	case k == terminal.KeyEscape:
		m.mode = m.before
	case k == terminal.KeyEnter:
		m.mode = m.before
		m.run(ctx, m.did, m.then, string(m.typed))
	case k == terminal.KeyBackspace && len(m.typed) > 0:
		m.typed = m.typed[:len(m.typed)-1]
	case k == terminal.KeyCtrlU:
		m.typed = nil
	case k.Text() && len(m.typed) < maxTyped:
		m.typed = append(m.typed, rune(k))
	}
}

func (m *Model) decide(ctx context.Context, k terminal.Key) {
	m.mode = m.before
	if k == 'y' || k == 'Y' {
		m.run(ctx, m.did, m.then, "")
		return
	}
	m.message = "left as it is"
}

func (m *Model) run(ctx context.Context, did string, do func(context.Context, string) error, text string) {
	m.message, m.fault = did, false
	m.say(do(ctx, text))
	fault, message := m.fault, m.message
	m.Refresh(ctx)
	if fault || !m.fault {
		m.message, m.fault = message, fault
	}
}

// rowsOf lists what can be chosen, in the order in which it is shown.
func (m *Model) rowsOf() []row {
	var out []row
	for i := range m.home.Running {
		r := &m.home.Running[i]
		out = append(out, row{key: "r" + r.TaskID, taskID: r.TaskID, text: func(w int) string { return m.runningLine(*r, w) }})
	}
	for i := range m.home.Waiting {
		x := &m.home.Waiting[i]
		one := row{key: "w" + x.ID, text: func(w int) string { return m.waitingLine(*x, w) }}
		if x.Action != nil {
			one.taskID, one.action = x.Action.TaskID, x.Action
		} else if x.Kind == view.KindApply {
			one.action = &view.Action{ActionID: x.ID, Kind: view.KindApply}
		} else if x.Kind == report.WaitingHeld || x.Kind == report.WaitingDead {
			one.key = "o" + x.ID
		}
		out = append(out, one)
	}
	for i := range m.home.Refused {
		x := &m.home.Refused[i]
		out = append(out, row{key: "f" + x.AttemptID, taskID: x.TaskID, text: func(w int) string { return m.refusedLine(*x, w) }})
	}
	for i := range m.home.Accepted {
		x := &m.home.Accepted[i]
		out = append(out, row{key: "p" + x.TaskID, taskID: x.TaskID, text: func(w int) string { return m.acceptedLine(*x, w) }})
	}
	return out
}

// short is an id as a person reads it; it is long enough to be given to a command.
func short(id string) string { return id[:min(len(id), 13)] }

// plural says "1 thing" or "2 things".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
