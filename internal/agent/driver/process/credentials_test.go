package process

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "env")
	text := "API_TOKEN=abc\nLOG_LEVEL=debug\nDATABASE=postgres://me:pw@db/x\nDB_DSN=whatever\nexport GITHUB_PASSWORD='p w'\nHOMEPAGE=https://example.com/a\nGH_PAT=x\nPLAIN=ghp_0123456789\nKEYBOARD=us\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Credentials(agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{
		EnvFile: file, Env: map[string]string{"AWS_SECRET_ACCESS_KEY": "k", "GREETING": "hello"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"API_TOKEN", "AWS_SECRET_ACCESS_KEY", "DATABASE", "DB_DSN", "GH_PAT", "GITHUB_PASSWORD", "PLAIN"}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Errorf("credentials are %v, want %v", names, want)
	}
	if got["GITHUB_PASSWORD"] != "p w" {
		t.Errorf("value is %q", got["GITHUB_PASSWORD"])
	}
	if _, err := Credentials(agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{EnvFile: "/no/such"}}); err == nil {
		t.Error("a missing file: no error")
	}
}
