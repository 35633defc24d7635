package script

import (
	"net/url"
	"regexp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/driver"
)

var _ driver.Credentialed = (*Driver)(nil)

// credentialName is what variables are called that hold credentials. A name alone is a guess; values that carry a
// password in a URL are found whatever they are called.
var credentialName = regexp.MustCompile(`(?i)(token|secret|passw|pwd|passphrase|credential|bearer|jwt|auth|dsn|cookie|key$|(^|_)pat($|_))`)

// credentialValue is how well-known credentials begin.
var credentialValue = regexp.MustCompile(`^(gh[opusr]_|github_pat_|sk-|xox[a-z]-|AKIA|ASIA|eyJ|glpat-)`)

// Credentials returns the variables of the adapter's own environment that look like credentials, so that their
// values can be kept out of the evidence.
func (*Driver) Credentials(a agentruntime.AdapterConfig) (map[string]string, error) {
	s := a.Script
	if s == nil {
		return nil, nil
	}
	found := map[string]string{}
	look := func(vars map[string]string) {
		for name, value := range vars {
			if credentialName.MatchString(name) || credentialValue.MatchString(value) || hasPassword(value) {
				found[name] = value
			}
		}
	}
	if s.EnvFile != "" {
		vars, err := readEnvFile(s.EnvFile)
		if err != nil {
			return nil, err
		}
		look(vars)
	}
	look(s.Env)
	return found, nil
}

func hasPassword(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.User == nil || u.Host == "" {
		return false
	}
	_, set := u.User.Password()
	return set
}
