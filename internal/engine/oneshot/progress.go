package oneshot

import (
	"context"
	"errors"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/attempt"
)

// observe moves the record of the run along with the attempt. What a sweep settles in between is another task's.
func (r *Run) observe(p attempt.Progress) {
	if p.TaskID != r.Claim.Ref.TaskID {
		return
	}
	if p.Step == attempt.StepPrepared {
		r.ready()
	}
	if r.Record != nil {
		r.move(p)
		r.Record.Progress(p.Step, p.Text)
	}
	if r.job.Show != nil {
		r.job.Show(p)
	}
}

func (r *Run) move(p attempt.Progress) {
	switch p.Step {
	case attempt.StepStarted:
		switch r.phase {
		case attempt.PhaseAgent: // another process of the same turn
		case attempt.PhaseJudge: // it was refused, and continues
			r.next("", attempt.PhaseAgent, nil)
		default:
			r.next(evidence.RunRunning, attempt.PhaseAgent, nil)
			if r.job.Phases {
				r.Record.Started()
			}
		}
	case attempt.StepJudging:
		r.next("", attempt.PhaseJudge, nil)
	case attempt.StepVerdict:
		var refused error
		if p.Text != attempt.Accepted {
			refused = errors.New("the gate refused the work")
		}
		r.next(evidence.RunCollecting, attempt.PhaseCollect, refused)
	}
}

// next ends the phase under way, which failed if there is an error, and begins another, in another state unless that is empty.
func (r *Run) next(status evidence.RunStatus, phase string, err error) {
	r.EndPhase(err)
	if status != "" && r.Record.Record().Status != status {
		if err := r.Record.To(context.Background(), status); err != nil {
			r.eng.Log.Warn("run record", "error", err)
		}
	}
	r.begin(phase)
}

func (r *Run) begin(phase string) {
	r.phase, r.ended = phase, func(error) {}
	if r.job.Phases && r.Record != nil {
		r.ended = r.Record.Phase(phase)
	}
}

// Phase is the phase that the attempt is in.
func (r *Run) Phase() string { return r.phase }

// EndPhase ends the phase under way, which failed if there is an error.
func (r *Run) EndPhase(err error) {
	r.ended(err)
	r.ended = func(error) {}
}
