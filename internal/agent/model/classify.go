package model

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/truncate"
)

// maxMessage is how much of a service's own words an Error repeats.
const maxMessage = 500

// maxRetryAfter bounds what a service can ask for: more is no instant that anyone waits for.
const maxRetryAfter = 30 * 24 * time.Hour

// statusOverloaded is what Anthropic answers when it has no room.
const statusOverloaded = 529

// byStatus is what a status means if the body has no further information.
func byStatus(status int) Kind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusPaymentRequired:
		return KindAuth
	case http.StatusRequestEntityTooLarge:
		return KindContextTooLong
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return KindTimeout
	case http.StatusConflict:
		return KindServer // the services' own SDKs try it again
	case http.StatusTooManyRequests:
		return KindRateLimited
	case http.StatusServiceUnavailable, statusOverloaded:
		return KindOverloaded
	}
	if status >= 500 {
		return KindServer
	}
	return KindBadRequest
}

// tooLong are the words by which services say that a conversation does not fit. They are looked at last, and only in
// answers that refuse the request.
var tooLong = []string{
	"prompt is too long", "exceed context limit", "exceeds the context window", "exceeds context window",
	"maximum context length", "context length exceeded", "exceeds the context length", "context_length_exceeded",
	"exceeds the available context size", "exceeds maximum context", "input is too long", "too many tokens in prompt",
	"exceeds the maximum number of tokens", "maximum prompt length",
}

func saysTooLong(kind Kind, text string) bool {
	if kind != KindBadRequest && kind != KindServer {
		return false
	}
	text = strings.ToLower(text)
	for _, words := range tooLong {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// A fault is what services write into the body of an error, in all of its spellings.
type fault struct {
	Code    string
	Type    string
	Message string
}

// parseFault reads {"error": {...}}, {"error": "text"} and an object without that envelope. A body of another form is its own
// message.
func parseFault(body []byte) fault {
	var envelope struct {
		Error   json.RawMessage `json:"error"`
		Code    json.RawMessage `json:"code"`
		Type    string          `json:"type"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(body, &envelope) != nil {
		return fault{Message: oneLine(body)}
	}
	if len(envelope.Error) == 0 || string(envelope.Error) == "null" {
		return fault{Code: codeText(envelope.Code), Type: envelope.Type, Message: orText(envelope.Message, oneLine(body))}
	}
	var text string
	if json.Unmarshal(envelope.Error, &text) == nil {
		return fault{Code: codeText(envelope.Code), Message: text}
	}
	var inner struct {
		Code    json.RawMessage `json:"code"`
		Type    string          `json:"type"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(envelope.Error, &inner) != nil {
		return fault{Message: oneLine(body)}
	}
	return fault{Code: codeText(inner.Code), Type: inner.Type, Message: orText(inner.Message, oneLine(body))}
}

// codeText reads a code, which is a string with some services and a number with others.
func codeText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return ""
}

func orText(text, fallback string) string {
	if text != "" {
		return text
	}
	return fallback
}

// kinds are the meanings of codes and types of errors, for all services: none of them uses another's word differently.
var kinds = map[string]Kind{
	// Anthropic
	"invalid_request_error": KindBadRequest,
	"authentication_error":  KindAuth,
	"permission_error":      KindAuth,
	"billing_error":         KindAuth,
	"not_found_error":       KindBadRequest,
	"request_too_large":     KindContextTooLong,
	"rate_limit_error":      KindRateLimited,
	"api_error":             KindServer,
	"timeout_error":         KindTimeout,
	"overloaded_error":      KindOverloaded,
	// OpenAI
	"context_length_exceeded":   KindContextTooLong,
	"string_above_max_length":   KindContextTooLong,
	"invalid_api_key":           KindAuth,
	"rate_limit_exceeded":       KindRateLimited,
	"insufficient_quota":        KindRateLimited,
	"server_error":              KindServer,
	"server_is_overloaded":      KindOverloaded,
	"slow_down":                 KindOverloaded,
	"invalid_prompt":            KindBadRequest,
	"model_not_found":           KindBadRequest,
	"unsupported_parameter":     KindBadRequest,
	"data_residency_mismatch":   KindBadRequest,
	"vector_store_timeout":      KindTimeout,
	"engine_overloaded_error":   KindOverloaded,
	"tokens_limit_reached":      KindContextTooLong, // services that are compatible
	"exceed_context_size_error": KindContextTooLong,
}

// classify gives an error its kind: by its code, then its type, then the status, and by its words last. A status of 0 is
// an error within an answer that had begun.
func classify(status int, f fault) Kind {
	kind, known := kinds[f.Code]
	if !known {
		kind, known = kinds[f.Type]
	}
	if !known || kind == KindBadRequest || kind == KindServer {
		// General words such as "invalid_request_error" stand on many statuses, which then say more.
		switch {
		case status != 0:
			kind = byStatus(status)
		case !known:
			kind = KindServer
		}
	}
	if saysTooLong(kind, f.Message) {
		return KindContextTooLong
	}
	return kind
}

// describe makes an Error from a service's response. Its message is not yet cleaned.
func describe(status int, f fault) *Error {
	message := f.Message
	if f.Code != "" && !strings.Contains(message, f.Code) {
		message = f.Code + ": " + message
	}
	return &Error{
		Kind: classify(status, f), Status: status, Message: message,
		Final: f.Code == "insufficient_quota", // waiting brings no money
	}
}

// Class is what a failure means to the task whose agent asked, with a remedy where the operator has one. It is the same for
// a service that deed asks itself and for one that an agent's own program asks (agentcli.ServiceFailure).
func (e *Error) Class() (class failure.Class, remedy string) {
	switch {
	case e.Status == http.StatusPaymentRequired:
		return failure.RateLimited, "check the plan and its billing"
	case e.Kind == KindAuth:
		return failure.Config, "check the key and what it may use"
	case e.Status == http.StatusNotFound:
		return failure.Config, "check the model and the address of its service"
	case e.Kind == KindRateLimited, e.Status == statusOverloaded:
		return failure.RateLimited, ""
	}
	return failure.Provider, ""
}

// retryAfter reads how long a service asks to wait: retry-after-ms, or Retry-After as seconds or as a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return bounded(ms, time.Millisecond)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return bounded(seconds, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return min(at.Sub(now), maxRetryAfter)
	}
	return 0
}

func bounded(n float64, unit time.Duration) time.Duration {
	if !(n > 0) { // NaN too
		return 0
	}
	if n >= float64(maxRetryAfter/unit) {
		return maxRetryAfter
	}
	return time.Duration(n * float64(unit))
}

// applyShouldRetry heeds the header by which both Anthropic and OpenAI overrule what a status means to their own SDKs.
func applyShouldRetry(e *Error, value string) {
	switch {
	case value == "false":
		e.Final = true
	case value == "true" && e.Kind == KindBadRequest:
		e.Kind = KindServer
	}
}

// oneLine is the beginning of a text, on one line and printable.
func oneLine(text []byte) string {
	if len(text) > 4*maxMessage {
		text = text[:4*maxMessage]
	}
	s := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(string(text), "?"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	return truncate.Head(s, maxMessage)
}
