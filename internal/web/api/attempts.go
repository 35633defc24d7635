package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/web/access"
)

type journalQuery struct {
	ID     string `path:"id" doc:"of the attempt"`
	Limit  int    `query:"limit" default:"200" min:"1" max:"1000" doc:"at most so many entries"`
	Cursor string `query:"cursor" doc:"next of the page before"`
}

type logQuery struct {
	ID     string `path:"id" doc:"of the attempt"`
	Stream string `query:"stream" enum:"stdout,stderr" default:"stdout" doc:"which of the two"`
	Offset int    `query:"offset" default:"0" min:"-1073741824" max:"1099511627776" doc:"of the first byte; negative: from the end"`
	Limit  int    `query:"limit" default:"65536" min:"1" max:"1048576" doc:"at most so many bytes"`
}

// Verdict is the gate's verdict on an attempt.
type Verdict struct {
	Schema    string        `json:"schema"`
	TaskID    string        `json:"task_id"`
	AttemptID string        `json:"attempt_id"`
	Verdict   *deed.Verdict `json:"verdict"` // null: there is none yet
}

// Checks are the checks of an attempt, with their results before and after.
type Checks struct {
	Schema    string             `json:"schema"`
	AttemptID string             `json:"attempt_id"`
	Checks    []deed.CheckResult `json:"checks"`
}

// Claim is the agent's statement, together with what deed found. The statement decides nothing.
type Claim struct {
	Schema    string        `json:"schema"`
	AttemptID string        `json:"attempt_id"`
	Claim     *view.Claim   `json:"claim"`
	Changes   *view.Changes `json:"changes"`
}

func (a *API) attempts() {
	read := func(id, summary string) about {
		return about{id: id, tag: "attempts", summary: summary, need: access.Read}
	}
	get(a, "/attempts/{id}", read("getAttempt", "Show an attempt: the agent's claim beside the facts"), a.getAttempt)
	get(a, "/attempts/{id}/journal", read("getJournal", "Read what an attempt did, a page at a time, also while it runs"),
		func(ctx context.Context, in journalQuery) (view.Timeline, error) {
			out, err := a.View.Timeline(ctx, in.ID, in.Cursor, in.Limit)
			if errors.Is(err, view.ErrCursor) {
				return out, stale("the cursor is not one of this attempt")
			}
			return out, err
		})
	get(a, "/attempts/{id}/log", read("getLog", "Read what the agent printed, a stretch at a time, also while it runs"),
		func(ctx context.Context, in logQuery) (view.Log, error) {
			return a.View.Log(ctx, in.ID, in.Stream, int64(in.Offset), in.Limit)
		})
	get(a, "/attempts/{id}/verdict", read("getVerdict", "Show what the gate decided, with every reason"), func(ctx context.Context, in one) (Verdict, error) {
		v, err := a.getAttempt(ctx, in)
		return Verdict{Schema: "deed/attempt.verdict/v1", TaskID: v.TaskID, AttemptID: v.AttemptID, Verdict: v.Verdict}, err
	})
	get(a, "/attempts/{id}/checks", read("getChecks", "Show the checks of an attempt"), func(ctx context.Context, in one) (Checks, error) {
		v, err := a.getAttempt(ctx, in)
		out := Checks{Schema: "deed/attempt.checks/v1", AttemptID: v.AttemptID, Checks: []deed.CheckResult{}}
		if v.Verdict != nil {
			out.Checks = append(out.Checks, v.Verdict.Checks...)
		}
		return out, err
	})
	get(a, "/attempts/{id}/claim", read("getClaim", "Show what the agent claims beside what deed found"), func(ctx context.Context, in one) (Claim, error) {
		v, err := a.getAttempt(ctx, in)
		return Claim{Schema: "deed/attempt.claim/v1", AttemptID: v.AttemptID, Claim: v.Claim, Changes: v.Changes}, err
	})
	raw(a, http.MethodGet, "/attempts/{id}/brief", about{id: "getBrief", tag: "attempts", summary: "Read what the agent was told, as the document that was hashed", need: access.Read, media: "application/json"},
		func(ctx context.Context, w http.ResponseWriter, r *http.Request, in one) error {
			return a.serveEvidence(ctx, w, r, in.ID, attempt.PathBrief)
		})
	raw(a, http.MethodGet, "/attempts/{id}/prompt", about{id: "getPrompt", tag: "attempts", summary: "Read what the agent was told, as text", need: access.Read, media: "text/plain; charset=utf-8"},
		func(ctx context.Context, w http.ResponseWriter, r *http.Request, in one) error {
			return a.serveEvidence(ctx, w, r, in.ID, bundle.PathPrompt)
		})
}

// getAttempt is an attempt as its task's view has it, with its number and its progress.
func (a *API) getAttempt(ctx context.Context, in one) (view.Attempt, error) {
	at, err := a.Store.Attempt(ctx, in.ID)
	if err != nil {
		return view.Attempt{}, err
	}
	t, err := a.View.Task(ctx, at.Record.TaskID)
	if err != nil {
		return view.Attempt{}, err
	}
	for _, v := range t.Attempts {
		if v.AttemptID == at.Record.AttemptID {
			return v, nil
		}
	}
	return a.View.AttemptOf(at), nil
}

// serveEvidence serves one document of an attempt's bundle, inline.
func (a *API) serveEvidence(ctx context.Context, w http.ResponseWriter, r *http.Request, id, path string) error {
	b, err := a.openBundle(ctx, id)
	if err != nil {
		return err
	}
	defer b.close()
	return b.serve(w, r, path, true)
}
