package runtimepkg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// A SecretNeed is a secret that a run gets, by name.
type SecretNeed struct {
	Name     string   `json:"name"`
	Required bool     `json:"required"`
	Asked    []string `json:"asked_by"` // the paths, in the request and the manifest, that ask for it
	source   *homeboy.SecretSource
}

// SecretNeeds lists the names that the request and the selected provider ask for: nobody else's, and nothing that only
// happens to be in the environment. Conditions are held against the request.
func SecretNeeds(x homeboy.ExecutorProvider, doc Document) []SecretNeed {
	needs := map[string]*SecretNeed{}
	add := func(names []string, required bool, asked string, sources map[string]homeboy.SecretSource) {
		for _, name := range names {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			n := needs[name]
			if n == nil {
				n = &SecretNeed{Name: name}
				needs[name] = n
			}
			n.Required = n.Required || required
			n.Asked = append(n.Asked, asked)
			if s, ok := sources[name]; ok && n.source == nil {
				n.source = &s
			}
		}
	}
	add(doc.texts("executor.secret_env"), true, "executor.secret_env", nil)
	for i, r := range x.SecretEnvRequirements {
		if Holds(r.When, doc) {
			add(r.Env, isRequired(r.Required), fault.Index("secret_env_requirements", i), r.SecretEnvSources)
		}
	}
	for i, r := range x.SecretRequirements {
		if holdsValue(r.When, doc) {
			add(r.Names(), isRequired(r.Required), fault.Index("secret_requirements", i), nil)
		}
	}
	if ai := doc.text("executor.config.provider"); ai != "" {
		d := x.ProviderDefaults[ai]
		from := "provider_defaults." + ai
		// Names that the package also calls optional are not demanded because they are listed.
		for _, name := range d.SecretEnv {
			add([]string{name}, !slices.Contains(d.OptionalSecretEnv, name), from+".secret_env", d.SecretEnvSources)
		}
		add(d.RequiredSecretEnv, true, from+".required_secret_env", d.SecretEnvSources)
		add(d.OptionalSecretEnv, false, from+".optional_secret_env", d.SecretEnvSources)
	}
	for i, r := range x.RunnerReadiness {
		add(r.SecretEnv, true, fault.Index("runner_readiness", i)+".secret_env", nil)
	}
	var out []SecretNeed
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		out = append(out, *needs[name])
	}
	return out
}

func isRequired(b *bool) bool { return b == nil || *b }

// Holds reports whether a condition of a manifest is true of a request. No condition always is; one without a path never.
func Holds(c *homeboy.SecretCondition, doc Document) bool {
	if c == nil {
		return true
	}
	if c.Any != nil {
		return slices.ContainsFunc(c.Any, func(c homeboy.SecretCondition) bool { return Holds(&c, doc) })
	}
	if c.All != nil {
		return !slices.ContainsFunc(c.All, func(c homeboy.SecretCondition) bool { return !Holds(&c, doc) })
	}
	path := c.Path
	if path == "" {
		return false
	}
	if path == "provider" {
		path = "executor.config.provider"
	}
	v, there := doc.At(path)
	if !there || len(c.Equals) == 0 {
		return there
	}
	got, err := json.Marshal(v)
	return err == nil && equalJSON(got, c.Equals)
}

// holdsValue is Holds for a condition that the record keeps as it is written. One that cannot be read demands the secret:
// asking for too much is found before anything starts.
func holdsValue(raw homeboy.Value, doc Document) bool {
	if raw.Null() {
		return true
	}
	var c homeboy.SecretCondition
	if json.Unmarshal(raw, &c) != nil {
		return true
	}
	return Holds(&c, doc)
}

func equalJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, err := json.Marshal(x)
	q, err2 := json.Marshal(y)
	return err == nil && err2 == nil && string(p) == string(q)
}

// A SecretStatus says whether a secret was found, and where; never its value.
type SecretStatus struct {
	SecretNeed
	Configured bool   `json:"configured"`
	Source     string `json:"source,omitempty"`
	Problem    string `json:"problem,omitempty"`
	Literal    bool   `json:"literal,omitempty"` // the value stands in the manifest, and is no secret
}

// asks says who asks for the secret.
func (s SecretStatus) asks() string {
	if len(s.Asked) == 1 {
		return s.Asked[0] + " asks for it"
	}
	return strings.Join(s.Asked, " and ") + " ask for it"
}

// SecretsMissing says which required secrets are in no store. It names them and nothing else.
type SecretsMissing struct{ Missing []SecretStatus }

// SecretEnvMissing is the code of an outcome that says so.
const SecretEnvMissing = "agent_task.secret_env_missing"

func (e *SecretsMissing) Error() string {
	var lines []string
	for _, s := range e.Missing {
		line := fmt.Sprintf("secret %s is not set, and %s", s.Name, s.asks())
		if s.Problem != "" {
			line += ": " + s.Problem
		}
		lines = append(lines, line+" (export it, put it into an env_file, or say under secrets in deed.yaml where it is)")
	}
	return strings.Join(lines, "\n")
}

// ResolveSecrets looks every need up: in the stores, in their order, then where the manifest says. The error is a
// *SecretsMissing when a required one is nowhere; what was found is returned all the same.
func ResolveSecrets(ctx context.Context, needs []SecretNeed, userHome string, stores ...SecretStore) (map[string]string, []SecretStatus, error) {
	values := map[string]string{}
	var all []SecretStatus
	var missing []SecretStatus
	for _, n := range needs {
		s := SecretStatus{SecretNeed: n}
		value, from, literal, err := lookUp(ctx, n, userHome, stores)
		if err != nil {
			s.Problem = err.Error()
		}
		if value != "" {
			values[n.Name], s.Configured, s.Source, s.Literal = value, true, from, literal
		} else if n.Required {
			missing = append(missing, s)
		}
		all = append(all, s)
	}
	if len(missing) > 0 {
		return values, all, &SecretsMissing{missing}
	}
	return values, all, nil
}

func lookUp(ctx context.Context, n SecretNeed, userHome string, stores []SecretStore) (value, from string, literal bool, err error) {
	var failed []error
	for _, s := range stores {
		v, ok, err := s.Lookup(ctx, n.Name)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.Name, err))
			continue
		}
		if ok && v != "" {
			return v, s.Name, false, nil
		}
	}
	if n.source != nil {
		v, literal, err := readSource(ctx, *n.source, userHome, stores)
		if err == nil && v != "" {
			from := "manifest: " + n.source.Source
			if literal {
				from = "manifest, which has the value itself"
			}
			return v, from, literal, nil
		}
		failed = append(failed, err)
	}
	return "", "", false, errors.Join(failed...)
}
