package model

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

// Bounds that hold if Options does not set them.
const (
	// DefaultHeaderTimeout is long because some services answer only when the model is loaded and has read the prompt.
	DefaultHeaderTimeout = 5 * time.Minute
	DefaultIdleTimeout   = 5 * time.Minute
	DefaultMaxResponse   = 64 << 20 // bytes of one answer on the wire
	DefaultMaxOutput     = 16 << 10 // tokens, for services that demand a bound
)

// The services' own addresses, used when Options has none.
const (
	AnthropicURL = "https://api.anthropic.com"
	OpenAIURL    = "https://api.openai.com/v1"
	OllamaURL    = "http://127.0.0.1:11434"
)

// Options say where a service is and how long to wait for it.
type Options struct {
	// BaseURL as the service's own SDK takes it: for Anthropic and Ollama without /v1, for OpenAI with it. Empty: the
	// service's own address. No other address is ever talked to: redirects are refused, since they would carry the key.
	BaseURL string
	Key     string // empty: none is sent

	// HTTPClient replaces deed's own. It must not retry. Deadlines, bounds and the refusal of redirects hold with any.
	HTTPClient *http.Client
	Clock      clock.Clock // for a Retry-After that is a date; nil: clock.System

	HeaderTimeout time.Duration // from the request to the beginning of its answer; 0: DefaultHeaderTimeout
	IdleTimeout   time.Duration // between two pieces of an answer; 0: DefaultIdleTimeout
	MaxResponse   int64         // bytes; 0: DefaultMaxResponse
	Window        int           // tokens that the model is loaded with, for Ollama; 0: the server's default
}

// defaultHTTPClient goes through a proxy only where the standard variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY of deed's
// own environment say so, and never for loopback. All clients share its connections.
var defaultHTTPClient = &http.Client{
	Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConnsPerHost:   8,
		ForceAttemptHTTP2:     true,
	},
}

// resolve checks the options and fills in what is not set.
func (o Options) resolve(service, defaultURL string) (Options, error) {
	if o.BaseURL == "" {
		o.BaseURL = defaultURL
	}
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil:
		var parse *url.Error
		if errors.As(err, &parse) { // the text of a url.Error repeats the URL, which may hold a password
			err = parse.Err
		}
		return o, fmt.Errorf("base URL of %s: %w: give it as http(s)://host[:port][/path]", service, err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return o, fmt.Errorf("base URL %q of %s: give it as http(s)://host[:port][/path], without user, query or fragment",
			u.Redacted(), service)
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	if strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return o, fmt.Errorf("key of %s: it has a space, a line end or another character that cannot be in a header", service)
	}
	if o.HTTPClient == nil {
		o.HTTPClient = defaultHTTPClient
	}
	own := *o.HTTPClient
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.HTTPClient = &own
	if o.Clock == nil {
		o.Clock = clock.System
	}
	o.HeaderTimeout = orDefault(o.HeaderTimeout, DefaultHeaderTimeout)
	o.IdleTimeout = orDefault(o.IdleTimeout, DefaultIdleTimeout)
	o.MaxResponse = orDefault(o.MaxResponse, DefaultMaxResponse)
	return o, nil
}

func orDefault[T ~int | ~int64](value, fallback T) T {
	if value > 0 {
		return value
	}
	return fallback
}
