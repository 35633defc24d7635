package runtimepkg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/base/proc"
)

// A SecretStore is one place that values are looked up in.
type SecretStore struct {
	Name   string // for people: environment, env_file, deed.yaml
	Lookup func(ctx context.Context, name string) (value string, ok bool, err error)
}

// Environment is the store of a process environment. An empty variable is none.
func Environment(environ []string) SecretStore {
	vars := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			vars[k] = v
		}
	}
	return Values("environment", vars)
}

// Values is the store of a table, such as an env_file.
func Values(name string, vars map[string]string) SecretStore {
	return SecretStore{Name: name, Lookup: func(_ context.Context, n string) (string, bool, error) {
		v := vars[n]
		return v, v != "", nil
	}}
}

// Bounds of a configured secret.
const (
	secretLimit  = 10 * time.Second
	maxSecret    = 64 << 10
	secretKept   = 30 * time.Second // a fanout asks a keychain once, and a token that was renewed is seen soon
	secretsStore = "deed.yaml"
)

// OwnStores are where deed itself looks a secret up, for tasks and for packages alike: the environment, then what the operator
// configured.
func OwnStores(environ []string, configured map[string]settings.Secret) []SecretStore {
	list := []SecretStore{Environment(environ)}
	if len(configured) > 0 {
		list = append(list, Configured(configured, environ))
	}
	return list
}

// Configured is the store of the secrets that the operator's file says where to find. A value is kept for a short time, in
// memory. Errors name the secret and never hold anything that a command printed.
func Configured(secrets map[string]settings.Secret, environ []string) SecretStore {
	k := &keeper{environ: environ, kept: map[string]keptSecret{}}
	return SecretStore{Name: secretsStore, Lookup: func(ctx context.Context, name string) (string, bool, error) {
		s, ok := secrets[name]
		if !ok {
			return "", false, nil
		}
		v, err := k.value(ctx, name, s)
		if err != nil {
			return "", false, fmt.Errorf("secrets.%s: %w", name, err)
		}
		return v, v != "", nil
	}}
}

// A keeper reads configured secrets, one at a time.
type keeper struct {
	environ []string

	mu   sync.Mutex
	kept map[string]keptSecret // guarded by mu
}

type keptSecret struct {
	value string
	since time.Time
}

func (k *keeper) value(ctx context.Context, name string, s settings.Secret) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, there := k.kept[name]; there && clock.Since(old.since) < secretKept {
		return old.value, nil
	}
	delete(k.kept, name)
	v, err := k.read(ctx, s)
	if err != nil || v == "" {
		return "", err
	}
	k.kept[name] = keptSecret{v, clock.Start()}
	return v, nil
}

func (k *keeper) read(ctx context.Context, s settings.Secret) (string, error) {
	switch {
	case s.Env != "":
		v := proc.Getenv(k.environ, s.Env)
		if v == "" {
			return "", fmt.Errorf("%s is not set", s.Env)
		}
		return v, nil
	case s.File != "":
		return readSecretFile(s.File)
	}
	return k.run(ctx, s)
}

// run asks a command for a secret. It sees what a keychain needs to know its user, and no other variable.
func (k *keeper) run(ctx context.Context, s settings.Secret) (string, error) {
	limit := secretLimit
	if s.TimeoutSeconds > 0 {
		limit = time.Duration(s.TimeoutSeconds) * time.Second
	}
	late := fmt.Errorf("%s did not end within %v", s.Command[0], limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	env := []string{"LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME", "SSH_AUTH_SOCK"} {
		if v := proc.Getenv(k.environ, name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	argv := append([]string{}, s.Command...)
	var err error
	if argv[0], err = proc.LookPath(argv[0], proc.Getenv(k.environ, "PATH"), "/"); err != nil {
		return "", err
	}
	// A guard and no supervisor: what the command starts ends with deed, and the agent that a keychain leaves running stays.
	r, err := proc.Tool(ctx, proc.ToolSpec{Argv: argv, Dir: "/", Env: env, MaxOutput: maxSecret, Guarded: true})
	switch {
	case errors.Is(err, proc.ErrOutputLimit):
		return "", fmt.Errorf("%s printed more than %d bytes", s.Command[0], maxSecret)
	case err != nil:
		return "", err
	case r.ExitCode != 0: // what it says of that may hold what it was asked for
		return "", fmt.Errorf("%s ended with %d", s.Command[0], r.ExitCode)
	}
	return plainSecret(s.Command[0], string(r.Stdout))
}

func readSecretFile(name string) (string, error) {
	data, err := plainfile.Read(name, maxSecret)
	if err != nil {
		return "", err
	}
	return plainSecret(name, string(data))
}

// plainSecret takes one newline off the end, as every tool adds one. A value must fit into a variable.
func plainSecret(from, value string) (string, error) {
	value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
	switch {
	case value == "":
		return "", fmt.Errorf("%s gave nothing", from)
	case strings.ContainsRune(value, 0):
		return "", fmt.Errorf("%s gave a value that no variable can hold", from)
	}
	return value, nil
}
