package access

import (
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// MaxLife is the longest time until a token ends.
const MaxLife = 10 * 366 * 24 * time.Hour

// The states of a token or session.
const (
	StateLive    = "live"
	StateRevoked = "revoked"
	StateExpired = "expired"
)

// Shown is a token or session as it is shown. The text of a token is there once, when it is made.
type Shown struct {
	Schema    string                 `json:"schema"`
	ID        string                 `json:"id"`
	Kind      string                 `json:"kind"` // token or session
	Name      string                 `json:"name"`
	Role      string                 `json:"role"`
	State     string                 `json:"state"` // live, revoked or expired
	Token     string                 `json:"token,omitempty"`
	CreatedAt agentruntime.Timestamp `json:"created_at,omitempty"`
	CreatedBy string                 `json:"created_by,omitempty"`
	ExpiresAt agentruntime.Timestamp `json:"expires_at,omitempty"`
	UsedAt    agentruntime.Timestamp `json:"last_used_at,omitempty"`
	RevokedAt agentruntime.Timestamp `json:"revoked_at,omitempty"`
	RevokedBy string                 `json:"revoked_by,omitempty"`
}

// Show describes a token or session at an instant.
func Show(c store.Credential, now time.Time) Shown {
	at := func(t time.Time) agentruntime.Timestamp {
		if t.IsZero() {
			return ""
		}
		return agentruntime.At(t)
	}
	state := StateLive
	switch {
	case !c.RevokedAt.IsZero():
		state = StateRevoked
	case !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt):
		state = StateExpired
	}
	return Shown{
		Schema: "deed/token/v1", ID: c.ID, Kind: c.Kind, Name: c.Name, Role: c.Role, State: state, CreatedAt: at(c.CreatedAt), CreatedBy: c.CreatedBy,
		ExpiresAt: at(c.ExpiresAt), UsedAt: at(c.UsedAt), RevokedAt: at(c.RevokedAt), RevokedBy: c.RevokedBy,
	}
}
