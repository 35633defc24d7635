package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

// serve handles every request, over every listener, in this order:
//
//	deadlines, headers of safety → is it meant for this server (Host, Origin) → a form that deed reads → its route →
//	a turn → who is it → a write of a page (CSRF) → the role → the log → the handler
//
// The first step that refuses answers, and no later step has happened.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	rp := &reply{ResponseWriter: w, control: http.NewResponseController(w)}
	defer s.contain(rp, r)
	rp.deadlines(requestTimeout)
	protect(rp.Header())
	if p := s.acceptable(r); p != nil {
		s.refuse(rp, r, access.Principal{}, r.Method, p)
		return
	}
	mux := s.mux.Load()
	h, pattern := mux.Handler(r)
	if pattern == "" {
		s.noRoute(rp, r, h)
		return
	}
	// The mux and not h: only it sets the values of the path.
	mux.ServeHTTP(rp, r)
}

// acceptable says what is wrong with a request before the client is identified.
func (s *Server) acceptable(r *http.Request) *httperror.Problem {
	if peerOf(r.Context()) == nil { // a browser cannot reach the socket
		if p := s.misdirected(r); p != nil {
			return p
		}
		if p := s.crossSite(r); p != nil {
			return p
		}
	}
	if r.Method == http.MethodConnect || r.Method == http.MethodTrace {
		return httperror.New(http.StatusMethodNotAllowed, "method_not_allowed", "deed does not answer "+r.Method)
	}
	if climbs(r.URL.Path) {
		return httperror.New(http.StatusBadRequest, "bad_path", "the path has a part that is . or .., or a NUL; nothing is looked up by such a path")
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return httperror.New(http.StatusUnsupportedMediaType, "compressed_body", "deed takes no compressed body: send it as it is, without Content-Encoding")
	}
	return nil
}

// climbs reports whether a path, as handlers see it, has a part that could lead out of a directory. The mux cleans what is written
// plainly, and hands on what is written as %2e.
func climbs(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." || strings.ContainsRune(part, 0) {
			return true
		}
	}
	return false
}

// noRoute answers what the mux has no handler for: it knows whether the path or only the method is wrong.
func (s *Server) noRoute(w http.ResponseWriter, r *http.Request, h http.Handler) {
	said := &statusOnly{header: http.Header{}}
	h.ServeHTTP(said, r)
	if said.status == http.StatusMethodNotAllowed {
		allow := said.header.Get("Allow")
		w.Header().Set("Allow", allow)
		httperror.Write(w, r, httperror.New(said.status, "method_not_allowed", "this path takes "+allow))
		return
	}
	httperror.Write(w, r, httperror.New(http.StatusNotFound, "not_found", "there is nothing at this path"))
}

// statusOnly records a handler's answer and sends none of it.
type statusOnly struct {
	header http.Header
	status int
}

func (w *statusOnly) Header() http.Header         { return w.header }
func (w *statusOnly) WriteHeader(status int)      { w.status = status }
func (w *statusOnly) Write(p []byte) (int, error) { return len(p), nil }

// contain limits a panic to its request: it is logged, and the client gets an internal error.
func (s *Server) contain(rp *reply, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // the handler asks net/http to cut the connection
	}
	s.o.Log.Error("a handler panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if rp.status == 0 {
		httperror.Write(rp, r, httperror.New(http.StatusInternalServerError, "internal", "deed could not answer this request; its log says why"))
		return
	}
	panic(http.ErrAbortHandler) // half an answer must not look like a whole one
}

// protect sets the security headers of every answer. A handler may set stricter ones for its own answer.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "+
		"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store") // what an operator sees must not get onto a browser's disk
}

// refuse answers and records a request that was not let through.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, who access.Principal, action string, p *httperror.Problem) {
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="deed"`)
	}
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close") // its body is not read
	}
	s.log.Refused(r, who, action, p.Status, p.Code)
	httperror.Write(w, r, p)
}

// A route is a handler behind its checks.
type route struct {
	access.Route
	s    *Server
	log  bool // it writes
	turn bool // it takes a turn
}

func (t *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rp, ok := w.(*reply)
	if !ok { // only serve calls it
		panic(fmt.Sprintf("%T is not a reply", w))
	}
	if t.turn && !t.Stream {
		if !t.s.takeTurn(r.Context()) {
			p := httperror.New(http.StatusServiceUnavailable, "busy", "deed answers too many requests; try again")
			p.RetryAfter = int(waitForTurn / time.Second)
			t.s.refuse(rp, r, access.Principal{}, t.Pattern, p)
			return
		}
		defer func() { <-t.s.turns }()
	}
	id := t.s.identify(r)
	if p := t.admit(r, id); p != nil {
		if p.Status == http.StatusRequestEntityTooLarge {
			// Closing the connection with an unread body would lose the answer.
			rp.deadlines(unwantedTime)
			_, _ = io.CopyN(io.Discard, r.Body, maxUnwanted)
		}
		t.s.refuse(rp, r, id.who, t.Pattern, p)
		return
	}
	ctx, cancel := t.bounds(rp, r, id)
	defer cancel()
	if id.cookie != "" {
		ctx = access.WithCSRF(ctx, access.CSRFToken(id.cookie))
	}
	t.run(rp, r.WithContext(access.With(ctx, id.who)), id.who)
}

// admit decides whether the request may reach the handler.
func (t *route) admit(r *http.Request, id identity) *httperror.Problem {
	if t.Need == access.Public {
		return nil
	}
	if id.problem != nil {
		return id.problem
	}
	limit := t.limit()
	if r.ContentLength > limit {
		return httperror.Of(&http.MaxBytesError{Limit: limit})
	}
	if id.who.Role < t.Need {
		return httperror.New(http.StatusForbidden, "role", fmt.Sprintf("this needs the role %s, and %s has the role %s", t.Need, id.who.Name, id.who.Role))
	}
	if id.cookie != "" && !safe(r.Method) {
		return t.fromOurPage(r, id)
	}
	return nil
}

// fromOurPage checks the CSRF token of a write by a browser, in the header or in the form.
func (t *route) fromOurPage(r *http.Request, id identity) *httperror.Problem {
	given := r.Header.Get("X-CSRF-Token")
	if given == "" && strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		r.Body = http.MaxBytesReader(nil, r.Body, t.limit())
		if err := r.ParseForm(); err != nil {
			return httperror.New(http.StatusBadRequest, "bad_form", "the form cannot be read")
		}
		given = r.PostForm.Get("csrf_token")
	}
	if !access.SameCSRF(id.cookie, given) {
		return httperror.New(http.StatusForbidden, "csrf", "the request does not come from a page of this session (load the page again)")
	}
	return nil
}

func (t *route) limit() int64 {
	if t.MaxBody > 0 {
		return t.MaxBody
	}
	return maxBody
}

// bounds gives the request its deadline; the context of a stream ends with the server and with the credential that
// let it in.
func (t *route) bounds(rp *reply, r *http.Request, id identity) (context.Context, context.CancelFunc) {
	r.Body = http.MaxBytesReader(rp, r.Body, t.limit())
	if t.Stream {
		rp.stream()
		ctx, cancel := context.WithCancelCause(r.Context())
		forget := t.s.streams.add(id.who.ID, cancel)
		return ctx, func() {
			forget()
			cancel(nil)
		}
	}
	d := t.Timeout
	if d <= 0 {
		d = requestTimeout
	}
	rp.deadlines(d)
	return context.WithTimeout(r.Context(), d)
}

var errShutdown = errors.New("the server ends")

// run calls the handler; a write is in the log before it, and its end after it.
func (t *route) run(rp *reply, r *http.Request, who access.Principal) {
	if t.Records || !t.log && safe(r.Method) {
		t.Handler.ServeHTTP(rp, r)
		return
	}
	e, err := t.s.log.Begin(r.Context(), r, who, t.Pattern)
	if err != nil {
		t.s.o.Log.Error("a write was refused because it cannot be recorded", "who", who.Name, "action", t.Pattern, "error", err)
		httperror.Write(rp, r, httperror.New(http.StatusServiceUnavailable, "no_record", "the write cannot be recorded, so it was not done; deed's log says why"))
		return
	}
	defer func() {
		status := rp.status
		if v := recover(); v != nil {
			defer panic(v)
			status = http.StatusInternalServerError
		} else if status == 0 {
			status = http.StatusOK
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), waitForTurn)
		defer cancel()
		if err := e.End(ctx, status); err != nil {
			t.s.o.Log.Error("the end of a write is not recorded", "who", who.Name, "action", t.Pattern, "status", status, "error", err)
		}
	}()
	t.Handler.ServeHTTP(rp, r.WithContext(access.WithEntry(r.Context(), e)))
}

// takeTurn waits for one of the bounded number of places, so that requests leave the machine and the store to the dispatcher.
func (s *Server) takeTurn(ctx context.Context) bool {
	select {
	case s.turns <- struct{}{}:
		return true
	default:
	}
	wait := time.NewTimer(waitForTurn)
	defer wait.Stop()
	select {
	case s.turns <- struct{}{}:
		return true
	case <-wait.C:
	case <-ctx.Done():
	}
	return false
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// methodOf is the method of a pattern; one without is taken for a write.
func methodOf(pattern string) string {
	method, _, ok := strings.Cut(pattern, " ")
	if !ok {
		return ""
	}
	return method
}

// A reply is a ResponseWriter that knows its status and renews the deadline of a stream.
type reply struct {
	http.ResponseWriter
	control *http.ResponseController
	status  int
	each    bool
}

// Unwrap lets http.ResponseController reach the connection.
func (r *reply) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader records the status.
func (r *reply) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write gives each write of a stream its own deadline: a client that does not read is disconnected.
func (r *reply) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if r.each {
		_ = r.control.SetWriteDeadline(clock.System().Add(streamWrite)) // a writer that has none is bounded by its test
	}
	return r.ResponseWriter.Write(p)
}

// Flush sends what is written.
func (r *reply) Flush() { _ = r.FlushError() }

// FlushError sends what is written, and returns an error if that failed.
func (r *reply) FlushError() error {
	if r.each {
		_ = r.control.SetWriteDeadline(clock.System().Add(streamWrite))
	}
	return r.control.Flush()
}

// deadlines bound reading the body and writing the answer.
func (r *reply) deadlines(d time.Duration) {
	now := clock.System()
	_ = r.control.SetReadDeadline(now.Add(d))
	_ = r.control.SetWriteDeadline(now.Add(d + writeGrace))
}

// stream lifts the deadline of the whole and bounds each write instead.
func (r *reply) stream() {
	r.each = true
	_ = r.control.SetReadDeadline(time.Time{})
	_ = r.control.SetWriteDeadline(time.Time{})
}
