// Package server owns deed's HTTP server: its listeners, its limits, the checks that every request passes, and the mounting of the
// parts that answer. Its own routes are health and login only, and it never touches the dispatcher.
package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

// The limits of a request and of a connection.
const (
	maxHeader      = 16 << 10
	maxBody        = 1 << 20
	maxUnwanted    = 8 << 20 // of a body that is too large: read, so that the sender gets the answer
	unwantedTime   = 2 * time.Second
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	requestTimeout = 30 * time.Second
	writeGrace     = 10 * time.Second // after a request's own time, to send its answer
	streamWrite    = 15 * time.Second // for one write of a stream
	maxAtOnce      = 64               // ordinary requests that are answered at a time; the others wait
	waitForTurn    = 5 * time.Second
	recheckEvery   = 2 * time.Second // of those who hold streams open
)

// Options are what a server needs. Home, Store and Log are required.
type Options struct {
	Home  *home.Home
	Store *store.Store
	Log   *slog.Logger
	Clock clock.Clock // for expiries; nil means clock.System

	// Listen is the TCP address; "" means none. An address that other machines reach needs TLS, or Insecure.
	Listen   string
	Insecure bool
	// TLSCert and TLSKey are PEM files. They are read again when they change.
	TLSCert, TLSKey string
	// Hosts are names, in addition to loopback's and the certificate's, by which clients may call this server.
	Hosts []string

	// MaxConns bounds the connections of the TCP listener, MaxConnsEach those of one address; 0 means 1024 and 768.
	MaxConns, MaxConnsEach int
	// HeaderTimeout is how long the headers of a request may take; 0 means 10 seconds.
	HeaderTimeout time.Duration
}

// A Server is mounted on, then started, then shut down.
type Server struct {
	o      Options
	mux    atomic.Pointer[http.ServeMux]
	http   *http.Server
	keeper *access.Keeper
	codes  *access.Codes
	log    *access.Log
	hosts  map[string]bool // names that are neither loopback's nor addresses
	cookie string          // its name, apart from other homes on this machine
	turns  chan struct{}   // one for each request that is answered now
	guess  *throttle

	cert      *certificate // nil: no TLS
	tcp       *boundListener
	socket    net.Listener
	announced *announcement

	serving sync.WaitGroup
	streams streams

	over    chan struct{} // closed when streams must end
	endOver func()
}

var _ access.Mux = (*Server)(nil)

// New makes a server that listens nowhere yet. It returns an error about settings that cannot work.
func New(o Options) (*Server, error) {
	if o.Home == nil || o.Store == nil || o.Log == nil {
		return nil, errors.New("server: home, store and log are required")
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	s := &Server{
		o: o, keeper: &access.Keeper{Store: o.Store, Clock: o.Clock}, codes: &access.Codes{Clock: o.Clock},
		hosts: map[string]bool{}, turns: make(chan struct{}, maxAtOnce), guess: newThrottle(o.Clock, 30, time.Minute),
		cookie: "deed_session_" + shortHash(o.Home.Root()),
	}
	if err := s.settings(); err != nil {
		return nil, err
	}
	s.over = make(chan struct{})
	s.endOver = sync.OnceFunc(func() {
		close(s.over)
		s.streams.endAll(errShutdown)
	})
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: cmp.Or(o.HeaderTimeout, headerTimeout), IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ConnContext: withPeer,
		// Clients' mistakes on the wire are logged at debug level only: at the usual level clients could fill the log.
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: 128, MaxReadFrameSize: 1 << 16},
	}
	if s.cert != nil {
		// The protocols are named because one http.Server serves the socket too: when that is first, net/http would set no HTTP/2 up.
		s.http.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.cert.get, NextProtos: []string{"h2", "http/1.1"}}
	}
	s.mux.Store(s.newMux())
	return s, nil
}

// settings checks how the server is to listen.
func (s *Server) settings() error {
	for _, h := range s.o.Hosts {
		name, err := hostName(h)
		if err != nil {
			return err
		}
		s.hosts[name] = true
	}
	if (s.o.TLSCert == "") != (s.o.TLSKey == "") {
		return errors.New("a certificate and its key go together: give both --tls-cert and --tls-key")
	}
	if s.o.TLSCert != "" {
		c, err := loadCertificate(s.o.TLSCert, s.o.TLSKey, s.o.Log)
		if err != nil {
			return err
		}
		s.cert = c
		for _, name := range c.names() {
			s.hosts[name] = true
		}
	}
	if s.o.Listen == "" {
		return nil
	}
	local, err := onlyLoopback(s.o.Listen)
	if err != nil {
		return err
	}
	if !local && s.cert == nil && !s.o.Insecure {
		return fmt.Errorf("address %q can be reached from other machines, and tokens would travel in clear text (give --tls-cert and --tls-key, or --insecure-listen if something in front does TLS)", s.o.Listen)
	}
	return nil
}

// Handle adds a route. The patterns of "GET /" and of "/x/" conflict: give each its method.
func (s *Server) Handle(r access.Route) { s.handle(s.mux.Load(), r) }

func (s *Server) handle(mux *http.ServeMux, r access.Route) {
	mux.Handle(r.Pattern, &route{Route: r, s: s, log: !safe(methodOf(r.Pattern)), turn: true})
}

// Remount replaces the routes that were mounted before by those that mount adds; the server's own stay. Requests and streams that are
// under way finish on their old routes. When mount returns an error nothing changes.
func (s *Server) Remount(mount func(access.Mux) error) error {
	mux := s.newMux()
	if err := mount(onto(func(r access.Route) { s.handle(mux, r) })); err != nil {
		return err
	}
	s.mux.Store(mux)
	return nil
}

// onto is a Mux that is a function.
type onto func(access.Route)

func (f onto) Handle(r access.Route) { f(r) }

// Start listens and serves until Shutdown. When it has returned nil, clients can connect. The caller holds the home's dispatch
// lock, so whatever an earlier server left there is replaced.
func (s *Server) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			s.closeListeners()
		}
	}()
	if s.o.Listen != "" {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.o.Listen)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", s.o.Listen, err)
		}
		s.tcp = bound(l, s.o.MaxConns, s.o.MaxConnsEach, s.cert == nil)
	}
	if s.socket, err = listenSocket(ctx, s.o.Home); err != nil {
		return err
	}
	if s.announced, err = announce(s.o.Home, Address{URL: s.URL(), Socket: socketPath(s.o.Home)}); err != nil {
		return err
	}
	s.log = access.OpenLog(s.o.Store, s.o.Clock, s.o.Log)
	s.run(func() error { return s.http.Serve(s.socket) })
	if s.tcp != nil && s.cert != nil {
		s.run(func() error { return s.http.ServeTLS(s.tcp, "", "") })
	} else if s.tcp != nil {
		s.run(func() error { return s.http.Serve(s.tcp) })
	}
	s.serving.Go(s.recheck)
	return nil
}

// run serves one listener. When one fails, the dispatcher and the other listeners continue.
func (s *Server) run(serve func() error) {
	s.serving.Go(func() {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			s.o.Log.Error("the HTTP server has stopped listening", "error", err)
		}
	})
}

// URL is where a browser on this machine finds the server, or "" when it listens on no address.
func (s *Server) URL() string {
	if s.tcp == nil {
		return ""
	}
	scheme := "http"
	if s.cert != nil {
		scheme = "https"
	}
	host, port, _ := net.SplitHostPort(s.tcp.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// Addr is the TCP address that the server listens on, or nil.
func (s *Server) Addr() net.Addr {
	if s.tcp == nil {
		return nil
	}
	return s.tcp.Addr()
}

// Shutdown ends streams, lets requests finish until the context ends, and closes everything.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.announced.withdraw()
	s.endOver()
	if serr := s.http.Shutdown(ctx); serr != nil {
		err = errors.Join(err, s.http.Close())
		s.o.Log.Warn("requests were cut off", "reason", serr)
	}
	s.serving.Wait()
	s.log.Close()
	return err
}

// closeListeners undoes a start that failed half-way.
func (s *Server) closeListeners() {
	if s.tcp != nil {
		_ = s.tcp.Close()
	}
	if s.socket != nil {
		_ = s.socket.Close()
	}
}

// newMux has the server's own routes.
func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	own := func(pattern string, need access.Role, h http.HandlerFunc) *route {
		r := &route{Route: access.Route{Pattern: pattern, Need: need, Handler: h}, s: s, turn: true}
		mux.Handle(pattern, r)
		return r
	}
	own("GET /healthz", access.Public, s.healthz).turn = false // it answers also when everything else waits
	own("GET /readyz", access.Public, s.readyz)
	own("GET /login", access.Public, s.login)
	own("POST /logout", access.Read, s.logout).log = true
	own("POST /access/code", access.Admin, s.issueCode).log = true
	own("GET /access/me", access.Read, s.me)
	return mux
}

// healthz says that the process answers.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

// readyz says that the store answers too, and has room.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if _, _, err := s.o.Store.Paused(r.Context()); err != nil {
		s.o.Log.Warn("not ready", "error", err)
		httperror.Write(w, r, httperror.New(http.StatusServiceUnavailable, "not_ready", "the store does not answer"))
		return
	}
	if s.o.Home.Full() {
		s.o.Log.Warn("not ready", "error", "the disk of the home is full (free space on it; `deed cleanup` tells what deed itself can give up)")
		httperror.Write(w, r, httperror.New(http.StatusServiceUnavailable, "not_ready", "the disk of the home is full"))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ready\n"))
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
