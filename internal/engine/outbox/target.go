package outbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/base/truncate"
)

// A message is a document on its way to a target.
type message struct {
	id, target string
	data       []byte
}

// toFile writes the message as a file that has its id as its name. A second delivery finds it there.
func toFile(t settings.Target, m message) (string, error) {
	if err := atomicfile.MkdirAll(t.Directory, 0o700); err != nil {
		return "", err
	}
	file := filepath.Join(t.Directory, m.id+".json")
	if err := atomicfile.CreateFile(file, append(m.data, '\n'), 0o600); err != nil && !errors.Is(err, atomicfile.ErrExists) {
		return "", err
	}
	return file, nil
}

// toCommand passes the message to a command. Exit code 0 means that it was taken. When the command, or deed, has ended,
// nothing that it started is left.
func (d *Deliverer) toCommand(ctx context.Context, t settings.Target, m message) (string, error) {
	env := []string{"PATH=" + d.getenv("PATH"), "HOME=" + d.getenv("HOME"), "LANG=C.UTF-8", "DEED_MESSAGE_ID=" + m.id, "DEED_TARGET=" + m.target}
	if t.SecretEnv != "" {
		value, err := d.secret(t)
		if err != nil {
			return "", err
		}
		env = append(env, t.SecretEnv+"="+value)
	}
	res, err := proc.SupervisedTool(ctx, proc.ToolSpec{Argv: t.Command, Env: env, Stdin: bytes.NewReader(m.data)})
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	}
	return first(res.Stdout), res.Check()
}

// toWebhook posts the message as the Standard Webhooks specification says: the receiver checks webhook-signature, and recognises a
// repetition by webhook-id.
func (d *Deliverer) toWebhook(ctx context.Context, t settings.Target, m message) (string, error) {
	key, err := d.secret(t)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(m.data))
	if err != nil {
		return "", refusal{err}
	}
	at := strconv.FormatInt(d.Clock().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "deed")
	req.Header.Set("Idempotency-Key", m.id)
	req.Header.Set("Webhook-Id", m.id)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Webhook-Signature", Signature(key, m.id, at, m.data))
	client := http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		// The signature covers the message for this address only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return "", cause
		}
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // only for a message
	return d.answered(t, res, text)
}

// answered interprets the answer of a webhook.
func (d *Deliverer) answered(t settings.Target, res *http.Response, text []byte) (string, error) {
	if res.StatusCode/100 == 2 {
		return res.Status, nil
	}
	err := fmt.Errorf("%s answered %s: %s", t.URL, res.Status, first(text))
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return "", pause{err, d.retryAfter(res.Header.Get("Retry-After"))}
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return "", err
	}
	if res.StatusCode/100 == 5 {
		return "", err
	}
	return "", refusal{err} // a redirect, or a request that stays wrong
}

// retryAfter reads how long the target asks to wait; 0: it does not ask.
func (d *Deliverer) retryAfter(header string) time.Duration {
	if n, err := strconv.ParseInt(strings.TrimSpace(header), 10, 32); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(d.Clock()), 0)
	}
	return 0
}

// Signature signs a message. A key that begins with whsec_ is base64, as the specification says; any other is used as it is.
func Signature(key, id, timestamp string, body []byte) string {
	secret := []byte(key)
	if rest, ok := strings.CutPrefix(key, "whsec_"); ok {
		if b, err := base64.StdEncoding.DecodeString(rest); err == nil {
			secret = b
		}
	}
	h := hmac.New(sha256.New, secret)
	fmt.Fprintf(h, "%s.%s.%s", id, timestamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// secret is the value that a target's secret_env names.
func (d *Deliverer) secret(t settings.Target) (string, error) {
	if v := d.getenv(t.SecretEnv); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("the variable %s is not set in deed's environment (set it for `deed serve`)", t.SecretEnv)
}

func (d *Deliverer) getenv(name string) string {
	for i := len(d.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(d.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// first is the beginning of an answer, on one line.
func first(text []byte) string {
	return truncate.Head(strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "\ufffd")), " "), 200)
}
