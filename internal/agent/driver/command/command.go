// Package command owns the general form of an agent CLI: any program that takes a prompt and ends when its answer is there.
// How a turn becomes a process is package agentcli's.
//
// The adapter says where the prompt goes, how the program is called, how it goes on with a conversation, and whether what it
// prints is a text or the events of Claude Code or Codex. A text is the program's last message, and its exit says whether it
// succeeded: exit 0 with a text or a result file is a claim of completion, for the gate to judge.
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
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/agent/driver/claudecode"
	"github.com/deedrun/deed/internal/agent/driver/codex"
	"github.com/deedrun/deed/internal/base/failure"
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
	c := &conversation{plan: p, adapter: a, model: p.Model()}
	if c.model == "" && (names(a.Args, agentruntime.PlaceModel) || names(a.ResumeArgs, agentruntime.PlaceModel)) {
		return nil, failure.New(failure.Config, "name the model", errors.New("the arguments name "+agentruntime.PlaceModel+", and there is no model"), "set model")
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

	report    *agentcli.Reporter
	readState *agentcli.State // what the reader knows; of it, the id counts only where the conversation can go on
	reader    agentcli.Reader
	found     string // the id that the program reported in this turn
}

var _ agentcli.Conversation = (*conversation)(nil)

// promptFile is where the prompt lies in the exchange directory.
const promptFile = "prompt.md"

// Launch starts the program.
func (c *conversation) Launch(ctx context.Context, prompt string, report *agentcli.Reporter, stop func(*failure.Error)) (agentcli.Launch, error) {
	a, state, j := c.adapter, c.plan.State, c.plan.Job
	readState := *state
	c.report, c.found, c.readState = report, "", &readState
	switch a.Events {
	case agentruntime.EventsClaudeStreamJSON:
		c.reader = claudecode.NewReader(ctx, report, c.readState, c.model, stop)
	case agentruntime.EventsCodexJSON:
		c.reader = codex.NewReader(report, c.readState, c.model)
	default:
		c.reader = &text{report: report}
	}
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
	c.reader.Feed(line)
	if c.pattern == nil || c.found != "" {
		return
	}
	if m := c.pattern.FindSubmatch(line); m != nil {
		c.find(string(m[len(m)-1]), line)
	}
}

// find takes an id of the conversation that the program reported.
func (c *conversation) find(id string, line []byte) {
	if !agentcli.GoodID(id) {
		c.report.Strange("an id of the conversation that cannot stand on a command line", line)
		return
	}
	c.found = id
}

// apiError is how agents that borrowed the form of Claude Code's events report a failed service under a result of success.
const apiError = "[API Error:"

// Outcome is the result according to the stream.
func (c *conversation) Outcome() agentcli.Outcome {
	o := c.reader.Outcome()
	if rest, failed := strings.CutPrefix(o.Message, apiError); failed && o.Succeeded && c.adapter.Events == agentruntime.EventsClaudeStreamJSON {
		o.Succeeded = false
		o.Failure = agentcli.ServiceFailure(c.adapter.Command, agentcli.StatusIn(rest), rest, agentcli.WaitIn(rest))
	}
	c.remember()
	if n := len(c.plan.Job.Rules); n > 0 {
		if o.Notes == nil {
			o.Notes = map[string]any{}
		}
		o.Notes["rules"] = fmt.Sprintf("%d rules are declared: the program does not get them, so only deed's isolation and the gate hold", n)
	}
	return o
}

// anonymous stands for a conversation that the program finds by itself, as the last one in its home.
const anonymous = "last"

// remember keeps the id with which the next turn resumes. Without resume_args each turn starts over.
func (c *conversation) remember() {
	state := c.plan.State
	if len(c.adapter.ResumeArgs) == 0 {
		return
	}
	state.Used, state.Cost = c.readState.Used, c.readState.Cost
	if c.pattern == nil && c.readState.ID != state.ID {
		c.find(c.readState.ID, nil)
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
	if _, plain := c.reader.(*text); plain && state.ID != "" { // other readers reported it
		c.report.Session(driver.SessionInfo{ID: state.ID, Requested: c.model})
	}
}
