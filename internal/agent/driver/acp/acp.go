// Package acp owns the driver for agents that speak the Agent Client Protocol, version 1, on their standard input and
// output: JSON-RPC 2.0, one message in each line. It does not start processes itself (see package agentcli), and it
// decides nothing: the job's guard does.
//
// # One turn
//
//	initialize → session/new, or session/resume or session/load for a conversation that goes on → session/prompt
//
// When the answer to the prompt is there, the agent's input is closed, and it is ended if it stays. The next turn starts
// it again. An agent that can neither resume nor load, or does not know its conversation any more, gets the brief and what
// there is to say in a new one; the yield's diagnostics then have "conversation": "restarted".
//
// # What the agent may ask of deed
//
// The guard decides on everything. A permission is granted or refused for one call, never permanently. Files are read and
// written in the workspace alone, and written only where the agent itself could. Commands run in terminals in the agent's own
// sandbox, each under a supervisor of its own that is closed before the turn ends. Without a guard, all of this is allowed if
// the agent's own guards are lifted (see agentcli.Posture), and refused otherwise. An agent need not ask: what it does by
// itself shows only in its updates.
//
// # How a turn ends
//
//	end_turn                        a completion with the agent's last message, or what its result file says
//	max_tokens, max_turn_requests   failure.Turns
//	refusal                         failure.AskedFail
//	cancelled                       by the cause of the context; failure.AgentFailed if deed did not cancel
//	an error instead                failure.Provider, failure.RateLimited, or failure.Config for a login that is missing
package acp

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/base/failure"
)

// Bounds of a conversation.
const (
	setUpTime  = 2 * time.Minute // from the start to the prompt: these agents are large and start slowly
	cancelTime = 2 * time.Second // for the answer to session/cancel
	maxAsked   = 64              // requests of the agent that are under way
)

// A dialect is the protocol, with its bounds.
type dialect struct {
	setUp time.Duration
}

var _ agentcli.Dialect = dialect{}

// New makes the driver.
func New() *agentcli.Driver { return agentcli.New(dialect{setUp: setUpTime}) }

// Kind returns "acp".
func (dialect) Kind() string { return agentruntime.KindACP }

// Install says where agents are.
func (dialect) Install() string {
	return "install an agent that speaks the Agent Client Protocol, and give its absolute path as command"
}

// Locate returns the agent's program. One that was installed by npm needs the packages next to it.
func (dialect) Locate(file string) agentcli.Program {
	p := agentcli.Program{File: file}
	const packages = "node_modules"
	if before, _, ok := strings.Cut(filepath.ToSlash(file), "/"+packages+"/"); ok {
		p.Dir = filepath.Join(filepath.FromSlash(before), packages)
	}
	return p
}

// Hosts returns those that the adapter names.
func (dialect) Hosts(a agentruntime.AdapterConfig, _ map[string]string) ([]string, error) {
	return a.ACP.Hosts, nil
}

// Begin refuses what cannot be held: the protocol has no word for a sandbox.
func (d dialect) Begin(p agentcli.Plan) (agentcli.Conversation, error) {
	if mode := p.Config.Sandbox; mode != "" && !p.Posture.Lifted {
		return nil, failure.New(failure.Config, "set the agent's guards",
			fmt.Errorf("sandbox %s cannot be asked of an agent by the Agent Client Protocol", mode),
			"contain the agent (isolation namespace), or leave sandbox out and use the agent's own settings")
	}
	if p.Job.Dirs.Workspace == "" {
		return nil, failure.New(failure.Infra, "start acp", errors.New("there is no workspace"), "")
	}
	return &conversation{plan: p, setUp: d.setUp}, nil
}
