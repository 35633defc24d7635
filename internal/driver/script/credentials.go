package script

import (
	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/redact"
)

var _ driver.Credentialed = (*Driver)(nil)

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
			if redact.LooksSecret(name, value) {
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
