package process

import (
	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// Credentials returns the variables of an adapter's own environment that look like credentials, so that their values can
// be kept out of the evidence.
func Credentials(a agentruntime.AdapterConfig) (map[string]string, error) {
	c, ok := Of(a)
	if !ok {
		return nil, nil
	}
	return CredentialsOf(c)
}

// CredentialsOf is Credentials for an environment of one's own. A value of the file that env overrides counts too.
func CredentialsOf(c Config) (map[string]string, error) {
	found := map[string]string{}
	look := func(vars map[string]string) {
		for name, value := range vars {
			if redact.LooksSecret(name, value) {
				found[name] = value
			}
		}
	}
	if c.EnvFile != "" {
		vars, err := readEnvFile(c.EnvFile)
		if err != nil {
			return nil, err
		}
		look(vars)
	}
	look(c.Env)
	return found, nil
}

// Own returns the adapter's own environment: env_file, and env above it.
func Own(c Config) (map[string]string, error) {
	vars := map[string]string{}
	if c.EnvFile != "" {
		var err error
		if vars, err = readEnvFile(c.EnvFile); err != nil {
			return nil, err
		}
	}
	for name, value := range c.Env {
		vars[name] = value
	}
	return vars, nil
}
