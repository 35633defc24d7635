// Package model owns the conversation with a language model: one request, one answer, whichever service gives it. It
// turns the services' own formats into one, streams what arrives, gives every wait a deadline and every failure a kind.
// It does not retry, does not run tools and does not decide when a conversation ends: that is the loop's.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
)

// A Client asks one service. It may be used by several goroutines.
type Client interface {
	// Stream asks for one answer. Deltas arrive as they come, on the caller's goroutine; the Response is whole when it
	// returns. An error is an *Error, unless ctx ended: then it is the cause of ctx. With an error there is no Response,
	// whatever deltas came before it. on may be nil.
	Stream(ctx context.Context, req Request, on func(Delta)) (Response, error)
}

// The roles of a Message.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// A Request is everything that a model is given.
type Request struct {
	Model     string
	System    string
	Messages  []Message
	Tools     []Tool
	MaxOutput int // tokens; 0: the service's own bound, or DefaultMaxOutput where the service demands one
}

// A Message is one side's contribution. Results of tools are blocks of a user message.
type Message struct {
	Role   string  `json:"role"`
	Blocks []Block `json:"blocks"`
}

// A Block is one part of a message. Exactly one of Text, Call, Result and Opaque is set. Conversations are kept as JSON
// and read back, so a Block must survive that unchanged.
type Block struct {
	Text   string  `json:"text,omitempty"`
	Call   *Call   `json:"call,omitempty"`
	Result *Result `json:"result,omitempty"`

	// Opaque is a part of the service's own, such as signed thinking, that goes back to the same service unchanged.
	// Clients leave out what is of another service's kind.
	Opaque     json.RawMessage `json:"opaque,omitempty"`
	OpaqueKind string          `json:"opaque_kind,omitempty"`
}

// A Call asks for a tool.
type Call struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"` // always valid JSON; see Malformed
}

// malformedMember is the only member of the input of a call whose arguments could not be read.
const malformedMember = "deed_malformed_arguments"

// wrapInput returns arguments as they came when they are a JSON object, an empty object when there are none, and
// otherwise an object that carries them as text, so that the call can be answered and the conversation goes on.
func wrapInput(arguments string) json.RawMessage {
	trimmed := strings.TrimSpace(arguments)
	if trimmed == "" {
		return json.RawMessage("{}")
	}
	if trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	wrapped, err := json.Marshal(map[string]string{malformedMember: arguments})
	if err != nil { // a map of strings always encodes
		return json.RawMessage("{}")
	}
	return wrapped
}

// Malformed returns what the model wrote when the arguments of the call are not a JSON object. Such a call is answered
// with a failure that says so, never carried out.
func (c Call) Malformed() (raw string, malformed bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(c.Input, &members) != nil || members == nil {
		return string(c.Input), true
	}
	value, ok := members[malformedMember]
	if !ok || len(members) != 1 || json.Unmarshal(value, &raw) != nil {
		return "", false
	}
	return raw, true
}

// A Result answers a Call.
type Result struct {
	CallID string `json:"call_id"`
	Output string `json:"output"`
	Failed bool   `json:"failed,omitempty"`
}

// A Tool is something that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // a JSON Schema of type object
}

// A Delta is a piece of an answer that is still being written. One of its members is set.
type Delta struct {
	Text     string
	Thinking string
	Call     *Call // as soon as its name is known; its input is not yet
}

// Why an answer ended.
const (
	StopEnd     = "end"     // the model has finished its answer
	StopTools   = "tools"   // it waits for the results of its calls
	StopLength  = "length"  // it ran into the bound on output, or the window is full
	StopRefused = "refused" // the model or a filter of the service refused
)

// A Response is one whole answer.
type Response struct {
	Blocks []Block // of the assistant's message, in order
	Stop   string
	Usage  agentruntime.Usage
	Served string // the model that answered, as the service names it
	ID     string // of the answer, as the service names it
}

// Message returns the answer as a message of the conversation.
func (r Response) Message() Message { return Message{Role: RoleAssistant, Blocks: r.Blocks} }

// Text returns all text of the answer.
func (r Response) Text() string {
	var parts []string
	for _, b := range r.Blocks {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Calls returns the tool calls of the answer.
func (r Response) Calls() []Call {
	var calls []Call
	for _, b := range r.Blocks {
		if b.Call != nil {
			calls = append(calls, *b.Call)
		}
	}
	return calls
}

// A Kind says what an Error means to the caller.
type Kind string

// The kinds.
const (
	KindAuth           Kind = "auth"             // the key is missing, wrong, or not allowed to use this
	KindRateLimited    Kind = "rate_limited"     // asked too often, or a quota is used up
	KindOverloaded     Kind = "overloaded"       // the service has no capacity now
	KindServer         Kind = "server"           // the service failed
	KindContextTooLong Kind = "context_too_long" // the conversation does not fit into the model's window
	KindBadRequest     Kind = "bad_request"      // the service refuses the request as it is
	KindCut            Kind = "cut"              // the answer ended in the middle
	KindTimeout        Kind = "timeout"          // nothing came for too long
	KindUnreachable    Kind = "unreachable"      // no connection
	KindGarbage        Kind = "garbage"          // what came is not an answer, or is larger than any answer may be
)

// retryable holds the kinds for which the same request may succeed later.
var retryable = map[Kind]bool{
	KindRateLimited: true, KindOverloaded: true, KindServer: true, KindCut: true,
	KindTimeout: true, KindUnreachable: true, KindGarbage: true,
}

// An Error is a request that got no answer. It carries no key and no more than the beginning of what the service said.
type Error struct {
	Kind       Kind
	Status     int // of HTTP; 0 when there was none
	Message    string
	RetryAfter time.Duration // how long the service asks to wait; 0: it does not say
	Final      bool          // the service says that the same request will not succeed later
}

func (e *Error) Error() string {
	s := "model: " + strings.ReplaceAll(string(e.Kind), "_", " ")
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool { return retryable[e.Kind] && !e.Final }

// Is makes errors.Is compare kinds: errors.Is(err, &Error{Kind: KindAuth}).
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && *t == Error{Kind: t.Kind} && e.Kind == t.Kind
}

// KindOf returns the kind of an error, and "" for one that did not come from a Client.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
