package attempt

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/checks/audit"
	"github.com/deedrun/deed/internal/checks/check"
)

// runAudit runs deed's own audit on a tree. It runs no code of the tree, and none of extensions: their fingerprint
// scripts would run outside of a cell.
func (a *run) runAudit(ctx context.Context, c deed.Check, j check.Job, ran *gate.RunResult) error {
	start := clock.Start()
	cfg := audit.Config{
		Root: j.Component.Path, ID: j.Component.ID, Component: j.Component.Audit, Rules: j.Component.AuditRules, Only: c.Steps, Exclude: c.Skip, Now: a.Clock(),
	}
	ids := slices.Sorted(maps.Keys(j.Component.Extensions))
	if len(ids) == 0 {
		var err error
		if ids, err = j.Extensions.Detect(j.Component.Path); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if e, err := j.Extensions.Get(id); err == nil {
			cfg.Manifests = append(cfg.Manifests, audit.Manifest{Where: "$.audit of the extension " + id, Audit: e.Manifest.Audit})
		}
	}
	found, err := audit.Run(ctx, cfg)
	if err != nil {
		return err
	}
	rep := runner.Report{Schema: runner.SchemaReport, Capability: runner.Audit, Component: found.ComponentID, Status: runner.StatusPassed, Passed: true, Phase: found.Phase, Warnings: found.Warnings}
	for _, f := range found.Findings {
		if f.Severity != runner.SeverityWarning {
			continue
		}
		rep.LintFindings = append(rep.LintFindings, runner.LintFinding{
			ID: f.Fingerprint, Fingerprint: f.Identity, Message: f.Description, Rule: f.Kind, Tool: "audit", File: f.File, Line: f.Line, Severity: f.Severity,
		})
	}
	if n := len(rep.LintFindings); n > 0 {
		rep.Status, rep.Passed, rep.ExitCode = runner.StatusFailed, false, 1
		rep.Failure = &runner.Failure{Phase: runner.PhaseAudit, Category: runner.CategoryFindings, Summary: fmt.Sprintf("%d findings", n)}
	}
	if err := a.redactor.Value(&rep); err != nil {
		return err
	}
	rep.DurationMS = clock.Since(start).Milliseconds()
	ran.Report = &rep
	ran.Result.Status, ran.Result.ExitCode, ran.Result.DurationMS = deed.CheckPassed, rep.ExitCode, rep.DurationMS
	return nil
}
