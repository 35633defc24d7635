package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/store"
)

// credentials adds, reads, uses and revokes tokens and sessions. A name means one token at a time.
func credentials(t *testing.T, target Target) {
	b := setup(t, target)
	ci := store.Credential{ID: "t1", Kind: store.CredentialToken, Name: "ci", Role: "operate", Hash: "h1", CreatedBy: "me\x00"}
	b.ok(b.s.AddCredential(b.ctx, ci))
	again := ci
	again.ID, again.Hash = "t2", "h2"
	if err := b.s.AddCredential(b.ctx, again); !errors.Is(err, store.ErrExists) {
		t.Fatalf("a name twice: %v", err)
	}
	b.clock.Advance(time.Minute)
	b.ok(b.s.UsedCredential(b.ctx, "t1"))
	got, err := b.s.Credential(b.ctx, "t1")
	b.ok(err)
	want := ci
	want.CreatedBy, want.CreatedAt, want.UsedAt = "me\uFFFD", b.clock.Now().Add(-time.Minute), b.clock.Now()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("credential (-want +got):\n%s", d)
	}
	b.ok(b.s.RevokeCredential(b.ctx, "t1", "you"))
	if err := b.s.RevokeCredential(b.ctx, "t1", "you"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("revoked twice: %v", err)
	}
	if err := b.s.RevokeCredential(b.ctx, "t9", "you"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoked what is not there: %v", err)
	}
	b.ok(b.s.AddCredential(b.ctx, again)) // the name is free again
	if got, err = b.s.TokenNamed(b.ctx, "ci"); err != nil || got.ID != "t2" {
		t.Errorf("by name: %+v %v", got, err)
	}
	for i := range 3 {
		b.ok(b.s.AddCredential(b.ctx, store.Credential{
			ID: fmt.Sprint("s", i), Kind: store.CredentialSession, Name: "ci", Role: "read", ExpiresAt: b.clock.Now().Add(time.Duration(i) * time.Hour),
		}))
	}
	b.ok(b.s.DropSessions(b.ctx, b.clock.Now().Add(90*time.Minute)))
	list, err := b.s.Credentials(b.ctx, store.CredentialSession, 10)
	b.ok(err)
	if len(list) != 1 || list[0].ID != "s2" || !list[0].ExpiresAt.Equal(b.clock.Now().Add(2*time.Hour)) {
		t.Errorf("sessions: %+v", list)
	}
	if list, err = b.s.Credentials(b.ctx, store.CredentialToken, 10); err != nil || len(list) != 2 || list[0].ID != "t2" || list[1].RevokedBy != "you" {
		t.Errorf("tokens: %+v %v", list, err)
	}
	if _, err := b.s.Credential(b.ctx, "s0"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("dropped: %v", err)
	}
	var wg sync.WaitGroup
	var errs [4]error
	for i := range errs {
		wg.Go(func() {
			errs[i] = b.s.AddCredential(b.ctx, store.Credential{ID: fmt.Sprint("r", i), Kind: store.CredentialToken, Name: "race", Role: "read"})
		})
	}
	wg.Wait()
	added := 0
	for _, err := range errs {
		if err == nil {
			added++
		} else if !errors.Is(err, store.ErrExists) {
			t.Errorf("race: %v", err)
		}
	}
	if added != 1 {
		t.Errorf("%d tokens have one name", added)
	}
}

// accessLog keeps what was done apart from what was refused, so that the one cannot push out the other.
func accessLog(t *testing.T, target Target) {
	b := setup(t, target)
	at := b.clock.Now()
	seqs, err := b.s.LogAccess(b.ctx, store.AccessEntry{At: at, Name: "ci", Role: "operate", How: "token", Remote: "::1", Action: "POST /x", Target: "/x"})
	b.ok(err)
	b.ok(b.s.EndAccess(b.ctx, store.AccessEntry{Seq: seqs[0], Status: 201, Target: "task 1", Note: "ok\xff"}))
	for i := range 8 {
		_, err := b.s.LogAccess(b.ctx, store.AccessEntry{At: at, Remote: fmt.Sprint(i), Status: 401, Times: i + 1, Refused: true})
		b.ok(err)
	}
	got, err := b.s.AccessLog(b.ctx, store.AccessFilter{Name: "ci"})
	b.ok(err)
	want := []store.AccessEntry{{Seq: seqs[0], At: at, Name: "ci", Role: "operate", How: "token", Remote: "::1", Action: "POST /x", Target: "task 1", Status: 201, Note: "ok\uFFFD", Times: 1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("entries (-want +got):\n%s", d)
	}
	remotes := func(f store.AccessFilter) (out string) {
		t.Helper()
		list, err := b.s.AccessLog(b.ctx, f)
		b.ok(err)
		for _, e := range list {
			out += e.Remote + " "
		}
		return out
	}
	if got := remotes(store.AccessFilter{Refused: true, Limit: 3}); got != "7 6 5 " {
		t.Errorf("refusals: %s", got)
	}
	if got := remotes(store.AccessFilter{Before: seqs[0] + 2}); got != "0 ::1 " {
		t.Errorf("before: %s", got)
	}
	b.ok(b.s.TrimAccessLog(b.ctx, 2, 1000))
	if got := remotes(store.AccessFilter{}); got != "7 6 ::1 " {
		t.Errorf("trimmed refusals: %s", got)
	}
	b.ok(b.s.TrimAccessLog(b.ctx, 10, 1))
	if got := remotes(store.AccessFilter{}); got != "7 " {
		t.Errorf("trimmed all: %s", got)
	}
	b.ok(b.s.TrimAccessLog(b.ctx, 10, 10))
}
