// Package httperror owns how an error is reported to a client over HTTP: as application/problem+json (RFC 9457) to programs and
// as a plain page to browsers. It decides nothing: whoever refuses gives the status, the code and the remedy.
package httperror

import (
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// ContentType is the media type of a problem.
const ContentType = "application/problem+json"

// A Problem is one error as a client sees it. It is an error itself, so that code below a handler can return it.
type Problem struct {
	// Type is a URI for the kind of problem; it is left out where the code says all.
	Type string `json:"type,omitempty"`
	// Title is the same for every problem of a status.
	Title string `json:"title"`
	// Status is the HTTP status.
	Status int `json:"status"`
	// Code is what programs decide on; a code never changes its meaning.
	Code string `json:"code"`
	// Detail says what is wrong here, and what to do about it.
	Detail string `json:"detail,omitempty"`
	// Instance is the path that was asked for.
	Instance string `json:"instance,omitempty"`
	// Faults names each fault of a document that was sent, by its path.
	Faults fault.Faults `json:"faults,omitempty"`

	// RetryAfter is the number of seconds after which to try again; 0: it is not sent.
	RetryAfter int `json:"-"`
}

// New makes a problem. The detail is for the client: it must hold nothing that the client may not know.
func New(status int, code, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// Error returns the code and the detail.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// Of makes a problem of an error: a Problem as it is, the faults of a document with their paths, a body that is too large. Of any
// other error it only reports that there was one; the caller logs it.
func Of(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	if fs := fault.Of(err); fs != nil {
		p = New(http.StatusUnprocessableEntity, "invalid", "the document has faults; nothing was changed")
		p.Faults = fs
		return p
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return New(http.StatusRequestEntityTooLarge, "body_too_large", "the body is larger than "+strconv.FormatInt(large.Limit, 10)+" bytes; nothing was changed")
	}
	return New(http.StatusInternalServerError, "internal", "deed could not answer this request; its log says why")
}

// Write answers a request with the problem of an error: as a page where the client is a browser that looks at a page, as JSON else.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	p := *Of(err)
	if p.Instance == "" {
		p.Instance = r.URL.Path
	}
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified", "Content-Disposition"} {
		h.Del(name) // of the answer that this one replaces
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if ForBrowser(r) {
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(p.Status)
		_, _ = w.Write([]byte(page(p))) // a client that has gone gets nothing
		return
	}
	h.Set("Content-Type", ContentType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

// ForBrowser reports whether the answer is looked at by a person: the path is none of a program's, and HTML is asked for.
func ForBrowser(r *http.Request) bool {
	for _, prefix := range []string{"/api/", "/mcp", "/healthz", "/readyz", "/metrics", "/access/"} {
		if strings.HasPrefix(r.URL.Path, prefix) {
			return false
		}
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// page is the problem as a page without script and style: what it says must be readable before anybody is let in.
func page(p Problem) string {
	return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>` + html.EscapeString(p.Title) + ` · deed</title></head>
<body>
<h1>` + strconv.Itoa(p.Status) + " " + html.EscapeString(p.Title) + `</h1>
<p>` + html.EscapeString(p.Detail) + `</p>
<p><a href="/">Back to deed</a></p>
</body>
</html>
`
}
