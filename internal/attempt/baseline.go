package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/deedrun/deed/internal/failure"
	"github.com/deedrun/deed/internal/gate"
	"github.com/deedrun/deed/internal/workspace"
)

// baseline runs the checks on the base before the agent is started. One that cannot be run there can judge nothing: the task ends
// before a model is paid. Its result is remembered, so a base that was seen before costs nothing.
func (a *run) baseline(ctx context.Context) error {
	checks := a.plan.spec.Checks
	for _, c := range checks {
		if c.Capability == "" {
			continue
		}
		if _, err := a.runners(c); err != nil {
			return failure.New(failure.Config, fmt.Sprintf("prepare the check %q", gate.CheckName(c)), err, "give a check that the project has, or an extension for it")
		}
	}
	if len(checks) == 0 {
		return nil
	}
	a.progress(StepBase, "")
	rooms, err := a.makeRooms()
	if err != nil {
		return err
	}
	defer func() { _ = workspace.Remove(rooms) }()
	a.bases, err = gate.Bases(ctx, gate.Input{Spec: a.plan.spec, Base: a.base, Manifest: a.before, Rooms: rooms, Runner: checker{a}})
	if err != nil {
		return classify(ctx, failure.Infra, "run the checks on the base", err)
	}
	if a.plan.spec.AllowBrokenBase {
		return nil
	}
	var whys, remedies []string
	for i, c := range checks {
		if b, broken := gate.CannotRun(c, a.bases[i]); broken && !c.Advisory {
			whys = append(whys, fmt.Sprintf("the check %q cannot be run on the base: %s", b.Check, b.Why))
			remedies = append(remedies, b.Remedy)
		}
	}
	if len(whys) == 0 {
		return nil
	}
	return failure.New(failure.Config, "run the checks on the base", errors.New(strings.Join(whys, "; ")), strings.Join(remedies, "; ")+" (a task that is about just that: --allow-broken-base)")
}

// makeRooms makes a directory with a name that no agent can know for the rooms of checks.
func (a *run) makeRooms() (string, error) {
	workspace.Spread(a.Home.Tmp())
	rooms, err := os.MkdirTemp(a.Home.Tmp(), roomPrefix+a.claim.Ref.AttemptID+"-")
	if err != nil {
		return "", failure.New(failure.Infra, "make a place for clean rooms", err, "")
	}
	return rooms, nil
}
