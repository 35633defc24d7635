package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

func (a *app) walletCmd() *cobra.Command {
	return group("wallet", "Attach addresses to agents", a.walletAddCmd(), a.walletSetCmd(), a.walletListCmd(), a.walletShowCmd(), a.walletRemoveCmd())
}

// walletFlags are the members of a wallet's record that can be given one by one.
type walletFlags struct {
	file, metadata string
	record         agentruntime.WalletIdentity
}

func (f *walletFlags) register(c *cobra.Command) {
	fl, r := c.Flags(), &f.record
	fl.StringVar(&f.file, "file", "", "`FILE` with the whole record as JSON ("+agentruntime.SchemaWalletIdentity+"), - for standard input")
	fl.StringVar(&r.Chain, "chain", "", "the chain, such as stacks or bitcoin")
	fl.StringVar(&r.Network, "network", "", "mainnet, testnet or devnet")
	fl.StringVar(&r.PublicKey, "public-key", "", "the public `KEY`; never a private one")
	fl.StringVar(&r.Name, "name", "", "a name that leads to the address")
	fl.StringSliceVar(&r.Capabilities, "capability", nil, "what it is for: sign, heartbeat, message, claim, publish; may be given several times")
	fl.StringVar(&r.OnchainIdentityContract, "contract", "", "the on-chain identity `CONTRACT`; it must be the agent's own")
	fl.StringVar(&r.ReputationRef, "reputation-ref", "", "the contract's method that reads reputation")
	fl.StringVar(&f.metadata, "metadata", "", "a `JSON` object of your own")
}

// apply lays the given flags over a record. What distinguishes wallets is not changed.
func (f *walletFlags) apply(c *cobra.Command, w *agentruntime.WalletIdentity) {
	given, r := c.Flags().Changed, &f.record
	for flag, m := range map[string]struct{ to, from *string }{
		"public-key": {&w.PublicKey, &r.PublicKey}, "name": {&w.Name, &r.Name}, "contract": {&w.OnchainIdentityContract, &r.OnchainIdentityContract},
		"reputation-ref": {&w.ReputationRef, &r.ReputationRef},
	} {
		if given(flag) {
			*m.to = *m.from
		}
	}
	if given("capability") {
		w.Capabilities = r.Capabilities
	}
	if given("metadata") {
		w.Metadata = json.RawMessage(f.metadata)
	}
}

func (a *app) walletAddCmd() *cobra.Command {
	var f walletFlags
	var agent string
	c := &cobra.Command{
		Use: "add ADDRESS --agent NAME --chain CHAIN [flags]", Short: "Attach an address to an agent", Args: cobra.MaximumNArgs(1),
		Long: `Attach an address on a chain to an agent. A wallet that names an on-chain identity contract must name the agent's own; when the
two differ nothing is written, whichever came first.`,
		Example: `  deed wallet add bc1q9 --agent loom --chain bitcoin --capability sign
  deed wallet add --file wallet.json`,
		RunE: func(c *cobra.Command, args []string) error {
			w := agentruntime.WalletIdentity{AgentID: agent, Chain: f.record.Chain, Network: f.record.Network}
			if len(args) == 1 {
				w.Address = args[0]
			}
			if f.file != "" {
				if len(args) == 1 || agent != "" || w.Chain != "" || w.Network != "" {
					return usage(errors.New("ADDRESS, --agent, --chain and --network are in the --file (leave them out)"))
				}
				var err error
				if w, err = readRecord[agentruntime.WalletIdentity](c.Context(), a, f.file, agentruntime.SchemaWalletIdentity); err != nil {
					return err
				}
			}
			f.apply(c, &w)
			if err := a.open(c.Context()); err != nil {
				return err
			}
			w, err := a.st.AddWallet(c.Context(), w, a.operator())
			if errors.Is(err, store.ErrExists) {
				return usage(fmt.Errorf("%w (`deed wallet set` changes it)", err))
			}
			if err != nil {
				return identityFault(err)
			}
			if a.json {
				return a.emit(w)
			}
			a.hint("wallet %s belongs to agent %s", clean(w.Address), clean(w.AgentID))
			if _, err := a.st.Agent(c.Context(), w.AgentID); errors.Is(err, store.ErrNotFound) {
				a.hint("there is no agent %s yet (`deed agent add` writes it)", clean(w.AgentID))
			}
			return nil
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "the internal `NAME` of the agent")
	f.register(c)
	return c
}

func (a *app) walletSetCmd() *cobra.Command {
	var f walletFlags
	c := &cobra.Command{
		Use: "set ADDRESS [flags]", Short: "Change what is known of a wallet; an empty value takes it away", Args: names("ADDRESS"),
		Example: "  deed wallet set bc1q9 --name loom.btc --capability sign --capability publish",
		RunE: func(c *cobra.Command, args []string) error {
			w, err := a.oneWallet(c.Context(), args[0], f.record.Chain, f.record.Network)
			if err != nil {
				return err
			}
			var whole *agentruntime.WalletIdentity
			if f.file != "" {
				r, err := readRecord[agentruntime.WalletIdentity](c.Context(), a, f.file, agentruntime.SchemaWalletIdentity)
				if err != nil {
					return err
				}
				whole = &r
			}
			w, err = a.st.ChangeWallet(c.Context(), w, a.operator(), func(w *agentruntime.WalletIdentity) error {
				if whole != nil {
					*w = *whole
				}
				f.apply(c, w)
				return nil
			})
			if err != nil {
				return identityFault(err)
			}
			if a.json {
				return a.emit(w)
			}
			a.hint("wallet %s is changed", clean(w.Address))
			return nil
		},
	}
	f.register(c)
	return c
}

// narrow registers the flags that distinguish wallets of one address.
func narrow(c *cobra.Command, chain, network *string) {
	c.Flags().StringVar(chain, "chain", "", "the chain, when the address is there on several")
	c.Flags().StringVar(network, "network", "", "the network, when the address is there on several")
}

func (a *app) walletShowCmd() *cobra.Command {
	var chain, network string
	c := &cobra.Command{
		Use: "show ADDRESS", Short: "Show a wallet", Args: names("ADDRESS"),
		RunE: func(c *cobra.Command, args []string) error {
			w, err := a.oneWallet(c.Context(), args[0], chain, network)
			if err != nil {
				return err
			}
			if a.json {
				return a.emit(w)
			}
			for _, line := range [][2]string{
				{"wallet", w.Address},
				{"agent", w.AgentID},
				{"chain", w.Chain + " " + w.Network},
				{"name", w.Name},
				{"can", strings.Join(w.Capabilities, ", ")},
				{"contract", w.OnchainIdentityContract},
				{"public key", w.PublicKey},
			} {
				if line[1] != "" {
					a.printf("%-10s %s\n", line[0], clean(line[1]))
				}
			}
			return nil
		},
	}
	narrow(c, &chain, &network)
	return c
}

func (a *app) walletRemoveCmd() *cobra.Command {
	var chain, network string
	c := &cobra.Command{
		Use: "remove ADDRESS", Aliases: []string{"rm"}, Short: "Take an address from its agent", Args: names("ADDRESS"),
		RunE: func(c *cobra.Command, args []string) error {
			w, err := a.oneWallet(c.Context(), args[0], chain, network)
			if err != nil {
				return err
			}
			if err := a.st.DropWallet(c.Context(), w, a.operator()); err != nil {
				return identityFault(err)
			}
			if a.json {
				return a.emit(w)
			}
			a.hint("wallet %s is removed", clean(w.Address))
			return nil
		},
	}
	narrow(c, &chain, &network)
	return c
}

// oneWallet finds a wallet by its address, and by its chain where that is not enough.
func (a *app) oneWallet(ctx context.Context, address, chain, network string) (agentruntime.WalletIdentity, error) {
	if err := a.view(ctx); err != nil {
		return agentruntime.WalletIdentity{}, err
	}
	list, err := a.st.Wallets(ctx, store.WalletFilter{Address: address})
	if err != nil {
		return agentruntime.WalletIdentity{}, err
	}
	list = slices.DeleteFunc(list, func(w store.Wallet) bool {
		return chain != "" && w.Record.Chain != chain || network != "" && w.Record.Network != network
	})
	switch len(list) {
	case 0:
		return agentruntime.WalletIdentity{}, usage(fmt.Errorf("no wallet %q in %s (`deed wallet list` shows them)", address, a.h.Root()))
	case 1:
		return list[0].Record, nil
	}
	return agentruntime.WalletIdentity{}, usage(fmt.Errorf("%q is there on %d chains or networks (give --chain and --network)", address, len(list)))
}

func (a *app) walletListCmd() *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the wallets, of one agent or of all", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.view(c.Context()); err != nil {
				return err
			}
			all := []agentruntime.WalletIdentity{}
			for after := int64(0); ; {
				some, err := a.st.Wallets(c.Context(), store.WalletFilter{AgentID: agent, After: after})
				if err != nil {
					return err
				}
				for _, w := range some {
					a.hintDamaged(w.Damage)
					all, after = append(all, w.Record), w.Seq
				}
				if len(some) < 1000 {
					break
				}
			}
			if a.json {
				return a.emit(map[string]any{"schema": "deed/wallets/v1", "wallets": all})
			}
			if len(all) == 0 {
				a.hint("there is no wallet (`deed wallet add --help` shows how to attach one)")
				return nil
			}
			rows := make([][]string, len(all))
			for i, w := range all {
				rows[i] = []string{clean(w.Address), clean(w.AgentID), clean(w.Chain + " " + w.Network), clean(strings.Join(w.Capabilities, ", "))}
			}
			a.table([]string{"WALLET", "AGENT", "CHAIN", "CAN"}, rows)
			return nil
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "of this agent alone")
	return c
}
