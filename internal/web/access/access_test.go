package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func keeper(t *testing.T) (*Keeper, *storetest.Clock) {
	t.Helper()
	clock := storetest.NewClock()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "deed.db"), store.Options{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &Keeper{Store: st, Clock: clock.Now}, clock
}

func TestRoles(t *testing.T) {
	t.Parallel()
	for r := Read; r <= Admin; r++ {
		if got, err := ParseRole(r.String()); err != nil || got != r {
			t.Errorf("%s: %s %v", r, got, err)
		}
		if !(Principal{Role: r}).May(Read) || (Principal{}).May(r) || (Principal{Role: Read}).May(r) != (r == Read) {
			t.Errorf("%s: may", r)
		}
	}
	for _, bad := range []string{"", "public", "Admin", "root", "read "} {
		if r, err := ParseRole(bad); err == nil {
			t.Errorf("%q is %s", bad, r)
		}
	}
	if From(t.Context()) != (Principal{}) {
		t.Error("somebody asks in a context of nobody")
	}
}

// Every single typing mistake in a token is distinguished from an unknown token, before the store is asked.
func TestTokenSlips(t *testing.T) {
	t.Parallel()
	text, id, hash := mint(tokenPrefix)
	gotID, secret, err := parse(tokenPrefix, text)
	if err != nil || gotID != id || hashOf(secret) != hash {
		t.Fatalf("%s: %v", text, err)
	}
	for i := range text {
		for _, r := range "aq7A=_\x00" {
			if slip := text[:i] + string(r) + text[i+1:]; slip != text {
				if _, _, err := parse(tokenPrefix, slip); !errors.Is(err, ErrMalformed) {
					t.Errorf("a slip at %d is taken", i)
				}
			}
		}
		if _, _, err := parse(tokenPrefix, text[:i]); !errors.Is(err, ErrMalformed) {
			t.Errorf("cut at %d", i)
		}
	}
	for i := len(tokenPrefix); i+1 < len(text); i++ { // two that changed places
		if text[i] != text[i+1] {
			if _, _, err := parse(tokenPrefix, text[:i]+text[i+1:i+2]+text[i:i+1]+text[i+2:]); err == nil {
				t.Errorf("swapped at %d", i)
			}
		}
	}
	cookie, _, _ := mint(sessionPrefix)
	if _, _, err := parse(tokenPrefix, tokenPrefix+strings.TrimPrefix(cookie, sessionPrefix)); err == nil {
		t.Error("a cookie is taken for a token")
	}
}

func FuzzParse(f *testing.F) {
	text, _, _ := mint(tokenPrefix)
	for _, seed := range []string{"", "deed_", text, text + "a", strings.ToUpper(text)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, secret, err := parse(tokenPrefix, s)
		if err == nil && (len(id) != 2*idBytes || len(secret) != secretBytes || !strings.HasPrefix(s, tokenPrefix)) {
			t.Errorf("%q: %s %d", s, id, len(secret))
		}
	})
}

func TestKeeper(t *testing.T) {
	t.Parallel()
	k, clock := keeper(t)
	ctx := t.Context()
	for _, bad := range []string{"", "a b", "a/b", "é", strings.Repeat("a", 65), "a\n"} {
		if _, _, err := k.IssueToken(ctx, bad, Read, 0, "me"); err == nil {
			t.Errorf("name %q is taken", bad)
		}
	}
	if _, _, err := k.IssueToken(ctx, "x", Public, 0, "me"); err == nil {
		t.Error("a token for nobody's role")
	}
	text, c, err := k.IssueToken(ctx, "ci", Operate, time.Hour, "me")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fmt.Sprint(c), strings.TrimPrefix(text, tokenPrefix)) {
		t.Error("the token itself is stored")
	}
	who, err := k.Token(ctx, text)
	if err != nil || who != (Principal{Name: "ci", Role: Operate, How: ByToken, ID: c.ID}) {
		t.Fatalf("%+v %v", who, err)
	}
	// A use is written once in a while, not each time.
	used := func() time.Time {
		t.Helper()
		c, err := k.Store.Credential(ctx, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		return c.UsedAt
	}
	first := used()
	clock.Advance(usedEvery - time.Second)
	if _, err := k.Token(ctx, text); err != nil || used() != first {
		t.Errorf("used %s, then %s: %v", first, used(), err)
	}
	clock.Advance(time.Second)
	if _, err := k.Token(ctx, text); err != nil || !used().After(first) {
		t.Errorf("used %s: %v", used(), err)
	}
	if _, err := k.Session(ctx, text); !errors.Is(err, ErrMalformed) {
		t.Errorf("a token as a cookie: %v", err)
	}
	// The right id with another secret is as unknown as no id.
	forged, other, _ := mint(tokenPrefix)
	if _, err := k.Token(ctx, forged); !errors.Is(err, ErrUnknown) {
		t.Errorf("a token of nobody: %v", err)
	}
	if err := k.Store.AddCredential(ctx, store.Credential{ID: other, Kind: store.CredentialToken, Name: "f", Role: "admin", Hash: hashOf([]byte("else"))}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Token(ctx, forged); !errors.Is(err, ErrUnknown) {
		t.Errorf("a wrong secret: %v", err)
	}
	if err := k.StillHolds(ctx, c.ID); err != nil {
		t.Error(err)
	}
	clock.Advance(time.Hour)
	if _, err := k.Token(ctx, text); !errors.Is(err, ErrExpired) {
		t.Errorf("expired: %v", err)
	}
	if err := k.StillHolds(ctx, c.ID); !errors.Is(err, ErrExpired) {
		t.Errorf("expired: %v", err)
	}
	if _, err := k.Revoke(ctx, "ci", "me"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Token(ctx, text); !errors.Is(err, ErrRevoked) {
		t.Errorf("revoked: %v", err)
	}
	if _, err := k.Revoke(ctx, "nobody", "me"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoke nobody: %v", err)
	}
	if err := k.StillHolds(ctx, "gone"); !errors.Is(err, ErrRevoked) {
		t.Errorf("gone: %v", err)
	}
}

// The rows of refusals are bounded whatever unauthenticated clients write into them, and writes stay separate.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	k, clock := keeper(t)
	l := OpenLog(k.Store, clock.Now, slog.New(slog.NewTextHandler(io.Discard, nil)))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://deed/"+strings.Repeat("x", 5000), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.RemoteAddr = "10.0.0.7:99"
	e, err := l.Begin(t.Context(), r, Principal{Name: "ci", Role: Operate, How: ByToken}, "POST /x")
	if err != nil {
		t.Fatal(err)
	}
	Did(t.Context(), "nothing", "outside of a write")
	Did(WithEntry(t.Context(), e), "task 1", "made")
	for i := range 5000 {
		l.Refused(r, Principal{}, strings.Repeat("y", i), 401, fmt.Sprint(i))
	}
	l.Close()
	rows, err := k.Store.AccessLog(t.Context(), store.AccessFilter{Refused: true, Limit: 10000})
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	for _, row := range rows {
		times += row.Times
		if len(row.Action) > 300 {
			t.Errorf("an action of %d bytes", len(row.Action))
		}
	}
	if times != 5000 || len(rows) > 3*(refusalRows+1) {
		t.Errorf("%d rows for %d refusals", len(rows), times)
	}
	begun := func() store.AccessEntry {
		t.Helper()
		list, err := k.Store.AccessLog(t.Context(), store.AccessFilter{Name: "ci"})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v %v", list, err)
		}
		return list[0]
	}
	if b := begun(); b.Status != 0 || b.Remote != "10.0.0.7" || len(b.Target) > 300 {
		t.Errorf("begun: %+v", b)
	}
	if err := e.End(context.WithoutCancel(t.Context()), 201); err != nil {
		t.Fatal(err)
	}
	if b := begun(); b.Status != 201 || b.Target != "task 1" || b.Note != "made" {
		t.Errorf("ended: %+v", b)
	}
}
