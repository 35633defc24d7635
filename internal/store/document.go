package store

import "context"

// Documents returns the hash of every document that a constitution or a proposal of one names, whatever became of it.
func (s *Store) Documents(ctx context.Context) (map[string]bool, error) {
	scan := func(row scanner) (string, error) {
		var hash string
		err := row.Scan(&hash)
		return hash, err
	}
	list, err := every(ctx, s.eng.read(), "documents", scan, `SELECT soul_hash FROM constitutions UNION SELECT purpose_hash FROM constitutions
		UNION SELECT soul_hash FROM proposals UNION SELECT purpose_hash FROM proposals`)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, h := range list {
		out[h] = true
	}
	return out, nil
}
