package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

// An identity is what the server found out about who sends a request.
type identity struct {
	who     access.Principal
	cookie  string             // of the session that let it in
	problem *httperror.Problem // why the client was not recognised
}

// identify finds out who sends a request: the socket's peer, else the bearer of a token, else the browser of a session. A token
// that does not hold is not made up for by a cookie.
func (s *Server) identify(r *http.Request) identity {
	if p := peerOf(r.Context()); p != nil {
		if p.problem != nil {
			return identity{problem: p.problem}
		}
		return identity{who: p.who}
	}
	if auth := r.Header.Values("Authorization"); len(auth) > 0 {
		scheme, token, _ := strings.Cut(auth[0], " ")
		if len(auth) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return identity{problem: httperror.New(http.StatusUnauthorized, "unauthorized", "deed takes one Authorization header, and in it: Bearer TOKEN")}
		}
		who, err := s.keeper.Token(r.Context(), strings.TrimSpace(token))
		return s.recognised(who, "", err, "the token", "make another with `deed token add`")
	}
	cookies := r.CookiesNamed(s.cookieName(r))
	if len(cookies) == 0 {
		return identity{problem: httperror.New(http.StatusUnauthorized, "unauthorized",
			"deed does not know who you are: run `deed open` on its machine for a browser, or send a token made by `deed token add`")}
	}
	if len(cookies) > 1 {
		return identity{problem: httperror.New(http.StatusUnauthorized, "unauthorized", "there are two cookies of one name: delete those of this site and run `deed open` again")}
	}
	who, err := s.keeper.Session(r.Context(), cookies[0].Value)
	return s.recognised(who, cookies[0].Value, err, "the session", "run `deed open` again")
}

// recognised makes an identity of the keeper's result. Why a credential does not hold is disclosed only to a client that has
// its secret.
func (s *Server) recognised(who access.Principal, cookie string, err error, what, remedy string) identity {
	if err == nil {
		return identity{who: who, cookie: cookie}
	}
	for _, known := range []error{access.ErrMalformed, access.ErrUnknown, access.ErrRevoked, access.ErrExpired} {
		if errors.Is(err, known) {
			return identity{problem: httperror.New(http.StatusUnauthorized, "unauthorized", what+" lets nobody in: "+known.Error()+" ("+remedy+")")}
		}
	}
	if !errors.Is(err, context.Canceled) { // a client that has gone is no fault
		s.o.Log.Error("look up who is asking", "error", err)
	}
	return identity{problem: httperror.New(http.StatusServiceUnavailable, "no_store", "deed cannot look up who you are; its log says why")}
}

// streams are the answers that last, by what let them in.
type streams struct {
	mu   sync.Mutex
	next int
	open map[int]openStream // guarded by mu
	over error              // set when no stream may last any more; guarded by mu
}

type openStream struct {
	id  string
	end context.CancelCauseFunc
}

func (s *streams) add(id string, end context.CancelCauseFunc) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[int]openStream{}
	}
	n := s.next
	s.next++
	s.open[n] = openStream{id: id, end: end}
	if s.over != nil {
		end(s.over)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, n)
	}
}

// ids are what let the open streams in, each once.
func (s *streams) ids() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]bool{}
	for _, o := range s.open {
		if o.id != "" {
			out[o.id] = true
		}
	}
	return out
}

func (s *streams) end(id string, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.open {
		if o.id == id {
			o.end(why)
		}
	}
}

// endAll ends those that are open, and those that come later.
func (s *streams) endAll(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = why
	for _, o := range s.open {
		o.end(why)
	}
}

// recheck ends the streams of those who would not be let in any more: a revoked token sees nothing further. It costs one look
// for each token and session that has streams, and none without.
func (s *Server) recheck() {
	every := time.NewTicker(recheckEvery)
	defer every.Stop()
	for {
		select {
		case <-s.over:
			return
		case <-every.C:
		}
		for id := range s.streams.ids() {
			ctx, cancel := context.WithTimeout(context.Background(), recheckEvery)
			err := s.keeper.StillHolds(ctx, id)
			cancel()
			if errors.Is(err, access.ErrRevoked) || errors.Is(err, access.ErrExpired) {
				s.streams.end(id, err)
			}
		}
	}
}
