package agentruntime

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/fault"
)

// An AgentIdentity is the durable top-level agent, one per machine: data, never engine code. The internal name is
// its key; the external name and the on-chain entry may be absent and never override it.
type AgentIdentity struct {
	Schema            string           `json:"schema,omitempty"`
	AgentID           string           `json:"agent_id" jsonschema:"minLength=1,maxLength=512"`      // the canonical key; equals internal_name
	InternalName      string           `json:"internal_name" jsonschema:"minLength=1,maxLength=512"` // the given name that operators and peers use
	ExternalName      *ExternalName    `json:"external_name,omitempty"`
	OnchainIdentity   *OnchainIdentity `json:"onchain_identity,omitempty"`
	DisplayName       string           `json:"display_name" jsonschema:"minLength=1,maxLength=512"` // what people are shown
	Codename          string           `json:"codename,omitempty" jsonschema:"maxLength=512"`       // an older alias
	PurposeRef        string           `json:"purpose_ref,omitempty" jsonschema:"maxLength=4096"`   // the path of PURPOSE.md
	SoulRef           string           `json:"soul_ref,omitempty" jsonschema:"maxLength=4096"`      // the path of SOUL.md
	Host              string           `json:"host,omitempty" jsonschema:"maxLength=512"`
	User              string           `json:"user,omitempty" jsonschema:"maxLength=512"`
	RuntimeInstanceID string           `json:"runtime_instance_id,omitempty" jsonschema:"maxLength=512"`
	Metadata          json.RawMessage  `json:"metadata,omitempty"`
}

// An ExternalName is a registered name that was derived from a wallet.
type ExternalName struct {
	Name         string             `json:"name" jsonschema:"minLength=1,maxLength=512"`
	RegisteredAt Timestamp          `json:"registered_at,omitempty"`
	Source       ExternalNameSource `json:"source"`
	WalletRef    string             `json:"wallet_ref" jsonschema:"minLength=1,maxLength=512"` // the address that authored the registration
}

// ExternalNameSource says where an external name was read.
type ExternalNameSource string

// The sources of an external name.
const (
	NameFromAPI   ExternalNameSource = "aibtc-api"
	NameFromCache ExternalNameSource = "local-cache"
)

// ExternalNameSources lists every source.
var ExternalNameSources = []ExternalNameSource{NameFromAPI, NameFromCache}

// An OnchainIdentity is an entry in an ERC-8004-compatible contract.
type OnchainIdentity struct {
	Contract      string `json:"contract" jsonschema:"minLength=1,maxLength=512"` // the contract's principal
	TokenID       string `json:"token_id,omitempty" jsonschema:"maxLength=512"`
	ReputationRef string `json:"reputation_ref,omitempty" jsonschema:"maxLength=512"` // the contract method that reads reputation
}

// Validate returns every fault of the record.
func (a AgentIdentity) Validate() error {
	var l fault.List
	schemaIs(&l, a.Schema, SchemaAgentIdentity)
	l.Name("$.agent_id", a.AgentID)
	l.Name("$.internal_name", a.InternalName)
	if a.AgentID != a.InternalName {
		l.Add("$.agent_id", fault.Conflict, fmt.Sprintf("%q differs from internal_name %q", clip(a.AgentID), clip(a.InternalName)), "use the internal name for both")
	}
	if e := a.ExternalName; e != nil {
		l.Name("$.external_name.name", e.Name)
		optionalInstant(&l, "$.external_name.registered_at", e.RegisteredAt)
		fault.OneOf(&l, "$.external_name.source", e.Source, ExternalNameSources...)
		l.Name("$.external_name.wallet_ref", e.WalletRef)
	}
	if o := a.OnchainIdentity; o != nil {
		l.Name("$.onchain_identity.contract", o.Contract)
		l.OptionalName("$.onchain_identity.token_id", o.TokenID)
		l.OptionalName("$.onchain_identity.reputation_ref", o.ReputationRef)
	}
	l.Name("$.display_name", a.DisplayName)
	l.OptionalName("$.codename", a.Codename)
	l.OptionalPath("$.purpose_ref", a.PurposeRef)
	l.OptionalPath("$.soul_ref", a.SoulRef)
	l.OptionalName("$.host", a.Host)
	l.OptionalName("$.user", a.User)
	l.OptionalName("$.runtime_instance_id", a.RuntimeInstanceID)
	l.OptionalObject("$.metadata", a.Metadata)
	return l.Err()
}

// An AgentConstitution pins the two documents that an agent wrote about itself, by content hash. It belongs to the
// agent; a subagent inherits it.
type AgentConstitution struct {
	Schema      string    `json:"schema,omitempty"`
	AgentID     string    `json:"agent_id" jsonschema:"minLength=1,maxLength=512"`
	SoulPath    string    `json:"soul_path" jsonschema:"minLength=1,maxLength=4096"`    // SOUL.md: identity, values, communication style
	PurposePath string    `json:"purpose_path" jsonschema:"minLength=1,maxLength=4096"` // PURPOSE.md: goals and weighted self-evaluation
	SoulHash    string    `json:"soul_hash" jsonschema:"minLength=1,maxLength=512"`     // content hash when the brief was compiled
	PurposeHash string    `json:"purpose_hash" jsonschema:"minLength=1,maxLength=512"`
	Version     string    `json:"version" jsonschema:"minLength=1,maxLength=512"` // semantic version or ISO 8601 revision
	RevisedAt   Timestamp `json:"revised_at"`
}

// Validate returns every fault of the record.
func (c AgentConstitution) Validate() error {
	var l fault.List
	schemaIs(&l, c.Schema, SchemaAgentConstitution)
	l.Name("$.agent_id", c.AgentID)
	l.Path("$.soul_path", c.SoulPath)
	l.Path("$.purpose_path", c.PurposePath)
	if c.SoulPath != "" && c.SoulPath == c.PurposePath {
		l.Add("$.purpose_path", fault.Conflict, "names the same file as soul_path", "SOUL.md and PURPOSE.md are two documents")
	}
	hash(&l, "$.soul_hash", c.SoulHash)
	hash(&l, "$.purpose_hash", c.PurposeHash)
	revision(&l, "$.version", c.Version)
	instant(&l, "$.revised_at", c.RevisedAt)
	return l.Err()
}

func hash(l *fault.List, at, v string) {
	l.Name(at, v)
	if strings.TrimSpace(v) != "" && strings.ContainsAny(v, " \t") {
		l.Add(at, fault.BadFormat, "holds white space", "write the digest alone, as in sha256:9f86d0…")
	}
}

// semver is compiled when a constitution is first checked, not when the program starts.
var semver = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
})

func revision(l *fault.List, at, v string) {
	if strings.TrimSpace(v) == "" {
		l.Name(at, v)
		return
	}
	if semver().MatchString(v) {
		return
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly, "2006-01", "20060102", "20060102T150405Z"} {
		if _, err := time.Parse(layout, v); err == nil {
			return
		}
	}
	l.Add(at, fault.BadFormat, fmt.Sprintf("%q is neither a semantic version nor an ISO 8601 date", clip(v)), "write 1.2.0 or 2026-01-31")
}
