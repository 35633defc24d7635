package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// A Request is one that a client may send again under the same key. It is kept until its outcome is known, and then for some time
// with its answer.
type Request struct {
	Key     string // the caller's own and the caller, digested
	Digest  string // of what was asked
	Acted   bool   // what was asked has happened, whether or not its answer is known
	Done    bool   // its answer is known
	BegunAt time.Time
	Status  int    // of its answer
	Answer  []byte // the caller's own form
}

// requestSweep is how many expired requests the start of a new one deletes.
const requestSweep = 16

// RequestTerms say how long a request may take and is remembered.
type RequestTerms struct {
	Lease time.Duration // a request that has not ended by then was cut short
	Since time.Time     // a request that began before that was cut short, too; zero: not known
	Keep  time.Duration // the record of a request is deleted after that
}

// CutShort reports whether a request has not ended and is no longer being worked on.
func (t RequestTerms) CutShort(r Request, now time.Time) bool {
	return !r.Done && (now.Sub(r.BegunAt) >= t.Lease || r.BegunAt.Before(t.Since))
}

type requestContext struct{}

// ForRequest returns a context whose writes are what a request asks for: each of them marks the request as acted in its own
// transaction, so that a crash can never come between the two.
func ForRequest(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, requestContext{}, key)
}

// OutsideRequest returns a context whose writes are not what a request asks for, such as a write that only catches up. The
// conditions of the request do not apply to them.
func OutsideRequest(ctx context.Context) context.Context {
	return context.WithValue(ForRequest(ctx, ""), guardContext{}, (*guard)(nil))
}

// acting adds the mark of a request to a transaction that is made for it.
func acting(ctx context.Context, fn func(ctx context.Context, t tx) error) func(ctx context.Context, t tx) error {
	key, _ := ctx.Value(requestContext{}).(string)
	if key == "" {
		return fn
	}
	return func(ctx context.Context, t tx) error {
		if err := fn(ctx, t); err != nil {
			return err
		}
		_, err := t.exec(ctx, `UPDATE requests SET status = 0 WHERE key = $1 AND status IS NULL`, key)
		return err
	}
}

// BeginRequest records that a request is about to be done, unless its key is taken: then it returns what is known of the earlier
// one, and false. An earlier one with the same digest that was cut short before it acted begins again.
func (s *Store) BeginRequest(ctx context.Context, r Request, terms RequestTerms) (Request, bool, error) {
	if r.Key == "" || r.Digest == "" {
		return Request{}, false, invalid("begin request: its key or its digest is empty")
	}
	fresh := false
	var seen Request
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		now := s.now()
		fresh, seen = false, Request{}
		if _, err := t.exec(ctx, `DELETE FROM requests WHERE key `+inSet+`SELECT key FROM requests WHERE expires_at < $1 ORDER BY expires_at LIMIT $2`+endSet,
			micros(now), requestSweep); err != nil {
			return err
		}
		res, err := t.exec(ctx, `INSERT INTO requests (key, digest, begun_at, expires_at) VALUES ($1, $2, $3, $4) ON CONFLICT (key) DO NOTHING`,
			r.Key, r.Digest, micros(now), micros(now.Add(terms.Keep)))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			fresh = err == nil
			return err
		}
		if seen, err = oneRequest(ctx, t, r.Key); err != nil {
			return err
		}
		if seen.Acted || seen.Digest != r.Digest || !terms.CutShort(seen, now) {
			return nil
		}
		fresh = true
		_, err = t.exec(ctx, `UPDATE requests SET begun_at = $2, expires_at = $3 WHERE key = $1`, r.Key, micros(now), micros(now.Add(terms.Keep)))
		return err
	})
	if err != nil {
		return Request{}, false, fmt.Errorf("begin request: %w", err)
	}
	return seen, fresh, nil
}

func oneRequest(ctx context.Context, c conn, key string) (Request, error) {
	r := Request{Key: key}
	var begun int64
	var status sql.NullInt64
	err := c.row(ctx, `SELECT digest, begun_at, status, answer FROM requests WHERE key = $1 `+forUpdate, key).Scan(&r.Digest, &begun, &status, &r.Answer)
	if errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("request: %w", ErrNotFound)
	}
	r.BegunAt, r.Acted, r.Status = fromMicros(begun), status.Valid, int(status.Int64)
	r.Done = r.Status != 0
	return r, err
}

// FinishRequest keeps the answer of a request.
func (s *Store) FinishRequest(ctx context.Context, key string, status int, answer []byte) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `UPDATE requests SET status = $2, answer = $3 WHERE key = $1 AND coalesce(status, 0) = 0`, key, status, answer)
		return err
	})
	if err != nil {
		return fmt.Errorf("finish request: %w", err)
	}
	return nil
}

// DropRequest forgets a request that failed, so that it may be sent again, unless it has acted.
func (s *Store) DropRequest(ctx context.Context, key string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `DELETE FROM requests WHERE key = $1 AND status IS NULL`, key)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop request: %w", err)
	}
	return nil
}
