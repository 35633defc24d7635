package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// The kinds of credentials.
const (
	CredentialToken   = "token"
	CredentialSession = "session"
)

// A Credential grants access. The secret itself is not stored: it is compared with Hash.
type Credential struct {
	ID        string
	Kind      string
	Name      string
	Role      string
	Hash      string
	CreatedAt time.Time // by the store
	CreatedBy string
	ExpiresAt time.Time // zero: never
	UsedAt    time.Time // roughly; zero: never
	RevokedAt time.Time // zero: it holds
	RevokedBy string
}

const credentialColumns = `id, kind, name, role, hash, created_at, created_by, expires_at, used_at, revoked_at, revoked_by`

func scanCredential(row scanner) (Credential, error) {
	var c Credential
	var created int64
	var expires, used, revoked *int64
	if err := row.Scan(&c.ID, &c.Kind, &c.Name, &c.Role, &c.Hash, &created, &c.CreatedBy, &expires, &used, &revoked, &c.RevokedBy); err != nil {
		return c, err
	}
	c.CreatedAt = fromMicros(created)
	for _, v := range []struct {
		to   *time.Time
		from *int64
	}{{&c.ExpiresAt, expires}, {&c.UsedAt, used}, {&c.RevokedAt, revoked}} {
		if v.from != nil {
			*v.to = fromMicros(*v.from)
		}
	}
	return c, nil
}

// AddCredential writes a credential. It returns ErrExists when a token that holds has the name.
func (s *Store) AddCredential(ctx context.Context, c Credential) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		res, err := t.exec(ctx, `INSERT INTO credentials (id, kind, name, role, hash, created_at, created_by, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
			c.ID, c.Kind, clean(c.Name), c.Role, c.Hash, micros(s.now()), clean(c.CreatedBy), nullTime(c.ExpiresAt))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrExists)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add %s %s: %w", c.Kind, c.Name, err)
	}
	return nil
}

// Credential returns one by its id, also one that has ended. It returns ErrNotFound.
func (s *Store) Credential(ctx context.Context, id string) (Credential, error) {
	c, err := scanCredential(s.eng.read().row(ctx, `SELECT `+credentialColumns+` FROM credentials WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return c, ErrNotFound
	}
	return c, classify(err)
}

// TokenNamed returns the token that holds under a name. It returns ErrNotFound.
func (s *Store) TokenNamed(ctx context.Context, name string) (Credential, error) {
	c, err := scanCredential(s.eng.read().row(ctx, `SELECT `+credentialColumns+` FROM credentials
		WHERE name = $1 AND kind = 'token' AND revoked_at IS NULL`, name))
	if errors.Is(err, sql.ErrNoRows) {
		return c, ErrNotFound
	}
	return c, classify(err)
}

// Credentials returns the newest of a kind, also those that have ended.
func (s *Store) Credentials(ctx context.Context, kind string, limit int) ([]Credential, error) {
	rows, err := s.eng.read().query(ctx, `SELECT `+credentialColumns+` FROM credentials WHERE kind = $1 ORDER BY seq DESC LIMIT $2`, kind, limit)
	if err != nil {
		return nil, fmt.Errorf("list credentials: %w", classify(err))
	}
	var out []Credential
	err = eachRow(rows, func() error {
		c, err := scanCredential(rows)
		out = append(out, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list credentials: %w", classify(err))
	}
	return out, nil
}

// RevokeCredential ends a credential. It returns ErrNotFound, and ErrClosed when it was revoked before.
func (s *Store) RevokeCredential(ctx context.Context, id, by string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		c, err := scanCredential(t.row(ctx, `SELECT `+credentialColumns+` FROM credentials WHERE id = $1 `+forUpdate, id))
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		if !c.RevokedAt.IsZero() {
			return ErrClosed
		}
		_, err = t.exec(ctx, `UPDATE credentials SET revoked_at = $1, revoked_by = $2 WHERE id = $3`, micros(s.now()), clean(by), id)
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke %s: %w", id, err)
	}
	return nil
}

// UsedCredential notes that a credential was used now.
func (s *Store) UsedCredential(ctx context.Context, id string) error {
	return s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `UPDATE credentials SET used_at = $1 WHERE id = $2`, micros(s.now()), id)
		return err
	})
}

// DropSessions removes the sessions that had expired before an instant. Tokens are kept: the log names them.
func (s *Store) DropSessions(ctx context.Context, before time.Time) error {
	return s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `DELETE FROM credentials WHERE kind = 'session' AND expires_at < $1`, micros(before))
		return err
	})
}

// An AccessEntry is one thing that was done, or refused.
type AccessEntry struct {
	Seq     int64 // by the store
	At      time.Time
	Name    string
	Role    string
	How     string
	Remote  string
	Action  string
	Target  string
	Status  int // as in HTTP; 0: begun, and its end is not known
	Note    string
	Times   int // how many alike the entry stands for; 0: one
	Refused bool
}

const accessColumns = `seq, at, name, role, how, remote, action, target, status, note, times, refused`

// LogAccess writes entries and gives them their numbers.
func (s *Store) LogAccess(ctx context.Context, entries ...AccessEntry) ([]int64, error) {
	var seqs []int64
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		seqs = make([]int64, len(entries))
		for i, e := range entries {
			refused := 0
			if e.Refused {
				refused = 1
			}
			err := t.row(ctx, `INSERT INTO access_log (at, name, role, how, remote, action, target, status, note, times, refused)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING seq`,
				micros(e.At), clean(e.Name), e.Role, e.How, clean(e.Remote), clean(e.Action), clean(e.Target), e.Status, clean(e.Note), max(e.Times, 1), refused).Scan(&seqs[i])
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("log access: %w", err)
	}
	return seqs, nil
}

// EndAccess notes how something that was begun has ended.
func (s *Store) EndAccess(ctx context.Context, e AccessEntry) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `UPDATE access_log SET status = $1, target = $2, note = $3 WHERE seq = $4`, e.Status, clean(e.Target), clean(e.Note), e.Seq)
		return err
	})
	if err != nil {
		return fmt.Errorf("log access: %w", err)
	}
	return nil
}

// An AccessFilter selects entries. The zero value selects the newest.
type AccessFilter struct {
	Name    string
	Refused bool  // only refusals
	Before  int64 // only entries with a smaller number; 0: from the newest on
	Limit   int   // 0: 1000
}

// AccessLog returns entries, newest first.
func (s *Store) AccessLog(ctx context.Context, f AccessFilter) ([]AccessEntry, error) {
	if f.Limit <= 0 {
		f.Limit = 1000
	}
	if f.Before <= 0 {
		f.Before = 1<<63 - 1
	}
	q, args := `SELECT `+accessColumns+` FROM access_log WHERE seq < $1`, []any{f.Before, f.Limit}
	if f.Refused {
		q += ` AND refused = 1`
	}
	if f.Name != "" {
		q, args = q+` AND name = $3`, append(args, f.Name)
	}
	rows, err := s.eng.read().query(ctx, q+` ORDER BY seq DESC LIMIT $2`, args...)
	if err != nil {
		return nil, fmt.Errorf("read the access log: %w", classify(err))
	}
	var out []AccessEntry
	err = eachRow(rows, func() error {
		var e AccessEntry
		var at, refused int64
		if err := rows.Scan(&e.Seq, &at, &e.Name, &e.Role, &e.How, &e.Remote, &e.Action, &e.Target, &e.Status, &e.Note, &e.Times, &refused); err != nil {
			return err
		}
		e.At, e.Refused = fromMicros(at), refused == 1
		out = append(out, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the access log: %w", classify(err))
	}
	return out, nil
}

// TrimAccessLog keeps the given number of the newest refusals, and of the newest entries of all, so that refused requests of
// strangers cannot displace the record of what was done.
func (s *Store) TrimAccessLog(ctx context.Context, refusals, all int) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := t.exec(ctx, `DELETE FROM access_log WHERE refused = 1 AND seq <=
			(SELECT seq FROM access_log WHERE refused = 1 ORDER BY seq DESC LIMIT 1 OFFSET $1)`, refusals); err != nil {
			return err
		}
		_, err := t.exec(ctx, `DELETE FROM access_log WHERE seq <= (SELECT max(seq) FROM access_log) - $1`, all)
		return err
	})
	if err != nil {
		return fmt.Errorf("trim the access log: %w", err)
	}
	return nil
}
