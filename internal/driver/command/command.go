// Package command owns the general form of an agent CLI: any program that takes a prompt and ends when its answer is there.
// How a turn becomes a process is package agentcli's.
//
// The adapter says where the prompt goes, how the program is called, and how it goes on with a conversation. What the
// program prints is its last message, and its exit says whether it succeeded: exit 0 with a text or a result file is a
// claim of completion, for the gate to judge.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/driver/agentcli"
	"github.com/deedrun/deed/internal/failure"
)

// A Dialect is any agent CLI, as its adapter describes it.
type Dialect struct{}

// New makes the driver of adapters of kind command.
func New() *agentcli.Driver { return agentcli.New(Dialect{}) }

var _ agentcli.Dialect = Dialect{}

// Kind returns "command".
func (Dialect) Kind() string { return agentruntime.KindCommand }

// Install says how to get the program, as far as that can be known.
func (Dialect) Install() string { return "install it, or give its absolute path" }

// Locate returns the file itself.
func (Dialect) Locate(file string) agentcli.Program { return agentcli.Program{File: file} }

// Hosts returns what the adapter names.
func (Dialect) Hosts(a agentruntime.AdapterConfig, _ map[string]string) ([]string, error) {
	return a.Command.Hosts, nil
}

// Begin makes a conversation with the program.
func (Dialect) Begin(p agentcli.Plan) (agentcli.Conversation, error) {
	a := p.Job.Adapter.Command
	c := &conversation{plan: p, adapter: a, model: p.Job.Model}
	if c.model == "" {
		c.model = a.Model
	}
	if c.model == "" && (names(a.Args, agentruntime.PlaceModel) || names(a.ResumeArgs, agentruntime.PlaceModel)) {
		return nil, failure.New(failure.Config, "name the model", errors.New("the arguments name "+agentruntime.PlaceModel+", and there is no model"), "set model")
	}
	if a.Events != "" && a.Events != agentruntime.EventsText {
		return nil, failure.New(failure.Config, "read the adapter", fmt.Errorf("events %q are not read by this kind yet", a.Events), `use "events": "text"`)
	}
	if names(a.Args, agentruntime.PlaceSession) {
		c.made = uuid.NewString()
	}
	if a.SessionPattern != "" {
		c.pattern = regexp.MustCompile(a.SessionPattern) // the adapter was validated
	}
	return c, nil
}

func names(args []string, place string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, place) })
}

// A conversation is one with the program.
type conversation struct {
	plan    agentcli.Plan
	adapter *agentruntime.CommandAdapter
	model   string
	made    string // the id that deed gave the conversation; empty: the program gives it
	pattern *regexp.Regexp

	tell  *agentcli.Teller
	found string // the id that the program told in this turn
	said  tail
}

var _ agentcli.Conversation = (*conversation)(nil)

// promptFile is where the prompt lies in the exchange directory.
const promptFile = "prompt.md"

// Launch starts the program.
func (c *conversation) Launch(_ context.Context, prompt string, tell *agentcli.Teller, _ func(*failure.Error)) (agentcli.Launch, error) {
	a, state, j := c.adapter, c.plan.State, c.plan.Job
	c.tell, c.found, c.said = tell, "", tail{}
	args, id := a.Args, c.made
	if state.ID != "" {
		args, id = a.ResumeArgs, state.ID
	}
	values := strings.NewReplacer(
		agentruntime.PlacePromptFile, filepath.Join(j.Inside(j.Dirs.Exchange), promptFile),
		agentruntime.PlaceWorkspace, j.Inside(j.Dirs.Workspace),
		agentruntime.PlaceModel, c.model,
		agentruntime.PlaceSession, id,
	)
	l := agentcli.Launch{}
	for _, arg := range args {
		l.Args = append(l.Args, values.Replace(arg))
	}
	l.Args = append(l.Args, a.ExtraArgs...)
	if a.Prompt == agentruntime.PromptFile {
		l.Stdin = strings.NewReader("")
		if err := c.write(prompt); err != nil {
			return l, failure.New(failure.Infra, "write the prompt", err, "")
		}
	}
	return l, nil
}

// write puts the prompt where the agent finds it, whatever an earlier turn left there.
func (c *conversation) write(prompt string) error {
	root, err := os.OpenRoot(c.plan.Job.Dirs.Exchange)
	if err != nil {
		return err
	}
	return errors.Join(driver.WriteFile(root, promptFile, []byte(prompt)), root.Close())
}

// Feed reads one line of what the program prints.
func (c *conversation) Feed(line []byte) {
	c.said.add(line)
	if c.pattern == nil || c.found != "" {
		return
	}
	m := c.pattern.FindSubmatch(line)
	if m == nil {
		return
	}
	if id := string(m[len(m)-1]); agentcli.GoodID(id) {
		c.found = id
		return
	}
	c.tell.Strange("an id of the conversation that cannot stand on a command line", line)
}

// Outcome takes what was printed for the agent's last message. Whether the run succeeded its exit says.
func (c *conversation) Outcome() agentcli.Outcome {
	c.remember()
	text := c.said.text()
	c.tell.Text(text, false)
	c.tell.Turn("exit")
	o := agentcli.Outcome{Succeeded: true, Message: text, NeedsWord: true}
	if n := len(c.plan.Job.Rules); n > 0 {
		o.Notes = map[string]any{"rules": fmt.Sprintf("%d rules are declared: the program is not told of them, so only deed's walls and the gate hold", n)}
	}
	return o
}

// anonymous stands for a conversation that the program finds by itself, as the last one in its home.
const anonymous = "last"

// remember keeps the id with which the next turn goes on. Without resume_args each turn begins anew.
func (c *conversation) remember() {
	state := c.plan.State
	if len(c.adapter.ResumeArgs) == 0 {
		return
	}
	switch {
	case c.found != "":
		state.ID = c.found
	case state.ID != "":
	case c.made != "":
		state.ID = c.made
	case !names(c.adapter.ResumeArgs, agentruntime.PlaceSession):
		state.ID = anonymous
	}
	if state.ID != "" {
		c.tell.Session(driver.SessionInfo{ID: state.ID, Requested: c.model})
	}
}

// A tail keeps the end of what a program printed.
type tail struct{ b []byte }

// maxSaid bounds the last message.
const maxSaid = 16 << 10

func (t *tail) add(line []byte) {
	if len(line) > maxSaid {
		line = line[len(line)-maxSaid:]
	}
	if over := len(t.b) + len(line) + 1 - 2*maxSaid; over > 0 {
		t.b = append(t.b[:0], t.b[len(t.b)-min(len(t.b), maxSaid):]...)
	}
	t.b = append(append(t.b, line...), '\n')
}

func (t *tail) text() string {
	b := t.b[max(0, len(t.b)-maxSaid):]
	return strings.TrimSpace(strings.ToValidUTF8(string(b), "\ufffd"))
}
