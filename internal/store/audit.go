package store

import (
	"context"
	"fmt"
)

// Audit looks for what the store must never hold: a task that is not terminal and has no known wake-up, an attempt
// that is live without a running task, a dedupe key that a dead task holds for ever. It returns one sentence for each
// fault. It reads every task that has not ended.
func (s *Store) Audit(ctx context.Context) ([]string, error) {
	var faults []string
	for _, a := range []struct{ fault, query string }{
		{"waits in no lane, so that no claim can find it", `SELECT id FROM tasks
			WHERE status IN ('pending', 'retryable_failure') AND lane NOT IN (1, 2)`},
		{"is in a lane although it does not wait", `SELECT id FROM tasks
			WHERE status NOT IN ('pending', 'retryable_failure') AND lane <> 0`},
		{"waits although its attempts are used up", `SELECT id FROM tasks
			WHERE status IN ('pending', 'retryable_failure') AND attempt_count >= max_attempts`},
		{"runs without a live attempt under a lease", `SELECT t.id FROM tasks t WHERE t.status = 'running' AND NOT EXISTS
			(SELECT 1 FROM attempts a WHERE a.id = t.attempt_id AND a.task_id = t.id AND a.live = 1 AND a.fence = t.fence)`},
		{"has a live attempt although it does not run it", `SELECT a.task_id FROM attempts a JOIN tasks t ON t.id = a.task_id
			WHERE a.live = 1 AND (t.status <> 'running' OR t.attempt_id <> a.id)`},
		{"is blocked without an open action", `SELECT t.id FROM tasks t WHERE t.status = 'blocked' AND NOT EXISTS
			(SELECT 1 FROM actions a WHERE a.task_id = t.id AND a.state = 'open')`},
		{"has an open action although it has ended", `SELECT a.task_id FROM actions a JOIN tasks t ON t.id = a.task_id
			WHERE a.state = 'open' AND t.status IN ('completed', 'permanent_failure', 'operator_canceled')`},
		{"has an action with a deadline and no answer for it", `SELECT task_id FROM actions
			WHERE state = 'open' AND deadline IS NOT NULL AND (default_answer IS NULL OR due_at IS NULL)`},
		{"has ended without an outcome or an end", `SELECT id FROM tasks
			WHERE status IN ('completed', 'permanent_failure', 'operator_canceled') AND (outcome IS NULL OR finished_at IS NULL)`},
		{"has ended and holds its dedupe key", `SELECT t.id FROM dedupe_keys k JOIN tasks t ON t.id = k.task_id
			WHERE k.expires_at IS NULL AND t.status IN ('completed', 'permanent_failure', 'operator_canceled')`},
		{"of a workflow has ended, and the workflow neither looks at it nor waits for an answer", `SELECT t.id FROM workflows w
			JOIN tasks t ON t.id = w.task_id WHERE w.status = 'active' AND w.due_at IS NULL AND w.action_id IS NULL
			AND t.status IN ('completed', 'permanent_failure', 'operator_canceled')`},
	} {
		rows, err := s.eng.read().query(ctx, a.query)
		if err != nil {
			return nil, fmt.Errorf("audit: %w", classify(err))
		}
		err = eachRow(rows, func() error {
			var id string
			err := rows.Scan(&id)
			faults = append(faults, fmt.Sprintf("task %s %s", id, a.fault))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("audit: %w", classify(err))
		}
	}
	stuck, err := s.workflows(ctx, scanWorkflow, `SELECT `+workflowColumns+` FROM workflows w WHERE w.status IN ('active', 'blocked') AND w.due_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = w.task_id AND w.status = 'active' AND t.status IN ('pending', 'running', 'retryable_failure', 'blocked'))
		AND NOT EXISTS (SELECT 1 FROM actions a WHERE a.id = w.action_id AND a.state = 'open')`)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	for _, w := range stuck {
		faults = append(faults, fmt.Sprintf("workflow %s is %s with neither a live task nor an open action", w.ID(), w.Record.Status))
	}
	return faults, nil
}
