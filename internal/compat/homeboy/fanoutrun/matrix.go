package fanoutrun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
	"github.com/deedrun/deed/internal/store"
)

// IsMatrix reports whether the tasks of a plan are the cells of a matrix, as fanout.MatrixTasks makes them.
func IsMatrix(p homeboy.FanoutPlan) bool {
	schema, _ := p.Summary["config_schema"].Text()
	return schema == homeboy.SchemaMatrixPlan
}

// Matrix chooses the best cell of a matrix by what deed itself verified: the verdict of the gate, its checks, the size of
// the change that deed captured and the cost.
func (s *Service) Matrix(ctx context.Context, id string) (homeboy.MatrixAggregate, error) {
	var none homeboy.MatrixAggregate
	f, err := s.Store.Fanout(ctx, id)
	if err != nil {
		return none, err
	}
	set, err := s.load(ctx, f.ID)
	if err != nil {
		return none, err
	}
	var m homeboy.MatrixPlan
	m.PlanID, _ = set.Orchestrator["plan_id"].Text()
	items, err := s.Store.FanoutItems(ctx, f.ID, -1, int(f.Tasks)) // a matrix is small
	if err != nil {
		return none, err
	}
	var cells []fanout.Cell
	for _, it := range items {
		w, err := workOf(it)
		if err != nil {
			return none, err
		}
		var o struct {
			Axes map[string]homeboy.Value `json:"axes"`
		}
		if raw := w.Request.Extra["orchestrator"]; raw != nil {
			if err := json.Unmarshal(raw, &o); err != nil {
				return none, fmt.Errorf("axes of cell %s: %w", it.Name, err)
			}
		}
		m.Cells = append(m.Cells, homeboy.MatrixCell{ID: it.Name, Axes: o.Axes, Request: w.Request})
		c, err := s.cell(ctx, it)
		if err != nil {
			return none, err
		}
		cells = append(cells, c)
	}
	return fanout.MatrixResult(m, cells), nil
}

// cell gathers what is known of one cell.
func (s *Service) cell(ctx context.Context, it store.FanoutItem) (fanout.Cell, error) {
	c := fanout.Cell{ID: it.Name, Verdict: homeboy.MatrixNotJudged}
	if len(it.Record) == 0 {
		return c, nil
	}
	rec := RecordOf(it)
	if rec.Outcome.Null() {
		return c, nil
	}
	var o homeboy.Outcome
	if err := json.Unmarshal(rec.Outcome, &o); err != nil {
		return c, fmt.Errorf("outcome of cell %s: %w", it.Name, err)
	}
	c.Outcome = &o
	for _, a := range o.Artifacts {
		if a.Kind == homeboy.KindPatch && a.SizeBytes != nil {
			c.ChangeBytes = max(c.ChangeBytes, *a.SizeBytes)
		}
	}
	if it.TaskID == "" {
		return c, nil
	}
	t, err := s.Store.ListedTask(ctx, it.TaskID)
	if err != nil || t.AttemptID == "" {
		return c, err
	}
	a, err := s.Store.ListedAttempt(ctx, t.AttemptID)
	if err != nil {
		return c, err
	}
	if len(a.Verdict) > 0 {
		var v deed.Verdict
		if err := json.Unmarshal(a.Verdict, &v); err != nil {
			return c, fmt.Errorf("verdict on cell %s: %w", it.Name, err)
		}
		c.Verdict = homeboy.MatrixRefused
		if v.Accepted {
			c.Verdict = homeboy.MatrixAccepted
		}
		c.ChecksPassed = len(v.Checks) > 0 && !slices.ContainsFunc(v.Checks, func(r deed.CheckResult) bool { return r.Status != deed.CheckPassed && !r.Advisory })
	}
	c.CostMicroUSD, err = s.cost(ctx, t.ID())
	return c, err
}

// cost is what the task is known to have cost, or nil.
func (s *Service) cost(ctx context.Context, taskID string) (*int64, error) {
	rows, err := s.Store.UsageOfTask(ctx, taskID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var sum int64
	for _, r := range rows {
		if r.UnpricedTokens > 0 && r.ReportedMicroUSD == nil {
			return nil, nil
		}
		if r.ReportedMicroUSD != nil {
			sum += *r.ReportedMicroUSD
		} else {
			sum += r.CostMicroUSD
		}
	}
	return &sum, nil
}

// IsMatrix reports whether a fanout is a matrix; at most one result of a matrix is used.
func (s *Service) IsMatrix(ctx context.Context, id string) bool {
	set, err := s.load(ctx, id)
	return err == nil && set.Matrix
}

// Candidates reports whether the tasks of a fanout are candidates: one completed task is enough.
func (s *Service) Candidates(ctx context.Context, id string) bool {
	set, err := s.load(ctx, id)
	return err == nil && set.Policy.Completion == FirstGreen
}
