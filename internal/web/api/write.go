package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

const (
	keyLease = 2 * time.Minute // a request that has not ended by then has been cut short: the server ends it long before
	keyKeep  = 24 * time.Hour  // how long an answer is kept for its key
	maxKept  = 64 << 10        // bytes of an answer that is kept
)

// A write with an Idempotency-Key is done once:
//
//	begun ──act──► acted ──► done   the same key and the same request get the same answer, and another request is refused
//	  │              └── cut short  what was asked has happened: the next try is answered that it is done
//	  └── cut short (SIGKILL)       nothing has happened: the next try does it
//
// The mark "begun" is on the disk before the act, and "acted" is written in the act's own transaction, so that no crash makes an
// act happen twice or never. An operation that is repeatable has no such mark: cut short, it is done again, which changes nothing.
func (a *API) serveWrite(w http.ResponseWriter, r *http.Request, op *operation) error {
	body, err := readBody(w, r, op.bound())
	if err != nil {
		return err
	}
	if len(op.accepts) == 0 {
		if err := jsonBody(r, body); err != nil {
			return err
		}
	}
	key := r.Header.Get("Idempotency-Key")
	if key == "" || op.unnamed {
		return a.actIf(r.Context(), w, r, op, body)
	}
	if err := goodKey(key); err != nil {
		return err
	}
	id := keyID(r.Context(), key)
	digest := requestDigest(r, body)
	terms := store.RequestTerms{Lease: keyLease, Since: a.Since, Keep: keyKeep}
	seen, fresh, err := a.Store.BeginRequest(r.Context(), store.Request{Key: id, Digest: digest}, terms)
	if err != nil {
		return err
	}
	if !fresh {
		return a.again(w, op, seen, digest)
	}
	crashpoint.Hit(crashpoint.RequestBegun)
	rec := &recorder{header: w.Header()}
	ctx := withKey(r.Context(), id)
	if !op.repeatable {
		ctx = store.ForRequest(ctx, id)
	}
	if err := a.actIf(ctx, rec, r, op, body); err != nil {
		rec.reset()
		a.refuse(rec, r, op, err)
	}
	crashpoint.Hit(crashpoint.RequestActed)
	// The answer is kept even when the client has gone: it is what its next try gets.
	end := context.WithoutCancel(r.Context())
	if rec.status >= http.StatusInternalServerError || rec.status == http.StatusPreconditionFailed { // the next try may have seen more
		err = a.Store.DropRequest(end, id)
	} else {
		err = a.Store.FinishRequest(end, id, rec.status, rec.kept())
	}
	if err != nil {
		a.Log.Error("api: keep the answer of an idempotency key", "operation", op.id, "error", err)
	}
	crashpoint.Hit(crashpoint.RequestKept)
	rec.copyTo(w)
	return nil
}

// again answers a request whose key was used before.
func (a *API) again(w http.ResponseWriter, op *operation, seen store.Request, digest string) error {
	switch {
	case seen.Digest != digest:
		return httperror.New(http.StatusUnprocessableEntity, "key_reused", "this Idempotency-Key was used for another request; use a new key for a new request")
	case !seen.Acted:
		p := httperror.New(http.StatusConflict, "in_progress", "a request with this Idempotency-Key is under way")
		p.RetryAfter = 1
		return p
	}
	kept := keptAnswer{ContentType: "application/json", Body: []byte(itIsDone)}
	if !seen.Done {
		seen.Status = op.success() // its own answer was lost
	} else if err := json.Unmarshal(seen.Answer, &kept); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Idempotency-Replayed", "true")
	h.Set("Content-Type", kept.ContentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(seen.Status)
	_, _ = w.Write(kept.Body)
	return nil
}

// actIf acts when what the request is about is still as the client saw it. It checks that before the act, which may do more than
// write to the store, and again in the transaction of the act's first write, so that no other change can come between.
func (a *API) actIf(ctx context.Context, w http.ResponseWriter, r *http.Request, op *operation, body []byte) error {
	if want := r.Header.Get("If-Match"); want != "" {
		check := func(ctx context.Context) error { return a.ifMatch(ctx, r, op, want) }
		if err := check(ctx); err != nil {
			return err
		}
		ctx = store.Guarded(ctx, check)
	}
	return op.act(ctx, w, r, body)
}

// ifMatch refuses a write when what it is about is not as the client saw it.
func (a *API) ifMatch(ctx context.Context, r *http.Request, op *operation, want string) error {
	shown := a.byID[op.of]
	if shown == nil {
		return httperror.New(http.StatusBadRequest, "if_match", "If-Match means nothing for this operation: it is about nothing that has an entity tag")
	}
	q := r.Clone(ctx)
	q.URL.RawQuery = ""
	v, err := shown.show(ctx, q)
	if err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if !matches(want, entityTag(append(data, '\n')), false) {
		return httperror.New(http.StatusPreconditionFailed, "changed_meanwhile", "it is not as you saw it (If-Match); read it again")
	}
	return nil
}

// goodKey refuses what is no key: proxies and logs must be able to hold it.
func goodKey(key string) error {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return httperror.New(http.StatusBadRequest, "bad_key", "an Idempotency-Key is of visible ASCII characters, such as a UUID")
		}
	}
	if len(key) > 255 {
		return httperror.New(http.StatusBadRequest, "bad_key", fmt.Sprintf("the Idempotency-Key has %d characters; at most 255 are taken", len(key)))
	}
	return nil
}

// keyID is a key of one caller: two callers may use the same.
func keyID(ctx context.Context, key string) string { return digestOf(access.From(ctx).Name, key) }

func requestDigest(r *http.Request, body []byte) string {
	return digestOf(r.Method, r.URL.Path, r.URL.RawQuery, string(body))
}

func digestOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

type keyContext struct{}

func withKey(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, keyContext{}, id)
}

// keyOf is the id of the request's idempotency key, or "".
func keyOf(ctx context.Context) string {
	id, _ := ctx.Value(keyContext{}).(string)
	return id
}

// itIsDone replaces an answer that was lost, or that is too long to be kept.
const itIsDone = `{"done":true}` + "\n"

// keptAnswer is an answer as it is kept.
type keptAnswer struct {
	ContentType string `json:"content_type"`
	Body        []byte `json:"body"`
}

// A recorder holds an answer until it is kept.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

func (r *recorder) reset() {
	r.status = 0
	r.body.Reset()
}

// kept is the answer as it is kept. One that is too long is replaced by a short one that says that it was done.
func (r *recorder) kept() []byte {
	k := keptAnswer{ContentType: r.header.Get("Content-Type"), Body: r.body.Bytes()}
	if len(k.Body) > maxKept {
		k.Body = []byte(itIsDone)
	}
	text, _ := json.Marshal(k) // a text and bytes
	return text
}

func (r *recorder) copyTo(w http.ResponseWriter) {
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes())
}
