package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

// none is the input of an operation that takes none, and the body of one that has none.
type none struct{}

// about describes an operation.
type about struct {
	id, tag    string
	summary    string
	detail     string
	need       access.Role
	status     int           // of a success; 0: 200
	media      string        // of an answer that is not JSON of a Go type
	accepts    []string      // media types of a body that the operation reads itself
	maxBody    int64         // 0: 1 MiB
	timeout    time.Duration // 0: the server's
	stream     bool
	unnamed    bool   // a write that is its own key: it takes no Idempotency-Key
	repeatable bool   // done a second time it changes nothing, and answers in the same way; the others act in one transaction
	of         string // the operation that shows what this one changes; If-Match is about its answer
	optional   bool   // the body may be left out
	position   bool   // the answer says from which event on to follow
	conflicts  bool   // it may be refused because of the state that it finds
}

// An operation is one method on one path.
type operation struct {
	about
	method, path string
	input        reflect.Type // its parameters
	body         reflect.Type // nil: it has none
	answer       reflect.Type // nil: it is not JSON of a type
	// act reads the input and does it. Reads and writes write their answers themselves; see finish.
	act func(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte) error
	// show is set for reads that return a value.
	show func(ctx context.Context, r *http.Request) (any, error)
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

const defaultBody = 1 << 20

func (o *operation) bound() int64 {
	if o.maxBody > 0 {
		return o.maxBody
	}
	return defaultBody
}

func (o *operation) write() bool { return o.method != http.MethodGet }

func (o *operation) success() int {
	if o.status > 0 {
		return o.status
	}
	return http.StatusOK
}

// get adds an operation that reads.
func get[I, O any](a *API, path string, d about, fn func(context.Context, I) (O, error)) {
	op := &operation{about: d, method: http.MethodGet, path: path, input: reflect.TypeFor[I](), answer: reflect.TypeFor[O]()}
	op.show = func(ctx context.Context, r *http.Request) (any, error) {
		in, err := bind[I](r)
		if err != nil {
			return nil, err
		}
		return fn(ctx, in)
	}
	op.act = func(ctx context.Context, w http.ResponseWriter, r *http.Request, _ []byte) error {
		if d.position {
			at, err := a.Feed.Position(ctx) // before the state is read, so that no event after it is missed
			if err != nil {
				return err
			}
			w.Header().Set("Deed-Event-Id", strconv.FormatInt(at, 10))
		}
		v, err := op.show(ctx, r)
		if err != nil {
			return err
		}
		return a.writeJSON(w, r, op.success(), v)
	}
	a.add(op)
}

// post adds an operation that writes. Its body is a JSON document of type B, read strictly.
func post[I, B, O any](a *API, path string, d about, fn func(context.Context, I, B) (O, error)) {
	op := &operation{about: d, method: http.MethodPost, path: path, input: reflect.TypeFor[I](), answer: reflect.TypeFor[O]()}
	if b := reflect.TypeFor[B](); b != reflect.TypeFor[none]() {
		op.body = b
	}
	op.act = func(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte) error {
		in, err := bind[I](r)
		if err != nil {
			return err
		}
		var b B
		empty := len(bytes.TrimSpace(body)) == 0
		if !empty || (op.body != nil && !d.optional) {
			if b, err = schema.Decode[B]("", body); err != nil {
				return err
			}
		}
		v, err := fn(ctx, in, b)
		if err != nil {
			return err
		}
		return a.writeJSON(w, r, op.success(), v)
	}
	a.add(op)
}

// raw adds an operation that writes its own answer. It changes nothing.
func raw[I any](a *API, method, path string, d about, fn func(context.Context, http.ResponseWriter, *http.Request, I) error) {
	op := &operation{about: d, method: method, path: path, input: reflect.TypeFor[I]()}
	op.act = func(ctx context.Context, w http.ResponseWriter, r *http.Request, _ []byte) error {
		in, err := bind[I](r)
		if err != nil {
			return err
		}
		return fn(ctx, w, r, in)
	}
	a.add(op)
}

// handler answers requests for an operation.
func (a *API) handler(op *operation) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if op.write() {
			err = a.serveWrite(w, r, op)
		} else {
			err = op.act(r.Context(), w, r, nil)
		}
		if err != nil {
			a.refuse(w, r, op, err)
		}
	})
}

// refuse answers with the problem of an error, and logs what is deed's own fault.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, op *operation, err error) {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		a.Log.Error("api", "operation", op.id, "path", r.URL.Path, "error", err)
	}
	httperror.Write(w, r, p)
}

// readBody reads a bounded body.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, httperror.New(http.StatusUnsupportedMediaType, "content_encoding", "bodies are taken as they are: send the document without a content encoding")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		return data, nil
	}
	var large *http.MaxBytesError
	if asError(err, &large) {
		return nil, err
	}
	return nil, httperror.New(http.StatusBadRequest, "body_unread", "the body ended before it was whole; nothing was changed")
}

// jsonBody refuses a body that says that it is something else.
func jsonBody(r *http.Request, body []byte) error {
	ct := r.Header.Get("Content-Type")
	if ct == "" || len(body) == 0 {
		return nil
	}
	media, _, _ := strings.Cut(ct, ";")
	if media = strings.TrimSpace(strings.ToLower(media)); media == "application/json" || strings.HasSuffix(media, "+json") {
		return nil
	}
	return httperror.New(http.StatusUnsupportedMediaType, "content_type", "the body is "+strconv.Quote(media)+"; send JSON as application/json")
}

func (a *API) writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.writeBytes(w, r, status, "application/json", append(data, '\n'))
}

// writeBytes answers a read with an entity tag, or with 304 where the client has it already.
func (a *API) writeBytes(w http.ResponseWriter, r *http.Request, status int, media string, data []byte) error {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		tag := entityTag(data)
		h.Set("ETag", tag)
		if matches(r.Header.Get("If-None-Match"), tag, true) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that has gone gets nothing
	return nil
}

// entityTag names an answer by its content.
func entityTag(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// matches reports whether a header of entity tags has one. Reads compare weakly, since a proxy that compresses makes a tag weak.
func matches(header, tag string, weak bool) bool {
	if strings.TrimSpace(header) == "*" {
		return true
	}
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimSpace(part)
		if weak {
			part = strings.TrimPrefix(part, "W/")
		}
		if part == tag {
			return true
		}
	}
	return false
}
