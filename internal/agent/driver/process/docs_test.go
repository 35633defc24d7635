package process

import (
	"os"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/agent/driver"
)

// Every variable that a script gets by itself is in the docs.
func TestTheEnvironmentIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/SCRIPTS.md")
	if err != nil {
		t.Fatal(err)
	}
	env, err := Environ(driver.Job{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	vars := env.List()
	if len(vars) < 15 {
		t.Fatalf("only %d variables: %v", len(vars), vars)
	}
	for _, v := range vars {
		name, _, _ := strings.Cut(v, "=")
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/SCRIPTS.md does not mention %s", name)
		}
	}
}
