package agentcli

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// A Dialect is one agent CLI. It holds no state of a run.
type Dialect interface {
	// Kind is the adapter kind.
	Kind() string
	// Install is a sentence that says how to get the CLI.
	Install() string
	// Locate returns what a command stands for; file is what was found, without links. A launcher that only starts a
	// native program stands for that program.
	Locate(file string) Program
	// Hosts returns the hosts of the model, as host:port. env is the adapter's own environment.
	Hosts(a agentruntime.AdapterConfig, env map[string]string) ([]string, error)
	// Begin checks what is the dialect's to check and makes a conversation. Errors are of class failure.Config.
	Begin(p Plan) (Conversation, error)
}

// A Program is what a CLI consists of, on this machine.
type Program struct {
	File string // what is executed
	Dir  string // the directory that it needs in addition; empty: none
}

// A Plan is what a conversation begins with.
type Plan struct {
	*process.Agent        // the job, the adapter's fields, the environment
	State          *State // what is known of the conversation; an earlier session's when it goes on
	Home           string // the CLI's configuration home on this machine: made, empty at first, kept between turns
	Posture        Posture
}

// A State is what a session knows of its conversation. It goes into the session's Ref.
type State struct {
	ID    string `json:"id"`
	Runs  int    `json:"runs,omitempty"`           // processes so far
	Turns int    `json:"turns,omitempty"`          // answers of the model so far
	Used  Totals `json:"used"`                     // for a CLI that reports running totals
	Cost  int64  `json:"cost_micro_usd,omitempty"` // a running total, for a CLI that reports one
}

func (s *State) ref() string {
	if s.ID == "" {
		return ""
	}
	text, _ := json.Marshal(s)
	return string(text)
}

// A Conversation speaks a dialect. Its methods are called by one goroutine: Launch, then Feed for each line, then Outcome,
// for every turn.
type Conversation interface {
	// Launch says how a turn is started. With an ID in the plan's State the conversation goes on. Stop ends the turn.
	Launch(ctx context.Context, prompt string, report *Reporter, stop func(*failure.Error)) (Launch, error)
	Reader
}

// A Reader reads the stream of one turn.
type Reader interface {
	// Feed reads one line of the stream. The bytes are valid during the call.
	Feed(line []byte)
	// Outcome returns the result according to the stream. It is called when the process is gone.
	Outcome() Outcome
}

// A Launch is how a turn is started.
type Launch struct {
	Args     []string
	Env      map[string]string // deed's own for this CLI; an adapter that sets one of these is refused
	Defaults map[string]string // set where nothing else sets them
	Stdin    io.Reader         // nil: the prompt
	Done     func()            // called when the process is gone, before Outcome; may be nil
	// Over, when given, is closed when the agent said that its turn is over. A process that stays then is ended, and that
	// is no failure.
	Over <-chan struct{}
	// Cancel, when given, asks the agent by its own protocol to stop, when the context has ended. It returns soon; the
	// processes are ended then.
	Cancel func()
}

// An Outcome is the result of a turn according to a stream.
type Outcome struct {
	Succeeded bool           // the event that ends a turn came, and says success
	Failure   *failure.Error // what went wrong, according to the stream; nil: it reports nothing
	Message   string         // the agent's last message
	NeedsWord bool           // success without a message counts only with a result: there is no event that says it
	Notes     map[string]any // for the diagnostics
}

// claim is the claim that an outcome stands for when the agent left no result.
func (o Outcome) claim() *driver.Claim {
	raw, _ := json.Marshal(map[string]string{"status": string(agentruntime.TaskCompleted), "operator_summary": o.Message})
	return &driver.Claim{
		Source: driver.SourceStream, Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, Summary: o.Message, Raw: raw,
	}
}

// InsideProgram is where a contained agent sees its CLI.
const InsideProgram = "/run/deed/agent"

// mounts are what a program needs to be seen.
func (p Program) mounts() []sandbox.Mount {
	source := p.File
	if p.Dir != "" {
		source = p.Dir
	}
	return []sandbox.Mount{{Source: source, Target: InsideProgram + "/" + filepath.Base(source)}}
}
