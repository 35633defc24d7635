package store

import (
	"context"
	"fmt"
)

// RecentTasks returns the tasks that an agent's attempts ended, latest first. The agent is the one that was passed to Begin; a task
// that no attempt ended belongs to no agent.
func (s *Store) RecentTasks(ctx context.Context, agent string, limit int) ([]Task, error) {
	out, err := manyTasks(ctx, s.eng.read(), `SELECT `+taskColumns+` FROM tasks
		WHERE agent = $1 AND finished_at IS NOT NULL ORDER BY finished_at DESC, seq DESC LIMIT $2`, clean(agent), limit)
	if err != nil {
		return nil, fmt.Errorf("recent tasks of %s: %w", agent, classify(err))
	}
	return out, nil
}
