// Package server owns deed's HTTP server: its listeners, its limits, the checks that every request passes, and the mounting of the
// parts that answer. It shows nothing itself but health and the way in, and it never touches the dispatcher.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/access"
	"github.com/deedrun/deed/internal/clock"
	"github.com/deedrun/deed/internal/home"
	"github.com/deedrun/deed/internal/problem"
	"github.com/deedrun/deed/internal/store"
)

// Options are what a server needs. Home, Store and Log are required.
type Options struct {
	Home  *home.Home
	Store *store.Store
	Log   *slog.Logger
	Clock clock.Clock // nil means clock.System

	// Listen is the TCP address; "" means none.
	Listen string
}

// A Server is mounted on, then started, then shut down. Handle may be called until Start.
type Server struct {
	o    Options
	mux  *http.ServeMux
	http *http.Server

	listeners []net.Listener
	serving   sync.WaitGroup
}

var _ access.Mux = (*Server)(nil)

// New makes a server that listens nowhere yet.
func New(o Options) (*Server, error) {
	if o.Home == nil || o.Store == nil || o.Log == nil {
		return nil, errors.New("server: home, store and log are required")
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	s := &Server{o: o, mux: http.NewServeMux()}
	s.http = &http.Server{Handler: s.mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	s.Handle(access.Route{Pattern: "GET /healthz", Handler: http.HandlerFunc(s.healthz)})
	s.Handle(access.Route{Pattern: "GET /readyz", Handler: http.HandlerFunc(s.readyz)})
	return s, nil
}

// Handle adds a route.
func (s *Server) Handle(r access.Route) { s.mux.Handle(r.Pattern, r.Handler) }

// Start listens and serves until Shutdown. When it has returned nil, clients can connect.
func (s *Server) Start(ctx context.Context) error {
	if s.o.Listen != "" {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.o.Listen)
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, l)
	}
	for _, l := range s.listeners {
		s.serving.Go(func() {
			if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				s.o.Log.Error("serve", "address", l.Addr(), "error", err)
			}
		})
	}
	return nil
}

// Addr is the TCP address that the server listens on, or nil.
func (s *Server) Addr() net.Addr {
	if len(s.listeners) == 0 {
		return nil
	}
	return s.listeners[0].Addr()
}

// Shutdown ends streams, lets requests finish until the context ends, and closes everything.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	s.serving.Wait()
	return err
}

// healthz says that the process answers.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

// readyz says that the store answers too.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if _, _, err := s.o.Store.Paused(r.Context()); err != nil {
		s.o.Log.Warn("not ready", "error", err)
		problem.Write(w, r, problem.New(http.StatusServiceUnavailable, "not_ready", "the store does not answer"))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ready\n"))
}
