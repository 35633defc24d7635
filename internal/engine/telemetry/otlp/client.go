package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/truncate"
)

// Bounds of what is sent and of what is read.
const (
	maxRequest  = 64 << 20
	maxResponse = 4 << 20
	maxExcerpt  = 1 << 10 // of an answer that is an error, which ends in the log
)

// Bounds of how often and for how long a request is tried again.
const (
	firstPause  = 5 * time.Second
	longestWait = 30 * time.Second
	tryFor      = time.Minute
)

// contentType is that of requests, and of answers that are read.
const contentType = "application/x-protobuf"

// errShutdown is what an exporter says to whoever goes on with it after its end.
var errShutdown = errors.New("the exporter was shut down")

// A client posts the requests of one signal.
type client struct {
	signal signal
	target target
	agent  string
	http   *http.Client
	wait   func(context.Context, time.Duration) error // pauses between tries; tests make them short

	mu      sync.Mutex
	running map[*http.Request]context.CancelCauseFunc // guarded by mu; nil: the client was shut down
}

// newClient reads the variables of a signal. agent is how this program calls itself to a collector.
func newClient(s signal, agent string) (*client, error) {
	t, err := environment(s).target()
	if err != nil {
		return nil, err
	}
	return &client{
		signal: s, target: t, agent: agent, wait: pause, running: map[*http.Request]context.CancelCauseFunc{},
		http: &http.Client{Timeout: t.timeout, Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          4,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   10 * time.Second,
			ExpectContinueTimeout: time.Second,
			TLSClientConfig:       t.tls,
		}},
	}, nil
}

// shutdown ends what is under way. Nothing is sent after it.
func (c *client) shutdown(ctx context.Context) error {
	c.mu.Lock()
	running := c.running
	c.running = nil
	c.mu.Unlock()
	for _, cancel := range running {
		cancel(errShutdown)
	}
	c.http.CloseIdleConnections()
	return ctx.Err()
}

// send posts a message, and again after a pause when the collector may take it later. An answer that says that a part was
// rejected is an error; that part is not sent again.
func (c *client) send(ctx context.Context, body []byte) error {
	if len(body) > maxRequest {
		return fmt.Errorf("the request has %d bytes, and %d are the most", len(body), maxRequest)
	}
	req, err := c.request(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.mu.Lock()
	if c.running == nil {
		c.mu.Unlock()
		return errShutdown
	}
	c.running[req] = cancel
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.running, req)
		c.mu.Unlock()
	}()
	start, next := clock.Start(), firstPause
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := c.try(ctx, req)
		var later *laterError
		switch {
		case !errors.As(err, &later):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		if took := clock.Since(start); took > tryFor || later.after > tryFor-took {
			return fmt.Errorf("given up after %v: %w", took.Round(time.Millisecond), err)
		}
		// Pauses differ by chance, so that many processes do not come back at once.
		if err := c.wait(ctx, max(later.after, next/2+rand.N(next))); err != nil {
			return fmt.Errorf("%w: %w", err, later)
		}
		next = min(next*3/2, longestWait)
	}
}

// request is what every try sends.
func (c *client) request(body []byte) (*http.Request, error) {
	if c.target.gzip {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(body); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		body = packed.Bytes()
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.target.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", c.agent)
	for name, value := range c.target.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", contentType)
	if c.target.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	return req, nil
}

// A laterError is the failure of a try that may be repeated.
type laterError struct {
	after time.Duration // what the collector asked for at least
	err   error
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// try posts once.
func (c *client) try(ctx context.Context, again *http.Request) error {
	req := again.WithContext(ctx)
	var err error
	if req.Body, err = again.GetBody(); err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) && at.Temporary() {
			return &laterError{err: err}
		}
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return err
	}
	if len(answer) > maxResponse {
		return fmt.Errorf("%s answered more than %d bytes", c.target.url, maxResponse)
	}
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return c.signal.rejected(resp.Header.Get("Content-Type"), answer)
	}
	text := truncate.Head(strings.TrimSpace(string(answer)), maxExcerpt)
	if text == "" {
		text = "(empty)"
	}
	err = fmt.Errorf("send to %s: %s (body: %s)", c.target.url, resp.Status, text)
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &laterError{after: retryAfter(resp.Header.Get("Retry-After"), clock.Start()), err: err}
	}
	return err
}

// retryAfter reads a number of seconds or a date. What is neither asks for nothing.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return time.Duration(min(n, int64(time.Hour/time.Second))) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// pause waits, or returns why it must not.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
