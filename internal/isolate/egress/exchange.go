package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

// maxInformational is how many 1xx answers may come before the real one.
const maxInformational = 8

// exchange sends one request over its own connection to the server and gives the client the answer. None of the client's bytes
// reach the server directly: head and chunks are written again, so that the server sees exactly the one request that was
// checked, whatever was sent. The connection is not used again.
func (s *session) exchange(conn net.Conn, r *request) error {
	up := &pulsedConn{Conn: conn, pulse: s.pulse}
	defer func() { s.rec.BytesOut, s.rec.BytesIn = up.out.Load(), up.in.Load() }()
	s.pulse.beat()
	s.pulse.drained.Store(false)
	if r.expect {
		if _, err := io.WriteString(s.in, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return err
		}
	}
	if _, err := up.Write(r.origin()); err != nil {
		return s.broken(err, false)
	}
	sent := make(chan error, 1)
	go func() {
		err := s.sendBody(up, r)
		var cut *cutOff
		if errors.As(err, &cut) {
			_ = up.Close() // the server must not take half a request for a whole one, nor we its answer
		}
		s.pulse.drained.Store(true)
		sent <- err
	}()
	started, err := s.answer(up, r)
	if err != nil {
		_ = up.Close()
	}
	// A server may answer before it has the whole body. Both sides get a moment to end it properly.
	defer time.AfterFunc(lingerTime, func() { _ = up.Close() }).Stop()
	s.in.within(lingerTime)
	bad := <-sent
	s.in.within(0)
	if isRefusal(bad) {
		err = bad
	}
	if err == nil && bad != nil {
		return fmt.Errorf("the host answered before it had the whole body: %w", bad)
	}
	return s.broken(err, started)
}

func isRefusal(err error) bool {
	var r *refusal
	return errors.As(err, &r)
}

// broken tells the client that the exchange failed, when no answer was begun.
func (s *session) broken(err error, started bool) error {
	if err != nil && !started {
		r := unreached("the host broke the connection off: "+plain(err), err)
		errors.As(err, &r)
		_, _ = s.in.Write(answer(r))
	}
	return err
}

// sendBody copies the body of a request. It decodes the chunks and writes them again. A failure on the client's side is a cutOff.
func (s *session) sendBody(up io.Writer, r *request) error {
	if r.length >= 0 {
		n, err := io.Copy(up, &body{r: io.LimitReader(s.br, r.length)})
		if err == nil && n < r.length {
			err = &cutOff{io.ErrUnexpectedEOF}
		}
		return err
	}
	w := httputil.NewChunkedWriter(up)
	if _, err := io.Copy(w, &body{r: httputil.NewChunkedReader(s.br), chunked: true}); err != nil {
		return err
	}
	// The reader stops before the trailer.
	var end [2]byte
	if _, err := io.ReadFull(s.br, end[:]); err != nil {
		return &cutOff{err}
	}
	if string(end[:]) != "\r\n" {
		return &cutOff{malformed(ruleFraming, "fields follow the last chunk")}
	}
	if err := w.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(up, "\r\n")
	return err
}

// A cutOff is a body that the client did not send whole, or not by the rules.
type cutOff struct{ error }

func (c *cutOff) Unwrap() error { return c.error }

// A body marks what goes wrong on the client's side, and tells bad chunking from a connection that failed.
type body struct {
	r       io.Reader
	chunked bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	var ne net.Error
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	case !b.chunked, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.As(err, &ne),
		errors.Is(err, errIdle), errors.Is(err, errGone), errors.Is(err, errLate):
		return n, &cutOff{err}
	}
	return n, &cutOff{malformed(ruleFraming, "the chunks of the body are malformed: %v", err)}
}

// answer reads the server's answer and writes it to the client. It reports whether it has begun to write.
func (s *session) answer(up io.Reader, r *request) (started bool, err error) {
	head := &io.LimitedReader{R: up}
	br := bufio.NewReader(head)
	var resp *http.Response
	for range maxInformational {
		head.N = maxHead
		resp, err = http.ReadResponse(br, &http.Request{Method: r.method})
		if err != nil {
			return false, fmt.Errorf("read the answer: %w", err)
		}
		if resp.StatusCode == http.StatusSwitchingProtocols || resp.StatusCode >= 200 {
			break
		}
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 {
		return false, fmt.Errorf("the host answered %d, which nobody asked for", resp.StatusCode)
	}
	head.N = math.MaxInt64
	removeProxyHeaders(resp.Header)
	resp.ProtoMajor, resp.ProtoMinor = 1, r.minor
	resp.Close = r.close
	if resp.ContentLength < 0 && !r.close {
		resp.TransferEncoding = []string{"chunked"}
	}
	w := bufio.NewWriterSize(s.in, 32<<10)
	resp.Body = flushingBody{resp.Body, w}
	if err := resp.Write(struct{ io.Writer }{w}); err != nil { // its ReadFrom would read into what prompt flushes
		_ = w.Flush()
		return true, err
	}
	return true, w.Flush()
}

// A flushingBody sends what was written so far before it waits for more: otherwise events of a stream would be late.
type flushingBody struct {
	io.ReadCloser
	w *bufio.Writer
}

func (p flushingBody) Read(b []byte) (int, error) {
	if err := p.w.Flush(); err != nil {
		return 0, err
	}
	return p.ReadCloser.Read(b)
}

// removeProxyHeaders removes the headers of an answer that were meant for the proxy.
func removeProxyHeaders(h http.Header) {
	for _, v := range h.Values("Connection") {
		for word := range strings.SplitSeq(v, ",") {
			h.Del(strings.TrimSpace(word))
		}
	}
	for _, name := range []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Te", "Upgrade"} {
		h.Del(name)
	}
}
