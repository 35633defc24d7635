package codebox

import (
	"regexp"
	"strings"
	"sync"
)

// Redacted stands for what looked like a credential.
const Redacted = "[REDACTED]"

// credential matches the tokens that services hand out with a mark of their own. What has no mark looks like any
// other text, and no pattern finds it.
var credential = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`sk-[A-Za-z0-9_-]{16,}`,                                      // model providers
		`gh[a-z]_[A-Za-z0-9]{16,}`,                                   // GitHub, all kinds
		`github_pat_[A-Za-z0-9_]{16,}`,                               // GitHub, fine-grained
		`xox[a-z]-[A-Za-z0-9-]{8,}`,                                  // Slack
		`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, // JSON web tokens
		`(?:AKIA|ASIA)[A-Z0-9]{16}`,                                  // AWS
		`-----BEGIN [A-Z ]*PRIVATE KEY-----`,
	}, "|"))
})

// LooksLikeCredential reports whether a text holds a token of a known form.
func LooksLikeCredential(s string) bool { return credential().MatchString(s) }

// MaskCredentials replaces every token of a known form.
func MaskCredentials(s string) string { return credential().ReplaceAllLiteralString(s, Redacted) }

// MaxEnvName is the longest name of an environment variable in a request.
const MaxEnvName = 64

// IsEnvName reports whether a name is one that a request may use for an environment variable: capital letters, digits
// and _, no digit first, at most MaxEnvName of them.
func IsEnvName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= MaxEnvName
}

// looksLikeValue reports whether what should be a variable's name is more likely a secret's value. A key in base32, or
// one of AWS, has the letters of a name; its length without any _ gives it away.
func looksLikeValue(name string) bool {
	return !IsEnvName(name) || LooksLikeCredential(name) ||
		len(name) >= 20 && !strings.Contains(name, "_") && strings.ContainsAny(name, "0123456789")
}
