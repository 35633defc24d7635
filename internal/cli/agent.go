package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/agent/identity"
	"github.com/deedrun/deed/internal/store"
)

// agentDoc is an agent as --json shows it: the records of the contract, joined.
type agentDoc struct {
	Schema       string                          `json:"schema"`
	Identity     agentruntime.AgentIdentity      `json:"identity"`
	This         bool                            `json:"this_runtime"`
	Constitution *agentruntime.AgentConstitution `json:"constitution,omitempty"`
	Wallets      []agentruntime.WalletIdentity   `json:"wallets"`
	Proposals    []proposalDoc                   `json:"proposals"` // that wait
}

func (a *app) book() *identity.Book { return &identity.Book{Store: a.st, Home: a.h} }

func (a *app) agentCmd() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the agents", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.agentList(c.Context()) },
	}
	show := &cobra.Command{
		Use: "show NAME", Short: "Show an agent, its wallets and its constitution", Args: names("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			g, err := a.oneAgent(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.showAgent(c.Context(), g)
		},
	}
	remove := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Forget an agent; versions of its constitution stay on record", Args: names("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			g, err := a.oneAgent(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := a.st.DropAgent(c.Context(), g.Record.AgentID, a.operator()); err != nil {
				return identityFault(err)
			}
			if a.json {
				return a.emit(g.Record)
			}
			a.hint("agent %s is removed", clean(g.Record.AgentID))
			return nil
		},
	}
	return group("agent", "Say who an agent is, and decide on what it writes about itself",
		a.agentAddCmd(), a.agentSetCmd(), list, show, remove, a.agentExportCmd(), a.agentImportCmd(), a.agentProposeCmd(), a.agentReviewCmd(), a.agentAcceptCmd(), a.agentRejectCmd())
}

// identityFlags are the members of an agent's record that can be given one by one.
type identityFlags struct {
	file, metadata   string
	external, source string
	externalWallet   string
	registered       string
	contract, token  string
	reputation       string
	record           agentruntime.AgentIdentity
}

func (f *identityFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.file, "file", "", "`FILE` with the whole record as JSON ("+agentruntime.SchemaAgentIdentity+"), - for standard input")
	fl.StringVar(&f.record.DisplayName, "display-name", "", "what people are shown (default: the name)")
	fl.StringVar(&f.record.Codename, "codename", "", "an older alias")
	fl.StringVar(&f.record.Host, "host", "", "the machine that it lives on")
	fl.StringVar(&f.record.User, "user", "", "the account that it works as")
	fl.StringVar(&f.record.RuntimeInstanceID, "runtime-instance", "", "the `ID` of its runtime")
	fl.StringVar(&f.external, "external-name", "", "the registered `NAME`; it never takes the place of the internal one")
	fl.StringVar(&f.source, "external-source", string(agentruntime.NameFromCache), "where that was read: aibtc-api or local-cache")
	fl.StringVar(&f.externalWallet, "external-wallet", "", "the `ADDRESS` that registered it")
	fl.StringVar(&f.registered, "external-registered-at", "", "the `INSTANT` of that (RFC 3339)")
	fl.StringVar(&f.contract, "contract", "", "the on-chain identity `CONTRACT`; its wallets must name the same")
	fl.StringVar(&f.token, "token-id", "", "its token in that contract")
	fl.StringVar(&f.reputation, "reputation-ref", "", "the contract's method that reads its reputation")
	fl.StringVar(&f.metadata, "metadata", "", "a `JSON` object of your own")
}

// apply lays the given flags over a record. An empty value takes the member away.
func (f *identityFlags) apply(c *cobra.Command, r *agentruntime.AgentIdentity) {
	given := c.Flags().Changed
	for flag, m := range map[string]struct{ to, from *string }{
		"display-name": {&r.DisplayName, &f.record.DisplayName}, "codename": {&r.Codename, &f.record.Codename}, "host": {&r.Host, &f.record.Host},
		"user": {&r.User, &f.record.User}, "runtime-instance": {&r.RuntimeInstanceID, &f.record.RuntimeInstanceID},
	} {
		if given(flag) {
			*m.to = *m.from
		}
	}
	if given("metadata") {
		r.Metadata = json.RawMessage(f.metadata)
	}
	if given("external-name") && f.external == "" {
		r.ExternalName = nil
	} else if given("external-name") || given("external-source") || given("external-wallet") || given("external-registered-at") {
		e := agentruntime.ExternalName{Source: agentruntime.ExternalNameSource(f.source)}
		if r.ExternalName != nil {
			e = *r.ExternalName
		}
		if given("external-name") {
			e.Name = f.external
		}
		if given("external-source") {
			e.Source = agentruntime.ExternalNameSource(f.source)
		}
		if given("external-wallet") {
			e.WalletRef = f.externalWallet
		}
		if given("external-registered-at") {
			e.RegisteredAt = agentruntime.Timestamp(f.registered)
		}
		r.ExternalName = &e
	}
	if given("contract") && f.contract == "" {
		r.OnchainIdentity = nil
	} else if given("contract") || given("token-id") || given("reputation-ref") {
		o := agentruntime.OnchainIdentity{}
		if r.OnchainIdentity != nil {
			o = *r.OnchainIdentity
		}
		if given("contract") {
			o.Contract = f.contract
		}
		if given("token-id") {
			o.TokenID = f.token
		}
		if given("reputation-ref") {
			o.ReputationRef = f.reputation
		}
		r.OnchainIdentity = &o
	}
}

func (a *app) agentAddCmd() *cobra.Command {
	var f identityFlags
	c := &cobra.Command{
		Use: "add NAME [flags]", Short: "Write an agent: its internal name, and what else is known of it", Args: cobra.MaximumNArgs(1),
		Long: `Write an agent. Its internal name is its key for life: a registered name and an on-chain identity can be added, and
never replace it. "agent: NAME" in the home's deed.yaml says that this runtime is that agent: every brief then begins with
who it is and with its constitution.`,
		Example: `  deed agent add loom --display-name Loom
  deed agent add --file identity.json`,
		RunE: func(c *cobra.Command, args []string) error {
			var r agentruntime.AgentIdentity
			var err error
			if f.file != "" {
				if r, err = readRecord[agentruntime.AgentIdentity](c.Context(), a, f.file, agentruntime.SchemaAgentIdentity); err != nil {
					return err
				}
				if len(args) == 1 && args[0] != r.AgentID {
					return usage(fmt.Errorf("%s is about agent %q, not %q (leave NAME out, or correct one)", shownInput(f.file), r.AgentID, args[0]))
				}
			} else if len(args) == 0 {
				return usage(errors.New("NAME is missing (or give --file)"))
			} else {
				r = agentruntime.AgentIdentity{AgentID: args[0], InternalName: args[0], DisplayName: args[0]}
			}
			f.apply(c, &r)
			if err := a.open(c.Context()); err != nil {
				return err
			}
			g, err := a.st.AddAgent(c.Context(), r, a.operator())
			if errors.Is(err, store.ErrExists) {
				return usage(fmt.Errorf("%w (`deed agent set %s` changes it)", err, clean(r.AgentID)))
			}
			if err != nil {
				return identityFault(err)
			}
			return a.wrote(g, "added")
		},
	}
	f.register(c)
	return c
}

func (a *app) agentSetCmd() *cobra.Command {
	var f identityFlags
	c := &cobra.Command{
		Use: "set NAME [flags]", Short: "Change what is known of an agent; an empty value takes it away", Args: names("NAME"),
		Example: `  deed agent set loom --external-name 'Trustless Indra' --external-wallet bc1q9
  deed agent set loom --codename ''`,
		RunE: func(c *cobra.Command, args []string) error {
			g, err := a.oneAgent(c.Context(), args[0])
			if err != nil {
				return err
			}
			var whole *agentruntime.AgentIdentity
			if f.file != "" {
				r, err := readRecord[agentruntime.AgentIdentity](c.Context(), a, f.file, agentruntime.SchemaAgentIdentity)
				if err != nil {
					return err
				}
				whole = &r
			}
			g, err = a.st.ChangeAgent(c.Context(), g.Record.AgentID, a.operator(), func(r *agentruntime.AgentIdentity) error {
				if whole != nil {
					*r = *whole
				}
				f.apply(c, r)
				return nil
			})
			if err != nil {
				return identityFault(err)
			}
			return a.wrote(g, "changed")
		},
	}
	f.register(c)
	return c
}

// readRecord reads a record of the contract strictly.
func readRecord[T any](ctx context.Context, a *app, file, id string) (T, error) {
	data, err := a.readFile(ctx, file)
	if err != nil {
		var zero T
		return zero, unread(err)
	}
	r, err := schema.Decode[T](id, data)
	if err != nil {
		return r, usage(fmt.Errorf("%s: %w", shownInput(file), err))
	}
	return r, nil
}

func (a *app) wrote(g store.Agent, word string) error {
	if a.json {
		return a.emit(g.Record)
	}
	a.hint("agent %s is %s", clean(g.Record.AgentID), word)
	if word == "added" && a.cfg.Agent == "" {
		a.hint("this runtime is no agent yet: \"agent: %s\" in %s says that it is", clean(g.Record.AgentID), showPath(a.h.Config()))
	}
	return nil
}

// identityFault marks what the caller can fix.
func identityFault(err error) error {
	if errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrStale) || errors.Is(err, store.ErrNotFound) {
		return usage(err)
	}
	return refused(err)
}

func (a *app) oneAgent(ctx context.Context, name string) (store.Agent, error) {
	if err := a.view(ctx); err != nil {
		return store.Agent{}, err
	}
	g, err := a.st.Agent(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return g, usage(fmt.Errorf("no agent %q in %s (`deed agent list` shows them, `deed agent add` writes one)", name, a.h.Root()))
	}
	return g, err
}

// agentDoc joins the records of an agent.
func (a *app) agentDoc(ctx context.Context, g store.Agent) (agentDoc, error) {
	id := g.Record.AgentID
	d := agentDoc{Schema: "deed/agent/v1", Identity: g.Record, This: a.cfg.Agent == id, Wallets: []agentruntime.WalletIdentity{}, Proposals: []proposalDoc{}}
	if g.Constitution > 0 {
		c, err := a.st.Constitution(ctx, id, g.Constitution)
		if err != nil {
			return d, err
		}
		r := identity.Record(c)
		d.Constitution = &r
	}
	list, err := a.st.Wallets(ctx, store.WalletFilter{AgentID: id})
	if err != nil {
		return d, err
	}
	for _, w := range list {
		d.Wallets = append(d.Wallets, w.Record)
	}
	waiting, err := a.waiting(ctx, id)
	if err != nil {
		return d, err
	}
	for _, p := range waiting {
		d.Proposals = append(d.Proposals, newProposalDoc(p))
	}
	return d, nil
}

func (a *app) showAgent(ctx context.Context, g store.Agent) error {
	d, err := a.agentDoc(ctx, g)
	if err != nil {
		return err
	}
	if a.json {
		return a.emit(d)
	}
	r := d.Identity
	lines := [][2]string{{"agent", r.InternalName}, {"shown as", r.DisplayName}, {"codename", r.Codename}, {"host", r.Host}, {"user", r.User}, {"instance", r.RuntimeInstanceID}}
	if d.This {
		lines = append(lines, [2]string{"runtime", "this one is it"})
	}
	if e := r.ExternalName; e != nil {
		lines = append(lines, [2]string{"registered", e.Name + " by " + e.WalletRef + " (" + string(e.Source) + ")"})
	}
	if o := r.OnchainIdentity; o != nil {
		lines = append(lines, [2]string{"contract", strings.TrimSpace(o.Contract + " " + o.TokenID)})
	}
	if c := d.Constitution; c != nil {
		lines = append(lines, [2]string{"version", c.Version + " of " + string(c.RevisedAt)}, [2]string{"soul", c.SoulHash}, [2]string{"purpose", c.PurposeHash})
	}
	for _, w := range d.Wallets {
		lines = append(lines, [2]string{"wallet", strings.Join(strings.Fields(w.Address+" "+w.Chain+" "+w.Network), " ")})
	}
	for _, p := range d.Proposals {
		lines = append(lines, [2]string{"proposal", p.ProposalID + " by " + p.By})
	}
	for _, line := range lines {
		if line[1] != "" {
			a.printf("%-11s %s\n", line[0], clean(line[1]))
		}
	}
	return nil
}

// agentList reads all of them, in portions.
func (a *app) agentList(ctx context.Context) error {
	if err := a.view(ctx); err != nil {
		return err
	}
	all := []agentruntime.AgentIdentity{}
	rows := [][]string{}
	for after := ""; ; {
		some, err := a.st.Agents(ctx, after, 1000)
		if err != nil {
			return err
		}
		for _, g := range some {
			a.hintDamaged(g.Damage)
			all = append(all, g.Record)
			version, this := "", ""
			if g.Constitution > 0 {
				version = fmt.Sprintf("%d.0.0", g.Constitution)
			}
			if g.Record.AgentID == a.cfg.Agent {
				this = "this runtime"
			}
			rows = append(rows, []string{clean(g.Record.AgentID), clean(g.Record.DisplayName), version, this})
			after = g.Record.AgentID
		}
		if len(some) < 1000 {
			break
		}
	}
	switch {
	case a.json:
		return a.emit(map[string]any{"schema": "deed/agents/v1", "this_runtime": a.cfg.Agent, "agents": all})
	case len(rows) == 0:
		a.hint("there is no agent (`deed agent add NAME` writes one)")
	default:
		a.table([]string{"AGENT", "SHOWN AS", "CONSTITUTION", ""}, rows)
	}
	return nil
}
