package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// Why an answer ends, in the words of a script.
const (
	stopEnd     = "end"
	stopTools   = "tools"
	stopLength  = "length"
	stopRefused = "refused"
)

// created stands for the instant of every answer: the same request gets the same bytes.
const created = 1_700_000_000

// An answer is a step in the agent's own vocabulary.
type answer struct {
	thinking string
	text     string
	calls    []made
	stop     string
	usage    Usage
}

// answer translates a step. What the agent offers no tool for is said in words.
func (s *Server) answer(sc Scenario, step Step, a *ask, prefix string) answer {
	ans := answer{thinking: step.Thinking, text: step.Text, usage: s.usage(sc, step), stop: stopEnd}
	for i, c := range step.calls() {
		call, ok := a.translate(c, orDefault(sc.Workdir, a.workdir()))
		if !ok {
			ans.text = strings.TrimSpace(ans.text + "\n" + c.inWords())
			continue
		}
		mark := prefix + "_"
		if c.Tool == "complete" {
			mark += "done"
		}
		call.id = a.callID(mark, i)
		ans.calls = append(ans.calls, call)
		ans.stop = stopTools
	}
	ans.stop = orDefault(step.Stop, ans.stop)
	return ans
}

func (c Call) inWords() string {
	switch c.Tool {
	case "complete":
		return orDefault(c.Summary, "Done.")
	case "ask":
		return c.Question
	}
	return "(no tool is offered for " + c.Tool + ")"
}

// signature is what stands for the signature or the encryption of thinking. It depends on the text, so that a changed one
// is noticed.
func signature(text string) string {
	return fmt.Sprintf("c2lnbmF0dXJl%08x", len(text)*2654435761%(1<<32))
}

// id is that of an answer.
func (a *ask) id(prefix string) string { return a.callID(prefix+"_", 0) }

// pieces cuts a text into the deltas of a stream.
func pieces(text string) []string {
	const size = 24
	var out []string
	for len(text) > size {
		cut := size
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++
		}
		out = append(out, text[:cut])
		text = text[cut:]
		if len(out) == 64 { // a long text needs no more to be a stream
			break
		}
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// A writer sends one answer.
type writer struct {
	rw     http.ResponseWriter
	ctx    context.Context //nolint:containedctx // that of the request
	server *Server
	api    api
	begun  bool
	seq    int
}

// wait returns false when the client or the server went first.
func (w *writer) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.ctx.Done():
	case <-w.server.ctx.Done():
	}
	return false
}

// hang waits for the client or the server to go, and ends the connection.
func (w *writer) hang() {
	select {
	case <-w.ctx.Done():
	case <-w.server.ctx.Done():
	}
	panic(http.ErrAbortHandler)
}

func (w *writer) begin() {
	if w.begun {
		return
	}
	w.begun = true
	w.rw.Header().Set("Content-Type", w.api.stream)
	w.rw.Header().Set("Cache-Control", "no-store")
	w.rw.WriteHeader(http.StatusOK)
}

func (w *writer) flush() { _ = http.NewResponseController(w.rw).Flush() }

// event sends one event of a stream.
func (w *writer) event(name string, data any) {
	w.begin()
	if name != "" {
		_, _ = fmt.Fprintf(w.rw, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(w.rw, "data: %s\n\n", encode(data))
	w.flush()
}

// line sends one line of a stream.
func (w *writer) line(data any) {
	w.begin()
	_, _ = fmt.Fprintln(w.rw, encode(data))
	w.flush()
}

// fault does what a step without an answer says.
func (w *writer) fault(step Step, a *ask, usage Usage) {
	switch {
	case step.Error != nil:
		w.fail(step)
	case step.Hang == "headers":
		w.hang()
	case step.Garbage == "html":
		w.rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w.rw, "<!doctype html><title>Sign in</title><p>You are not where you think you are.")
	case step.Garbage == "sse":
		w.begin()
		_, _ = fmt.Fprint(w.rw, "event: message\ndata: {\"this is\": not json\n\n: and no end\n\n{]\n")
	default: // cut, or a hang in the middle
		w.api.start(w, a, answer{text: "Let me begin by", usage: usage})
		if step.Hang != "" {
			w.hang()
		}
		panic(http.ErrAbortHandler)
	}
}

func (w *writer) fail(step Step) {
	status, _ := step.status()
	code, message := step.Code, step.Message
	if fmt.Sprint(step.Error) == tooLong {
		code = orDefault(code, tooLong)
		message = orDefault(message, "prompt is too long: 210000 tokens > 200000 maximum")
	}
	if step.RetryAfter != nil {
		w.rw.Header().Set("Retry-After", fmt.Sprint(step.RetryAfter))
	}
	respond(w.rw, status, w.api.fail(status, code, orDefault(message, "scripted error "+fmt.Sprint(status))))
}

// respond sends a whole JSON document.
func respond(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = fmt.Fprintln(rw, encode(body))
}

// object is a JSON object whose members are written by name.
type object = map[string]any

// rawOr is raw JSON, or a fallback when it is not any.
func rawOr(text string, fallback any) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return fallback
}
