package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// LogFile is the name of the log of a conversation in the directory of its run, and delegatedDir that of the directory for
// the logs of what it delegated.
const (
	LogFile      = "conversation.jsonl"
	delegatedDir = "subagents"
)

// Files are all names in the directory of a run that belong to a conversation.
var Files = []string{LogFile, delegatedDir, outputDir}

// A Config is what a conversation needs for its whole life.
type Config struct {
	Client    model.Client
	Model     string
	Workspace string // as the tools see it
	Bounds    Bounds
	Dir       string           // deed's record of the run: the log, whole outputs
	Redactor  *redact.Redactor // stands before the log, the model and the events; nil: there are no secrets
	Clock     clock.Clock      // nil: clock.System
}

// Hands carry out the calls of tools that touch files or start commands. *tool.Host is one.
type Hands interface {
	Call(ctx context.Context, name string, input json.RawMessage, out io.Writer) (tool.Outcome, error)
}

// An Env is what a conversation needs for one turn.
type Env struct {
	Hands      Hands
	Guard      driver.Guard // nil: everything is allowed, and questions have no answer
	Sink       driver.Sink
	Transcript io.Writer // gets what was said and done, for people; nil: nobody
}

// A Yield is how a turn ended. With an Err of class failure.Blocked a person has to decide first.
type Yield struct {
	Completed bool   // the agent says that it is done
	Summary   string // its summary, or its last message
	Files     []string
	Err       *failure.Error      // why it ended, when it did not complete
	Truncated []driver.Truncation // outputs of tools that are not kept whole
}

// A Conversation is that of one agent. It is used by one goroutine.
type Conversation struct {
	cfg    Config
	log    *journal.Journal
	state  *state
	system string
	tools  []model.Tool

	subagent string // its id, for one that was delegated
	depth    int
}

// Begin starts a conversation. Nothing may be in the directory yet that bears its name.
func Begin(cfg Config, id, goal string) (*Conversation, error) {
	return begin(cfg, LogFile, begun{ID: id, Goal: goal}, "", 0)
}

func begin(cfg Config, name string, b begun, subagent string, depth int) (*Conversation, error) {
	path := filepath.Join(cfg.Dir, name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil, failure.New(failure.Infra, "begin a conversation", fmt.Errorf("%s is there already (%w)", name, fs.ErrExist), "")
	}
	c, err := open(cfg, path, subagent, depth)
	if err != nil {
		return nil, err
	}
	if err := c.append(entry{kind: kindBegin, begun: &b}, true); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Resume goes on with a conversation from the last entry of its log.
func Resume(cfg Config, id string) (*Conversation, error) {
	return resume(cfg, LogFile, id, "", 0)
}

func resume(cfg Config, name, id, subagent string, depth int) (*Conversation, error) {
	bad := func(err error) (*Conversation, error) {
		return nil, failure.New(failure.Config, "go on with a conversation", err, "start it anew")
	}
	path := filepath.Join(cfg.Dir, name)
	entries, err := journal.Read(path)
	if err != nil {
		return bad(err)
	}
	if len(entries) == 0 || entries[0].Kind != kindBegin {
		return bad(fmt.Errorf("%s has no beginning", name))
	}
	c, err := open(cfg, path, subagent, depth)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		d, err := decodeEntry(e.Kind, e.Detail)
		if err == nil {
			err = c.state.apply(d)
		}
		if err != nil {
			_ = c.Close()
			return bad(fmt.Errorf("%s: entry %d: %w", name, e.Seq, err))
		}
	}
	if c.state.id != id {
		_ = c.Close()
		return bad(fmt.Errorf("%s is conversation %q, not %q", name, c.state.id, id))
	}
	return c, nil
}

func open(cfg Config, path, subagent string, depth int) (*Conversation, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.System
	}
	cfg.Bounds = cfg.Bounds.withDefaults(cfg.Model)
	log, err := journal.Open(path, journal.Options{Clock: cfg.Clock})
	if err != nil {
		return nil, failure.New(failure.Infra, "open the conversation", err, "")
	}
	c := &Conversation{cfg: cfg, log: log, state: newState(), subagent: subagent, depth: depth}
	c.system = systemPrompt(cfg.Workspace, cfg.Bounds.Tools, subagent != "")
	for _, s := range tool.Specs() {
		if cfg.Bounds.allows(s.Name) {
			c.tools = append(c.tools, model.Tool{Name: s.Name, Description: s.Description, Schema: s.Schema})
		}
	}
	return c, nil
}

// ID is what Resume needs.
func (c *Conversation) ID() string { return c.state.id }

// Close closes the log.
func (c *Conversation) Close() error { return c.log.Close() }

// append writes an entry and takes it into the state. What is in the state is what is in the log: redacted.
func (c *Conversation) append(e entry, sync bool) error {
	d := e.detail()
	infra := func(err error) error { return failure.New(failure.Infra, "write the conversation", err, "") }
	if d != nil {
		if err := c.cfg.Redactor.Value(d); err != nil {
			return infra(err)
		}
	}
	if err := c.log.Append(e.kind, d); err != nil {
		return infra(err)
	}
	if sync {
		if err := c.log.Sync(); err != nil {
			return infra(err)
		}
	}
	if err := c.state.apply(e); err != nil {
		return infra(err)
	}
	return nil
}

// Turn tells the agent something, unless text is empty, and goes on until it yields. The Yield accounts for every failure;
// when ctx ends it has an Err that wraps its cause.
func (c *Conversation) Turn(ctx context.Context, text string, env Env) Yield {
	if env.Sink == nil {
		env.Sink = driver.Discard
	}
	if env.Transcript == nil {
		env.Transcript = io.Discard
	}
	t, err := newTurn(c, env)
	if err == nil && text != "" {
		t.write("user", text)
		err = c.append(entry{kind: kindInput, said: &said{Text: text}}, true)
	}
	var y Yield
	if err == nil {
		y, err = t.run(ctx, c)
	}
	if err != nil {
		y = Yield{Summary: c.state.last, Err: classed(ctx, err)}
	}
	if t != nil {
		y.Truncated = t.evidence.cut
	}
	return y
}

// classed gives every error its class. The end of ctx comes first: what else went wrong followed from it.
func classed(ctx context.Context, err error) *failure.Error {
	var f *failure.Error
	cause := context.Cause(ctx)
	switch {
	case cause != nil:
		return driver.Canceled("talk to the model", cause)
	case errors.Is(err, driver.ErrAsked):
		return driver.Asked(err)
	case errors.As(err, &f):
		return f
	}
	return failure.New(failure.Infra, "talk to the model", err, "")
}

// run takes steps until the agent yields. An error is the end too.
func (t *turn) run(ctx context.Context, c *Conversation) (Yield, error) {
	for _, id := range c.state.interrupted() {
		if err := t.settleInterrupted(c, id); err != nil {
			return Yield{}, err
		}
	}
	for {
		if err := context.Cause(ctx); err != nil {
			return Yield{}, err
		}
		var err error
		switch st := c.state.next(c.cfg.Bounds); st.kind {
		case stepYield:
			if len(c.state.calls) > 0 {
				t.write(c.who(), "["+tool.TaskComplete+"] "+st.claim.Summary)
			}
			return Yield{Completed: true, Summary: st.claim.Summary, Files: st.claim.Files}, c.log.Sync()
		case stepEnd:
			return Yield{}, st.end
		case stepCall:
			err = t.call(ctx, c, st)
		case stepCompact:
			err = t.compact(ctx, c, st.reason)
		case stepAsk:
			err = t.ask(ctx, c)
		}
		if err != nil {
			return Yield{}, err
		}
	}
}

// A turn is what one turn of a conversation, and of those that it delegates, shares.
type turn struct {
	env      Env
	answers  int // reported so far, in the whole attempt
	delegate int // conversations delegated so far
	evidence evidence
}

func newTurn(c *Conversation, env Env) (*turn, error) {
	t := &turn{env: env, answers: c.state.turns, delegate: c.state.delegated}
	t.evidence = evidence{dir: c.cfg.Dir, each: c.cfg.Bounds.Output, limit: c.cfg.Bounds.Evidence, redactor: c.cfg.Redactor}
	if err := t.evidence.look(); err != nil {
		return nil, failure.New(failure.Infra, "look at the record of the run", err, "")
	}
	return t, nil
}

// write adds to the transcript. That it could not be written is no reason to stop: the log is what counts.
func (t *turn) write(who, text string) { fmt.Fprintf(t.env.Transcript, "%s: %s\n", who, text) }

func (c *Conversation) now() agentruntime.Timestamp { return agentruntime.At(c.cfg.Clock()) }

// who names the speaker in a transcript.
func (c *Conversation) who() string {
	if c.subagent == "" {
		return "agent"
	}
	return "agent " + c.subagent
}
