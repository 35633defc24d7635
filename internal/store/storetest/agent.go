package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

func agentOf(name, contract string) agentruntime.AgentIdentity {
	a := agentruntime.AgentIdentity{AgentID: name, InternalName: name, DisplayName: name, Metadata: json.RawMessage(`{ "n": 1.10 }`)}
	if contract != "" {
		a.OnchainIdentity = &agentruntime.OnchainIdentity{Contract: contract}
	}
	return a
}

func walletOf(agent, address, contract string) agentruntime.WalletIdentity {
	return agentruntime.WalletIdentity{AgentID: agent, Chain: "stacks", Address: address, OnchainIdentityContract: contract}
}

// agents writes identities and wallets in both orders; what contradicts is refused and names both, and changes nothing.
func agents(t *testing.T, target Target) {
	b := setup(t, target)
	names := func(err error, what string, parts ...string) {
		t.Helper()
		if err == nil {
			t.Fatalf("%s: no error", what)
		}
		for _, p := range parts {
			if !strings.Contains(err.Error(), p) {
				t.Errorf("%s: %v does not name %s", what, err, p)
			}
		}
	}
	_, err := b.s.AddAgent(b.ctx, agentOf("loom", "SP1.registry"), "me")
	b.ok(err)
	if _, err := b.s.AddAgent(b.ctx, agentOf("loom", ""), "me"); !errors.Is(err, store.ErrExists) {
		t.Errorf("again: %v", err)
	}
	_, err = b.s.AddWallet(b.ctx, walletOf("loom", "A", "SP2.registry"), "me")
	names(err, "a wallet after its agent", "SP1.registry", "SP2.registry")
	_, err = b.s.AddWallet(b.ctx, walletOf("loom", "A", "SP1.registry"), "me")
	b.ok(err)
	_, err = b.s.ChangeAgent(b.ctx, "loom", "me", func(r *agentruntime.AgentIdentity) error {
		r.OnchainIdentity = &agentruntime.OnchainIdentity{Contract: "SP3.registry"}
		return nil
	})
	names(err, "an agent after its wallet", "SP1.registry", "SP3.registry", "A on stacks")
	_, err = b.s.ChangeWallet(b.ctx, walletOf("loom", "A", ""), "me", func(w *agentruntime.WalletIdentity) error {
		w.OnchainIdentityContract = "SP3.registry"
		return nil
	})
	names(err, "a wallet that changes", "SP1.registry", "SP3.registry")

	// The wallet came first.
	_, err = b.s.AddWallet(b.ctx, walletOf("forge", "B", "SP2.registry"), "me")
	b.ok(err)
	_, err = b.s.AddAgent(b.ctx, agentOf("forge", "SP1.registry"), "me")
	names(err, "an agent after a wallet that waited", "SP1.registry", "SP2.registry")
	if _, err := b.s.Agent(b.ctx, "forge"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused agent is there: %v", err)
	}
	_, err = b.s.AddAgent(b.ctx, agentOf("forge", "SP2.registry"), "me")
	b.ok(err)
	_, err = b.s.AddWallet(b.ctx, walletOf("loom", "B", ""), "me")
	names(err, "an address of another agent", "forge")
	_, err = b.s.ChangeAgent(b.ctx, "forge", "me", func(r *agentruntime.AgentIdentity) error {
		r.AgentID, r.InternalName = "loom", "loom"
		return nil
	})
	names(err, "another internal name", "forge", "loom")

	list, err := b.s.Agents(b.ctx, "", 10)
	b.ok(err)
	if len(list) != 2 || list[0].Record.AgentID != "forge" || string(list[1].Record.Metadata) != `{ "n": 1.10 }` && string(list[1].Record.Metadata) != `{"n":1.10}` {
		t.Errorf("agents: %+v", list)
	}
	ws, err := b.s.Wallets(b.ctx, store.WalletFilter{AgentID: "loom"})
	b.ok(err)
	if len(ws) != 1 || ws[0].Record.OnchainIdentityContract != "SP1.registry" {
		t.Errorf("wallets: %+v", ws)
	}
	if err := b.s.DropAgent(b.ctx, "loom", "me"); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("removed with a wallet: %v", err)
	}
	b.ok(b.s.DropWallet(b.ctx, ws[0].Record, "me"))
	if err := b.s.DropWallet(b.ctx, ws[0].Record, "me"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	b.ok(b.s.DropAgent(b.ctx, "loom", "me"))
	if _, err := b.s.Agent(b.ctx, "loom"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("removed: %v", err)
	}
	b.audit()
}

// agentsRace writes an agent and a wallet that contradict each other at the same moment: one of the two is there afterwards. An
// address that several agents want has one.
func agentsRace(t *testing.T, target Target) {
	b := setup(t, target)
	for i := range 10 {
		name := fmt.Sprintf("agent-%d", i)
		var wg sync.WaitGroup
		var errs [2]error
		wg.Go(func() { _, errs[0] = b.s.AddAgent(b.ctx, agentOf(name, "SP1.registry"), "me") })
		wg.Go(func() { _, errs[1] = b.s.AddWallet(b.ctx, walletOf(name, name, "SP2.registry"), "me") })
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%s: agent %v, wallet %v", name, errs[0], errs[1])
		}
	}
	var wg sync.WaitGroup
	var errs [4]error
	for i := range errs {
		wg.Go(func() { _, errs[i] = b.s.AddWallet(b.ctx, walletOf(fmt.Sprintf("owner-%d", i), "shared", ""), "me") })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, store.ErrExists) {
			t.Error(err)
		}
	}
	list, err := b.s.Wallets(b.ctx, store.WalletFilter{Address: "shared"})
	b.ok(err)
	if won != 1 || len(list) != 1 {
		t.Fatalf("%d took the address, %d have it", won, len(list))
	}
}

// constitutions proposes, accepts and rejects revisions; many who accept at once make one version.
func constitutions(t *testing.T, target Target) {
	b := setup(t, target)
	_, err := b.s.AddAgent(b.ctx, agentOf("loom", ""), "me")
	b.ok(err)
	propose := func(base int64, soul string) (store.Proposal, bool, error) {
		return b.s.Propose(b.ctx, store.NewProposal{
			ID: store.NewID(), AgentID: "loom", Base: base, SoulHash: soul, PurposeHash: "p", Note: "why", By: "me",
			Ask: store.NewAction{Kind: "constitution", Prompt: "decide"},
		})
	}
	open := func(want int) []store.Action {
		t.Helper()
		list, err := b.s.Actions(b.ctx, store.ActionFilter{State: store.ActionOpen})
		b.ok(err)
		if len(list) != want {
			t.Fatalf("%d open actions, want %d: %+v", len(list), want, list)
		}
		return list
	}
	one, fresh, err := propose(0, "s1")
	b.ok(err)
	again, second, err := propose(0, "s1")
	b.ok(err)
	if !fresh || second || again.ID != one.ID || one.State != store.ProposalOpen {
		t.Fatalf("proposed: %+v %v, again %+v %v", one, fresh, again, second)
	}
	if list := open(1); list[0].Owner != store.AgentOwner+"/loom" {
		t.Fatalf("action: %+v", list[0])
	} else if err := b.s.AnswerAction(b.ctx, list[0].ID, json.RawMessage(`true`), "me"); !errors.Is(err, store.ErrInvalid) {
		t.Fatalf("a proposal answered like a question: %v", err)
	}
	rival, _, err := propose(0, "s2")
	b.ok(err)
	open(2)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 8 {
		wg.Go(func() {
			_, err := b.s.DecideProposal(b.ctx, one.ID, true, "", "me")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, store.ErrClosed) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	a, err := b.s.Agent(b.ctx, "loom")
	b.ok(err)
	c, err := b.s.Constitution(b.ctx, "loom", a.Constitution)
	b.ok(err)
	if won != 1 || c.Number != 1 || c.SoulHash != "s1" || c.AcceptedBy != "me" || c.ProposalID != one.ID || !c.RevisedAt.Equal(b.clock.Now()) {
		t.Fatalf("%d accepted it: %+v", won, c)
	}
	open(1)
	if _, err := b.s.DecideProposal(b.ctx, rival.ID, true, "", "me"); !errors.Is(err, store.ErrStale) {
		t.Fatalf("a draft of what no longer holds: %v", err)
	}
	if _, _, err := propose(0, "s3"); !errors.Is(err, store.ErrStale) {
		t.Fatalf("proposed on an old version: %v", err)
	}
	r, err := b.s.DecideProposal(b.ctx, rival.ID, false, "no", "you")
	b.ok(err)
	if r.State != store.ProposalRejected || r.Reason != "no" || r.DecidedBy != "you" || r.Number != 0 {
		t.Fatalf("rejected: %+v", r)
	}
	open(0)
	last, _, err := propose(1, "s2")
	b.ok(err)
	last, err = b.s.DecideProposal(b.ctx, last.ID, true, "", "me")
	b.ok(err)
	if last.Number != 2 {
		t.Fatalf("accepted: %+v", last)
	}
	if c, err := b.s.Constitution(b.ctx, "loom", 1); err != nil || c.SoulHash != "s1" {
		t.Fatalf("the first version: %+v %v", c, err)
	}
	// A removed agent takes its proposals with it, and its versions are never counted again.
	_, _, err = propose(2, "s4")
	b.ok(err)
	b.ok(b.s.DropAgent(b.ctx, "loom", "me"))
	open(0)
	_, err = b.s.AddAgent(b.ctx, agentOf("loom", ""), "me")
	b.ok(err)
	anew, _, err := propose(0, "s5")
	b.ok(err)
	if anew, err = b.s.DecideProposal(b.ctx, anew.ID, true, "", "me"); err != nil || anew.Number != 3 {
		t.Fatalf("after it was removed: %+v %v", anew, err)
	}
	list, err := b.s.Proposals(b.ctx, "loom", 10)
	b.ok(err)
	if len(list) != 5 || list[3].State != store.ProposalRejected {
		t.Fatalf("proposals: %+v", list)
	}
	if _, err := b.s.Proposal(b.ctx, "ffffffff"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no proposal: %v", err)
	}
	b.audit()
}

// agentImport writes an agent whole or not at all, whatever of it is there already.
func agentImport(t *testing.T, target Target) {
	b := setup(t, target)
	loom := agentOf("loom", "SP1.registry")
	plan := func(name string) store.NewSchedule {
		at := agentruntime.At(b.clock.Now().Add(time.Hour))
		return store.NewSchedule{Overlap: store.OverlapSkip, Record: agentruntime.RecurringScheduleRecord{
			Name: name, Enabled: true, IntervalSeconds: 60, NextRunAt: at, Task: agentruntime.TaskIntent{TaskType: "script", Source: "s", Payload: json.RawMessage(`{}`)},
		}}
	}
	whole := store.AgentImport{
		AgentID: "loom", Identity: &loom, Wallets: []agentruntime.WalletIdentity{walletOf("loom", "A", "SP1.registry")}, By: "me",
		Versions:  []store.NewRevision{{SoulHash: "s1", PurposeHash: "p1", Note: "n", Reason: "imported"}, {SoulHash: "s2", PurposeHash: "p1"}},
		Schedules: []store.NewSchedule{plan("nightly"), plan("weekly")},
	}
	nothing := func(what string, want error, n store.AgentImport) {
		t.Helper()
		before, err := b.s.Events(b.ctx, store.EventFilter{Limit: 100})
		b.ok(err)
		if err := b.s.ImportAgent(b.ctx, n); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
		after, err := b.s.Events(b.ctx, store.EventFilter{Limit: 100})
		b.ok(err)
		if len(after) != len(before) {
			t.Errorf("%s: it left events", what)
		}
	}
	taken := whole
	taken.Schedules = []store.NewSchedule{plan("nightly"), plan("taken")}
	_, _, err := b.s.PutSchedule(b.ctx, plan("taken").Record, store.OverlapSkip, "me")
	b.ok(err)
	nothing("a schedule that is there", store.ErrExists, taken)
	if _, err := b.s.Agent(b.ctx, "loom"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("half an agent is there: %v", err)
	}
	if _, err := b.s.Schedule(b.ctx, "nightly"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("one of its schedules is there: %v", err)
	}
	b.ok(b.s.ImportAgent(b.ctx, whole))
	g, err := b.s.Agent(b.ctx, "loom")
	b.ok(err)
	c, err := b.s.Constitution(b.ctx, "loom", 2)
	b.ok(err)
	list, err := b.s.Proposals(b.ctx, "loom", 10)
	b.ok(err)
	if g.Constitution != 2 || c.SoulHash != "s2" || c.AcceptedBy != "me" || len(list) != 2 || list[1].State != store.ProposalAccepted || list[1].Number != 2 || list[1].Base != 1 {
		t.Errorf("it became %+v %+v %+v", g, c, list)
	}
	open, err := b.s.Actions(b.ctx, store.ActionFilter{State: store.ActionOpen})
	b.ok(err)
	if len(open) != 0 {
		t.Errorf("a person is asked: %+v", open)
	}
	docs, err := b.s.Documents(b.ctx)
	b.ok(err)
	if len(docs) != 3 || !docs["s1"] || !docs["s2"] || !docs["p1"] {
		t.Errorf("its documents are %v", docs)
	}
	nothing("again", store.ErrExists, whole)
	rest := store.AgentImport{AgentID: "loom", Base: 1, Versions: whole.Versions[:1], By: "me"}
	nothing("another version holds", store.ErrStale, rest)
	nothing("nobody", store.ErrNotFound, store.AgentImport{AgentID: "nobody", Versions: whole.Versions, By: "me"})
	nothing("nothing", nil, store.AgentImport{AgentID: "nobody"})
	rest.Base = 2
	b.ok(b.s.ImportAgent(b.ctx, rest))
	other := walletOf("loom", "B", "SP9.registry")
	if err := b.s.ImportAgent(b.ctx, store.AgentImport{AgentID: "loom", Base: 3, Wallets: []agentruntime.WalletIdentity{other}, Schedules: []store.NewSchedule{plan("daily")}}); err == nil {
		t.Error("a wallet that contradicts its agent is taken")
	}
	if _, err := b.s.Schedule(b.ctx, "daily"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a part of what was refused is there: %v", err)
	}
}
