// Package access owns who may do what over the network: roles, principals, tokens, browser sessions, one-time codes and the record
// of what was done and refused. It opens no listener and serves nothing: package server asks it about every request.
package access

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// A Role is what somebody may do. Each role may do what the ones below it may.
type Role int8

// The roles.
const (
	Public  Role = iota // needs no name: health and the way in
	Read                // sees everything that deed shows
	Operate             // adds, answers, cancels, retries, applies
	Admin               // all of it: tokens, settings, the pause of the queue
)

var roleNames = [...]string{"public", "read", "operate", "admin"}

// String returns the role's name.
func (r Role) String() string {
	if r < 0 || int(r) >= len(roleNames) {
		return fmt.Sprintf("role(%d)", int8(r))
	}
	return roleNames[r]
}

// MarshalText writes the role's name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a role that can be given to somebody.
func (r *Role) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRole(string(text))
	return err
}

// ParseRole reads a role that can be given to somebody.
func ParseRole(name string) (Role, error) {
	for r := Read; r <= Admin; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return Public, fmt.Errorf("role %q is none of read, operate, admin", name)
}

// How says in which way the principal was recognised.
type How string

// The ways.
const (
	ByToken   How = "token"   // a bearer token
	BySession How = "session" // a browser's cookie
	BySocket  How = "socket"  // the unix socket of the home, by the peer's account
	ByCommand How = "command" // the command line, by access to the home
)

// A Principal is who is asking. The zero value has no name and no role.
type Principal struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	How  How    `json:"how"`
	// ID is that of the token or session; empty where there is none.
	ID string `json:"id,omitempty"`
}

// May reports whether the principal has at least a role.
func (p Principal) May(need Role) bool { return p.Role >= need }

type principalKey struct{}

// With returns a context in which the principal is asking.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From returns who is asking; the zero Principal if that is unknown.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}

// A Route is one handler with what a client needs to reach it. The server has checked all of it before the handler runs: handlers
// look at no token, no cookie and no origin.
type Route struct {
	// Pattern is one of http.ServeMux, with its method: "GET /api/v1/tasks/{id}". A write has a method other than GET and HEAD.
	Pattern string
	// Need is the lowest role that may call it. Public lets everyone in.
	Need Role
	// Handler answers. A panic in it ends its request alone.
	Handler http.Handler
	// Stream is set for an answer that does not end by itself, such as server-sent events: it has no deadline as a whole, each write
	// has one, and its context ends when the server does.
	Stream bool
	// Records is set where the handler itself records its writes, because most of what it is sent only reads.
	Records bool
	// MaxBody bounds the body in bytes; 0 means 1 MiB. Reading further returns *http.MaxBytesError, which problem.Of knows.
	MaxBody int64
	// Timeout is when the request's context ends and its connection is given up; 0 means 30 seconds. Streams have none.
	Timeout time.Duration
}

// A Mux is where the parts of the server mount themselves.
type Mux interface {
	// Handle adds a route. It panics on a pattern that conflicts with another, as http.ServeMux does.
	Handle(Route)
}
