package agentcli

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/driver/process"
	"github.com/deedrun/deed/internal/failure"
)

// statusOverloaded is what Anthropic answers when it has no room.
const statusOverloaded = 529

// ServiceFailure is the failure of an agent whose model's service failed: status is that of HTTP, 0 when it is not known.
// A refused key or an unknown model is the operator's to change, and no second try helps.
func ServiceFailure(kind string, status int, message string, retryAfter time.Duration) *failure.Error {
	message = process.Shorten(strings.TrimSpace(message))
	if message == "" {
		message = "no reason is told"
		if text := http.StatusText(status); text != "" {
			message = strconv.Itoa(status) + " " + text
		}
	}
	class, remedy := failure.Provider, ""
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		class, remedy = failure.Config, "check the key that the adapter gives the agent"
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

var (
	statusText = regexp.MustCompile(`(?i)\b(?:status|error)(?: code)?:? ?([45]\d\d)\b`)
	waitText   = regexp.MustCompile(`(?i)(?:try again|retry|wait)(?:ing)?(?: after| in| for)?:? ~?(\d+(?:\.\d+)?) ?(ms|millisecond|s\b|sec|min|m\b|h\b|hour|d\b|day)`)
	quotaText  = regexp.MustCompile(`(?i)\b(quota exceeded|usage limit|insufficient_quota|rate limit)`)
)

// StatusIn finds the status of HTTP in a message, for CLIs that tell it in words only. Words of a quota count as 429.
func StatusIn(message string) int {
	if m := statusText.FindStringSubmatch(message); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	if quotaText.MatchString(message) {
		return http.StatusTooManyRequests
	}
	return 0
}

// WaitIn finds how long a message asks to wait.
func WaitIn(message string) time.Duration {
	m := waitText.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil || n > 1e6 {
		return 0
	}
	unit := time.Second
	switch u := strings.ToLower(m[2]); {
	case strings.HasPrefix(u, "ms") || strings.HasPrefix(u, "milli"):
		unit = time.Millisecond
	case strings.HasPrefix(u, "m"):
		unit = time.Minute
	case strings.HasPrefix(u, "h"):
		unit = time.Hour
	case strings.HasPrefix(u, "d"):
		unit = 24 * time.Hour
	}
	return time.Duration(n * float64(unit))
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
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port, nil
}

// Minus returns what was used between two running totals. A total that went down began anew.
func Minus(now, before Totals) Totals {
	if now.Input < before.Input || now.Output < before.Output || now.Cached < before.Cached || now.Written < before.Written || now.Reasoning < before.Reasoning {
		return now
	}
	return Totals{now.Input - before.Input, now.Cached - before.Cached, now.Written - before.Written, now.Output - before.Output, now.Reasoning - before.Reasoning}
}

// Totals are running counts of tokens, for CLIs that tell these.
type Totals struct {
	Input     int64 `json:"input,omitempty"`
	Cached    int64 `json:"cached,omitempty"`
	Written   int64 `json:"written,omitempty"`
	Output    int64 `json:"output,omitempty"`
	Reasoning int64 `json:"reasoning,omitempty"`
}
