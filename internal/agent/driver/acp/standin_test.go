package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// The stand-in is this test binary as an agent, on top of somebody else's implementation of the protocol.

const standInMode = "ACP_STAND_IN" // the scenario

func standInMain() int {
	a := &standIn{cancelled: make(chan struct{})}
	in, feed := io.Pipe() // nothing is read before all is set up
	a.conn = acp.NewAgentSideConnection(a, os.Stdout, in)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	go func() {
		_, err := io.Copy(feed, os.Stdin)
		feed.CloseWithError(err)
	}()
	<-a.conn.Done()
	if strings.Contains(os.Getenv(standInMode), "stays") {
		<-time.NewTimer(time.Hour).C // an agent that does not end with its input
	}
	return 0
}

type standIn struct {
	conn      *acp.AgentSideConnection
	cancelled chan struct{}
	open      atomic.Value // the session's id
}

func (a *standIn) session() acp.SessionId { return a.open.Load().(acp.SessionId) }

func (a *standIn) is(word string) bool {
	return strings.Contains(" "+os.Getenv(standInMode)+" ", " "+word+" ")
}

// note appends to a file in the workspace what a test looks for.
func note(format string, args ...any) {
	f, err := os.OpenFile(filepath.Join(os.Getenv("DEED_WORKSPACE"), "notes"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintf(f, format+"\n", args...)
		f.Close()
	}
}

func (a *standIn) Initialize(_ context.Context, p acp.InitializeRequest) (acp.InitializeResponse, error) {
	r := acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber, AgentInfo: &acp.Implementation{Name: "stand-in", Version: "7"}}
	if a.is("old") {
		r.ProtocolVersion = 99
	}
	r.AgentCapabilities.LoadSession = a.is("load")
	if a.is("resume") {
		r.AgentCapabilities.SessionCapabilities.Resume = &acp.SessionResumeCapabilities{}
	}
	if !p.ClientCapabilities.Fs.ReadTextFile || !p.ClientCapabilities.Fs.WriteTextFile || !p.ClientCapabilities.Terminal {
		return r, errors.New("deed offers too little")
	}
	return r, nil
}

func (a *standIn) NewSession(_ context.Context, p acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	note("new %s", p.Cwd)
	if a.is("login") {
		return acp.NewSessionResponse{}, acp.NewAuthRequired(nil)
	}
	a.open.Store(acp.SessionId("ses-1"))
	r := acp.NewSessionResponse{SessionId: a.session()}
	if a.is("options") {
		r.ConfigOptions = []acp.SessionConfigOption{{Select: &acp.SessionConfigOptionSelect{
			Id: "m", Name: "Model", Type: "select", Category: acp.Ptr(acp.SessionConfigOptionCategoryModel), CurrentValue: "small",
			Options: acp.SessionConfigSelectOptions{Ungrouped: &acp.SessionConfigSelectOptionsUngrouped{}},
		}}}
	}
	return r, nil
}

func (a *standIn) LoadSession(ctx context.Context, p acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	note("load %s", p.SessionId)
	if a.is("forgets") {
		return acp.LoadSessionResponse{}, acp.NewInvalidParams("no such session")
	}
	a.open.Store(p.SessionId)
	a.say(ctx, acp.UpdateAgentMessageText("said long ago"))
	return acp.LoadSessionResponse{}, nil
}

func (a *standIn) ResumeSession(_ context.Context, p acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	note("resume %s", p.SessionId)
	if a.is("unresumed") {
		return acp.ResumeSessionResponse{}, acp.NewMethodNotFound("session/resume")
	}
	a.open.Store(p.SessionId)
	return acp.ResumeSessionResponse{}, nil
}

func (a *standIn) SetSessionConfigOption(_ context.Context, p acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	if p.ValueId == nil || p.ValueId.Value == "unknown" {
		return acp.SetSessionConfigOptionResponse{}, acp.NewInvalidParams("no such model")
	}
	note("option %s %s", p.ValueId.ConfigId, p.ValueId.Value)
	return acp.SetSessionConfigOptionResponse{ConfigOptions: []acp.SessionConfigOption{}}, nil
}

func (a *standIn) Cancel(context.Context, acp.CancelNotification) error {
	note("cancelled")
	close(a.cancelled)
	return nil
}

func (*standIn) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

func (*standIn) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, nil
}

func (*standIn) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, nil
}

func (*standIn) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, nil
}

func (a *standIn) say(ctx context.Context, u acp.SessionUpdate) {
	if err := a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: a.session(), Update: u}); err != nil {
		note("update: %v", err)
	}
}

func (a *standIn) Prompt(ctx context.Context, p acp.PromptRequest) (acp.PromptResponse, error) {
	note("prompt %s", p.Prompt[0].Text.Text)
	for _, s := range []struct {
		name string
		do   func(context.Context) error
	}{{"works", a.works}, {"asks", a.asks}, {"files", a.files}, {"terminals", a.terminals}, {"leaves", a.leaves}, {"hangs", a.hangs}} {
		if a.is(s.name) {
			if err := s.do(ctx); err != nil {
				return acp.PromptResponse{}, err
			}
		}
	}
	switch {
	case a.is("limited"):
		return acp.PromptResponse{}, &acp.RequestError{Code: -32603, Message: "slow down", Data: map[string]any{"statusCode": 429}}
	case a.is("broken"):
		return acp.PromptResponse{}, acp.NewInternalError("no model")
	}
	for _, reason := range []acp.StopReason{acp.StopReasonMaxTokens, acp.StopReasonMaxTurnRequests, acp.StopReasonRefusal, acp.StopReasonCancelled, "bored"} {
		if a.is(string(reason)) {
			return acp.PromptResponse{StopReason: reason}, nil
		}
	}
	a.say(ctx, acp.UpdateAgentMessageText("All "))
	a.say(ctx, acp.UpdateAgentMessageText("done."))
	n := 7
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn, Usage: &acp.Usage{InputTokens: 100, OutputTokens: 20, ThoughtTokens: &n, TotalTokens: 127}}, nil
}

// works tells what an agent tells while it works.
func (a *standIn) works(ctx context.Context) error {
	a.say(ctx, acp.UpdateAgentThoughtText("hmm"))
	a.say(ctx, acp.UpdateAgentMessageText("I look."))
	a.say(ctx, acp.UpdatePlan(acp.PlanEntry{Content: "look", Status: "pending", Priority: "high"}))
	a.say(ctx, acp.StartToolCall("c1", "read", acp.WithStartKind(acp.ToolKindRead), acp.WithStartStatus(acp.ToolCallStatusPending), acp.WithStartRawInput(map[string]any{})))
	a.say(ctx, acp.UpdateToolCall("c1", acp.WithUpdateStatus(acp.ToolCallStatusInProgress), acp.WithUpdateTitle("main.go"), acp.WithUpdateRawInput(map[string]any{"path": "main.go"})))
	a.say(ctx, acp.UpdateToolCall("c1", acp.WithUpdateStatus(acp.ToolCallStatusCompleted), acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock("package main"))})))
	a.say(ctx, acp.StartToolCall("c2", "go test ./...", acp.WithStartKind(acp.ToolKindExecute), acp.WithStartStatus(acp.ToolCallStatusInProgress)))
	a.say(ctx, acp.UpdateToolCall("c2", acp.WithUpdateStatus(acp.ToolCallStatusFailed), acp.WithUpdateRawOutput("it failed")))
	a.say(ctx, acp.SessionUpdate{UsageUpdate: &acp.SessionUsageUpdate{SessionUpdate: "usage_update", Used: 5, Size: 10, Cost: &acp.Cost{Amount: 0.5, Currency: "USD"}}})
	return nil
}

// asks asks for a permission and says what it got.
func (a *standIn) asks(ctx context.Context) error {
	var options []acp.PermissionOption
	for _, kind := range strings.Fields(os.Getenv("OPTIONS")) {
		options = append(options, acp.PermissionOption{OptionId: acp.PermissionOptionId("id-" + kind), Name: kind, Kind: acp.PermissionOptionKind(kind)})
	}
	title := "rm -rf x"
	r, err := a.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: a.session(), Options: options,
		ToolCall: acp.ToolCallUpdate{ToolCallId: "p1", Title: &title, Kind: acp.Ptr(acp.ToolKindExecute), RawInput: map[string]any{"command": title}},
	})
	got := "error"
	switch {
	case err != nil:
		got = err.Error()
	case r.Outcome.Selected != nil:
		got = string(r.Outcome.Selected.OptionId)
	case r.Outcome.Cancelled != nil:
		got = "cancelled"
	}
	note("permission %s", got)
	return nil
}

// files reads and writes what FILES says: a JSON list of [method, path, content].
func (a *standIn) files(ctx context.Context) error {
	var list [][3]string
	if err := json.Unmarshal([]byte(os.Getenv("FILES")), &list); err != nil {
		return err
	}
	for _, f := range list {
		var err error
		got := "written"
		if f[0] == "write" {
			_, err = a.conn.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionId: a.session(), Path: f[1], Content: f[2]})
		} else {
			q := acp.ReadTextFileRequest{SessionId: a.session(), Path: f[1]}
			if f[2] != "" {
				q.Line, q.Limit = acp.Ptr(2), acp.Ptr(1)
			}
			var r acp.ReadTextFileResponse
			r, err = a.conn.ReadTextFile(ctx, q)
			got = fmt.Sprintf("%q", r.Content)
		}
		if err != nil {
			got = "refused: " + err.Error()
		}
		note("%s %s: %s", f[0], f[1], got)
	}
	return nil
}

// terminals runs what COMMANDS says: a JSON list of shell lines.
func (a *standIn) terminals(ctx context.Context) error {
	var list []string
	if err := json.Unmarshal([]byte(os.Getenv("COMMANDS")), &list); err != nil {
		return err
	}
	var env []acp.EnvVariable
	if path := os.Getenv("COMMAND_PATH"); path != "" {
		env = []acp.EnvVariable{{Name: "PATH", Value: path}}
	}
	for _, line := range list {
		t, err := a.conn.CreateTerminal(ctx, acp.CreateTerminalRequest{SessionId: a.session(), Command: line, Env: env, OutputByteLimit: acp.Ptr(100)})
		if err != nil {
			note("refused: %v", err)
			continue
		}
		if strings.HasPrefix(line, "sleep") {
			if _, err := a.conn.KillTerminal(ctx, acp.KillTerminalRequest{SessionId: a.session(), TerminalId: t.TerminalId}); err != nil {
				return err
			}
		}
		exit, err := a.conn.WaitForTerminalExit(ctx, acp.WaitForTerminalExitRequest{SessionId: a.session(), TerminalId: t.TerminalId})
		if err != nil {
			return err
		}
		out, err := a.conn.TerminalOutput(ctx, acp.TerminalOutputRequest{SessionId: a.session(), TerminalId: t.TerminalId})
		if err != nil {
			return err
		}
		code := -1
		if exit.ExitCode != nil {
			code = *exit.ExitCode
		}
		note("exit %d, cut %v: %s", code, out.Truncated, strings.TrimSpace(out.Output))
		if _, err := a.conn.ReleaseTerminal(ctx, acp.ReleaseTerminalRequest{SessionId: a.session(), TerminalId: t.TerminalId}); err != nil {
			return err
		}
	}
	return nil
}

// leaves starts commands that nobody waits for.
func (a *standIn) leaves(ctx context.Context) error {
	for range 3 {
		if _, err := a.conn.CreateTerminal(ctx, acp.CreateTerminalRequest{SessionId: a.session(), Command: "setsid sh -c 'trap \"\" TERM; while :; do sleep 1000; done'"}); err != nil {
			return err
		}
	}
	return nil
}

// hangs works until it is cancelled.
func (a *standIn) hangs(context.Context) error {
	note("up")
	<-a.cancelled
	_, _ = io.WriteString(os.Stderr, "I stop.\n")
	return nil
}
