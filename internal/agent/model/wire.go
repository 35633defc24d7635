package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
)

const (
	// userAgent is how deed names itself to a service.
	userAgent = "deed"
	// acceptJSON is what Anthropic and OpenAI are asked for, although they answer with a stream: their own packages do so.
	acceptJSON = "application/json"
	// eventStream is what they answer with.
	eventStream = "text/event-stream"
)

// A question is a request on its way to a service.
type question struct {
	accept  string // the media type of an answer
	path    string // below the service's address
	headers map[string]string
	body    []byte
	// read puts the answer together. complete says whether its own end was seen.
	read func(*call, io.Reader) (complete bool, err error)
}

// ask sends a question and has its answer read. What goes wrong has its meaning when it returns.
func (o Options) ask(ctx context.Context, q question) error {
	call := o.begin(ctx, q.accept)
	defer call.end()
	resp, err := call.post(q.path, q.body, q.headers)
	if err != nil {
		return call.outcome(err, false)
	}
	defer func() { _ = resp.Body.Close() }()
	complete, err := q.read(call, resp.Body)
	return call.outcome(err, complete)
}

// post sends a request below the service's address, with headers of the service's own.
func (c *call) post(path string, body []byte, headers map[string]string) (*http.Response, error) {
	target, err := c.options.endpoint(path)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	req, err := http.NewRequestWithContext(c.ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	return c.Do(req)
}

// bearer is what authenticates a request to all services but Anthropic. accept is the media type that they are asked for.
func (o Options) bearer(accept string) map[string]string {
	headers := map[string]string{"Accept": accept}
	if o.Key != "" {
		headers["Authorization"] = "Bearer " + o.Key
	}
	return headers
}

// endpoint is the address of a path below the base URL.
func (o Options) endpoint(path string) (string, error) {
	base, err := url.Parse(o.BaseURL + "/")
	if err != nil {
		return "", err
	}
	target, err := base.Parse(path)
	if err != nil {
		return "", err
	}
	return target.String(), nil
}

// encode writes a request. Signs such as < stay as they are: a conversation is full of them, and no browser reads it.
func encode(request any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(request); err != nil {
		return nil, &Error{Kind: KindBadRequest, Message: "the conversation cannot be written as JSON: " + err.Error()}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decode reads a piece of an answer. A value of another type than expected is left out, and what else the piece says still
// counts: many services are only nearly compatible.
func decode(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// A looseText is a text as services write it: for some of them an identifier is a number, and the arguments of a call are
// an object. What is no string is kept as its JSON.
type looseText string

// UnmarshalJSON never fails.
func (t *looseText) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil { // null, too: it has no value
		*t = looseText(text)
		return nil
	}
	*t = looseText(data)
	return nil
}

// A looseInt is a whole number as services write it, which may be a string or have a fraction.
type looseInt int64

// UnmarshalJSON never fails: what is not a number is 0, and what is too large becomes a number outside any real range.
func (n *looseInt) UnmarshalJSON(data []byte) error {
	text := string(data)
	if unquoted := ""; json.Unmarshal(data, &unquoted) == nil {
		text = unquoted
	}
	*n = 0
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		*n = looseInt(whole)
	} else if f, _ := strconv.ParseFloat(text, 64); !math.IsNaN(f) {
		*n = looseInt(max(min(f, 1<<62), -1<<62))
	}
	return nil
}

// isObject reports whether a value that was read is an object.
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// setMember puts a value in the place of an object's member of that name, or behind the last one. The others stay as
// they are, byte for byte: a service may have signed them.
func setMember(object json.RawMessage, name string, value []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return object
	}
	members := 0
	for ; d.More(); members++ {
		key, err := d.Token()
		if err != nil {
			return object
		}
		var old json.RawMessage
		if err := d.Decode(&old); err != nil {
			return object
		}
		if end := int(d.InputOffset()); key == name {
			return bytes.Join([][]byte{object[:end-len(old)], value, object[end:]}, nil)
		}
	}
	last := int(d.InputOffset()) // behind the last member
	quoted, err := json.Marshal(name)
	if err != nil {
		return object
	}
	member := append(append(quoted, ':'), value...)
	if members > 0 {
		member = append([]byte{','}, member...)
	}
	return bytes.Join([][]byte{object[:last], member, object[last:]}, nil)
}
