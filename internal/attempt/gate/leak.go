package gate

import "github.com/deedrun/deed/internal/evidence/leak"

// The reason codes for secrets that were not declared.
const (
	CodeLeakInChange    = "leak_in_change"    // the change adds a private key or a token
	CodeLeakNotSearched = "leak_not_searched" // a changed file could not be searched completely
)

// leaks rejects a change that adds undeclared secrets, and one that could not be searched for them.
func (v *verdict) leaks(found leak.Report) {
	for _, f := range found.Findings {
		v.reject(CodeLeakInChange, f.Path, "%s:%d holds what looks like a secret (%s: %s): take it out; a real one has to be revoked, and a harmless file can be allowed by --allow-secret (allow_secrets of the task)",
			quotePath(f.Path), f.Line, f.Rule, f.Head)
	}
	for _, g := range found.Gaps {
		v.reject(CodeLeakNotSearched, g.Path, "%s was not searched for secrets to its end: %s; it can be allowed by --allow-secret (allow_secrets of the task)", quotePath(g.Path), g.Why)
	}
}
