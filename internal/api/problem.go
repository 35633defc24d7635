package api

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/answer"
	"github.com/deedrun/deed/internal/failure"
	"github.com/deedrun/deed/internal/problem"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/task"
	"github.com/deedrun/deed/internal/workflow"
)

// asError is errors.As for a pointer to a pointer.
func asError[T error](err error, to *T) bool { return errors.As(err, to) }

// refusals says how the sentinels of the engine are told to a client. The first that fits counts.
var refusals = []struct {
	is     error
	status int
	code   string
}{
	{store.ErrNotFound, http.StatusNotFound, "not_found"},
	{fs.ErrNotExist, http.StatusNotFound, "not_found"},
	{store.ErrAmbiguous, http.StatusBadRequest, "ambiguous_id"},
	{store.ErrTerminal, http.StatusConflict, "ended"},
	{store.ErrRunning, http.StatusConflict, "running"},
	{store.ErrDuplicate, http.StatusConflict, "duplicate"},
	{store.ErrExists, http.StatusConflict, "exists"},
	{store.ErrClosed, http.StatusConflict, "closed"},
	{store.ErrStale, http.StatusConflict, "changed_meanwhile"},
	{store.ErrDisabled, http.StatusConflict, "disabled"},
	{store.ErrRunEnded, http.StatusConflict, "ended"},
	{task.ErrNotResumable, http.StatusConflict, "not_resumable"},
	{answer.ErrWord, http.StatusUnprocessableEntity, "not_an_answer"},
	{store.ErrMayNot, http.StatusForbidden, "may_not_answer"},
	{store.ErrInvalid, http.StatusUnprocessableEntity, "invalid"},
	{workflow.ErrEnded, http.StatusConflict, "ended"},
	{workflow.ErrRunning, http.StatusConflict, "running"},
	{workflow.ErrSignal, http.StatusUnprocessableEntity, "unknown_signal"},
	{store.ErrBusy, http.StatusServiceUnavailable, "busy"},
	{store.ErrUnavailable, http.StatusServiceUnavailable, "unavailable"},
	{store.ErrFull, http.StatusInsufficientStorage, "disk_full"},
	{store.ErrReadOnly, http.StatusServiceUnavailable, "read_only"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "timeout"},
	{context.Canceled, http.StatusServiceUnavailable, "canceled"},
}

// problemOf turns an error of the engine into what a client is told.
func problemOf(err error) *problem.Problem {
	var p *problem.Problem
	if errors.As(err, &p) || fault.Of(err) != nil {
		return problem.Of(err)
	}
	for _, x := range refusals {
		if !errors.Is(err, x.is) {
			continue
		}
		p = problem.New(x.status, x.code, err.Error())
		if x.status == http.StatusServiceUnavailable {
			p.RetryAfter = 1
		}
		return p
	}
	var damage *store.DamagedError
	if errors.As(err, &damage) {
		return problem.New(http.StatusInternalServerError, "damaged", damage.Error())
	}
	if failure.ClassOf(err) == failure.Config {
		return problem.New(http.StatusUnprocessableEntity, "invalid", err.Error())
	}
	return problem.Of(err)
}

// invalid is a fault of one member of a document.
func invalid(path, code, message, remedy string) error {
	var l fault.List
	l.Add(path, code, message, remedy)
	return l.Err()
}

func notFound(what string) error {
	return problem.New(http.StatusNotFound, "not_found", what)
}

func conflict(code, why string) error { return problem.New(http.StatusConflict, code, why) }
