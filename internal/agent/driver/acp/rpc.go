package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// A message is a request, a notification or an answer.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// An rpcError is the error of an answer.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *rpcError) Error() string {
	if len(e.Data) > 0 && string(e.Data) != "null" {
		return fmt.Sprintf("%s (%d): %.500s", e.Message, e.Code, e.Data)
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

// Codes of errors.
const (
	codeAuthRequired   = -32000
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
)

// errGone is the end of a call whose agent is gone.
var errGone = errors.New("the agent ended")

// A wire sends messages and matches answers. What it sends goes into a pipe that the agent's input is fed from: an agent
// that does not read holds up senders until close.
type wire struct {
	senders sync.WaitGroup // what may be held up; it ends with close at the latest
	writing sync.Mutex     // one message at a time
	w       *io.PipeWriter

	mu      sync.Mutex
	next    int64                  // guarded by mu
	pending map[string]pendingCall // guarded by mu; nil: closed
}

type pendingCall struct {
	answer chan message
	seen   func() // called when the answer is read, before anything that follows it; may be nil
}

func newWire() (*wire, *io.PipeReader) {
	r, w := io.Pipe()
	return &wire{w: w, pending: map[string]pendingCall{}}, r
}

func (w *wire) send(m message) error {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	_, err = w.w.Write(append(line, '\n'))
	return err
}

// call sends a request and waits for its answer.
func (w *wire) call(ctx context.Context, method string, params, result any, seen func()) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	w.mu.Lock()
	if w.pending == nil {
		w.mu.Unlock()
		return errGone
	}
	w.next++
	id := strconv.FormatInt(w.next, 10)
	p := pendingCall{make(chan message, 1), seen}
	w.pending[id] = p
	w.mu.Unlock()
	sent := make(chan error, 1)
	w.senders.Go(func() { sent <- w.send(message{ID: json.RawMessage(id), Method: method, Params: raw}) })
	for {
		select {
		case err := <-sent:
			if err != nil {
				return errGone
			}
			sent = nil
		case m, ok := <-p.answer:
			switch {
			case !ok:
				return errGone
			case m.Error != nil:
				return m.Error
			case result == nil:
				return nil
			}
			if err := json.Unmarshal(m.Result, result); err != nil {
				return &unreadable{method, err}
			}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// unreadable is an answer that is not what the protocol says.
type unreadable struct {
	method string
	err    error
}

func (u *unreadable) Error() string { return "the answer to " + u.method + ": " + u.err.Error() }

// notify sends a notification.
func (w *wire) notify(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return w.send(message{Method: method, Params: raw})
}

// reply answers a request of the agent.
func (w *wire) reply(id json.RawMessage, result any, err error) error {
	m := message{ID: id}
	if err == nil {
		m.Result, err = json.Marshal(result)
	}
	if err != nil {
		m.Result = nil
		if !errors.As(err, &m.Error) {
			m.Error = &rpcError{Code: codeInternal, Message: err.Error()}
		}
	}
	return w.send(m)
}

// answered passes an answer to the call that waits for it, and reports whether there is one.
func (w *wire) answered(m message) bool {
	w.mu.Lock()
	p, ok := w.pending[string(m.ID)]
	delete(w.pending, string(m.ID))
	w.mu.Unlock()
	if !ok {
		return false
	}
	if p.seen != nil {
		p.seen()
	}
	p.answer <- m
	return true
}

// closeInput ends the agent's input.
func (w *wire) closeInput() { _ = w.w.Close() }

// close ends everything that waits.
func (w *wire) close() {
	_ = w.w.CloseWithError(errGone)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pending {
		close(p.answer)
	}
	w.pending = nil
}
