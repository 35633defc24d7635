package api

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/httperror"
)

// asError is errors.As for a pointer to a pointer.
func asError[T error](err error, to *T) bool { return errors.As(err, to) }

// refusals maps the sentinels of the engine to answers. The first that fits counts.
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
	{answer.ErrAnswer, http.StatusUnprocessableEntity, "not_an_answer"},
	{store.ErrMayNotAnswer, http.StatusForbidden, "may_not_answer"},
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

// problemOf turns an error of the engine into the client's answer.
func problemOf(err error) *httperror.Problem {
	var p *httperror.Problem
	if errors.As(err, &p) || fault.Of(err) != nil {
		return httperror.Of(err)
	}
	for _, x := range refusals {
		if !errors.Is(err, x.is) {
			continue
		}
		p = httperror.New(x.status, x.code, err.Error())
		if x.status == http.StatusServiceUnavailable {
			p.RetryAfter = 1
		}
		return p
	}
	var damage *store.DamagedError
	if errors.As(err, &damage) {
		return httperror.New(http.StatusInternalServerError, "damaged", damage.Error())
	}
	if failure.ClassOf(err) == failure.Config {
		return httperror.New(http.StatusUnprocessableEntity, "invalid", err.Error())
	}
	return httperror.Of(err)
}

// invalid is a fault of one member of a document.
func invalid(path, code, message, remedy string) error {
	var l fault.List
	l.Add(path, code, message, remedy)
	return l.Err()
}

func notFound(what string) error {
	return httperror.New(http.StatusNotFound, "not_found", what)
}

func conflict(code, why string) error { return httperror.New(http.StatusConflict, code, why) }
