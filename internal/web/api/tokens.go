package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

// maxCredentials bounds what one list shows; the newest are first.
const maxCredentials = 1000

type tokenQuery struct {
	Kind string `query:"kind" enum:"token,session" default:"token" doc:"tokens, or browsers that are logged in"`
	All  bool   `query:"all" doc:"revoked and expired ones too"`
}

// Tokens is the list of tokens or sessions. What lets somebody in is not in it: deed keeps hashes.
type Tokens struct {
	Schema string         `json:"schema"`
	Tokens []access.Shown `json:"tokens"`
}

// NewToken asks for a token.
type NewToken struct {
	Name    string `json:"name" jsonschema:"minLength=1,maxLength=64"`                            // letters, digits and . _ - @; free among those that are not revoked
	Role    string `json:"role" jsonschema:"enum=read,enum=operate,enum=admin"`                   // what it may do
	Seconds int64  `json:"expires_in_seconds,omitempty" jsonschema:"minimum=1,maximum=316224000"` // absent: it does not end by itself
}

func (a *API) tokens() {
	get(a, "/tokens", about{id: "listTokens", tag: "access", summary: "List tokens, or the sessions of browsers, with their roles and when they were last used", need: access.Admin}, a.listTokens)
	post(a, "/tokens", about{
		id: "createToken", tag: "access", summary: "Make a token; its text is in this answer and never again", need: access.Admin, status: http.StatusCreated, conflicts: true, unnamed: true,
		detail: "It takes no Idempotency-Key, because its answer is not kept. A name is free or taken: after an answer that was lost, revoke the name and make it again.",
	}, a.createToken)
	post(a, "/tokens/{id}/revoke", about{id: "revokeToken", tag: "access", summary: "End a token by its name or id, or a session by its id, at once", need: access.Admin, conflicts: true},
		func(ctx context.Context, in one, _ none) (access.Shown, error) {
			c, err := a.keeper().Revoke(ctx, in.ID, by(ctx))
			if err != nil {
				return access.Shown{}, err
			}
			access.Did(ctx, c.ID, "revoked the "+c.Kind+" "+c.Name)
			c, err = a.Store.Credential(ctx, c.ID)
			return access.Show(c, a.Clock()), err
		})
}

func (a *API) keeper() *access.Keeper { return &access.Keeper{Store: a.Store, Clock: a.Clock} }

func (a *API) listTokens(ctx context.Context, in tokenQuery) (Tokens, error) {
	list, err := a.Store.Credentials(ctx, in.Kind, maxCredentials)
	out := Tokens{Schema: "deed/tokens/v1", Tokens: []access.Shown{}}
	for _, c := range list {
		if x := access.Show(c, a.Clock()); in.All || x.State == access.StateLive {
			out.Tokens = append(out.Tokens, x)
		}
	}
	return out, err
}

func (a *API) createToken(ctx context.Context, _ none, b NewToken) (access.Shown, error) {
	var faults fault.List
	if err := access.CheckName(b.Name); err != nil {
		faults.Add("$.name", fault.BadFormat, err.Error(), "choose another")
	}
	role, err := access.ParseRole(b.Role)
	if err != nil {
		faults.Add("$.role", fault.NotAllowed, err.Error(), "")
	}
	life := time.Duration(b.Seconds) * time.Second
	if b.Seconds < 0 || b.Seconds > int64(access.MaxLife/time.Second) {
		faults.Add("$.expires_in_seconds", fault.OutOfRange, "is not between a second and ten years", "leave it out for a token that does not end by itself")
	}
	if err := faults.Err(); err != nil {
		return access.Shown{}, err
	}
	text, c, err := a.keeper().IssueToken(ctx, b.Name, role, life, by(ctx))
	if errors.Is(err, store.ErrExists) {
		return access.Shown{}, conflict("exists", "there is a token of this name; choose another, or revoke it first")
	}
	if err != nil {
		return access.Shown{}, err
	}
	access.Did(ctx, c.ID, "made the token "+c.Name+" with the role "+c.Role)
	out := access.Show(c, a.Clock())
	out.Token = text
	return out, nil
}
