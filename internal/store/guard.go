package store

import (
	"context"
	"errors"
	"sync/atomic"
)

type guardContext struct{}

// A guard is a condition of a write.
type guard struct {
	check func(ctx context.Context) error
	met   atomic.Bool // the write that it is about has happened
}

// Guarded returns a context whose next write happens only when check finds what it is about as it was seen: it is asked inside the
// write's transaction, before anything of it, and what it returns otherwise is the error of the write, of which nothing happens.
//
// check reads through this store with the context that it is given, and writes nothing. What changes between its look and the
// commit makes the write begin again where the write changes the same rows; on SQLite nothing can change.
func Guarded(ctx context.Context, check func(ctx context.Context) error) context.Context {
	return context.WithValue(ctx, guardContext{}, &guard{check: check})
}

func guardOf(ctx context.Context) *guard {
	g, _ := ctx.Value(guardContext{}).(*guard)
	if g == nil || g.met.Load() {
		return nil
	}
	return g
}

// guarding asks the condition of a write first.
func guarding(g *guard, fn func(ctx context.Context, t tx) error) func(ctx context.Context, t tx) error {
	if g == nil {
		return fn
	}
	return func(ctx context.Context, t tx) error {
		if err := g.check(context.WithValue(ctx, checkContext{}, t)); err != nil {
			return err
		}
		return fn(ctx, t)
	}
}

type checkContext struct{}

// checking returns the transaction whose condition is being asked.
func checking(ctx context.Context) tx {
	t, _ := ctx.Value(checkContext{}).(tx)
	return t
}

// errCheckWrites is a fault of the caller: on SQLite the write would wait for the one whose condition asks for it.
var errCheckWrites = errors.New("the condition of a write writes")

// standsAlone reports whether a write may be a single statement: nothing else belongs to its transaction.
func standsAlone(ctx context.Context) bool {
	key, _ := ctx.Value(requestContext{}).(string)
	return key == "" && guardOf(ctx) == nil && checking(ctx) == nil
}
