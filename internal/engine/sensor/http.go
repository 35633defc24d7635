package sensor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/deedrun/deed/internal/base/truncate"
)

// An httpMark is what an address answered last. N counts its changes, so that an earlier answer that comes back is
// reported again.
type httpMark struct {
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"last_modified,omitempty"`
	Hash     string `json:"sha256"`
	N        int64  `json:"n"`
}

// http asks an address whether it has changed.
func (t *taker) http(ctx context.Context) error {
	var was httpMark
	first, err := t.cursor(&was)
	if err != nil {
		return err
	}
	res, err := t.get(ctx, was)
	if err != nil {
		return err
	}
	if res.status == http.StatusNotModified {
		_, err := t.take(ctx, nil, nil)
		return err
	}
	sum := sha256.Sum256(res.body)
	now := httpMark{ETag: res.header.Get("ETag"), Modified: res.header.Get("Last-Modified"), Hash: hex.EncodeToString(sum[:]), N: was.N}
	var reads []Read
	switch {
	case now.Hash == was.Hash:
	case t.s.Events:
		reads = ReadAll(res.body, t.defaults())
		now.N++
	default:
		now.N++
		if !first || t.s.FromStart {
			reads = []Read{t.event(fmt.Sprintf("%d:%s", now.N, now.Hash), t.s.URL, t.page(res, now))}
		}
	}
	if now == was {
		_, err := t.take(ctx, reads, nil)
		return err
	}
	_, err = t.take(ctx, reads, now)
	return err
}

// page is the part of an answer that a task gets: JSON unchanged, other text up to a bound.
func (t *taker) page(res answer, m httpMark) map[string]any {
	body := res.body
	out := map[string]any{"url": t.s.URL, "status": res.status, "content_type": res.header.Get("Content-Type"), "sha256": m.Hash, "size": len(body)}
	const most = 256 << 10
	switch {
	case len(body) <= most && json.Valid(body):
		out["body"] = json.RawMessage(body)
	default:
		out["text"], _ = truncate.Cut(strings.ToValidUTF8(string(body), "\ufffd"), most)
	}
	return out
}

// An answer is the response of an address, read completely.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (t *taker) get(ctx context.Context, was httpMark) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.s.URL, nil)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("User-Agent", "deed")
	if was.ETag != "" {
		req.Header.Set("If-None-Match", was.ETag)
	}
	if was.Modified != "" {
		req.Header.Set("If-Modified-Since", was.Modified)
	}
	if t.s.SecretEnv != "" {
		v, err := t.secret()
		if err != nil {
			return answer{}, err
		}
		req.Header.Set("Authorization", "Bearer "+v)
	}
	client := http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		// A token is for this address alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxOutput+1))
	switch {
	case err != nil:
		return answer{}, err
	case len(body) > maxOutput:
		return answer{}, errTooMuch
	case res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNotModified:
		return answer{}, fmt.Errorf("%s answered %s: %s", t.s.URL, res.Status, truncate.Head(oneLine(string(body)), 200))
	}
	return answer{res.StatusCode, res.Header, body}, nil
}
