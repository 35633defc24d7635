package access

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/store"
)

// How long a browser stays logged in.
const (
	SessionIdle = 12 * time.Hour      // without a request
	SessionLife = 14 * 24 * time.Hour // in all
)

// usedEvery is how exact "last used" is: a token that is used all the time costs one write in this time.
const usedEvery = 5 * time.Minute

// Why a credential is not accepted. Clients get the text.
var (
	ErrUnknown = errors.New("not known here")
	ErrRevoked = errors.New("revoked")
	ErrExpired = errors.New("expired")
)

// A Keeper knows who is let in. It keeps its state in the store, so that a credential that one process revokes is refused by
// every other from its next request on.
type Keeper struct {
	Store *store.Store
	Clock clock.Clock
}

// IssueToken makes a token and returns its text, which is stored nowhere. An expiry of 0 means never. The name must be free.
func (k *Keeper) IssueToken(ctx context.Context, name string, role Role, life time.Duration, by string) (text string, c store.Credential, err error) {
	if err := CheckName(name); err != nil {
		return "", c, err
	}
	if role < Read || role > Admin {
		return "", c, fmt.Errorf("role %s cannot be given to a token", role)
	}
	return k.issue(ctx, tokenPrefix, store.Credential{Kind: store.CredentialToken, Name: name, Role: role.String(), CreatedBy: by}, life)
}

func (k *Keeper) issue(ctx context.Context, prefix string, c store.Credential, life time.Duration) (string, store.Credential, error) {
	var text string
	text, c.ID, c.Hash = mint(prefix)
	if life > 0 {
		c.ExpiresAt = k.Clock().Add(life)
	}
	if err := k.Store.AddCredential(ctx, c); err != nil {
		return "", c, err
	}
	return text, c, nil
}

// CheckName says what is wrong with the name of a token.
func CheckName(name string) error {
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-@", r)
	}
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return !ok(r) }) {
		return fmt.Errorf("name %q is not 1 to 64 letters, digits and . _ - @", name)
	}
	return nil
}

// Token returns who holds a token.
func (k *Keeper) Token(ctx context.Context, text string) (Principal, error) {
	return k.holder(ctx, tokenPrefix, text, ByToken)
}

// Session returns who has a browser's cookie.
func (k *Keeper) Session(ctx context.Context, cookie string) (Principal, error) {
	return k.holder(ctx, sessionPrefix, cookie, BySession)
}

func (k *Keeper) holder(ctx context.Context, prefix, text string, how How) (Principal, error) {
	id, secret, err := parse(prefix, text)
	if err != nil {
		return Principal{}, err
	}
	c, err := k.Store.Credential(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Principal{}, fmt.Errorf("look a credential up: %w", err)
	}
	// The comparison is made for an unknown id too.
	if !sameHash(c.Hash, hashOf(secret)) || c.Kind != string(how) {
		return Principal{}, ErrUnknown
	}
	if err := k.holds(c); err != nil {
		return Principal{}, err
	}
	if err := k.used(ctx, c); err != nil {
		return Principal{}, err
	}
	role, err := ParseRole(c.Role)
	if err != nil {
		return Principal{}, fmt.Errorf("credential %s: %w", c.ID, err)
	}
	return Principal{Name: c.Name, Role: role, How: how, ID: c.ID}, nil
}

// holds says why a credential is not valid any more.
func (k *Keeper) holds(c store.Credential) error {
	now := k.Clock()
	switch {
	case !c.RevokedAt.IsZero():
		return ErrRevoked
	case !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt):
		return ErrExpired
	case c.Kind == store.CredentialSession && !now.Before(lastUse(c).Add(SessionIdle)):
		return ErrExpired
	}
	return nil
}

func lastUse(c store.Credential) time.Time {
	if c.UsedAt.IsZero() {
		return c.CreatedAt
	}
	return c.UsedAt
}

// used records the use, unless that was done not long ago.
func (k *Keeper) used(ctx context.Context, c store.Credential) error {
	if !c.UsedAt.IsZero() && k.Clock().Before(c.UsedAt.Add(usedEvery)) {
		return nil
	}
	if err := k.Store.UsedCredential(ctx, c.ID); err != nil {
		return fmt.Errorf("note the use of %s: %w", c.ID, err)
	}
	return nil
}

// StillHolds says whether the client that an id let in would be let in now: a long-lasting answer asks that repeatedly. It counts
// as a use. The empty id is that of the socket, which cannot be revoked.
func (k *Keeper) StillHolds(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	c, err := k.Store.Credential(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return ErrRevoked
	}
	if err != nil {
		return err
	}
	if err := k.holds(c); err != nil {
		return err
	}
	return k.used(ctx, c)
}

// Revoke ends a token by its name or id, or a session by its id, and returns what it ended.
func (k *Keeper) Revoke(ctx context.Context, which, by string) (store.Credential, error) {
	c, err := k.Store.TokenNamed(ctx, which)
	if errors.Is(err, store.ErrNotFound) {
		c, err = k.Store.Credential(ctx, which)
	}
	if err != nil {
		return c, err
	}
	return c, k.Store.RevokeCredential(ctx, c.ID, by)
}

// Login makes a session of a browser and returns its cookie. What has expired is swept out on the way.
func (k *Keeper) Login(ctx context.Context, name string, role Role) (cookie string, c store.Credential, err error) {
	if err := k.Store.DropSessions(ctx, k.Clock()); err != nil {
		return "", c, err
	}
	return k.issue(ctx, sessionPrefix, store.Credential{Kind: store.CredentialSession, Name: name, Role: role.String(), CreatedBy: name}, SessionLife)
}

// CSRFToken is what a page must send with each write: it follows from the cookie, which no other site and no script can read.
func CSRFToken(cookie string) string {
	mac := hmac.New(sha256.New, []byte(cookie))
	mac.Write([]byte("deed csrf"))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// SameCSRF compares in constant time.
func SameCSRF(cookie, given string) bool { return sameHash(CSRFToken(cookie), given) }

type csrfKey struct{}

// WithCSRF returns a context for a request of a session.
func WithCSRF(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, csrfKey{}, token)
}

// CSRF is the token that the page puts into its forms (csrf_token) and the header of its requests (X-CSRF-Token); empty where there is no session.
func CSRF(ctx context.Context) string {
	s, _ := ctx.Value(csrfKey{}).(string)
	return s
}

// One-time codes.
const (
	CodeLife = time.Minute
	maxCodes = 32 // that wait at a time
)

// Codes are one-time codes that make a session of a browser. They live in the process that made them.
type Codes struct {
	Clock clock.Clock

	mu   sync.Mutex
	live map[string]code // by the hash of the code; guarded by mu
}

type code struct {
	who     Principal
	expires time.Time
}

// ErrTooMany says that too many codes wait to be used.
var ErrTooMany = errors.New("too many one-time codes wait to be used; one is free within a minute")

// Issue makes a code for somebody.
func (c *Codes) Issue(who Principal) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock()
	for h, x := range c.live {
		if !now.Before(x.expires) {
			delete(c.live, h)
		}
	}
	if len(c.live) >= maxCodes {
		return "", ErrTooMany
	}
	text, _, _ := mint("")
	if c.live == nil {
		c.live = map[string]code{}
	}
	c.live[hashOf([]byte(text))] = code{who: who, expires: now.Add(CodeLife)}
	return text, nil
}

// Redeem uses a code up. A code is looked up by its hash, so that the time it takes discloses nothing about it.
func (c *Codes) Redeem(text string) (Principal, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := hashOf([]byte(text))
	x, ok := c.live[h]
	delete(c.live, h)
	if !ok || !c.Clock().Before(x.expires) {
		return Principal{}, false
	}
	return x.who, true
}
