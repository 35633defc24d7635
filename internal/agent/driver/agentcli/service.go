package agentcli

import (
	"errors"
	"iter"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
)

// statusOverloaded is what Anthropic answers when it has no room.
const statusOverloaded = 529

// ServiceFailure is the failure of an agent whose model's service failed: status is that of HTTP, 0 when it is not known.
// A refused key or an unknown model is the operator's to change, and no second try helps.
func ServiceFailure(kind string, status int, message string, retryAfter time.Duration) *failure.Error {
	message = driver.Shorten(strings.TrimSpace(message))
	if message == "" {
		message = "no reason is told"
		if text := http.StatusText(status); text != "" {
			message = strconv.Itoa(status) + " " + text
		}
	}
	class, remedy := failure.Provider, ""
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		class, remedy = failure.Config, "check the key: the adapter's env or env_file has it, or the task names it, as with --secret"
	case http.StatusNotFound:
		class, remedy = failure.Config, "check the model and the address of its service"
	case http.StatusTooManyRequests, statusOverloaded:
		class = failure.RateLimited
	case http.StatusPaymentRequired:
		class, remedy = failure.RateLimited, "check the plan and its billing"
	}
	f := failure.New(class, "ask the model of "+kind, errors.New(message), remedy)
	if class == failure.RateLimited {
		f.RetryAfter = retryAfter
	}
	return f
}

// quotaWords are how services say that there was too much, without a status.
var quotaWords = []string{"quota exceeded", "usage limit", "insufficient_quota", "rate limit"}

// loginWords are how CLIs say that they have no key and want a person to log in. Here there is no person.
var loginWords = []string{"please run /login", "not logged in", "invalid api key", "missing environment variable"}

// StatusIn finds an HTTP status in a message, for CLIs that report it only as text: "status 429", "error code: 500".
// Words of a quota count as 429, and those of a missing key as 401.
func StatusIn(message string) int {
	message = strings.ToLower(message)
	for rest := range following(message, "status", "error") {
		rest = strings.TrimLeft(strings.TrimPrefix(rest, " code"), ": ")
		digits := leading(rest, "0123456789")
		if n, err := strconv.Atoi(digits); err == nil && n >= 400 && n < 600 {
			return n
		}
	}
	if slices.ContainsFunc(loginWords, func(w string) bool { return strings.Contains(message, w) }) {
		return http.StatusUnauthorized
	}
	if slices.ContainsFunc(quotaWords, func(w string) bool { return strings.Contains(message, w) }) {
		return http.StatusTooManyRequests
	}
	return 0
}

// units are those of a wait, longer names of a unit begin with the same letters.
var units = []struct {
	name string
	unit time.Duration
}{{"ms", time.Millisecond}, {"milli", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}}

// WaitIn finds how long a message asks to wait: "try again in 20s", "retry after 1.5 hours".
func WaitIn(message string) time.Duration {
	for rest := range following(strings.ToLower(message), "again", "retry", "wait") {
		for _, word := range []string{" after", " in", " for"} {
			rest = strings.TrimPrefix(rest, word)
		}
		rest = strings.TrimLeft(rest, ": ~")
		number := leading(rest, "0123456789.")
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || n > 1e6 {
			continue
		}
		rest = strings.TrimLeft(rest[len(number):], " ")
		for _, u := range units {
			if strings.HasPrefix(rest, u.name) {
				return time.Duration(n * float64(u.unit))
			}
		}
	}
	return 0
}

// following yields what follows each occurrence of the words.
func following(text string, words ...string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, w := range words {
			for rest := text; ; {
				_, after, found := strings.Cut(rest, w)
				if !found {
					break
				}
				if !yield(after) {
					return
				}
				rest = after
			}
		}
	}
}

// leading is the beginning of a text that consists of the given characters.
func leading(text, of string) string {
	return text[:len(text)-len(strings.TrimLeft(text, of))]
}

// HostPort returns the host of a URL as host:port.
func HostPort(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "", failure.New(failure.Config, "read the address of the model", errors.New(strconv.Quote(address)+" is no http or https URL"), "write https://host/path")
	}
	port := u.Port()
	if port == "" {
		port = "443"
		if u.Scheme == "http" {
			port = "80"
		}
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// Minus returns what was used between two running totals. A total that went down was reset.
func Minus(now, before Totals) Totals {
	if now.Input < before.Input || now.Output < before.Output || now.Cached < before.Cached || now.Written < before.Written || now.Reasoning < before.Reasoning {
		return now
	}
	return Totals{now.Input - before.Input, now.Cached - before.Cached, now.Written - before.Written, now.Output - before.Output, now.Reasoning - before.Reasoning}
}

// Totals are running counts of tokens, for CLIs that report them.
type Totals struct {
	Input     int64 `json:"input,omitempty"`
	Cached    int64 `json:"cached,omitempty"`
	Written   int64 `json:"written,omitempty"`
	Output    int64 `json:"output,omitempty"`
	Reasoning int64 `json:"reasoning,omitempty"`
}
