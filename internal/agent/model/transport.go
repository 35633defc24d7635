package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxErrorBody is how much is read of an answer that is an error.
const maxErrorBody = 64 << 10

// Why a call was given up by its own watch.
var (
	errNoHeaders = errors.New("no answer began within the time limit")
	errIdle      = errors.New("the answer stood still for longer than the time limit")
	errTooLarge  = errors.New("the answer is larger than any answer may be")
)

// A call is one request on the wire. It stands below the clients of all services: deadlines, bounds and the meaning of
// failures are the same for all of them.
type call struct {
	options Options
	accept  string // the media type of an answer

	ctx    context.Context //nolint:containedctx // it is this call's own, made in begin and ended in end
	cancel context.CancelCauseFunc
	parent context.Context //nolint:containedctx // to tell the caller's end from the watch's
	timer  *time.Timer
	begun  atomic.Bool // the answer has

	mu     sync.Mutex
	failed error // the first failure of the body
}

// begin starts the watch. The caller must call end.
func (o Options) begin(ctx context.Context, accept string) *call {
	c := &call{options: o, accept: accept, parent: ctx}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.timer = time.AfterFunc(o.HeaderTimeout, func() {
		if c.begun.Load() {
			c.cancel(errIdle)
			return
		}
		c.cancel(errNoHeaders)
	})
	return c
}

func (c *call) end() {
	c.timer.Stop()
	c.cancel(nil)
}

// Do sends the request. Everything but the beginning of an answer is an error, so that no client gets to interpret it.
func (c *call) Do(req *http.Request) (*http.Response, error) {
	resp, err := c.options.HTTPClient.Do(req.WithContext(c.ctx))
	if err != nil {
		return nil, c.unreached(err)
	}
	body := &watchedBody{call: c, body: resp.Body, left: c.options.MaxResponse}
	resp.Body = body
	c.begun.Store(true)
	c.timer.Reset(c.options.IdleTimeout)
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 300:
		defer func() { _ = body.Close() }()
		return nil, c.refused(resp)
	case media != c.accept:
		defer func() { _ = body.Close() }()
		return nil, c.strange(resp, media)
	}
	return resp, nil
}

// unreached is the error for a request that got no answer.
func (c *call) unreached(err error) error {
	if over := c.over(); over != nil {
		return over
	}
	return &Error{Kind: KindUnreachable, Message: c.clean(err.Error())}
}

// over reports whether the call was ended, by the caller or by the watch.
func (c *call) over() error {
	if c.parent.Err() != nil {
		return context.Cause(c.parent)
	}
	if c.ctx.Err() != nil {
		return &Error{Kind: KindTimeout, Message: c.timeout()}
	}
	return nil
}

func (c *call) timeout() string {
	cause := context.Cause(c.ctx)
	limit := c.options.IdleTimeout
	if errors.Is(cause, errNoHeaders) {
		limit = c.options.HeaderTimeout
	}
	return fmt.Sprintf("%v (%v)", cause, limit)
}

// refused makes an error of an answer that is one.
func (c *call) refused(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if over := c.over(); err != nil && over != nil {
		return over
	}
	e := describe(resp.StatusCode, parseFault(body))
	if resp.StatusCode < 400 {
		e.Kind = KindBadRequest
		e.Message = "the service redirects to " + oneLine([]byte(resp.Header.Get("Location"))) + ": set the base URL to where it is"
	}
	e.Message = c.clean(e.Message)
	e.RetryAfter = retryAfter(resp.Header, c.options.Clock())
	applyShouldRetry(e, resp.Header.Get("X-Should-Retry"))
	return e
}

// strange makes an error of an answer in a form that no service gives.
func (c *call) strange(resp *http.Response, media string) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if over := c.over(); err != nil && over != nil {
		return over
	}
	if media == "" {
		media = "of no media type"
	}
	return &Error{
		Kind: KindGarbage, Status: resp.StatusCode,
		Message: c.clean(fmt.Sprintf("the answer is %s, not %s: %s", media, c.accept, oneLine(body))),
	}
}

// outcome gives a failure to read an answer its meaning. complete says whether the answer's own end was seen.
func (c *call) outcome(err error, complete bool) error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	if over := c.over(); over != nil && (err != nil || !complete) {
		return over
	}
	c.mu.Lock()
	failed := c.failed
	c.mu.Unlock()
	switch {
	case errors.Is(failed, errTooLarge):
		return &Error{Kind: KindGarbage, Message: fmt.Sprintf("%v (%d bytes)", errTooLarge, c.options.MaxResponse)}
	case complete:
		return nil // what comes after the end is of no interest
	case failed != nil:
		return &Error{Kind: KindCut, Message: c.clean("the answer ended in the middle: " + failed.Error())}
	case err != nil:
		return &Error{Kind: KindGarbage, Message: c.clean("the answer cannot be read: " + err.Error())}
	}
	return &Error{Kind: KindCut, Message: "the answer ended in the middle"}
}

// serviceError makes an error from a failure that a service reports within an answer that had begun.
func (c *call) serviceError(f fault) error {
	e := describe(0, f)
	e.Message = c.clean(e.Message)
	return e
}

// clean keeps the key out of a text, and the text short.
func (c *call) clean(text string) string {
	if len(c.options.Key) >= 4 {
		text = strings.ReplaceAll(text, c.options.Key, "[key]")
	}
	return oneLine([]byte(text))
}

// A watchedBody bounds an answer in size and in the time between its pieces.
type watchedBody struct {
	call *call
	body io.ReadCloser
	left int64
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.fail(errTooLarge)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.body.Read(p)
	b.left -= int64(n)
	if n > 0 {
		b.call.timer.Reset(b.call.options.IdleTimeout)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, b.fail(err)
	}
	return n, err //nolint:wrapcheck // io.EOF must stay what it is
}

func (b *watchedBody) fail(err error) error {
	b.call.mu.Lock()
	defer b.call.mu.Unlock()
	if b.call.failed == nil {
		b.call.failed = err
	}
	return err
}

func (b *watchedBody) Close() error { return b.body.Close() }
