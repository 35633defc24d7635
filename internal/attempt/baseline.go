package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// baseline runs the checks on the base before the agent starts. A check that cannot run there can judge nothing: the
// task ends before a model is paid for. The result is remembered, so a base that was seen before costs nothing.
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
	rooms, clear, err := a.makeRooms()
	if err != nil {
		return err
	}
	defer clear()
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
			if !strings.Contains(b.Why, b.Remedy) && !slices.Contains(remedies, b.Remedy) { // a summary has its own
				remedies = append(remedies, b.Remedy)
			}
		}
	}
	if len(whys) == 0 {
		return nil
	}
	return failure.New(failure.Config, "run the checks on the base", errors.New(strings.Join(whys, "; ")), strings.Join(append(remedies, "where the task is about just that, give --allow-broken-base"), "; "))
}

// makeRooms creates a directory for the rooms of checks, below one whose name no agent can know. clear removes it.
func (a *run) makeRooms() (rooms string, clear func(), err error) {
	workspace.SetTopdirFlag(a.Home.Tmp())
	top, err := os.MkdirTemp(a.Home.Tmp(), roomPrefix+a.claim.Ref.AttemptID+"-")
	if err == nil {
		rooms = filepath.Join(top, a.projectName())
		err = os.Mkdir(rooms, 0o700)
	}
	if err != nil {
		return "", nil, failure.New(failure.Infra, "make a place for clean rooms", err, "")
	}
	return rooms, func() { _ = workspace.Remove(top) }, nil
}

// projectName is the name of the project's directory at its source.
func (a *run) projectName() string {
	for _, p := range a.plan.parts {
		name := strings.TrimSuffix(filepath.Base(p.Source.Dir), ".git")
		if name != "" && name != "." && name != string(filepath.Separator) {
			return name
		}
	}
	return "project"
}
