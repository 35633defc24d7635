package abilityrun_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/attempt/component/componenttest"
	"github.com/deedrun/deed/internal/compat/codebox/ability"
	"github.com/deedrun/deed/internal/compat/codebox/abilityrun"
	"github.com/deedrun/deed/internal/engine/dispatch/dispatchtest"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
	"github.com/deedrun/deed/internal/store"
)

func TestMain(m *testing.M) {
	componenttest.Serve()
	os.Exit(m.Run())
}

const commands = `
-- tools/deed-abilities.json --
{
  "schema": "deed/abilities/v1",
  "abilities": [
    {"name": "demo/count", "command": ["sh", "bin/count.sh"]},
    {"name": "demo/fails", "command": ["sh", "-c", "echo broken >&2; exit 7"]},
    {"name": "demo/waits", "command": ["sh", "-c", "exec sleep 100000"]}
  ]
}
-- tools/bin/count.sh --
n=$(wc -c); printf '{"bytes": %d}' "$n"
`

// Whatever a request comes to, there is one result, one exit code, one record, and nothing of the runtime is left.
func TestRun(t *testing.T) {
	t.Parallel()
	componenttest.Needs(t)
	second := 1
	for name, c := range map[string]struct {
		request codebox.AbilityRunRequest
		failure string
		exit    int
		status  evidence.RunStatus
	}{
		"works":           {codebox.AbilityRunRequest{Ability: "demo/count", Input: json.RawMessage(`{"text":"abc"}`)}, "", 0, evidence.RunSucceeded},
		"fails":           {codebox.AbilityRunRequest{Ability: "demo/fails"}, ability.FailureAbility, 1, evidence.RunFailed},
		"is not there":    {codebox.AbilityRunRequest{Ability: "demo/none"}, ability.FailureNotFound, 2, evidence.RunFailed},
		"takes too long":  {codebox.AbilityRunRequest{Ability: "demo/waits", TaskTimeoutSeconds: &second}, codebox.FailureTimeout, 1, evidence.RunTimedOut},
		"names a version": {codebox.AbilityRunRequest{Ability: "demo/count", WP: "6.5"}, codebox.FailureInvalidRequest, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := dispatchtest.Engine(t, script.New())
			req := c.request
			req.ComponentContracts = []codebox.ComponentContract{{Slug: "tools", Path: filepath.Join(componenttest.Tree(t, commands), "tools")}}
			req.ArtifactsPath = filepath.Join(t.TempDir(), "out", "bundle")
			res, exit := (&abilityrun.Service{Engine: e}).Run(t.Context(), req)
			if res.FailureType != c.failure || exit != c.exit || res.Success != (c.failure == "") {
				t.Errorf("%q, exit %d, %+v", res.FailureType, exit, res.Error)
			}
			runs, err := e.Store.Runs(t.Context(), store.RunFilter{})
			if err != nil {
				t.Fatal(err)
			}
			if c.status == "" {
				if len(runs) != 0 || res.RunID != "" {
					t.Errorf("a refused request was recorded: %v", runs)
				}
				return
			}
			if len(runs) != 1 || runs[0].ID() != res.RunID || runs[0].Record.Status != c.status {
				t.Fatalf("the record: %+v", runs)
			}
			bundletest.Check(t, res.Artifacts)
			left, err := os.ReadDir(e.Home.Attempts())
			if err != nil || len(left) != 0 {
				t.Errorf("left of the runtime: %v, %v", left, err)
			}
			if list, err := e.Store.Runners(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("runners on record: %v, %v", list, err)
			}
		})
	}
}

// A run that its caller stops is cancelled, before it began and while it works.
func TestStopped(t *testing.T) {
	t.Parallel()
	componenttest.Needs(t)
	e := dispatchtest.Engine(t, script.New())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	e.Store.OnCommit(func() { // the record runs: so does the ability, or it is about to
		list, err := e.Store.Runs(t.Context(), store.RunFilter{})
		if err == nil && len(list) == 1 && list[0].Record.Status == evidence.RunRunning {
			stop()
		}
	})
	req := codebox.AbilityRunRequest{
		Ability: "demo/waits", ComponentContracts: []codebox.ComponentContract{{Slug: "tools", Path: filepath.Join(componenttest.Tree(t, commands), "tools")}},
	}
	s := &abilityrun.Service{Engine: e}
	for _, began := range []bool{true, false} {
		res, exit := s.Run(ctx, req)
		if res.FailureType != abilityrun.FailureCancelled || exit != 130 || (res.RunID != "") != began {
			t.Errorf("began %v: %q, exit %d, run %q, %+v", began, res.FailureType, exit, res.RunID, res.Error)
		}
	}
}

// An operator cancels the run by its record, and the result says why.
func TestCancelledByItsRecord(t *testing.T) {
	t.Parallel()
	componenttest.Needs(t)
	e := dispatchtest.Engine(t, script.New())
	asked := make(chan error, 1)
	e.Store.OnCommit(func() {
		list, err := e.Store.Runs(context.Background(), store.RunFilter{})
		if err != nil || len(list) != 1 || list[0].Record.Status != evidence.RunRunning {
			return
		}
		select {
		case asked <- nil:
			go func() { _, _ = e.Store.CancelRun(context.Background(), list[0].ID(), "enough") }()
		default:
		}
	})
	req := codebox.AbilityRunRequest{
		Ability: "demo/waits", ComponentContracts: []codebox.ComponentContract{{Slug: "tools", Path: filepath.Join(componenttest.Tree(t, commands), "tools")}},
	}
	res, exit := (&abilityrun.Service{Engine: e}).Run(t.Context(), req)
	if res.FailureType != abilityrun.FailureCancelled || exit != 1 || res.Error == nil || !strings.Contains(res.Error.Message, "enough") {
		t.Errorf("%q, exit %d, %+v", res.FailureType, exit, res.Error)
	}
}

// A token that is not there or too short to be redacted refuses the request before anything is made.
func TestTokensAreChecked(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"not set": "", "too short": "abc"} {
		e := dispatchtest.Engine(t, script.New())
		if value != "" {
			e.Runner.Environ = append(e.Runner.Environ, "CAP_TOKEN="+value)
		}
		res, exit := (&abilityrun.Service{Engine: e}).Run(t.Context(), codebox.AbilityRunRequest{Ability: "demo/count", CapabilityTokenEnv: "CAP_TOKEN"})
		if res.FailureType != codebox.FailureInvalidRequest || exit != 2 || res.RunID != "" {
			t.Errorf("%s: %q, exit %d, run %q", name, res.FailureType, exit, res.RunID)
		}
	}
}
