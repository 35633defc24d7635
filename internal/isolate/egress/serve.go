package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

// exhausted reports whether accepting failed for want of file descriptors or memory, which passes.
func exhausted(err error) bool {
	for _, e := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// A session is one client and what it has sent.
type session struct {
	p     *Proxy
	conn  *net.UnixConn
	pulse *pulse
	in    *pulsedConn
	br    *bufio.Reader
	start time.Time // of the request
	rec   Connection
}

// serve answers the requests of one client, each judged on its own, until it ends or one is refused.
func (p *Proxy) serve(ctx context.Context, conn *net.UnixConn) {
	pulse := newPulse(conn, p.o.IdleTimeout)
	s := &session{p: p, conn: conn, pulse: pulse, in: &pulsedConn{Conn: conn, pulse: pulse}}
	s.br = bufio.NewReaderSize(s.in, 4<<10)
	for first := true; s.one(ctx, first); first = false {
	}
}

// one answers one request and reports whether the client may send another.
func (s *session) one(ctx context.Context, first bool) bool {
	// The time for a head runs from its first byte, except for the first one; between two requests a client may be idle.
	if first {
		s.in.within(s.p.o.HeaderTimeout)
	}
	_, err := s.br.Peek(1)
	if errors.Is(err, io.EOF) || err != nil && !first {
		return false // nothing was asked
	}
	s.start, s.rec = clock.Start(), Connection{At: s.p.o.Clock()}
	s.in.within(s.p.o.HeaderTimeout)
	var r *request
	if err == nil {
		r, err = s.read()
	}
	if r != nil {
		s.rec.Host, s.rec.Port, s.rec.Method = r.target.host, int(r.target.port), r.method
	}
	var up net.Conn
	if err == nil {
		s.in.within(0)
		up, err = s.open(ctx, r.target)
	}
	if err != nil {
		s.refuse(err)
		return false
	}
	defer up.Close()
	defer context.AfterFunc(ctx, func() { _ = up.Close() })()
	if r.connect() {
		s.end(s.tunnel(up.(*net.TCPConn)))
		return false
	}
	err = s.exchange(up, r)
	s.end(err)
	if err != nil {
		s.linger()
	}
	return err == nil && !r.close
}

// read returns the head of the next request. A request returned with an error says what was asked for.
func (s *session) read() (*request, error) {
	head, err := readHead(s.br)
	if err != nil {
		return nil, err
	}
	return parseRequest(head)
}

// open judges a target and connects to it.
func (s *session) open(ctx context.Context, t target) (net.Conn, error) {
	rule, ok := s.p.match(t)
	if !ok {
		return nil, &refusal{
			http.StatusForbidden, ruleNotAllowed, fmt.Sprintf("%s is not among the hosts that this task may reach", t),
			fmt.Sprintf("if it is needed, let the operator add %q to the allowed hosts", t),
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.p.o.DialTimeout)
	defer cancel()
	addrs, err := s.addresses(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		at := netip.AddrPortFrom(a, t.port).String()
		s.rec.Address = at
		var conn net.Conn
		if conn, err = s.p.dial(ctx, "tcp", at); err == nil {
			s.rec.Allowed, s.rec.Rule, s.rec.Origin = true, rule.String(), rule.origin
			return conn, nil
		}
	}
	return nil, unreached(fmt.Sprintf("%s does not answer at %s: %s", t, s.rec.Address, plain(err)), err)
}

func (p *Proxy) match(t target) (Rule, bool) {
	for _, r := range p.o.Rules {
		if r.allows(t) {
			return r, true
		}
	}
	return Rule{}, false
}

// maxAddresses is how many addresses of one name are tried.
const maxAddresses = 8

// addresses returns the checked addresses of a target. One bad address spoils a name: a server that mixes public and
// private answers is the pattern of a rebinding attack, and there is no honest use for it here.
func (s *session) addresses(ctx context.Context, t target) ([]netip.Addr, error) {
	if t.addr.IsValid() {
		if why := neverAllowed(t.addr); why != "" {
			return nil, s.badAddress(t, t.addr, ruleMetadata, why)
		}
		return []netip.Addr{t.addr}, nil
	}
	if t.host == localhost {
		return localAddrs, nil // no look-up decides what this machine is
	}
	addrs, err := s.p.o.Resolver.LookupNetIP(ctx, "ip", t.host+".")
	if err == nil && len(addrs) == 0 {
		err = errors.New("no address")
	}
	if err != nil {
		return nil, unreached(fmt.Sprintf("the name %s cannot be resolved: %s", t.host, plain(err)), err)
	}
	for _, a := range addrs {
		if why := notPublic(a); why != "" {
			rule := ruleAddress
			if neverAllowed(a) != "" {
				rule = ruleMetadata
			}
			return nil, s.badAddress(t, a, rule, why)
		}
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs[:min(len(addrs), maxAddresses)], nil
}

func (s *session) badAddress(t target, a netip.Addr, rule, why string) error {
	s.rec.Address = netip.AddrPortFrom(a, t.port).String()
	remedy := "no rule can allow it"
	if rule == ruleAddress {
		remedy = fmt.Sprintf("if the host is meant, let the operator allow the address itself: %q", joinHostPort(a.Unmap().String(), a.Unmap(), t.port))
	}
	return &refusal{http.StatusForbidden, rule, fmt.Sprintf("%s leads to %s, which is %s", t, a, why), remedy}
}

// unreached is for an allowed host that does not answer.
func unreached(reason string, err error) *refusal {
	r := &refusal{http.StatusBadGateway, ruleUnreached, reason, "try again later, or ask the operator whether the host is right"}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		r.status = http.StatusGatewayTimeout
	}
	return r
}

// plain returns the innermost text of a network error: the rest repeats what the message says already.
func plain(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}

// tunnel answers CONNECT and moves bytes.
func (s *session) tunnel(up *net.TCPConn) error {
	if _, err := io.WriteString(s.in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return err
	}
	// What the client sent right behind the head is here already.
	early := make([]byte, s.br.Buffered())
	if _, err := io.ReadFull(s.br, early); err != nil {
		return err
	}
	to := &pulsedConn{Conn: up, pulse: s.pulse}
	if len(early) > 0 {
		if _, err := to.Write(early); err != nil {
			return err
		}
	}
	out, in, err := relay(s.conn, up, s.pulse)
	s.rec.BytesOut, s.rec.BytesIn = out+int64(len(early)), in
	return err
}

// end logs a request that was allowed.
func (s *session) end(err error) {
	var r *refusal
	switch {
	case errors.As(err, &r):
		s.rec.Reason, s.rec.Remedy = r.reason, r.remedy
	case err != nil:
		s.rec.Reason = plain(err)
	}
	s.finish()
}

// lingering is for how long, and lingerBytes how much, of what a refused client still sends is read and dropped. Closing
// at once would reset the connection, and the client would lose the answer that says why.
const (
	lingerTime  = time.Second
	lingerBytes = 256 << 10
)

// refuse answers and logs a request that goes no further. A client that is gone gets no answer.
func (s *session) refuse(err error) {
	var r *refusal
	switch {
	case errors.As(err, &r):
	case errors.Is(err, errLate), errors.Is(err, errIdle):
		r = &refusal{http.StatusRequestTimeout, ruleLimits, "the head of the request took too long", "send it at once"}
	default:
		r = &refusal{rule: ruleSyntax, reason: "the client ended the connection: " + plain(err)}
	}
	s.rec.Rule, s.rec.Reason, s.rec.Remedy = r.rule, r.reason, r.remedy
	if r.status != 0 {
		_, _ = s.in.Write(answer(r))
	}
	s.finish()
	s.linger()
}

func (s *session) finish() {
	s.rec.Duration = clock.Since(s.start)
	s.p.log(s.rec)
}

func (s *session) linger() {
	if s.conn.CloseWrite() != nil {
		return
	}
	s.in.within(lingerTime)
	_, _ = io.CopyN(io.Discard, s.br, lingerBytes)
}

// answer is what a refused client reads.
func answer(r *refusal) []byte {
	body := "deed egress: " + r.reason + "\nrule: " + r.rule + "\n"
	if r.remedy != "" {
		body += "remedy: " + r.remedy + "\n"
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\nProxy-Connection: close\r\nX-Deed-Egress: %s\r\n\r\n%s",
		r.status, http.StatusText(r.status), len(body), r.rule, body)
}

// turnAway answers a client for whom there is no place. The answer fits into the buffer of a new socket, so that
// accepting is not held up.
func (p *Proxy) turnAway(c net.Conn) {
	r := &refusal{http.StatusServiceUnavailable, ruleLimits, fmt.Sprintf("%d connections are open already", p.o.MaxConnections), "use fewer connections at a time"}
	p.log(Connection{At: p.o.Clock(), Rule: r.rule, Reason: r.reason, Remedy: r.remedy})
	_ = c.SetWriteDeadline(clock.Start().Add(time.Second))
	_, _ = c.Write(answer(r))
	_ = c.Close()
}
