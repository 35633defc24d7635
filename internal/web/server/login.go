package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

// A CodeRequest asks for a one-time code.
type CodeRequest struct {
	Role access.Role `json:"role"`
}

// A CodeAnswer has it.
type CodeAnswer struct {
	Code      string `json:"code"`
	ExpiresIn int    `json:"expires_in_seconds"`
}

// issueCode makes a one-time code for a browser of the caller, with the requested role.
func (s *Server) issueCode(w http.ResponseWriter, r *http.Request) {
	var in CodeRequest
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		var large *http.MaxBytesError
		if !errors.As(err, &large) {
			err = httperror.New(http.StatusBadRequest, "bad_request", `send {"role": "read"}, or operate or admin`)
		}
		httperror.Write(w, r, err)
		return
	}
	who := access.From(r.Context())
	code, err := s.codes.Issue(access.Principal{Name: who.Name, Role: min(in.Role, who.Role)})
	if err != nil {
		p := httperror.New(http.StatusTooManyRequests, "too_many_codes", err.Error())
		p.RetryAfter = int(access.CodeLife.Seconds())
		httperror.Write(w, r, p)
		return
	}
	access.Did(r.Context(), "", "one-time code with the role "+in.Role.String())
	writeJSON(w, CodeAnswer{Code: code, ExpiresIn: int(access.CodeLife.Seconds())})
}

// login makes a session of a one-time code. The session is always a new one, and an earlier session of this browser ends, so
// that an attacker cannot give a browser a session of the attacker's. The redirect removes the code from the address.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("code")
	if code == "" {
		s.refuse(w, r, access.Principal{}, "GET /login", httperror.New(http.StatusUnauthorized, "unauthorized",
			"run `deed open` on the machine of this deed: it prints a link that lets this browser in once"))
		return
	}
	who, ok := s.codes.Redeem(code)
	if !ok {
		p := httperror.New(http.StatusUnauthorized, "bad_code", "this link was used before, is older than a minute, or was never given out (run `deed open` again)")
		if s.guess.over() {
			p = httperror.New(http.StatusTooManyRequests, "bad_code", "too many wrong links; try again in a minute")
			p.RetryAfter = 60
		}
		s.refuse(w, r, access.Principal{}, "GET /login", p)
		return
	}
	cookie, c, err := s.keeper.Login(r.Context(), who.Name, who.Role)
	if err == nil {
		err = s.log.Note(r.Context(), store.AccessEntry{
			Name: who.Name, Role: who.Role.String(), How: string(access.BySession), Remote: access.Remote(r), Action: "login", Target: c.ID, Status: http.StatusSeeOther,
		})
	}
	if err != nil {
		s.o.Log.Error("log in", "who", who.Name, "error", err)
		httperror.Write(w, r, httperror.New(http.StatusServiceUnavailable, "no_store", "the session cannot be stored; deed's log says why"))
		return
	}
	for _, old := range r.CookiesNamed(s.cookieName(r)) {
		if p, err := s.keeper.Session(r.Context(), old.Value); err == nil {
			_, _ = s.keeper.Revoke(r.Context(), p.ID, who.Name) // it ends by itself too
		}
	}
	http.SetCookie(w, s.sessionCookie(r, cookie, int(access.SessionLife.Seconds())))
	http.Redirect(w, r, landing(r.URL.Query().Get("next")), http.StatusSeeOther)
}

// landing is the page after the login: a path of this server, or the home page.
func landing(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}

// logout ends the session and removes what it left in the browser.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	who := access.From(r.Context())
	if who.How != access.BySession {
		httperror.Write(w, r, httperror.New(http.StatusConflict, "no_session", "only a browser's session can be logged out; a token is ended by `deed token revoke`"))
		return
	}
	if _, err := s.keeper.Revoke(r.Context(), who.ID, who.Name); err != nil && !errors.Is(err, store.ErrClosed) {
		s.o.Log.Error("log out", "who", who.Name, "error", err)
		httperror.Write(w, r, httperror.New(http.StatusServiceUnavailable, "no_store", "the session cannot be ended; deed's log says why"))
		return
	}
	s.streams.end(who.ID, access.ErrRevoked)
	http.SetCookie(w, s.sessionCookie(r, "", -1))
	w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// me says who is asking, and gives a page its CSRF token.
func (s *Server) me(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, struct {
		access.Principal
		CSRF string `json:"csrf_token,omitempty"`
	}{access.From(r.Context()), access.CSRF(r.Context())})
}

func (s *Server) sessionCookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{Name: s.cookieName(r), Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil}
}

// cookieName has the prefix that binds a cookie to its host where browsers allow it: over TLS.
func (s *Server) cookieName(r *http.Request) string {
	if r.TLS != nil {
		return "__Host-" + s.cookie
	}
	return s.cookie
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that has gone gets nothing
}
