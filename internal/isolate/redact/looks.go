package redact

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// credentialName is what variables are called that hold credentials. A name alone is a guess; values that carry a
// password in a URL are found whatever they are called.
var credentialName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(token|secret|passw|pwd|passphrase|credential|bearer|jwt|auth|dsn|cookie|key$|(^|_)pat($|_))`)
})

// credentialValue is how well-known credentials begin.
var credentialValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(gh[opusr]_|github_pat_|sk-|xox[a-z]-|AKIA|ASIA|eyJ|glpat-)`)
})

// LooksSecret guesses whether a variable holds a credential.
func LooksSecret(name, value string) bool {
	return credentialName().MatchString(name) || credentialValue().MatchString(value) || hasPassword(value)
}

// Secrets returns the variables of an environment that look like credentials. The working directory is not one, although
// PWD is called like a password, nor is a path.
func Secrets(environ []string) map[string]string {
	found := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if name != "PWD" && name != "OLDPWD" && LooksSecret(name, value) && !strings.HasPrefix(value, "/") {
			found[name] = value
		}
	}
	return found
}

func hasPassword(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.User == nil || u.Host == "" {
		return false
	}
	_, set := u.User.Password()
	return set
}
