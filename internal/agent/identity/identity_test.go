package identity

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

// both runs a test on both engines.
func both(t *testing.T, run func(t *testing.T, b *Book)) {
	t.Parallel()
	for engine, dsn := range map[string]func(testing.TB) string{
		store.SQLite:   func(t testing.TB) string { return filepath.Join(t.TempDir(), "deed.db") },
		store.Postgres: pgtest.DSN,
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			run(t, newBook(t, dsn(t)))
		})
	}
}

func newBook(t testing.TB, dsn string) *Book {
	t.Helper()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &Book{Store: st, Home: h}
}

func (b *Book) add(t testing.TB, name string) {
	t.Helper()
	if _, err := b.Store.AddAgent(t.Context(), agentruntime.AgentIdentity{AgentID: name, InternalName: name, DisplayName: name}, "me"); err != nil {
		t.Fatal(err)
	}
}

func (b *Book) accept(t testing.TB, d Draft) store.Proposal {
	t.Helper()
	p, _, err := b.Propose(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = b.Decide(t.Context(), p.ID, true, "", "operator"); err != nil {
		t.Fatal(err)
	}
	return p
}

// Whatever is written in whatever order, an agent and its wallets never contradict each other, a refusal names both contracts and
// changes nothing, and the internal name stays.
func TestWalletsNeverContradictTheirAgent(t *testing.T) {
	t.Parallel()
	b := newBook(t, filepath.Join(t.TempDir(), "deed.db"))
	ctx := context.Background()
	contracts := []string{"", "SP1.registry", "SP2.registry"}
	rapid.Check(t, func(t *rapid.T) {
		name := "agent-" + store.NewID()
		addresses := []string{name + "-x", name + "-y"}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			contract := rapid.SampledFrom(contracts).Draw(t, "contract")
			a := agentruntime.AgentIdentity{AgentID: name, InternalName: name, DisplayName: name}
			if contract != "" {
				a.OnchainIdentity = &agentruntime.OnchainIdentity{Contract: contract}
			}
			w := agentruntime.WalletIdentity{AgentID: name, Chain: "stacks", Address: rapid.SampledFrom(addresses).Draw(t, "address"), OnchainIdentityContract: contract}
			before := state(t, b, name)
			var err error
			switch rapid.SampledFrom([]string{"add agent", "set agent", "add wallet", "set wallet", "remove wallet"}).Draw(t, "step") {
			case "add agent":
				_, err = b.Store.AddAgent(ctx, a, "me")
			case "set agent":
				_, err = b.Store.ChangeAgent(ctx, name, "me", func(r *agentruntime.AgentIdentity) error { *r = a; return nil })
			case "add wallet":
				_, err = b.Store.AddWallet(ctx, w, "me")
			case "set wallet":
				_, err = b.Store.ChangeWallet(ctx, w, "me", func(r *agentruntime.WalletIdentity) error { *r = w; return nil })
			case "remove wallet":
				err = b.Store.DropWallet(ctx, w, "me")
			}
			after := state(t, b, name)
			switch {
			case err == nil:
			case before != after:
				t.Fatalf("%v, and yet it changed:\n%s\n%s", err, before, after)
			case errors.Is(err, store.ErrExists), errors.Is(err, store.ErrNotFound):
			case contract != "" && !strings.Contains(err.Error(), contract):
				t.Fatalf("%v does not name %s", err, contract)
			}
		}
	})
}

// state describes an agent with its wallets, and fails when the two contradict.
func state(t *rapid.T, b *Book, name string) string {
	ctx := context.Background()
	a, err := b.Store.Agent(ctx, name)
	there := !errors.Is(err, store.ErrNotFound)
	if there && err != nil {
		t.Fatal(err)
	}
	list, err := b.Store.Wallets(ctx, store.WalletFilter{AgentID: name})
	if err != nil {
		t.Fatal(err)
	}
	text := "no agent"
	if there {
		text = a.Record.InternalName
		if a.Record.AgentID != name || a.Record.InternalName != name {
			t.Fatalf("agent %s is called %s", name, a.Record.InternalName)
		}
		if o := a.Record.OnchainIdentity; o != nil {
			text += " " + o.Contract
		}
	}
	for _, w := range list {
		text += "; " + w.Record.Address + " " + w.Record.OnchainIdentityContract
		if there {
			if err := agentruntime.CheckWallet(w.Record, a.Record); err != nil {
				t.Fatalf("stored together: %v", err)
			}
		}
	}
	return text
}

// A revision takes effect when an operator accepts it; a task that pinned an older version keeps that.
func TestRevisions(t *testing.T) {
	both(t, func(t *testing.T, b *Book) {
		b.add(t, "loom")
		ctx := t.Context()
		p, err := b.Pin(ctx, "loom", Holds)
		if err != nil || p.Constitution != nil || p.Number != 0 {
			t.Fatalf("without a constitution: %+v %v", p, err)
		}
		b.accept(t, Draft{AgentID: "loom", Soul: []byte("calm\n"), Purpose: []byte("weave\n"), By: "me"})
		one, err := b.Pin(ctx, "loom", Holds)
		if err != nil {
			t.Fatal(err)
		}
		if err := one.Constitution.Validate(); err != nil || one.Constitution.Version != "1.0.0" || one.Documents != (Documents{"calm\n", "weave\n"}) {
			t.Fatalf("%v: %+v", err, one)
		}
		waits, _, err := b.Propose(ctx, Draft{AgentID: "loom", Soul: []byte("calm and kind\n"), By: "task 1"})
		if err != nil {
			t.Fatal(err)
		}
		if p, err := b.Pin(ctx, "loom", Holds); err != nil || p.Number != 1 {
			t.Fatalf("a proposal holds by itself: %+v %v", p, err)
		}
		before, after, err := b.Proposed(ctx, waits)
		if err != nil {
			t.Fatal(err)
		}
		diff, err := b.Diff(ctx, before, after)
		if err != nil || !strings.Contains(string(diff), "-calm\n+calm and kind\n") || strings.Contains(string(diff), "weave") {
			t.Fatalf("%v:\n%s", err, diff)
		}
		if _, err := b.Decide(ctx, waits.ID, true, "", "operator"); err != nil {
			t.Fatal(err)
		}
		two, err := b.Pin(ctx, "loom", Holds)
		if err != nil || two.Number != 2 || two.Documents != (Documents{"calm and kind\n", "weave\n"}) || two.Constitution.PurposeHash != one.Constitution.PurposeHash {
			t.Fatalf("the second: %+v %v", two, err)
		}
		if kept, err := b.Pin(ctx, "loom", one.Number); err != nil || kept.Documents != one.Documents || *kept.Constitution != *one.Constitution {
			t.Fatalf("pinned: %+v %v", kept, err)
		}
	})
}

// What cannot be a constitution is refused with all its faults, and nothing waits.
func TestBadDrafts(t *testing.T) {
	t.Parallel()
	b := newBook(t, filepath.Join(t.TempDir(), "deed.db"))
	b.add(t, "loom")
	b.add(t, "forge")
	b.accept(t, Draft{AgentID: "loom", Soul: []byte("calm"), Purpose: []byte("weave"), By: "me"})
	for name, c := range map[string]struct {
		d    Draft
		want []string
	}{
		"nothing":       {Draft{AgentID: "loom"}, []string{"has no document"}},
		"half at first": {Draft{AgentID: "forge", Soul: []byte("hot")}, []string{"$.purpose", "no constitution yet"}},
		"both bad":      {Draft{AgentID: "forge", Soul: []byte(" \n"), Purpose: []byte("\xff")}, []string{"$.soul", "is empty", "$.purpose", "UTF-8"}},
		"NUL":           {Draft{AgentID: "loom", Soul: []byte("a\x00b")}, []string{"$.soul", "UTF-8"}},
		"too long":      {Draft{AgentID: "loom", Soul: []byte(strings.Repeat("x", MaxDocument+1))}, []string{"$.soul", "65537"}},
		"one text":      {Draft{AgentID: "loom", Soul: []byte("weave")}, []string{"two documents"}},
		"no change":     {Draft{AgentID: "loom", Soul: []byte("calm")}, []string{"1.0.0"}},
		"no agent":      {Draft{AgentID: "nobody", Soul: []byte("x"), Purpose: []byte("y")}, []string{"nobody", "not found"}},
	} {
		_, _, err := b.Propose(t.Context(), c.d)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
	if list, err := b.Store.Proposals(t.Context(), "", 10); err != nil || len(list) != 0 {
		t.Errorf("proposals: %+v %v", list, err)
	}
}

// A document that was changed or is gone is never taken for the one that was accepted.
func TestDocumentsAreHeldAgainstTheirHashes(t *testing.T) {
	t.Parallel()
	b := newBook(t, filepath.Join(t.TempDir(), "deed.db"))
	b.add(t, "loom")
	b.accept(t, Draft{AgentID: "loom", Soul: []byte("calm"), Purpose: []byte("weave"), By: "me"})
	p, _, err := b.Propose(t.Context(), Draft{AgentID: "loom", Purpose: []byte("spin"), By: "me"})
	if err != nil {
		t.Fatal(err)
	}
	soul := b.blobPath(digest([]byte("calm")))
	if err := os.WriteFile(soul, []byte("wild"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Pin(t.Context(), "loom", Holds); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("changed: %v", err)
	}
	if err := os.Remove(soul); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Pin(t.Context(), "loom", Holds); err == nil || !strings.Contains(err.Error(), "is not in") {
		t.Errorf("gone: %v", err)
	}
	if _, err := b.Decide(t.Context(), p.ID, true, "", "me"); err == nil {
		t.Error("accepted what nobody can read")
	}
	if err := b.keep([]byte("calm")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Pin(t.Context(), "loom", Holds); err != nil {
		t.Errorf("mended: %v", err)
	}
}

func (b *Book) blobPath(hash string) string {
	return filepath.Join(b.Home.Blobs(), strings.TrimPrefix(hash, "sha256:"))
}
