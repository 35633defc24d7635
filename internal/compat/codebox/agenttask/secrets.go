package agenttask

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/compat/codebox/boundary"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// checkSecrets requires a value for every secret, a value that can be kept out of what is written, and a request that
// does not contain it: the task, the run's record and the store keep a request verbatim. It returns what the answer
// must not repeat.
func checkSecrets(ctx context.Context, l *fault.List, req codebox.TaskRequest, stores []runtimepkg.SecretStore) *redact.Redactor {
	if len(req.SecretEnv) == 0 {
		return nil
	}
	said, hidden := texts(req), map[string]string{}
	for i, name := range req.SecretEnv {
		at := fault.Index("$.secret_env", i)
		values, err := resolve(ctx, name, stores)
		if err != nil {
			l.Add(at, fault.Dangling, err.Error(), "set it where deed runs")
			continue
		}
		if len(attempt.Unredactable(values)) > 0 {
			l.Add(at, fault.NotAllowed, fmt.Sprintf("the value of %s is too short or too plain to be kept out of what is written", name), "use a longer one, or pass it in runtime_env if it is no secret")
			continue
		}
		if place(values[name]) {
			continue
		}
		maps.Copy(hidden, values)
		r := redact.New(values)
		for _, t := range said {
			if r.Contains([]byte(t.text)) {
				l.Add(t.at, fault.NotAllowed, fmt.Sprintf("holds the value of %s, which secret_env keeps out of what is written", name), "name the variable instead, or take it out of secret_env if it is no secret")
			}
		}
	}
	return redact.New(hidden)
}

// Hide finds the values that no answer to a request may repeat: those of the secrets that it names, as far as they can be
// read.
func Hide(ctx context.Context, data []byte, stores []runtimepkg.SecretStore) *redact.Redactor {
	hidden := map[string]string{}
	for _, name := range boundary.Secrets(data) {
		if values, err := resolve(ctx, name, stores); err == nil && !place(values[name]) {
			maps.Copy(hidden, values)
		}
	}
	return redact.New(hidden)
}

// resolve finds the value of one secret of a request.
func resolve(ctx context.Context, name string, stores []runtimepkg.SecretStore) (map[string]string, error) {
	values, _, err := runtimepkg.ResolveSecrets(ctx, []runtimepkg.SecretNeed{{Name: name, Required: true, Asked: []string{"secret_env"}}}, "", stores...)
	return values, err
}

// place reports a value that only says where something is: requests are full of places, and a place that is there is
// nothing to hide.
func place(value string) bool {
	if !filepath.IsAbs(value) {
		return false
	}
	_, err := os.Lstat(value)
	return err == nil
}

// A text is one text of a request, with its path.
type text struct{ at, text string }

// texts lists everything that a request says.
func texts(req codebox.TaskRequest) []text {
	raw, err := json.Marshal(req)
	var v any
	if err != nil || json.Unmarshal(raw, &v) != nil {
		return nil // it was read from JSON
	}
	var out []text
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case string:
			out = append(out, text{at, v})
		case []any:
			for i := range v {
				walk(fault.Index(at, i), v[i])
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				out = append(out, text{at, k})
				walk(fault.Field(at, k), v[k])
			}
		}
	}
	walk(fault.Root, v)
	return out
}
