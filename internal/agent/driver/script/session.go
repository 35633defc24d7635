package script

import (
	"context"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/failure"
)

// A session is one run of a script.
type session struct {
	agent *process.Agent
	args  []string
	taken bool
}

var _ driver.Session = (*session)(nil)

// Ref is empty: a script has no conversation.
func (s *session) Ref() string { return "" }

// Close closes what the session holds. No process is left after a turn.
func (s *session) Close(context.Context) error { return s.agent.Close() }

// Done reports whether the script was run.
func (s *session) Done() bool { return s.taken }

// Turn runs the script. There is one turn.
func (s *session) Turn(ctx context.Context, _ driver.Input, sink driver.Sink) (driver.Yield, error) {
	if s.taken {
		return driver.Yield{}, driver.ErrLastTurn
	}
	s.taken = true
	stdin, err := s.agent.Payload()
	if err != nil {
		return driver.Yield{}, failure.New(failure.Infra, "open the payload", err, "")
	}
	defer stdin.Close()
	t, err := s.agent.Run(ctx, process.Call{Turn: 1, Args: s.args, Stdin: stdin, Timeout: s.agent.Timeout}, sink)
	if err != nil {
		return driver.Yield{}, err
	}
	t.LookInStdout()
	return t.Conclude(func() { s.conclude(t) })
}

// conclude says what follows from a run that ended by itself; see the package documentation.
func (s *session) conclude(t *process.Turn) {
	if t.Yield.Proc.Code != 0 {
		t.FailExit("")
		return
	}
	if t.NoResult && s.agent.Job.AcceptEmptyOutput {
		t.ResultErr = nil
		t.Claim(&driver.Claim{Source: driver.SourceExitCode, Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK})
	}
	t.Judge("exit 0 without a result: no result file, and no JSON object on stdout",
		`write {"status": "completed", "operator_summary": "…"} to the file that DEED_RESULT_FILE names`)
}
