package agentruntime

import (
	"encoding/json"
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// A WalletIdentity attaches one address on one chain to an agent, as data.
type WalletIdentity struct {
	Schema                  string          `json:"schema,omitempty"`
	AgentID                 string          `json:"agent_id" jsonschema:"minLength=1,maxLength=512"`
	Chain                   string          `json:"chain" jsonschema:"minLength=1,maxLength=512"` // stacks, bitcoin, ethereum and so on
	Network                 string          `json:"network,omitempty" jsonschema:"maxLength=512"` // mainnet, testnet or devnet
	Address                 string          `json:"address" jsonschema:"minLength=1,maxLength=512"`
	PublicKey               string          `json:"public_key,omitempty" jsonschema:"maxLength=4096"`
	Name                    string          `json:"name,omitempty" jsonschema:"maxLength=512"`                      // a BNS or similar name
	Capabilities            []string        `json:"capabilities,omitempty"`                                         // sign, heartbeat, message, claim, publish
	OnchainIdentityContract string          `json:"onchain_identity_contract,omitempty" jsonschema:"maxLength=512"` // must equal the agent's onchain_identity.contract
	ReputationRef           string          `json:"reputation_ref,omitempty" jsonschema:"maxLength=512"`
	Metadata                json.RawMessage `json:"metadata,omitempty"`
}

// Validate returns every fault of the record. What it shares with the agent's identity is CheckWallet's.
func (w WalletIdentity) Validate() error {
	var l fault.List
	schemaIs(&l, w.Schema, SchemaWalletIdentity)
	l.Name("$.agent_id", w.AgentID)
	l.Name("$.chain", w.Chain)
	l.OptionalName("$.network", w.Network)
	l.Name("$.address", w.Address)
	l.OptionalPath("$.public_key", w.PublicKey)
	l.OptionalName("$.name", w.Name)
	l.Names("$.capabilities", w.Capabilities)
	l.OptionalName("$.onchain_identity_contract", w.OnchainIdentityContract)
	l.OptionalName("$.reputation_ref", w.ReputationRef)
	l.OptionalObject("$.metadata", w.Metadata)
	return l.Err()
}

// CheckWallet returns every contradiction between a wallet and the agent it claims to belong to. The two are joined
// by agent_id; a conflict is a fault, never a merge. Paths are those of the wallet.
func CheckWallet(w WalletIdentity, a AgentIdentity) error {
	var l fault.List
	if w.AgentID != a.AgentID {
		l.Add("$.agent_id", fault.Conflict, fmt.Sprintf("%q is not the agent %q", clip(w.AgentID), clip(a.AgentID)), "attach the wallet to the agent it belongs to")
	}
	if w.OnchainIdentityContract != "" {
		switch {
		case a.OnchainIdentity == nil:
			l.Add("$.onchain_identity_contract", fault.Conflict, fmt.Sprintf("names %q and the agent has no onchain_identity", clip(w.OnchainIdentityContract)), "add onchain_identity to the agent or remove the contract here")
		case a.OnchainIdentity.Contract != w.OnchainIdentityContract:
			l.Add("$.onchain_identity_contract", fault.Conflict, fmt.Sprintf("%q differs from the agent's contract %q", clip(w.OnchainIdentityContract), clip(a.OnchainIdentity.Contract)), "make both the same")
		}
	}
	return l.Err()
}
