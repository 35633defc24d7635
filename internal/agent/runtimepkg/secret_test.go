package runtimepkg

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
)

func need(name string, source *homeboy.SecretSource) SecretNeed {
	return SecretNeed{Name: name, Required: true, Asked: []string{"test"}, source: source}
}

// Case 38 and 39: a missing secret is named before anything starts, and no status holds a value.
func TestResolveSecrets(t *testing.T) {
	t.Parallel()
	failing := SecretStore{Name: "command", Lookup: func(context.Context, string) (string, bool, error) { return "", false, errors.New("it ended with 1") }}
	values, status, err := ResolveSecrets(t.Context(),
		[]SecretNeed{need("A", nil), need("B", nil), need("C", nil), need("EMPTY", nil), {Name: "MAYBE"}}, "",
		Environment([]string{"A=value-a", "EMPTY=", "OTHER=ambient"}), failing, Values("env_file", map[string]string{"A": "later", "B": "value-b"}))
	var missing *SecretsMissing
	if !errors.As(err, &missing) || len(missing.Missing) != 2 || missing.Missing[0].Name != "C" || missing.Missing[1].Name != "EMPTY" {
		t.Fatalf("%v", err)
	}
	if len(values) != 2 || values["A"] != "value-a" || values["B"] != "value-b" {
		t.Errorf("%v", values)
	}
	text, jerr := json.Marshal(status)
	if jerr != nil || strings.Contains(string(text), "value-") || strings.Contains(err.Error(), "value-") {
		t.Errorf("a value is shown: %s %v", text, err)
	}
	if status[0].Source != "environment" || status[1].Source != "env_file" || status[4].Configured {
		t.Errorf("%+v", status)
	}
	if !strings.Contains(err.Error(), "it ended with 1") {
		t.Errorf("why a store failed is not told: %v", err)
	}
}

// Case 40, and files that a manifest may not have read.
func TestSecretSources(t *testing.T) {
	t.Parallel()
	home, outside := t.TempDir(), t.TempDir()
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":1900000000}`)) + ".sig"
	write(t, `{"tokens":{"access_token":"`+token+`","account":{"id":"acct"},"fed":false},"old":"fallback"}`, home, ".codex/auth.json")
	write(t, `{"a":"stolen"}`, outside, "x.json")
	write(t, `not json secret-text`, home, "bad.json")
	if err := os.Symlink(filepath.Join(outside, "x.json"), filepath.Join(home, "link.json")); err != nil {
		t.Fatal(err)
	}
	lit := "default"
	for name, c := range map[string]struct {
		source homeboy.SecretSource
		want   string
	}{
		"a nested field":    {homeboy.SecretSource{Source: "json-file", Path: "~/.codex/auth.json", Field: "tokens.account.id"}, "acct"},
		"an absolute path":  {homeboy.SecretSource{Source: "json-file", Path: filepath.Join(home, ".codex/auth.json"), Field: "tokens.account.id"}, "acct"},
		"a boolean":         {homeboy.SecretSource{Source: "json-file", Path: "~/.codex/auth.json", Field: "tokens.fed"}, "false"},
		"fallback fields":   {homeboy.SecretSource{Source: "json-file", Path: "~/.codex/auth.json", Field: "none", FallbackFields: []string{"nor", "old"}}, "fallback"},
		"a literal default": {homeboy.SecretSource{Source: "json-file", Path: "~/none.json", Field: "x", Value: &lit}, "default"},
		"a token's expiry":  {homeboy.SecretSource{Source: "json-file-jwt-expiration", Path: "~/.codex/auth.json", Field: "tokens.access_token"}, "1900000000"},
		"no token":          {homeboy.SecretSource{Source: "json-file-jwt-expiration", Path: "~/.codex/auth.json", Field: "old", FallbackFields: []string{"tokens.account.id"}}, "acct"},
		"another variable":  {homeboy.SecretSource{Source: "env", EnvVar: "OTHER"}, "from-other"},
		"outside":           {homeboy.SecretSource{Source: "json-file", Path: filepath.Join(outside, "x.json"), Field: "a"}, ""},
		"out by dots":       {homeboy.SecretSource{Source: "json-file", Path: "~/../" + filepath.Base(outside) + "/x.json", Field: "a"}, ""},
		"out by a link":     {homeboy.SecretSource{Source: "json-file", Path: "~/link.json", Field: "a"}, ""},
		"a relative path":   {homeboy.SecretSource{Source: "json-file", Path: "x.json", Field: "a"}, ""},
		"not JSON":          {homeboy.SecretSource{Source: "json-file", Path: "~/bad.json", Field: "a"}, ""},
		"a keychain":        {homeboy.SecretSource{Source: "keychain", Name: "n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values, status, err := ResolveSecrets(t.Context(), []SecretNeed{need("X", &c.source)}, home, Environment([]string{"OTHER=from-other"}))
			if values["X"] != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%q %v", values["X"], err)
			}
			if status[0].Literal != (name == "a literal default") {
				t.Errorf("literal %v", status[0].Literal)
			}
			if err != nil && (strings.Contains(err.Error(), "stolen") || strings.Contains(err.Error(), "secret-text") || status[0].Problem == "") {
				t.Errorf("%v", err)
			}
		})
	}
}
