package store

import (
	"context"
	"encoding/json"
	"fmt"
)

// Checkpoint records, under the fence, where the conversation of a live attempt stands; nil says that it cannot go on. The
// document is the caller's.
func (s *Store) Checkpoint(ctx context.Context, ref Ref, doc json.RawMessage) error {
	text, err := rawJSON("checkpoint", doc)
	if err != nil {
		return fmt.Errorf("checkpoint of attempt %s: %w", ref.AttemptID, err)
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := hold(ctx, t, ref); err != nil {
			return err
		}
		_, err := t.exec(ctx, `UPDATE attempts SET checkpoint = $1 WHERE id = $2`, text, ref.AttemptID)
		return err
	})
	if err != nil {
		return fmt.Errorf("checkpoint of attempt %s: %w", ref.AttemptID, err)
	}
	return nil
}
